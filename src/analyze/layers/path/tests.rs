//! Whatever was seen of a wait: its stretches cover it from end to end, in order, without holes.

use proptest::prelude::*;

use crate::analyze::Analysis;
use crate::record::sample::Sample;
use crate::record::sample::layers::{Asked, fenced};
use crate::record::sample::scenes::{MOVED, STEADY, cluster};

/// One sighting of the way of `orders/0` from broker 2 to 3, at a time.
fn sighting(stream: Sample, which: u8, node: i32, at_ms: i64) -> Sample {
    match which {
        0 => stream.committed(503, at_ms),
        1 => stream.fetched(node, 503, at_ms),
        2 => stream.shows_partition(node, MOVED, at_ms),
        3 => stream.serves(3, MOVED, None, at_ms),
        4 => stream.serves(3, MOVED, Some(6), at_ms),
        5 => stream.learned(STEADY, MOVED, node, 4, at_ms),
        6 => stream.asked(STEADY, Asked { node, reason: "age", outcome: "updated", took_ms: 3, version: 4 }, at_ms),
        7 => stream.asked(STEADY, Asked { node, reason: "disconnect", outcome: "timed_out", took_ms: 2_000, version: 2 }, at_ms),
        8 => stream.routed(STEADY, 3, at_ms),
        9 => stream.followed((node > 1).then_some(node), at_ms),
        10 => stream.delivered(STEADY, 3, at_ms - 40, at_ms),
        11 => stream.record(502, fenced(2), at_ms),
        12 => stream.refused(STEADY, 3, if node == 1 { 45 } else { 6 }, at_ms),
        13 => stream.refused(STEADY, 2, 6, at_ms),
        14 => stream.disconnected(STEADY, node, ("request_timeout", 1), at_ms),
        15 => stream.record(503, MOVED.changed(), at_ms),
        16 => stream.never_ready(STEADY, node, 3_000, at_ms),
        _ => stream.step(2, "start", "2", at_ms),
    }
}

proptest! {
    // Each case is a whole run.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn stretches_cover_the_wait(
        mut sightings in prop::collection::vec((0_u8..18, 1_i32..4, 10_000_i64..30_000), 0..25),
        from_ms in 10_000_i64..12_000,
        length_ms in prop::option::of(600_i64..20_000),
    ) {
        sightings.sort_by_key(|(_, _, at_ms)| *at_ms);
        let mut starts = 0;
        sightings.retain(|(which, ..)| *which < 17 || { starts += 1; starts == 1 });
        let stream = cluster().step(1, "kill", "2", 10_000);
        let stream = sightings.into_iter().fold(stream, |stream, (which, node, at_ms)| sighting(stream, which, node, at_ms));
        let stream = stream.gap(STEADY, from_ms, length_ms.map(|length| from_ms + length)).end(40_000);
        let mut analysis = Analysis::new();
        stream.facts.iter().for_each(|fact| analysis.fold(fact));
        let findings = analysis.finish();
        let until_ms = length_ms.map_or(40_000, |length| from_ms + length);
        for finding in &findings.layers {
            let Some(waterfall) = &finding.waterfall else { continue };
            let mut at_ms = from_ms;
            for segment in &waterfall.segments {
                prop_assert!((segment.since_ms - at_ms).abs() <= 1 && segment.for_ms >= 0, "{:?}", waterfall.segments);
                at_ms = segment.since_ms + segment.for_ms;
            }
            prop_assert!(waterfall.segments.is_empty() || (at_ms - until_ms).abs() <= 1, "{at_ms} {until_ms}: {:?}", waterfall.segments);
            for stage in &waterfall.stages {
                prop_assert!(stage.not_before_ms.zip(stage.time_ms).is_none_or(|(from, until)| from <= until), "{stage:?}");
            }
        }
        if let Some(held) = findings.layers.iter().find_map(|finding| finding.held.as_ref()) {
            prop_assert!(held.for_ms > 0 && !held.in_words.is_empty(), "{held:?}");
        }
    }
}
