//! What happens in each round, drawn from a seed: pure.
//!
//! Blows and moments come from shuffled decks, each dealt out whole before it is shuffled again, so that few rounds already hold all of both.

use std::collections::VecDeque;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::blow::Blow;

/// When `chaos` is hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Containers,
    Waiting,
    Topics,
    WarmUp,
    Steady,
    Paused,
    CutOff,
    Disconnected,
    Recovery,
    Drain,
    Audit,
    Report,
    Removal,
}

impl Moment {
    pub(crate) const ALL: [Self; 13] = [
        Self::Containers,
        Self::Waiting,
        Self::Topics,
        Self::WarmUp,
        Self::Steady,
        Self::Paused,
        Self::CutOff,
        Self::Disconnected,
        Self::Recovery,
        Self::Drain,
        Self::Audit,
        Self::Report,
        Self::Removal,
    ];

    /// In words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Containers => "containers start",
            Self::Waiting => "cluster gets ready",
            Self::Topics => "topics are made",
            Self::WarmUp => "warm-up",
            Self::Steady => "steady",
            Self::Paused => "a broker is paused",
            Self::CutOff => "a broker is cut off",
            Self::Disconnected => "a broker is disconnected",
            Self::Recovery => "recovery",
            Self::Drain => "drain",
            Self::Audit => "topics are read back",
            Self::Report => "report is written",
            Self::Removal => "cluster is removed",
        }
    }

    /// What shows that it has come. A comparison does not tell what its runs do; their facts do, within a second.
    pub(crate) fn mark(self, command: Command) -> Mark {
        let (line, fact) = match self {
            Self::Containers if command == Command::Compare => ("cluster: ports", None),
            Self::Containers => ("starting", None),
            Self::Waiting => ("waiting", None),
            Self::Topics if command == Command::Compare => ("cluster ready", None),
            Self::Topics => ("making topics", None),
            Self::WarmUp => ("warm-up", Some(r#""phase":"warmup""#)),
            Self::Steady => ("steady", Some(r#""phase":"steady""#)),
            Self::Paused => (": pause node 1 done in", Some(r#""action":"pause""#)),
            Self::CutOff => (": link", Some(r#""action":"link""#)),
            Self::Disconnected => (": disconnect node 1 done in", Some(r#""action":"disconnect""#)),
            Self::Recovery => ("recovery", Some(r#""phase":"recovery""#)),
            Self::Drain => ("drain", Some(r#""phase":"drain""#)),
            Self::Audit => ("reading the topics back", Some(r#""fact":"audit_"#)),
            // It shows in the facts alone.
            Self::Report => return Mark::Fact(r#""run_ended""#),
            Self::Removal => ("removing the cluster", None),
        };
        fact.filter(|_| command == Command::Compare).map_or(Mark::Line(line), Mark::Fact)
    }
}

/// What shows that a moment has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A line of the progress with this text.
    Line(&'static str),
    /// A fact with this text.
    Fact(&'static str),
}

/// What is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// `chaos run` with one node.
    OneNode,
    /// `chaos run` with two brokers and a controller.
    ThreeNodes,
    /// `chaos compare` with one node, two settings.
    Compare,
}

impl Command {
    /// In words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::OneNode => "run, 1 node",
            Self::ThreeNodes => "run, 3 nodes",
            Self::Compare => "compare",
        }
    }
}

/// A round, before it is carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trial {
    pub(crate) number: u32,
    pub(crate) command: Command,
    pub(crate) blow: Blow,
    pub(crate) moment: Moment,
    /// From the moment on.
    pub(crate) after: Duration,
}

/// The rounds of a seed.
pub(crate) fn trials(seed: u64, rounds: u32) -> Vec<Trial> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    // The worst that is known comes first: nobody is left to thaw the broker.
    let mut blows = VecDeque::from([Blow::Kill]);
    let mut moments = VecDeque::from([Moment::Paused]);
    (1..=rounds)
        .map(|number| {
            let blow = deal(&mut blows, &Blow::ALL, &mut random);
            let moment = deal(&mut moments, &Moment::ALL, &mut random);
            // What comes after the load takes milliseconds.
            let latest_ms = if matches!(moment, Moment::Audit | Moment::Report) { 20 } else { 500 };
            let after = Duration::from_millis(random.random_range(0..=latest_ms));
            Trial { number, command: command(moment, blow, &mut random), blow, moment, after }
        })
        .collect()
}

/// A comparison goes on after what does not end it, for minutes: such rounds are runs.
fn command(moment: Moment, blow: Blow, random: &mut ChaCha8Rng) -> Command {
    let drawn = random.random_range(0..5);
    match moment {
        Moment::CutOff => Command::ThreeNodes,
        // Its cluster is lent from run to run, and goes down after the last.
        Moment::Removal => Command::OneNode,
        _ if drawn == 0 && blow.ends() => Command::Compare,
        _ if drawn == 1 => Command::ThreeNodes,
        _ => Command::OneNode,
    }
}

fn deal<T: Copy>(deck: &mut VecDeque<T>, whole: &[T], random: &mut ChaCha8Rng) -> T {
    loop {
        if let Some(card) = deck.pop_front() {
            return card;
        }
        let mut left = whole.to_vec();
        while !left.is_empty() {
            deck.push_back(left.swap_remove(random.random_range(0..left.len())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_rounds_and_another_one_others() {
        assert_eq!(trials(7, 40), trials(7, 40));
        assert_ne!(trials(7, 40), trials(8, 40));
    }

    #[test]
    fn fourteen_rounds_hold_every_moment_and_every_blow() {
        for seed in 0..20 {
            let trials = trials(seed, 14);
            assert_eq!((trials[0].blow, trials[0].moment), (Blow::Kill, Moment::Paused));
            assert!(Moment::ALL.iter().all(|moment| trials.iter().any(|trial| trial.moment == *moment)), "seed {seed}");
            assert!(Blow::ALL.iter().all(|blow| trials.iter().any(|trial| trial.blow == *blow)), "seed {seed}");
        }
    }

    #[test]
    fn a_comparison_is_only_hit_by_what_ends_it() {
        let compared: Vec<Trial> = trials(3, 400).into_iter().filter(|trial| trial.command == Command::Compare).collect();
        assert!(!compared.is_empty() && compared.iter().all(|trial| trial.blow.ends()));
    }
}
