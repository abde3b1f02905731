//! What consumers have read, and how long records were on their way to them.

use crate::analyze::findings::ConsumerFinding;
use crate::analyze::load::{merge, quantiles};
use crate::analyze::requesters::add_all;
use crate::analyze::window::Window;
use crate::plan::model::Window as NamedWindow;
use crate::record::fact::{ConsumerInfo, ConsumerSecond, Fact, Stamped};
use crate::record::histogram::{HistogramError, LatencyHistogram};

/// All consumers, in plan order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Consumers {
    all: Vec<Consumer>,
    steady_us: i64,
    /// Histograms that could not be read: a damaged or foreign file.
    pub(crate) unreadable: u64,
}

/// One consumer.
#[derive(Clone, Debug)]
pub(crate) struct Consumer {
    pub(crate) name: String,
    finding: ConsumerFinding,
    /// Warm-up, baseline and after: records, and their times.
    records: [u64; 3],
    times: [Option<LatencyHistogram>; 3],
}

impl Consumers {
    /// Takes in a fact.
    pub(crate) fn fold(&mut self, stamped: &Stamped) {
        match &stamped.fact {
            Fact::RunStarted(run) => {
                self.steady_us = run.phases_us[1];
                self.all.extend(run.consumers.iter().map(Consumer::new));
            }
            Fact::ConsumerSecond(second) => {
                let steady_us = self.steady_us;
                let consumer = self.all.iter_mut().find(|consumer| consumer.name == second.group);
                if consumer.is_some_and(|consumer| consumer.add(second, steady_us).is_err()) {
                    self.unreadable += 1;
                }
            }
            _ => {}
        }
    }

    /// Their figures.
    pub(crate) fn findings(&self) -> Vec<ConsumerFinding> {
        self.all.iter().map(Consumer::finding).collect()
    }

    /// All of them, or the one of a name.
    pub(crate) fn named<'a>(&'a self, name: Option<&'a str>) -> impl Iterator<Item = &'a Consumer> {
        self.all.iter().filter(move |consumer| name.is_none_or(|name| consumer.name == name))
    }
}

impl Consumer {
    fn new(info: &ConsumerInfo) -> Self {
        let finding = ConsumerFinding { name: info.name.clone(), topics: info.topics.clone(), ..ConsumerFinding::default() };
        Self { name: info.name.clone(), finding, records: [0; 3], times: [None, None, None] }
    }

    fn add(&mut self, second: &ConsumerSecond, steady_us: i64) -> Result<(), HistogramError> {
        let finding = &mut self.finding;
        finding.records += second.records;
        finding.undated += second.undated;
        finding.bytes += second.bytes;
        finding.behind_max = finding.behind_max.max(second.behind);
        finding.behind_at_end = second.behind;
        add_all(&mut finding.errors, &second.errors);
        let place = Window::of(second.second, steady_us) as usize;
        self.records[place] += second.records;
        merge(&mut self.times[place], second.times()?)
    }

    fn finding(&self) -> ConsumerFinding {
        let [warmup, baseline, after] = self.times.each_ref().map(|times| quantiles(times.as_ref()));
        ConsumerFinding { warmup, baseline, after, ..self.finding.clone() }
    }

    fn places(window: &NamedWindow) -> &'static [usize] {
        match window {
            NamedWindow::Baseline => &[Window::Baseline as usize],
            NamedWindow::After => &[Window::After as usize],
            NamedWindow::Run => &[Window::Warmup as usize, Window::Baseline as usize, Window::After as usize],
            _ => &[],
        }
    }

    /// Times of a window, in its parts.
    pub(crate) fn times(&self, window: &NamedWindow) -> impl Iterator<Item = &LatencyHistogram> {
        Self::places(window).iter().filter_map(|place| self.times[*place].as_ref())
    }

    /// Records of a window.
    pub(crate) fn records(&self, window: &NamedWindow) -> u64 {
        Self::places(window).iter().map(|place| self.records[*place]).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample::Sample;

    #[test]
    fn a_consumer_is_summed_up_with_its_windows_apart() {
        let sample = Sample::new(&[]).consumer("reader", -1, 12, |second| {
            if second.second == 11 {
                second.behind = Some(40);
                second.errors.insert("6".to_owned(), 3);
            }
        });
        let mut consumers = Consumers::default();
        sample.facts.iter().for_each(|fact| consumers.fold(fact));
        let [reader] = &consumers.findings()[..] else { panic!() };
        assert_eq!((reader.records, reader.undated, reader.bytes), (1_300, 13, 260_000));
        assert_eq!((reader.behind_max, reader.behind_at_end, reader.errors["6"]), (Some(40), Some(40), 3));
        assert_eq!([reader.warmup, reader.baseline, reader.after].map(|window| window.unwrap().count), [99, 990, 198]);
        let of = |window| consumers.named(None).next().unwrap().records(&window);
        assert_eq!([NamedWindow::Baseline, NamedWindow::After, NamedWindow::Run].map(of), [1_000, 200, 1_300]);
        assert_eq!((consumers.unreadable, consumers.named(Some("nobody")).count()), (0, 0));
    }
}
