//! Many facts at once, told no faster than the stream's writer takes them. Called by groups that have ended, and by the audit.

use std::time::Duration;

use crate::clock::Moment;
use crate::record::fact::Fact;
use crate::record::sink::FactSink;

/// Facts told in a row, and the pause after them: the stream's writer keeps up with this.
const FACTS_PER_BREATH: usize = 512;
const BREATH: Duration = Duration::from_millis(2);

/// Tells all of them.
pub async fn tell(facts: &FactSink, at: Moment, last: impl IntoIterator<Item = Fact, IntoIter: Send>) {
    for (count, fact) in last.into_iter().enumerate() {
        facts.emit(at, fact);
        if (count + 1).is_multiple_of(FACTS_PER_BREATH) {
            tokio::time::sleep(BREATH).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sink;

    #[tokio::test(start_paused = true)]
    async fn more_facts_than_the_stream_holds_are_told_if_its_writer_keeps_up() {
        let (facts, mut source) = sink::channel(Moment(0), 0, FACTS_PER_BREATH);
        let all = FACTS_PER_BREATH * 5;
        let writer = tokio::spawn(async move {
            let mut seen = 0;
            while seen < all {
                tokio::time::sleep(BREATH / 2).await;
                while let Some(told) = source.try_next() {
                    assert!(matches!(told.fact, Fact::RunEnded { .. }), "{told:?}");
                    seen += 1;
                }
            }
        });
        tell(&facts, Moment(1), std::iter::repeat_with(|| Fact::RunEnded { interrupted: None }).take(all)).await;
        writer.await.unwrap();
    }
}
