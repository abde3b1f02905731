//! For tests: an observer that keeps what it is told as lines, and the log that follows from it.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::clock::Moment;
use crate::kafka::raft::image::{Change, Image};
use crate::kafka::raft::{ImageReason, LogEntry, TailEvent, TailObserver, TailRecord};

/// What was told.
#[derive(Debug, Default)]
pub(crate) struct Told(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    lines: Vec<String>,
    records: BTreeMap<i64, TailRecord>,
    image: Image,
    /// Offset of the record that must follow; `None`: no image was told yet.
    next: Option<i64>,
    committed: i64,
}

impl TailObserver for Told {
    fn event(&self, _at: Moment, event: &TailEvent<'_>) {
        let mut state = self.0.lock().unwrap();
        state.take_in(event);
        let line = match event {
            TailEvent::Image { image, offset, controller, why } => {
                format!("image {why:?} to {offset} from {controller}: {} topics", image.topics().len())
            }
            TailEvent::Record(record) => format!("record {} of epoch {}: {}", record.offset, record.controller_epoch.0, words(record)),
            TailEvent::Committed { high_watermark, not_before } => {
                format!("committed {high_watermark}{}", if not_before.is_some() { "" } else { " (first answer)" })
            }
            TailEvent::Truncated { to_offset, records } => format!("truncated {records} from {to_offset} on"),
            TailEvent::Followed { controller, epoch, detail } => match (controller, epoch) {
                (Some(node), Some(epoch)) => format!("follows {node} in epoch {}", epoch.0),
                _ => format!("follows nobody: {detail}"),
            },
        };
        state.lines.push(line);
    }
}

fn words(record: &TailRecord) -> String {
    match &record.change {
        Change::ControllerElected { node } => format!("{node} elected"),
        Change::TopicMade { topic, .. } => format!("topic {topic}"),
        Change::Nothing => "nothing".to_owned(),
        Change::Refused { reason } => format!("refused, {reason}"),
        other => format!("{other:?}"),
    }
}

impl State {
    /// Invariants of any tail: no gaps, images that are made of the records, commits that only rise.
    fn take_in(&mut self, event: &TailEvent<'_>) {
        match event {
            TailEvent::Image { image, offset, why, .. } => {
                if *why != ImageReason::Truncated {
                    self.committed = self.committed.max(offset + 1);
                }
                if self.next == Some(offset + 1) {
                    assert_eq!(&self.image, *image, "the image is that of the records that were told");
                }
                (self.image, self.next) = (Image::clone(image), Some(offset + 1));
            }
            // Before an image, only these are told.
            TailEvent::Record(record) if self.next.is_none() && matches!(record.change, Change::Refused { .. }) => {}
            TailEvent::Record(record) => {
                assert_eq!(Some(record.offset), self.next, "records are told without gaps, after an image");
                self.next = Some(record.offset + 1);
                if let LogEntry::Metadata(said) = &record.entry {
                    let _ = self.image.replay(said);
                }
                self.records.insert(record.offset, TailRecord::clone(record));
            }
            TailEvent::Committed { high_watermark, .. } => {
                assert!(*high_watermark > self.committed && Some(*high_watermark) <= self.next);
                self.committed = *high_watermark;
            }
            TailEvent::Truncated { to_offset, .. } => {
                self.records.split_off(to_offset);
                self.next = None;
                self.committed = self.committed.min(*to_offset);
            }
            TailEvent::Followed { .. } => {}
        }
    }
}

impl Told {
    /// The lines since this was last asked.
    pub(crate) fn lines(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().lines)
    }

    /// The records that were told and not taken back.
    pub(crate) fn records(&self) -> Vec<TailRecord> {
        self.0.lock().unwrap().records.values().cloned().collect()
    }

    /// The image that was told, with the records since.
    pub(crate) fn image(&self) -> Image {
        self.0.lock().unwrap().image.clone()
    }

    /// Up to where the log was told to be committed.
    pub(crate) fn committed(&self) -> i64 {
        self.0.lock().unwrap().committed
    }
}
