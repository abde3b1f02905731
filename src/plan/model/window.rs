//! Windows of a run: the stretches of time that figures are taken over, as plans and files write them.
//!
//! Not here: which seconds and steps of a run lie in one (`analyze::figures`).

use std::fmt;

/// A stretch of a run's time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Window {
    /// `warm-up`: before the baseline.
    WarmUp,
    /// `baseline`: the phase `steady`.
    Baseline,
    /// `after`: from the end of the baseline to the end of the load.
    After,
    /// `run`: all of it.
    Run,
    /// `steps`: the windows of all steps.
    Steps,
    /// `step 2`: the window of the plan's so-manieth step, in the order in which they fire, with those of its parts. From 1.
    Step(u32),
    /// `kill`: the windows of all steps, and parts of steps, of this action.
    Action(String),
}

/// Windows that every run has, with their names.
const NAMED: [(Window, &str); 5] =
    [(Window::WarmUp, "warm-up"), (Window::Baseline, "baseline"), (Window::After, "after"), (Window::Run, "run"), (Window::Steps, "steps")];

impl Window {
    /// Names of the windows that do not depend on the plan.
    pub const NAMES: [&'static str; 5] = ["warm-up", "baseline", "after", "run", "steps"];

    /// Reads what [`Display`](fmt::Display) writes; any word that names no other window is an action.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let named = NAMED.iter().find(|(_, name)| *name == text).map(|(window, _)| window.clone());
        let number = || text.strip_prefix("step ")?.trim().parse().ok().filter(|number| *number > 0).map(Self::Step);
        named.or_else(number).unwrap_or_else(|| Self::Action(text.to_owned()))
    }

    /// Whether it lies at steps: all of them, one, or those of an action.
    #[must_use]
    pub fn is_of_steps(&self) -> bool {
        matches!(self, Self::Steps | Self::Step(_) | Self::Action(_))
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(number) => write!(f, "step {number}"),
            Self::Action(action) => f.write_str(action),
            named => f.write_str(NAMED.iter().find(|(window, _)| window == named).map_or("", |(_, name)| name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        assert_eq!(NAMED.map(|(_, name)| name), Window::NAMES);
        let others = [Window::Step(1), Window::Step(12), Window::Action("add-partitions".to_owned())];
        for window in NAMED.map(|(window, _)| window).into_iter().chain(others) {
            assert_eq!(Window::read(&window.to_string()), window);
        }
        for text in ["step 0", "step x", "step"] {
            assert_eq!(Window::read(text), Window::Action(text.to_owned()));
        }
    }
}
