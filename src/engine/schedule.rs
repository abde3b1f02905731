//! What follows from a group's plan alone, whatever client sends: who shares a client, and when records are due. Pure.
//!
//! Called by groups of this process (`group`) and of another one (`java`).

use std::sync::Arc;

use crate::engine::recorder::second::DueCount;
use crate::engine::recorder::{SenderProgress, mark};
use crate::ids::ProducerIndex;
use crate::load::arrivals::DueTimes;
use crate::load::seed::{Purpose, producer_seed};
use crate::plan::model::{Arrivals, Load, ProducerGroup};

/// How many producers use one client; the group's last client may have fewer.
pub(super) fn senders_per_client(group: &ProducerGroup) -> u32 {
    group.share.map_or(1, |share| share.get().clamp(1, mark::MAX_SENDERS))
}

/// How many clients a group has.
pub(super) fn clients(group: &ProducerGroup) -> u32 {
    group.count.div_ceil(senders_per_client(group))
}

/// The group's senders, before they have sent anything.
pub(super) fn senders(group: &ProducerGroup) -> Arc<[Arc<SenderProgress>]> {
    let per_client = senders_per_client(group);
    (0..group.count)
        .map(|index| Arc::new(SenderProgress::new(ProducerIndex(index), (index / per_client) as usize, index % per_client)))
        .collect()
}

/// From the moment at which the group becomes active until this producer starts: its place in the group's ramp, in microseconds.
pub(super) fn start_us(group: &ProducerGroup, producer: ProducerIndex) -> u64 {
    let start_us = group.ramp.as_micros() * u128::from(producer.0) / u128::from(group.count.max(1));
    u64::try_from(start_us).unwrap_or(u64::MAX)
}

/// Due times of a producer, from the moment on at which the group becomes active; `None`: the load has no schedule.
pub(super) fn due_times(group: &ProducerGroup, seed: u64, producer: ProducerIndex) -> Option<DueTimes> {
    let Load::Open { rate_per_second, arrivals } = group.load else { return None };
    let times = match arrivals {
        Arrivals::Constant => DueTimes::constant(rate_per_second, producer, group.count),
        Arrivals::Poisson => DueTimes::poisson(rate_per_second, producer_seed(seed, &group.name, producer, Purpose::Arrivals)),
    };
    Some(times.starting_at(start_us(group, producer)))
}

/// How what is due is counted, per producer.
pub(super) fn due_counts(group: &ProducerGroup, seed: u64) -> Vec<DueCount> {
    (0..group.count).map(|index| due_times(group, seed, ProducerIndex(index)).map_or(DueCount::AsSent, DueCount::Schedule)).collect()
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::engine::java::tests::group;

    #[test]
    fn clients_are_shared_in_order_and_the_last_one_has_fewer_senders() {
        let mut group = group(Load::Max);
        (group.count, group.share) = (5, NonZeroU32::new(2));
        let places: Vec<(usize, u32)> = senders(&group).iter().map(|sender| (sender.client, sender.slot)).collect();
        assert_eq!(places, [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]);
        assert_eq!(clients(&group), 3);
        group.share = None;
        assert_eq!((clients(&group), senders_per_client(&group)), (5, 1));
    }

    #[test]
    fn only_an_open_load_has_a_schedule() {
        assert!(matches!(due_counts(&group(Load::Max), 7)[..], [DueCount::AsSent, DueCount::AsSent]));
        let open = group(Load::Open { rate_per_second: 10.0, arrivals: Arrivals::Constant });
        assert!(matches!(due_counts(&open, 7)[..], [DueCount::Schedule(_), DueCount::Schedule(_)]));
    }
}
