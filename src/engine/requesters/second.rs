//! Tells what a group's requesters have done, once a second.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::Shared;
use crate::clock::Moment;
use crate::engine::apart::each_second;
use crate::load::arrivals::DueTimes;
use crate::record::fact::Fact;

/// Tells each second of the load, and the last one when it is told enough.
pub(super) async fn tell(group: Arc<Shared>, told_enough: CancellationToken) {
    let mut due_times: Vec<DueTimes> = (0..group.spec.count).map(|index| group.due_times(index)).collect();
    let tell = |second, at: Moment, is_last| {
        let mut told = {
            let mut figures = group.gathered.lock();
            if is_last {
                figures.give_up();
            }
            figures.take()
        };
        told.group.clone_from(&group.spec.name);
        told.second = second;
        // Counted after what was sent, so that no sum shows more sent than due.
        told.due = due_by(&group, group.context.clock.now().max(at), &mut due_times);
        group.context.facts.emit(at, Fact::RequesterSecond(Box::new(told)));
    };
    each_second(&group.context, told_enough, tell).await;
}

/// Requests that have become due since the last time.
fn due_by(group: &Shared, now: Moment, due_times: &mut [DueTimes]) -> u64 {
    let active_until = group.spec.active.until.map(|until| group.context.load_start + until);
    let end = active_until.map_or(*group.end.borrow(), |until| until.min(*group.end.borrow()));
    // Nothing is due at the end itself.
    let last = now.min(Moment(end.0.saturating_sub(1)));
    let Ok(since_us) = u64::try_from(last.micros_from(group.active_from)) else { return 0 };
    due_times.iter_mut().map(|times| times.advance_past(since_us)).sum()
}
