//! `--vary` and `--along` in the order of the command line, which clap keeps only by their places.

use clap::error::Error;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use crate::plan::vary::Change;

const VARY: &str = "vary";
const ALONG: &str = "along";

/// All changes, as they were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes(pub(super) Vec<Change>);

impl Args for Changes {
    fn augment_args(command: Command) -> Command {
        let option = |name: &'static str| Arg::new(name).long(name).value_name("PATH=V1,V2").action(ArgAction::Append);
        command
            .arg(option(VARY).help("A key of the plan and the values that it takes; of several keys, every combination"))
            .arg(option(ALONG).help("A key that changes together with the --vary before it, value for value"))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Changes {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let of = |name: &str, change: fn(String) -> Change| {
            let places = matches.indices_of(name).into_iter().flatten();
            let texts = matches.get_many::<String>(name).into_iter().flatten();
            places.zip(texts).map(move |(place, text)| (place, change(text.clone()))).collect::<Vec<_>>()
        };
        let mut all = of(VARY, Change::Vary);
        all.extend(of(ALONG, Change::Along));
        all.sort_by_key(|(place, _)| *place);
        Ok(Self(all.into_iter().map(|(_, change)| change).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_keep_the_order_of_the_command_line() {
        let command = Changes::augment_args(Command::new("x"));
        let arguments = ["x", "--vary", "a=1,2", "--along", "b=3,4", "--vary=c=5", "--along", "d=6"];
        let matches = command.try_get_matches_from(arguments).unwrap();
        let [vary, along] = [Change::Vary as fn(String) -> Change, Change::Along];
        let expected = [vary("a=1,2".into()), along("b=3,4".into()), vary("c=5".into()), along("d=6".into())];
        assert_eq!(Changes::from_arg_matches(&matches).unwrap().0, expected);
        let none = Changes::augment_args(Command::new("x")).try_get_matches_from(["x"]).unwrap();
        assert_eq!(Changes::from_arg_matches(&none).unwrap(), Changes::default());
    }
}
