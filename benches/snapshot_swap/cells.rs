//! The ways to hand the current snapshot to readers that are compared: each with a reader per thread and one writer.

use std::sync::{Arc, Mutex, RwLock};

use arc_swap::ArcSwap;
use kafka_chaos::ids::TopicName;
use kafka_chaos::kafka::metadata::{Snapshot, SnapshotCell};
use left_right::{Absorb, ReadHandle, WriteHandle};
use rustc_hash::FxHashMap;
use tokio::sync::watch;

use crate::swap_rows::{OURS, RW_LOCK};

/// Publishes; there is one.
pub(crate) trait Publish: Send {
    fn publish(&mut self, snapshot: Arc<Snapshot>);
}

/// Reads; there is one per thread.
pub(crate) trait Read: Send {
    /// The version of the current snapshot: as little as can be read, so that what is measured is getting at it.
    fn version(&mut self) -> u64;
}

/// A writer and so many readers.
pub(crate) type Made = (Box<dyn Publish>, Vec<Box<dyn ReadMany>>);

/// Reads in a loop that is compiled for each cell, behind one dynamic call.
pub(crate) trait ReadMany: Send {
    /// Reads so often; returns the last version.
    fn read_many(&mut self, times: u32) -> u64;
}

impl<R: Read> ReadMany for R {
    fn read_many(&mut self, times: u32) -> u64 {
        let mut last = 0;
        for _ in 0..times {
            last = std::hint::black_box(self.version());
        }
        last
    }
}

/// A way, by name.
pub(crate) struct Way {
    pub(crate) name: &'static str,
    pub(crate) make: fn(Arc<Snapshot>, usize) -> Made,
}

/// All of them.
pub(crate) const WAYS: [Way; 6] = [
    Way { name: OURS, make: |first, readers| shared(SnapshotCell::new((*first).clone()), readers) },
    Way { name: RW_LOCK, make: |first, readers| shared(RwLock::new(first), readers) },
    Way { name: "mutex_arc", make: |first, readers| shared(Mutex::new(first), readers) },
    Way { name: "tokio_watch", make: watched },
    Way { name: "left_right", make: left_right },
    Way { name: "java_send", make: |first, readers| shared(JavaSend::new(first), readers) },
];

/// The unit: a plain `ArcSwap`.
pub(crate) fn alone(first: Arc<Snapshot>) -> Made {
    shared(ArcSwap::new(first), 1)
}

fn shared<C>(cell: C, readers: usize) -> Made
where
    C: Send + Sync + 'static,
    Arc<C>: Publish + Read,
{
    let cell = Arc::new(cell);
    let readers = (0..readers).map(|_| Box::new(Arc::clone(&cell)) as Box<dyn ReadMany>).collect();
    (Box::new(cell), readers)
}

impl Publish for Arc<SnapshotCell> {
    fn publish(&mut self, snapshot: Arc<Snapshot>) {
        SnapshotCell::publish(self, snapshot);
    }
}

impl Read for Arc<SnapshotCell> {
    fn version(&mut self) -> u64 {
        self.load().update_version.0
    }
}

impl Publish for Arc<ArcSwap<Snapshot>> {
    fn publish(&mut self, snapshot: Arc<Snapshot>) {
        self.store(snapshot);
    }
}

impl Read for Arc<ArcSwap<Snapshot>> {
    fn version(&mut self) -> u64 {
        self.load().update_version.0
    }
}

impl Publish for Arc<RwLock<Arc<Snapshot>>> {
    fn publish(&mut self, snapshot: Arc<Snapshot>) {
        let old = std::mem::replace(&mut *self.write().unwrap(), snapshot);
        drop(old);
    }
}

impl Read for Arc<RwLock<Arc<Snapshot>>> {
    fn version(&mut self) -> u64 {
        let snapshot = Arc::clone(&self.read().unwrap());
        snapshot.update_version.0
    }
}

impl Publish for Arc<Mutex<Arc<Snapshot>>> {
    fn publish(&mut self, snapshot: Arc<Snapshot>) {
        let old = std::mem::replace(&mut *self.lock().unwrap(), snapshot);
        drop(old);
    }
}

impl Read for Arc<Mutex<Arc<Snapshot>>> {
    fn version(&mut self) -> u64 {
        let snapshot = Arc::clone(&self.lock().unwrap());
        snapshot.update_version.0
    }
}

fn watched(first: Arc<Snapshot>, readers: usize) -> Made {
    let (writer, reader) = watch::channel(first);
    (Box::new(writer), (0..readers).map(|_| Box::new(reader.clone()) as Box<dyn ReadMany>).collect())
}

impl Publish for watch::Sender<Arc<Snapshot>> {
    fn publish(&mut self, snapshot: Arc<Snapshot>) {
        self.send_replace(snapshot);
    }
}

impl Read for watch::Receiver<Arc<Snapshot>> {
    fn version(&mut self) -> u64 {
        self.borrow().update_version.0
    }
}

/// What `left-right` keeps twice.
#[derive(Clone)]
struct Current(Arc<Snapshot>);

impl Absorb<Arc<Snapshot>> for Current {
    fn absorb_first(&mut self, operation: &mut Arc<Snapshot>, _: &Self) {
        self.0 = Arc::clone(operation);
    }

    fn sync_with(&mut self, first: &Self) {
        self.0 = Arc::clone(&first.0);
    }
}

fn left_right(first: Arc<Snapshot>, readers: usize) -> Made {
    let (mut writer, reader) = left_right::new_from_empty::<Current, Arc<Snapshot>>(Current(first));
    writer.publish();
    (Box::new(writer), (0..readers).map(|_| Box::new(reader.clone()) as Box<dyn ReadMany>).collect())
}

impl Publish for WriteHandle<Current, Arc<Snapshot>> {
    fn publish(&mut self, snapshot: Arc<Snapshot>) {
        self.append(snapshot);
        self.publish();
    }
}

impl Read for ReadHandle<Current> {
    fn version(&mut self) -> u64 {
        // The writer lives as long as its readers here.
        self.enter().map_or(0, |current| current.0.update_version.0)
    }
}

/// What `KafkaProducer.send` does on every call: `ProducerMetadata.add` enters the topic's expiry into a map under a lock; the snapshot behind it
/// is one volatile read. A cheap hash, for Java's strings remember theirs.
struct JavaSend {
    expiries: Mutex<FxHashMap<TopicName, u64>>,
    topic: TopicName,
    current: ArcSwap<Snapshot>,
}

impl JavaSend {
    fn new(first: Arc<Snapshot>) -> Self {
        let topic = TopicName::from(crate::support::cluster::TOPIC);
        Self { expiries: Mutex::new(FxHashMap::from_iter([(topic.clone(), 0)])), topic, current: ArcSwap::new(first) }
    }
}

impl Publish for Arc<JavaSend> {
    fn publish(&mut self, snapshot: Arc<Snapshot>) {
        self.current.store(snapshot);
    }
}

impl Read for Arc<JavaSend> {
    fn version(&mut self) -> u64 {
        if let Some(expiry) = self.expiries.lock().unwrap().get_mut(&self.topic) {
            *expiry += 1;
        }
        self.current.load().update_version.0
    }
}
