//! How many Metadata requests a client has sent, and why: from its log and its statistics together.
//!
//! Each request is a line of the log ("Request metadata for 1 topic(s): leader query"), told when it is handed to a broker's queue; but a
//! request that librdkafka sends again by itself has no second line. The statistics count what was really sent, per broker, again and all;
//! but a broker's counters go with it: the addresses of the bootstrap list as soon as the first answer has come, a killed broker once it
//! has left the cluster's metadata. So per broker the greater of the two holds, and what the log does not explain has an unknown reason.
//! librdkafka lets statistics overtake lines of the log in its queue: they are compared once the queue is empty. Pure.

use std::collections::{BTreeMap, HashMap};

use crate::engine::recorder::figures::reason;

/// What is known of one broker, by the name that librdkafka gives it (`127.0.0.1:9092/1`).
#[derive(Clone, Copy, Debug, Default)]
struct Broker {
    /// Requests by the log.
    asked: u64,
    /// Counters of its lives that are over.
    ended: u64,
    /// Counter of its present life.
    current: u64,
}

/// One client's requests so far.
#[derive(Debug, Default)]
pub(super) struct Requests {
    brokers: HashMap<String, Broker>,
    /// By reason, not told yet. Negative: a request was told that was then held back.
    pending: BTreeMap<usize, i64>,
    /// By the log, less those held back, and those that it does not explain.
    told: u64,
    /// There are counters that the log has not been compared with.
    is_unsettled: bool,
}

impl Requests {
    /// Takes in a line of the log. Any but two kinds say nothing here.
    pub(super) fn line(&mut self, line: &str) {
        if let Some((broker, reason)) = request(line, ": Request metadata for ", ": ") {
            self.change(broker, reason, 1);
        } else if let Some((broker, reason)) = request(line, ": Skipping metadata request: ", "") {
            self.change(broker, reason, -1);
        }
    }

    /// Takes in a look at the counters: requests per broker that is there. [`settle`](Self::settle) compares them.
    pub(super) fn counters(&mut self, counters: &BTreeMap<String, u64>) {
        self.is_unsettled = true;
        for (name, broker) in &mut self.brokers {
            if !counters.contains_key(name) {
                broker.ended += std::mem::take(&mut broker.current);
            }
        }
        for (name, count) in counters {
            let broker = entry(&mut self.brokers, name);
            if *count < broker.current {
                broker.ended += broker.current;
            }
            broker.current = *count;
        }
    }

    /// Every line that was queued before the last counters has been taken in: what the log does not explain has an unknown reason.
    pub(super) fn settle(&mut self) {
        if !std::mem::take(&mut self.is_unsettled) {
            return;
        }
        let total: u64 = self.brokers.values().map(|broker| broker.asked.max(broker.ended + broker.current)).sum();
        let unexplained = total.saturating_sub(self.told);
        if unexplained > 0 {
            self.told += unexplained;
            *self.pending.entry(reason::UNKNOWN).or_default() += i64::try_from(unexplained).unwrap_or(i64::MAX);
        }
    }

    /// What has come since the last call, by reason.
    pub(super) fn take(&mut self) -> Vec<(usize, u64)> {
        let mut taken = Vec::new();
        self.pending.retain(|reason, count| {
            taken.extend(u64::try_from(*count).ok().filter(|count| *count > 0).map(|count| (*reason, count)));
            *count < 0
        });
        taken
    }

    fn change(&mut self, broker: &str, reason: usize, by: i64) {
        let broker = entry(&mut self.brokers, broker);
        broker.asked = broker.asked.saturating_add_signed(by);
        self.told = self.told.saturating_add_signed(by);
        *self.pending.entry(reason).or_default() += by;
    }
}

fn entry<'a>(brokers: &'a mut HashMap<String, Broker>, name: &str) -> &'a mut Broker {
    if !brokers.contains_key(name) {
        brokers.insert(name.to_owned(), Broker::default());
    }
    brokers.entry(name.to_owned()).or_default()
}

/// Broker and reason of a line such as `[thrd:main]: 127.0.0.1:9092/1: Request metadata for 1 topic(s): leader query`, where `words` stand
/// between the broker and what is before `colon`.
fn request<'a>(line: &'a str, words: &str, colon: &str) -> Option<(&'a str, usize)> {
    let (before, after) = line.split_once(words)?;
    let broker = before.rsplit_once("]: ").map_or(before, |(_, broker)| broker);
    let why = if colon.is_empty() { after } else { after.split_once(colon)?.1 };
    Some((broker, reason_of(why)))
}

