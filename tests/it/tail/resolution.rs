//! How soon a record of the controller's log is seen: from the controller's timestamp to the answer that shows it, and that shows it committed.
//!
//! Where there is one voter: with several, each record waits for the others' fetches and disks, too, which is not what is measured.

use kafka_chaos::clock::{Clock, Moment};
use kafka_chaos::kafka::admin::Admin;
use kafka_chaos::kafka::raft::image::Change;

use super::make_topic;
use super::seen::{Seen, SeenRecord};

/// Topics that are made in a round.
const TOPICS: usize = 32;
/// Rounds until one is quick enough: the first have cold brokers, and a machine that is busy with other things is not what is measured.
const ROUNDS_MAX: usize = 8;

/// Makes topics one by one; fails unless the median until one is seen as committed is within this.
pub(super) async fn assert_committed_soon(seen: &Seen, admin: &Admin, clock: &Clock, what: &str, within_ms: f64) {
    let (mut medians, mut least) = (Vec::new(), f64::INFINITY);
    for round in 0..ROUNDS_MAX {
        let before = (seen.records().len(), seen.image().topics().len());
        for number in 0..TOPICS {
            make_topic(admin, &format!("quick-{round}-{number}"), 2, 1, &[("retention.ms", "1000")]).await;
        }
        seen.until("all topics", |image| image.topics().len() == before.1 + TOPICS).await;
        let records = &seen.records()[before.0..];
        let arrived = distances(records, clock, |seen| seen.arrived);
        let committed = distances(records, clock, |seen| seen.committed.unwrap());
        eprintln!("{what}: a record is here after {arrived:.1?} ms, committed after {committed:.1?} (least, median, greatest)");
        if committed[1] <= within_ms {
            return;
        }
        medians.push(committed[1]);
        least = committed[0].min(least);
    }
    // Where others want the processors too, a median tells mostly who waits for them: there the least must do.
    let is_busy_but_able = is_busy() && least <= within_ms;
    assert!(is_busy_but_able, "{what}: committed records are seen after {medians:.1?} ms, not within {within_ms}");
}

/// Whether more processes want to run than there are processors for, by far.
fn is_busy() -> bool {
    let load = std::fs::read_to_string("/proc/loadavg").ok().and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    let processors = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    let is_busy = load.is_some_and(|load| load > 2.0 * processors);
    if is_busy {
        eprintln!("the machine is busy: load {load:?} on {processors} processors");
    }
    is_busy
}

/// Least, median and greatest of the distances from the controller's timestamps of new topics to these moments, in ms.
fn distances(records: &[SeenRecord], clock: &Clock, moment: fn(&SeenRecord) -> Moment) -> [f64; 3] {
    let is_topic = |seen: &&SeenRecord| matches!(seen.record.change, Change::TopicMade { .. });
    let distance = |seen: &SeenRecord| clock.unix_time_of(moment(seen)).as_secs_f64() * 1e3 - seen.record.timestamp_ms as f64;
    let mut distances: Vec<_> = records.iter().filter(is_topic).map(distance).collect();
    distances.sort_by(f64::total_cmp);
    assert_eq!(distances.len(), TOPICS);
    [distances[0], distances[TOPICS / 2], distances[TOPICS - 1]]
}
