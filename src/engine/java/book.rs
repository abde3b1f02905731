//! What the Java program tells, turned into the group's figures and facts.
//!
//! Called by the group's reader alone. Times are turned into moments of this process here; a line that speaks of what is not there ends the
//! group, because no figure of such a program can be trusted.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Moment;
use crate::engine::generator::Generator;
use crate::engine::java::line::{ErrorLine, GIVEN_UP, Line, MetadataLine, OK, RecordLine, Told, Truth, WaitLine};
use crate::engine::java::program::ProgramError;
use crate::engine::java::timeline::moment;
use crate::engine::recorder::client::ClientRecorder;
use crate::engine::recorder::second::{ClientFigures, SecondTeller, SeenClient};
use crate::engine::recorder::{Blocked, GroupRecorder, SenderProgress, mark};
use crate::ids::{BrokerId, PartitionIndex, ProducerIndex, UpdateVersion};
use crate::kafka::event::{BatchDelivery, BlockedOn, ClientEvent, ClientObserver, Failure, MetadataOutcome, Outcome, RecordTag};
use crate::kafka::wire::error::ErrorCode;
use crate::record::fact::{ClientProcess, Fact};
use crate::record::second::{second_end, second_of};

/// Keeps a group's figures.
#[derive(Debug)]
pub(super) struct Book {
    recorder: Arc<GroupRecorder>,
    senders: Arc<[Arc<SenderProgress>]>,
    generator: Arc<Generator>,
    schedule: Schedule,
    clients: Vec<Option<Known>>,
    errors: HashMap<i64, (Truth, Failure)>,
    teller: SecondTeller,
    process: Option<(u64, u64, u64)>,
}

/// Where a group stands in its time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    pub(super) active_from: Moment,
    /// No record is due at or after it. A program that hears of its end too late has another one, and says so: all that it has sent was due.
    pub(super) end: Moment,
    /// The second that is told next.
    pub(super) next_second: i64,
}

/// A client that has been made.
#[derive(Debug)]
struct Known {
    recorder: Arc<ClientRecorder>,
    cached: Vec<u32>,
    last_node: Option<BrokerId>,
    metadata_age_ms: Option<u64>,
    buffer_free_bytes: Option<u64>,
}

/// A word of something that there is not.
fn unknown(what: &str, number: impl std::fmt::Display) -> ProgramError {
    ProgramError::Unknown(format!("{what} {number}"))
}

impl Book {
    /// A book of a group that has not begun.
    pub(super) fn new(
        recorder: Arc<GroupRecorder>,
        senders: Arc<[Arc<SenderProgress>]>,
        generator: Arc<Generator>,
        schedule: Schedule,
        teller: SecondTeller,
    ) -> Self {
        let clients = senders.last().map_or(0, |last| last.client + 1);
        Self {
            recorder,
            senders,
            generator,
            schedule,
            clients: (0..clients).map(|_| None).collect(),
            errors: HashMap::new(),
            teller,
            process: None,
        }
    }

    /// Takes a line in.
    pub(super) fn enter(&mut self, line: Line) -> Result<(), ProgramError> {
        for (producer, sent) in line.sent {
            self.senders.get(producer as usize).ok_or_else(|| unknown("producer", producer))?.set_sent(sent);
        }
        self.errors.extend(line.errors.into_iter().map(error));
        for (client, at) in line.made {
            self.made(client, self.at(at))?;
        }
        for told in line.metadata {
            self.metadata(told)?;
        }
        for wait in line.waits {
            self.waited(&wait)?;
        }
        self.late(&line.late);
        self.records(&line.records)?;
        let lost = line.untold + line.metadata_lost;
        if lost > 0 {
            self.recorder.facts.emit(self.at(line.t.map_or(0, |(until, _)| until)), Fact::FactsLost { count: lost });
        }
        if let Some(blocked) = line.blocked {
            self.blocked(&blocked)?;
        }
        for (client, age, free) in line.clients {
            let known = self.known(client)?;
            (known.metadata_age_ms, known.buffer_free_bytes) = (age, free);
        }
        self.process = line.process.or(self.process);
        self.schedule.end = line.end.map_or(self.schedule.end, |end| self.at(end));
        line.t.iter().for_each(|(until, present)| self.tell_seconds(self.at(*until), self.at(*present)));
        Ok(())
    }

