//! What the senders of one group share: the schedule, the clients that have been made, the end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::watch;

use crate::clock::{Clock, Moment};
use crate::engine::generator::Generator;
use crate::engine::group::client::{Client, MakeClient, View};
use crate::engine::recorder::client::{ClientRecorder, Unserved};
use crate::engine::recorder::second::{ClientFigures, DueCount, SeenClient};
use crate::engine::recorder::{GroupRecorder, SenderProgress, lock, mark};
use crate::engine::schedule;
use crate::ids::{ProducerIndex, TopicName};
use crate::load::arrivals::DueTimes;
use crate::load::seed::{Purpose, producer_seed_u64};
use crate::plan::model::ProducerGroup;

/// When the load ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    /// No record is due at or after it.
    pub(crate) end: Moment,
    /// What is due and not handed over by now never will be.
    pub(crate) give_up: bool,
}

/// A running group.
pub(crate) struct Group<M: MakeClient> {
    pub(crate) spec: ProducerGroup,
    pub(crate) clock: Clock,
    pub(crate) recorder: Arc<GroupRecorder>,
    pub(crate) generator: Arc<Generator>,
    pub(crate) seed: u64,
    /// First moment at which a record may be due.
    pub(crate) active_from: Moment,
    pub(crate) stop: watch::Sender<Stop>,
    pub(crate) senders: Arc<[Arc<SenderProgress>]>,
    make: M,
    clients: Box<[ClientPlace<M::Client>]>,
    /// Whether all clients are closed.
    is_closed: AtomicBool,
}

/// Where a client will be once its first record is due.
type ClientPlace<C> = Mutex<Option<Made<C>>>;

/// A client that has been made.
#[derive(Clone, Debug)]
pub(crate) struct Made<C> {
    pub(crate) client: C,
    pub(crate) recorder: Arc<ClientRecorder>,
}

impl<M: MakeClient> std::fmt::Debug for Group<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Group").field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// What a group is told of the run.
#[derive(Clone, Debug)]
pub(crate) struct RunFrame {
    pub(crate) clock: Clock,
    pub(crate) load_start: Moment,
    pub(crate) seed: u64,
    pub(crate) generator: Arc<Generator>,
}

impl<M: MakeClient> Group<M> {
    /// A group of which nothing runs yet.
    pub(crate) fn new(spec: &ProducerGroup, frame: RunFrame, recorder: Arc<GroupRecorder>, make: M) -> Self {
        let end = spec.active.until.map_or(Moment(u64::MAX), |until| frame.load_start + until);
        let (stop, _) = watch::channel(Stop { end, give_up: false });
        Self {
            spec: spec.clone(),
            clock: frame.clock,
            recorder,
            generator: frame.generator,
            seed: frame.seed,
            active_from: frame.load_start + spec.active.from,
            stop,
            senders: schedule::senders(spec),
            make,
            clients: (0..schedule::clients(spec)).map(|_| Mutex::new(None)).collect(),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Due times of a producer, from `active_from` on; `None`: the load has no schedule.
    pub(crate) fn due_times(&self, producer: ProducerIndex) -> Option<DueTimes> {
        schedule::due_times(&self.spec, self.seed, producer)
    }

    /// When a producer may start.
    pub(crate) fn start_of(&self, producer: ProducerIndex) -> Moment {
        self.active_from + Duration::from_micros(schedule::start_us(&self.spec, producer))
    }

    /// How what is due is counted, per sender.
    pub(crate) fn due_counts(&self) -> Vec<DueCount> {
        schedule::due_counts(&self.spec, self.seed)
    }

    /// The client of a sender; made now if this is the first of its senders whose record is due.
    pub(crate) fn client_of(&self, sender: &SenderProgress) -> Made<M::Client> {
        let mut slot = lock(&self.clients[sender.client]);
        slot.get_or_insert_with(|| self.make_client(sender.client)).clone()
    }

    fn make_client(&self, index: usize) -> Made<M::Client> {
        let per_client = schedule::senders_per_client(&self.spec);
        let first = index as u32 * per_client;
        let senders = per_client.min(self.spec.count - first);
        let seed = producer_seed_u64(self.seed, &self.spec.name, ProducerIndex(first), Purpose::Client);
        let recorder = ClientRecorder::new(Arc::clone(&self.recorder), ProducerIndex(first), senders, self.clock.now());
        let recorder = Arc::new(recorder);
        let client = self.make.make(&format!("{}-{index}", self.spec.name), seed, Arc::clone(&recorder));
        Made { client, recorder }
    }

    /// The clients that have been made, with their places in the group.
    pub(crate) fn made(&self) -> Vec<(usize, Made<M::Client>)> {
        self.clients.iter().enumerate().filter_map(|(index, slot)| Some((index, lock(slot).clone()?))).collect()
    }

    /// What the clients say of themselves.
    pub(crate) fn seen(&self) -> Vec<SeenClient> {
        let of = |(index, made): (usize, Made<M::Client>)| SeenClient {
            index,
            figures: self.figures(made.client.view()),
            recorder: made.recorder,
        };
        self.made().into_iter().map(of).collect()
    }

    fn figures(&self, view: View) -> ClientFigures {
        let waiting = view.unserved.into_iter().filter_map(|(topic, partition, oldest)| {
            let topic = self.recorder.topic_index(&topic)?;
            Some(Unserved { slot: mark::slot(oldest), topic, partition, due: mark::due(oldest) })
        });
        ClientFigures {
            metadata_age: view.metadata_age,
            cached: view.partition_counts.map(|counts| self.by_place(&counts)),
            buffer_free_bytes: view.buffer_free_bytes,
            waiting: waiting.collect(),
        }
    }

    /// Partition counts in the order of the group's topics; 0 for those that are not there.
    fn by_place(&self, counts: &[(TopicName, u32)]) -> Vec<u32> {
        let mut cached = vec![0; self.spec.topics.len()];
        for (topic, partitions) in counts {
            if let Some(place) = self.recorder.topic_index(topic).and_then(|index| cached.get_mut(index)) {
                *place = *partitions;
            }
        }
        cached
    }

    /// Closes all clients; every record that they took has its outcome then.
    pub(crate) async fn close(&self, timeout: Duration) {
        join_all(self.made().iter().map(|(_, made)| made.client.close(timeout))).await;
        self.is_closed.store(true, Ordering::Release);
    }

    /// Moves the end to `end`, if that is earlier.
    pub(crate) fn stop_at(&self, end: Moment) {
        self.stop.send_if_modified(|stop| {
            let earlier = end < stop.end;
            stop.end = stop.end.min(end);
            earlier
        });
    }

    /// What is due and not handed over by now never will be.
    pub(crate) fn give_up(&self) {
        self.stop.send_modify(|stop| stop.give_up = true);
    }
}

impl<M: MakeClient> Drop for Group<M> {
    /// Clients live in tasks of their own: a group that is dropped before its end must not leave them behind.
    fn drop(&mut self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if !self.is_closed.load(Ordering::Acquire) {
            for (_, made) in self.made() {
                runtime.spawn(async move { made.client.close(Duration::ZERO).await });
            }
        }
    }
}