/// librdkafka's words for a reason; those of a consumer or an admin client do not occur.
fn reason_of(why: &str) -> usize {
    let why = why.strip_suffix(": full request already in-transit").unwrap_or(why);
    match why {
        "periodic topic and broker list refresh" | "periodic broker list refresh" => reason::AGE,
        "broker down" => reason::DISCONNECT,
        "connected" => reason::CONNECTED,
        "leader query" | "partition leader query" | "query partition leaders" | "refresh unavailable topics" => reason::LEADER_QUERY,
        _ => reason::UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
        pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    fn look(requests: &mut Requests, pairs: &[(&str, u64)]) {
        requests.counters(&counters(pairs));
        requests.settle();
    }

    #[test]
    fn counters_that_overtake_a_line_do_not_count_it_twice() {
        let mut requests = Requests::default();
        requests.counters(&counters(&[("b/1", 1)]));
        assert_eq!(requests.take(), [], "the queue is not empty yet");
        requests.line("[thrd:main]: b/1: Request metadata for 1 topic(s): leader query");
        requests.settle();
        assert_eq!(requests.take(), [(reason::LEADER_QUERY, 1)]);
    }

    #[test]
    fn lines_of_the_log_have_a_broker_and_a_reason() {
        for (why, expected) in [
            ("connected", reason::CONNECTED),
            ("broker down", reason::DISCONNECT),
            ("periodic topic and broker list refresh", reason::AGE),
            ("partition leader query", reason::LEADER_QUERY),
            ("something new", reason::UNKNOWN),
        ] {
            let mut requests = Requests::default();
            requests.line(&format!("[thrd:main]: 127.0.0.1:20001/1: Request metadata for 1 topic(s): {why}"));
            assert_eq!(requests.take(), [(expected, 1)], "{why}");
            assert!(requests.brokers.contains_key("127.0.0.1:20001/1"));
        }
        let mut requests = Requests::default();
        requests.line("[thrd:main]: 127.0.0.1:20001/1: ===== Received metadata: connected =====");
        assert_eq!(requests.take(), []);
    }

    #[test]
    fn a_request_that_is_held_back_was_none() {
        let mut requests = Requests::default();
        requests.line("[thrd:main]: b/1: Request metadata for brokers only: connected");
        requests.line("[thrd:main]: b/1: Skipping metadata request: connected: full request already in-transit");
        assert_eq!(requests.take(), []);
        requests.line("[thrd:main]: b/1: Request metadata for brokers only: connected");
        assert_eq!(requests.take(), [(reason::CONNECTED, 1)]);
        requests.line("[thrd:main]: b/1: Skipping metadata request: connected: full request already in-transit");
        requests.line("[thrd:main]: b/1: Request metadata for brokers only: connected");
        assert_eq!(requests.take(), [], "the one before made up for it");
    }

    #[test]
    fn counters_that_went_with_their_broker_are_covered_by_the_log() {
        let mut requests = Requests::default();
        requests.line("[thrd:main]: b/bootstrap: Request metadata for brokers only: connected");
        requests.line("[thrd:main]: b/1: Request metadata for 1 topic(s): leader query");
        look(&mut requests, &[("b/1", 1)]);
        assert_eq!(requests.take().iter().map(|(_, count)| count).sum::<u64>(), 2);
    }

    #[test]
    fn a_request_sent_again_is_counted_though_the_log_does_not_know_it() {
        let mut requests = Requests::default();
        requests.line("[thrd:main]: b/1: Request metadata for 1 topic(s): broker down");
        look(&mut requests, &[("b/1", 2)]);
        assert_eq!(requests.take(), [(reason::DISCONNECT, 1), (reason::UNKNOWN, 1)]);
        look(&mut requests, &[]);
        look(&mut requests, &[("b/1", 1)]);
        assert_eq!(requests.take(), [(reason::UNKNOWN, 1)], "its second life counts on top");
        look(&mut requests, &[("b/1", 1)]);
        assert_eq!(requests.take(), []);
    }
}
