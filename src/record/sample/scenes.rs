//! A cluster whose layers agree, and a kill that they follow: what tests of waterfalls begin with.

use super::layers::{Part, answered, fenced};
use super::{Pair, Sample};

/// `orders/0` is led by 2 in epoch 4, `orders/1` by 1, `orders/2` by 3.
pub(crate) const BEFORE: [Part; 3] = [Part(0, 2, 4, &[1, 2, 3]), Part(1, 1, 4, &[1, 2, 3]), Part(2, 3, 4, &[1, 2, 3])];
/// Broker 2 is gone.
pub(crate) const MOVED: Part = Part(0, 3, 5, &[1, 3]);
const SHRUNK: Part = Part(1, 1, 4, &[1, 3]);

/// A producer of `steady` on `orders/0`.
pub(crate) const STEADY: Pair = Pair("steady", 0, 0);

/// Three brokers, one group of two producers, everything agrees.
pub(crate) fn cluster() -> Sample {
    let mut stream = Sample::new(&[("steady", 2)]).image(&BEFORE, -1_500).pairs("steady", 2, 3).load("steady", -2, 40);
    for node in 1..=3 {
        stream = stream.shows_count(node, 3, -1_400);
        stream = BEFORE.iter().fold(stream, |stream, part| stream.shows_partition(node, *part, -1_400));
    }
    for producer in 0..2 {
        let pair = Pair("steady", producer, 0);
        stream = stream.asked(pair, answered(1, "start", 2), -1_300).counted(pair, (0, 3), "start", 2, -1_300);
        stream = BEFORE.iter().fold(stream, |stream, part| stream.learned(pair, *part, 1, 2, -1_300));
    }
    stream
}

/// Broker 2 is killed at 10 s, fenced at 19 s; `orders/0` moves from it to 3, `orders/1` loses it from its ISR. Nobody has followed yet.
pub(crate) fn noticed_kill() -> Sample {
    let stream = cluster().step(1, "kill", "2", 10_000).record(501, SHRUNK.changed(), 19_001);
    // A controller writes what follows from it first, in one batch.
    stream.record(502, MOVED.changed(), 19_001).record(503, fenced(2), 19_001)
}

/// Committed, fetched by those that live, shown by them, served.
pub(crate) fn followed_by(stream: Sample, nodes: &[i32], at_ms: i64) -> Sample {
    let stream = stream.committed(503, at_ms);
    let stream = nodes.iter().fold(stream, |stream, node| {
        stream.fetched(*node, 503, at_ms + 2).shows_partition(*node, MOVED, at_ms + 8).shows_partition(*node, SHRUNK, at_ms + 8)
    });
    stream.serves(3, MOVED, None, at_ms + 15)
}

pub(crate) fn killed() -> Sample {
    let stream = followed_by(noticed_kill(), &[1, 3], 19_012);
    stream
        .asked(STEADY, answered(1, "disconnect", 3), 10_010)
        .asked(STEADY, answered(1, "no_leader", 4), 19_040)
        .learned(STEADY, MOVED, 1, 4, 19_040)
        .routed(STEADY, 3, 19_045)
        .delivered(STEADY, 3, 10_020, 19_300)
        .gap(STEADY, 10_020, Some(19_300))
        .gap(Pair("steady", 1, 1), 10_030, Some(19_060))
}
