//! `--kafka`, and whether it was written there or comes from the environment: what stands on the command line must be heeded or refused, what
//! is in the environment for all commands gives way.

use clap::error::Error;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use super::error::ArgumentsError;
use crate::plan::vary::Change;

const KAFKA: &str = "kafka";
/// The key that it sets.
const KEY: &str = "cluster.kafka";

/// The version, if there is one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Kafka {
    version: Option<String>,
    /// Whether it stands on the command line.
    is_written: bool,
}

impl Kafka {
    /// Whether it was asked for in so many words.
    pub(super) fn is_written(&self) -> bool {
        self.is_written
    }

    /// The changes with the version as the first of them: it is a key like any other, in the texts that the runs keep, and in the manifest.
    ///
    /// # Errors
    /// Two options say which version it is.
    pub(super) fn with(&self, changes: &[Change]) -> Result<Vec<Change>, ArgumentsError> {
        let varied = changes.iter().find(|change| is_of_kafka(change));
        let Some(version) = &self.version else { return Ok(changes.to_vec()) };
        match varied {
            Some(other) if self.is_written => Err(ArgumentsError::TwoVersions { version: version.clone(), other: other.to_string() }),
            Some(_) => Ok(changes.to_vec()),
            None => Ok(std::iter::once(Change::Vary(format!("{KEY}={version}"))).chain(changes.iter().cloned()).collect()),
        }
    }
}

/// Whether a change is of the version.
fn is_of_kafka(change: &Change) -> bool {
    let (Change::Vary(text) | Change::Along(text)) = change;
    let parts = |path: &str| path.split('.').map(|part| part.trim().trim_matches(['"', '\'']).to_owned()).collect::<Vec<_>>();
    text.split_once('=').is_some_and(|(path, _)| parts(path) == parts(KEY))
}

impl Args for Kafka {
    fn augment_args(command: Command) -> Command {
        let version = Arg::new(KAFKA).long(KAFKA).value_name("VERSION").env("CHAOS_KAFKA").value_parser(crate::cli::kafka_version);
        command.arg(version.help("Kafka's version, instead of the plan's"))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Kafka {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let is_written = matches.value_source(KAFKA) == Some(ValueSource::CommandLine);
        Ok(Self { version: matches.get_one::<String>(KAFKA).cloned(), is_written })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;

    fn kafka(is_written: bool) -> Kafka {
        Kafka { version: Some("4.3.0".to_owned()), is_written }
    }

    #[test]
    fn a_version_is_a_change_unless_it_varies_already() {
        let (age, both) = (Change::Vary("a.b=1,2".to_owned()), Change::Vary("cluster.\"kafka\"=3.9.2,4.3.0".to_owned()));
        let fixed = Change::Vary("cluster.kafka=4.3.0".to_owned());
        for is_written in [true, false] {
            assert_eq!(kafka(is_written).with(slice::from_ref(&age)).unwrap(), [fixed.clone(), age.clone()]);
        }
        assert_eq!(kafka(false).with(slice::from_ref(&both)).unwrap(), slice::from_ref(&both), "the environment gives way");
        let refused = kafka(true).with(&[both]).unwrap_err();
        assert!(refused.to_string().starts_with("--kafka 4.3.0 and --vary 'cluster.\"kafka\"=3.9.2,4.3.0' both say"), "{refused}");
        assert_eq!(Kafka::default().with(slice::from_ref(&age)).unwrap(), [age]);
    }

    #[test]
    fn what_stands_on_the_command_line_is_told_from_the_environment() {
        let read = |arguments: &[&str]| {
            let matches = Kafka::augment_args(Command::new("x")).try_get_matches_from(arguments).unwrap();
            Kafka::from_arg_matches(&matches).unwrap()
        };
        assert_eq!(read(&["x", "--kafka", "4.3.0"]), kafka(true));
        assert!(!read(&["x"]).is_written());
    }
}
