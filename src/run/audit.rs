//! After the load: the topics are read back, and what they hold is told as facts.
//!
//! Not here: how they are read and what is checked (`crate::audit`). Called by the conductor, when faults are healed and clients closed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::scope;
use crate::audit::{Index, Ledger, facts, reader};
use crate::clock::Clock;
use crate::cluster::Cluster;
use crate::digits::grouped;
use crate::load::payload;
use crate::plan::model::Plan;
use crate::record::last;
use crate::record::sink::FactSink;
use crate::ui::Screen;

/// How often the screen says how far reading is.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Reads everything and tells what is there. May be dropped half-way: then nothing is told.
pub(super) async fn audit(plan: &Plan, cluster: &dyn Cluster, ledger: &Ledger, clock: &Clock, screen: &Screen, told: &FactSink) {
    let index = Arc::new(ledger.take());
    let job = reader::Job {
        clock: clock.clone(),
        security: cluster.access().clients,
        brokers: cluster.nodes().iter().filter_map(|node| Some((node.id, node.client_listener.clone()?))).collect::<BTreeMap<_, _>>(),
        topics: scope::topics(plan),
        within: plan.audit.within,
    };
    let progress = Arc::new(reader::Progress::default());
    let began = clock.now();
    let reading = {
        let reading = reader::read(&job, &index, &progress);
        tokio::pin!(reading);
        let mut tick = tokio::time::interval(TELL_EVERY);
        loop {
            tokio::select! {
                reading = &mut reading => break reading,
                _ = tick.tick() => screen.stage(&stage(&index, &progress)),
            }
        }
    };
    let unidentified = plan.producers.iter().filter(|group| group.record.size_bytes < payload::IDENTITY);
    let circumstances = facts::Circumstances {
        took: clock.now().since(began),
        refused: ledger.refused(),
        unidentified: unidentified.map(|group| group.name.clone()).collect(),
    };
    last::tell(told, clock.now(), facts::of(reading, &index, circumstances)).await;
}

fn stage(index: &Index, progress: &reader::Progress) -> String {
    let sent: u64 = index.producers().map(|producer| producer.sent).sum();
    let records = progress.records.load(Ordering::Relaxed);
    let (read, all) = (progress.partitions_read.load(Ordering::Relaxed), progress.partitions.load(Ordering::Relaxed));
    format!("reading the topics back: {} of some {} records, {read} of {all} partitions", grouped(records), grouped(sent))
}