    /// The program has told its last line: tells the second that is under way, and returns each client's last facts.
    pub(super) fn close(mut self, at: Moment) -> Vec<Fact> {
        self.tell_second(at, at);
        let counts = self.teller.counts();
        let mut facts = Vec::new();
        for (index, known) in self.clients.iter().enumerate() {
            let Some(known) = known else { continue };
            let first = self.senders.partition_point(|sender| sender.client < index);
            let topics = self.recorder.topics.iter().zip(&known.cached);
            let cached: BTreeMap<String, u32> = topics.map(|(topic, count)| (topic.to_string(), *count)).collect();
            facts.extend(known.recorder.finish(at, &counts[first..], Some(&cached)));
        }
        facts
    }

    fn at(&self, micros: i64) -> Moment {
        moment(self.schedule.active_from, micros)
    }

    fn made(&mut self, client: usize, at: Moment) -> Result<(), ProgramError> {
        let first = self.senders.partition_point(|sender| sender.client < client);
        let count = self.senders[first..].iter().take_while(|sender| sender.client == client).count();
        let place = self.clients.get_mut(client).ok_or_else(|| unknown("client", client))?;
        let producer = ProducerIndex(u32::try_from(first).unwrap_or(u32::MAX));
        let recorder = ClientRecorder::new(Arc::clone(&self.recorder), producer, u32::try_from(count).unwrap_or(u32::MAX), at);
        *place = Some(Known {
            recorder: Arc::new(recorder),
            cached: vec![0; self.recorder.topics.len()],
            last_node: None,
            metadata_age_ms: None,
            buffer_free_bytes: None,
        });
        Ok(())
    }

    fn known(&mut self, client: usize) -> Result<&mut Known, ProgramError> {
        self.clients.get_mut(client).and_then(Option::as_mut).ok_or_else(|| unknown("client", client))
    }

    fn metadata(&mut self, MetadataLine(told, client, at, number, changes): MetadataLine) -> Result<(), ProgramError> {
        let at = self.at(at);
        let group = Arc::clone(&self.recorder);
        let known = self.known(client)?;
        match told {
            Told::Sent => {
                known.last_node = Some(BrokerId(number));
                known.recorder.foreign_request_sent(at, BrokerId(number));
            }
            Told::CutOff => known.recorder.foreign_request_done(at, MetadataOutcome::Disconnected, None),
            Told::Updated => {
                let update_version = UpdateVersion(u64::try_from(number).unwrap_or(0));
                for (place, to) in changes {
                    let cached = known.cached.get_mut(place).ok_or_else(|| unknown("topic", place))?;
                    let from = std::mem::replace(cached, to);
                    let (topic, node) = (group.topics[place].clone(), known.last_node);
                    let topic_id = None;
                    known.recorder.event(at, &ClientEvent::PartitionCountChanged { topic, topic_id, from, to, node, update_version });
                }
                known.recorder.foreign_request_done(at, MetadataOutcome::Updated, Some(update_version));
            }
        }
        Ok(())
    }

    fn waited(&mut self, &WaitLine(client, on, at, took_us, satisfied): &WaitLine) -> Result<(), ProgramError> {
        let at = self.at(at);
        let on = if on == 0 { BlockedOn::Metadata } else { BlockedOn::Memory };
        let event = ClientEvent::Blocked { on, took: Duration::from_micros(took_us), satisfied: satisfied == 1 };
        self.known(client)?.recorder.event(at, &event);
        Ok(())
    }

    fn late(&self, late: &[(i64, u32)]) {
        for (micros, count) in late {
            let micros = u64::try_from(*micros).unwrap_or(0);
            (0..*count).for_each(|_| self.generator.late(&[micros]));
        }
    }

    fn blocked(&self, blocked: &[(u32, usize, i64)]) -> Result<(), ProgramError> {
        self.senders.iter().for_each(|sender| sender.unblock());
        for (producer, topic, due) in blocked {
            let sender = self.senders.get(*producer as usize).ok_or_else(|| unknown("producer", producer))?;
            let due = self.at(*due);
            // What it waits for is told from the client's snapshot when the second is told. Nobody asks when it was handed over: the program
            // itself tells what becomes of it.
            sender.block(Blocked { due, sent_at: due, topic: *topic, on: BlockedOn::Metadata });
        }
        Ok(())
    }

