//! `brokers.csv`: what is seen of each node from outside, one row per second and node.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::append::CsvFile;
use super::cell;
use crate::ids::BrokerId;
use crate::record::broker::{BrokerSecond, Led, LogEnd, Usage};
use crate::record::error::Result;

pub(super) const COLUMNS: &str = "second,node,state,cpu_percent,memory_bytes,network_rx_bytes,network_tx_bytes,leaders,under_replicated,\
partitions_probed,high_watermark_sum,log_end_offset_sum,uncommitted_sum";

#[derive(Debug)]
pub(super) struct BrokersFile {
    table: CsvFile,
    /// Each node's last usage, with its second.
    last: BTreeMap<BrokerId, (i64, Usage)>,
}

impl BrokersFile {
    pub(super) fn create(path: PathBuf) -> Result<Self> {
        Ok(Self { table: CsvFile::create(path, COLUMNS)?, last: BTreeMap::new() })
    }

    pub(super) fn write(&mut self, seen: &BrokerSecond) -> Result<()> {
        let usage = seen.usage.unwrap_or_default();
        let before = self.last.insert(seen.node, (seen.second, usage));
        // A difference over a longer time would not be that of this second.
        let before = before.filter(|(second, _)| second + 1 == seen.second).map(|(_, usage)| usage).unwrap_or_default();
        let led = seen.led.as_ref();
        self.table.row([
            seen.second.to_string(),
            seen.node.to_string(),
            cell(seen.state.as_ref()),
            cell(cpu_percent(&before, &usage)),
            cell(usage.memory_bytes),
            cell(rise(before.rx_bytes_total, usage.rx_bytes_total)),
            cell(rise(before.tx_bytes_total, usage.tx_bytes_total)),
            cell(led.map(|led| led.leaders)),
            cell(led.map(|led| led.under_replicated)),
            cell(led.map(|led| led.probed.len())),
            cell(led.and_then(|led| sum(led, |end| end.high_watermark))),
            cell(led.and_then(|led| sum(led, |end| end.log_end_offset))),
            cell(led.and_then(uncommitted)),
        ])
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.table.flush()
    }
}

/// By how much a total rose; `None` if it fell, because then it began anew.
fn rise(before: Option<u64>, now: Option<u64>) -> Option<u64> {
    now?.checked_sub(before?)
}

/// Per cent of one core, with one decimal, over the time between the two readings.
fn cpu_percent(before: &Usage, now: &Usage) -> Option<String> {
    let (used_us, passed_us) = now.cpu_since(before)?;
    let tenths = (used_us.saturating_mul(1_000) + passed_us / 2) / passed_us;
    Some(format!("{}.{}", tenths / 10, tenths % 10))
}

/// Over all probed partitions; `None` if one of them is unknown.
fn sum(led: &Led, of: impl Fn(&LogEnd) -> Option<i64>) -> Option<i64> {
    led.probed.iter().map(of).sum()
}

/// What is written and not yet committed, over all probed partitions with followers; `None` if one of them is unknown, or there is none: a
/// record that has no follower to wait for is committed as it is written, and a lag of 0 would say that followers keep up.
fn uncommitted(led: &Led) -> Option<i64> {
    let mut followed = led.probed.iter().filter(|end| end.replicas != Some(1)).peekable();
    followed.peek()?;
    followed.map(|end| end.replicas.and(end.log_end_offset?.checked_sub(end.high_watermark?))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EARLIER: Usage = Usage {
        read_at_us: 10_000_000,
        cpu_us_total: Some(4_000_000),
        memory_bytes: Some(1),
        rx_bytes_total: Some(100),
        tx_bytes_total: None,
    };

    #[test]
    fn cpu_is_a_share_of_one_core_between_two_readings() {
        let rows = [
            (4_100_000, 11_000_000, Some("10.0")),
            (6_000_000, 11_000_000, Some("200.0")),
            (4_000_000, 11_000_000, Some("0.0")),
            (4_100_500, 12_000_000, Some("5.0")),
            (4_101_000, 12_000_000, Some("5.1")),
            // The node was started anew.
            (900_000, 11_000_000, None),
            (4_100_000, 10_000_000, None),
        ];
        for (cpu_us_total, read_at_us, expected) in rows {
            let now = Usage { cpu_us_total: Some(cpu_us_total), read_at_us, ..EARLIER };
            assert_eq!(cpu_percent(&EARLIER, &now).as_deref(), expected, "{now:?}");
        }
    }

    #[test]
    fn a_lag_needs_followers() {
        // Replicas, high watermark and log end of each partition.
        type Ends<'a> = &'a [(Option<u32>, Option<i64>, i64)];
        let rows: [(Ends<'_>, Option<i64>); 7] = [
            (&[(Some(3), Some(40), 45), (Some(2), Some(7), 7)], Some(5)),
            (&[(Some(3), Some(40), 45), (Some(1), Some(7), 9)], Some(5)),
            (&[(Some(2), Some(7), 7)], Some(0)),
            (&[(Some(1), Some(7), 7)], None),
            (&[(Some(3), None, 45), (Some(2), Some(7), 7)], None),
            (&[(None, Some(7), 7)], None),
            (&[], None),
        ];
        for (ends, expected) in rows {
            let end = |(replicas, high_watermark, end): &(Option<u32>, Option<i64>, i64)| LogEnd {
                topic: "orders".into(),
                partition: crate::ids::PartitionIndex(0),
                leader_epoch: None,
                replicas: *replicas,
                high_watermark: *high_watermark,
                log_end_offset: Some(*end),
            };
            let led = Led { probed: ends.iter().map(end).collect(), ..Led::default() };
            assert_eq!(uncommitted(&led), expected, "{ends:?}");
        }
    }

    #[test]
    fn what_is_unknown_has_no_difference() {
        assert_eq!(rise(EARLIER.rx_bytes_total, Some(150)), Some(50));
        assert_eq!(rise(EARLIER.tx_bytes_total, Some(150)), None);
        assert_eq!(rise(Some(150), None), None);
    }
}
