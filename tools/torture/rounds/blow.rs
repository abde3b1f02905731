//! What is done to `chaos`, and what may come of it.

use std::time::Duration;

use super::child::Child;

/// How long it stands still when it is frozen.
const FROZEN: Duration = Duration::from_secs(3);
/// How long it is starved.
const STARVED: Duration = Duration::from_secs(4);
/// While it is starved, it runs for so long, ...
const FED: Duration = Duration::from_millis(5);
/// ... and then stands still for so long: 5 % of its time.
const HUNGRY: Duration = Duration::from_millis(95);
/// Between two signals of somebody in a hurry.
const BETWEEN: Duration = Duration::from_millis(100);

/// What is done to `chaos`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blow {
    Kill,
    Terminate,
    Interrupt,
    InterruptTwice,
    Freeze,
    Starve,
    CloseOutput,
    CloseErrors,
}

impl Blow {
    pub(crate) const ALL: [Self; 8] = [
        Self::Kill,
        Self::Terminate,
        Self::Interrupt,
        Self::InterruptTwice,
        Self::Freeze,
        Self::Starve,
        Self::CloseOutput,
        Self::CloseErrors,
    ];

    /// In words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Kill => "SIGKILL",
            Self::Terminate => "SIGTERM",
            Self::Interrupt => "SIGINT",
            Self::InterruptTwice => "SIGINT twice",
            Self::Freeze => "SIGSTOP, 3 s, SIGCONT",
            Self::Starve => "4 s with 5 % of the CPU",
            Self::CloseOutput => "standard output closed",
            Self::CloseErrors => "standard error closed",
        }
    }

    /// Whether it asks `chaos` to end, or ends it.
    pub(crate) fn ends(self) -> bool {
        matches!(self, Self::Kill | Self::Terminate | Self::Interrupt | Self::InterruptTwice)
    }

    /// Strikes.
    ///
    /// # Errors
    /// A signal could not be sent for another reason than that the child has ended.
    pub(crate) fn strike(self, child: &mut Child) -> anyhow::Result<()> {
        match self {
            Self::Kill => child.signal("KILL"),
            Self::Terminate => child.signal("TERM"),
            Self::Interrupt => child.signal("INT"),
            Self::InterruptTwice => {
                child.signal("INT")?;
                std::thread::sleep(BETWEEN);
                child.signal("INT")
            }
            Self::Freeze => {
                child.signal("STOP")?;
                std::thread::sleep(FROZEN);
                child.signal("CONT")
            }
            Self::Starve => starve(child),
            Self::CloseOutput => {
                child.close_output();
                Ok(())
            }
            Self::CloseErrors => {
                child.close_errors();
                Ok(())
            }
        }
    }
}

/// As a CPU limiter without cgroups does it: others of the machine are not slowed down for it.
fn starve(child: &mut Child) -> anyhow::Result<()> {
    for _ in 0..STARVED.as_millis() / (FED + HUNGRY).as_millis() {
        child.signal("STOP")?;
        std::thread::sleep(HUNGRY);
        child.signal("CONT")?;
        std::thread::sleep(FED);
        if child.has_ended()? {
            break;
        }
    }
    Ok(())
}