    fn records(&mut self, records: &[RecordLine]) -> Result<(), ProgramError> {
        // Records of one batch have one outcome; those that were told in the same microsecond are entered together.
        let is_same = |left: &RecordLine, right: &RecordLine| {
            (left.0, left.1, left.2, left.5, left.6) == (right.0, right.1, right.2, right.5, right.6)
        };
        records.chunk_by(is_same).try_for_each(|alike| self.alike(alike))
    }

    /// Enters records of one producer and partition that became known at the same time and in the same way.
    fn alike(&self, records: &[RecordLine]) -> Result<(), ProgramError> {
        let Some(&RecordLine(producer, topic, partition, _, _, known, error, _)) = records.first() else { return Ok(()) };
        let sender = self.senders.get(producer as usize).ok_or_else(|| unknown("producer", producer))?;
        let client = self.clients.get(sender.client).and_then(Option::as_ref).ok_or_else(|| unknown("client", sender.client))?;
        let name = self.recorder.topics.get(topic).ok_or_else(|| unknown("topic", topic))?;
        let at = self.at(known);
        let tag = |record: &RecordLine| RecordTag {
            mark: mark::pack(sender.slot, self.at(record.3)),
            number: record.7,
            sent_at: self.at(record.4),
        };
        let tags: Vec<RecordTag> = records.iter().map(tag).collect();
        if error == GIVEN_UP {
            for tag in tags {
                // Told after the fact: the wait begins and ends here.
                let _ = client.recorder.begin_wait(tag.mark);
                client.recorder.give_up(at, tag);
            }
            return Ok(());
        }
        let outcome = match self.errors.get(&error) {
            _ if error == OK => Outcome::Ok { base_offset: -1 },
            Some((Truth::Failed, failure)) => Outcome::Failed(failure.clone()),
            Some((Truth::Indeterminate, failure)) => Outcome::Indeterminate(failure.clone()),
            None => return Err(unknown("error", error)),
        };
        match &outcome {
            Outcome::Failed(failure) if partition < 0 => {
                tags.into_iter().for_each(|tag| client.recorder.not_appended(at, topic, tag, failure));
            }
            _ => {
                let partition = PartitionIndex(partition);
                client.recorder.delivered(at, &BatchDelivery { topic: name, partition, records: &tags, outcome: &outcome, sends: 1 });
            }
        }
        Ok(())
    }

    /// Tells the seconds that have ended by `until`: all of them is known. Nothing of what is known happened after `present`.
    fn tell_seconds(&mut self, until: Moment, present: Moment) {
        let steady = self.recorder.facts.origin();
        while second_end(self.schedule.next_second, steady) <= until {
            self.tell_second(second_end(self.schedule.next_second, steady), present);
        }
    }

    fn tell_second(&mut self, at: Moment, present: Moment) {
        let Schedule { end, next_second: second, .. } = self.schedule;
        let seen = self.clients.iter().enumerate().filter_map(|(index, known)| Some(known.as_ref()?.seen(index))).collect::<Vec<_>>();
        self.teller.tell_as_of(|| present, at, second, end, &seen);
        if let Some((cpu_us_total, rss_bytes, threads)) = self.process {
            let group = self.recorder.name.clone();
            let process = ClientProcess { group, second, cpu_us_total, rss_bytes, threads };
            self.recorder.facts.emit(at, Fact::ClientProcess(Box::new(process)));
        }
        self.schedule.next_second += 1;
    }

    /// The first second that has not been told, for a group that has not begun to tell any.
    pub(super) fn first_second(now: Moment, load_start: Moment, steady: Moment) -> i64 {
        second_of(now.max(load_start), steady)
    }
}

impl Known {
    fn seen(&self, index: usize) -> SeenClient {
        let figures = ClientFigures {
            metadata_age: self.metadata_age_ms.map(Duration::from_millis),
            cached: Some(self.cached.clone()),
            buffer_free_bytes: self.buffer_free_bytes,
            waiting: Vec::new(),
        };
        SeenClient { index, recorder: Arc::clone(&self.recorder), figures }
    }
}

fn error(ErrorLine(number, truth, kind, code, text): ErrorLine) -> (i64, (Truth, Failure)) {
    (number, (truth, Failure { kind, code: code.map(ErrorCode), text }))
}
