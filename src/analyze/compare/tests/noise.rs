//! Runs with the noise of real ones, made up from a seed: each figure has the spread and the shape that shipped plans show.

use std::collections::BTreeMap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;

use crate::analyze::compare::model::{CellRuns, FigureName, RunFigure, RunFigures};
use crate::analyze::findings::Verdict;
use crate::plan::model::Unit;

/// How the values of a figure scatter from run to run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Noise {
    /// Around a mean, with a standard deviation.
    Normal(f64, f64),
    /// One value or, with a probability, another, each a little blurred: an outage ends with the session of the killed node (9 s), or later
    /// if it was the active controller (13 s).
    TwoModes(f64, f64, f64),
    /// A number of independent events with this mean.
    Poisson(f64),
    /// A median, times a random power of e with this standard deviation: a heavy tail.
    LogNormal(f64, f64),
}

/// A figure of made-up runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figure {
    pub(super) metric: &'static str,
    pub(super) unit: Unit,
    pub(super) is_main: bool,
    pub(super) noise: Noise,
    /// What is added in every cell but the first.
    pub(super) effect: f64,
}

/// In which order runs of two cells are carried out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Order {
    /// Rounds, in each of which every cell comes once, shuffled.
    Rounds,
    /// All of the first, then all of the second.
    OneAfterTheOther,
}

/// Random numbers of one comparison.
#[derive(Debug)]
pub(super) struct Chance(ChaCha12Rng);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(ChaCha12Rng::seed_from_u64(seed))
    }

    /// Between 0 and 1, never 0.
    pub(super) fn uniform(&mut self) -> f64 {
        (f64::from(self.0.next_u32()) + 0.5) / f64::from(u32::MAX)
    }

    pub(super) fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    pub(super) fn value(&mut self, noise: Noise) -> f64 {
        match noise {
            Noise::Normal(mean, deviation) => mean + deviation * self.normal(),
            Noise::TwoModes(one, other, share) => {
                let mode = if self.uniform() < share { other } else { one };
                (mode + 40.0 * self.normal()).round()
            }
            Noise::Poisson(mean) => {
                let (mut left, mut count) = (self.uniform(), 0.0);
                while left > (-mean).exp() {
                    left *= self.uniform();
                    count += 1.0;
                }
                count
            }
            Noise::LogNormal(median, deviation) => median * (deviation * self.normal()).exp(),
        }
    }
}

/// Two cells with so many runs each. `rho`: correlation of what drifts between neighbours, as strong as a normal figure's own noise.
pub(super) fn cells(figures: &[Figure], runs: usize, order: Order, rho: f64, seed: u64) -> Vec<CellRuns> {
    let mut chance = Chance::new(seed);
    let mut sequence: Vec<usize> = match order {
        Order::Rounds => (0..runs).flat_map(|_| if chance.uniform() < 0.5 { [0, 1] } else { [1, 0] }).collect(),
        Order::OneAfterTheOther => vec![0; runs],
    };
    sequence.resize(2 * runs, 1);
    let mut drifts: Vec<f64> = figures.iter().map(|_| chance.normal()).collect();
    let mut cells = [Vec::new(), Vec::new()];
    for (at, cell) in sequence.into_iter().enumerate() {
        let mut values = Vec::new();
        for (figure, drift) in figures.iter().zip(&mut drifts) {
            *drift = rho * *drift + (1.0 - rho * rho).sqrt() * chance.normal();
            let value = match figure.noise {
                Noise::Normal(mean, deviation) if rho > 0.0 => mean + deviation * *drift,
                noise => chance.value(noise),
            };
            let effect = if cell == 0 { 0.0 } else { figure.effect };
            values.push(RunFigure {
                name: name(figure.metric),
                unit: figure.unit,
                value: Some(value + effect),
                is_main: figure.is_main,
                about: String::new(),
            });
        }
        cells[cell].push(run(u32::try_from(at).unwrap() + 1, values));
    }
    let [first, second] = cells;
    vec![cell("age 5s", first), cell("age 600s", second)]
}

pub(super) fn cell(name: &str, runs: Vec<RunFigures>) -> CellRuns {
    let settings = vec![("metadata.max.age.ms".to_owned(), name.to_owned())];
    CellRuns { name: name.to_owned(), settings, is_control: false, runs }
}

pub(in crate::analyze::compare) fn run(order: u32, figures: Vec<RunFigure>) -> RunFigures {
    RunFigures {
        name: format!("run-{order:03}"),
        order,
        started_at: format!("2026-01-01T00:{:02}:00Z", order % 60),
        plan_sha256: "a".to_owned(),
        common_plan_sha256: Some("b".to_owned()),
        versions: BTreeMap::from([("kafka".to_owned(), "4.3.0".to_owned())]),
        machine: BTreeMap::from([("cores".to_owned(), "2".to_owned())]),
        verdict: Verdict::Pass,
        unconfirmed: None,
        figures,
        series: Vec::new(),
        latencies: Vec::new(),
    }
}

pub(in crate::analyze::compare) fn name(metric: &str) -> FigureName {
    FigureName { metric: metric.to_owned(), group: None, window: "run".to_owned() }
}
