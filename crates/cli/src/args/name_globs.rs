//! `--include` and `--exclude` of grep: of those that fit a name the last one wins, so that their
//! order counts.

use clap::error::Error;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

/// `--include` and `--exclude` in the order in which they were given.
#[derive(Debug, Clone, Default)]
pub(crate) struct NameGlobs(pub(crate) Vec<NameGlob>);

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NameGlob {
    /// It is an `--include`.
    pub(crate) include: bool,
    pub(crate) glob: String,
}

impl Args for NameGlobs {
    fn augment_args(command: Command) -> Command {
        let arg = |name, help| Arg::new(name).long(name).value_name("GLOB").action(ArgAction::Append).help(help);
        command
            .arg(arg(
                "include",
                "Search only files whose name fits; may be given again, and with --exclude: the last that fits wins",
            ))
            .arg(arg("exclude", "Pass over files whose name fits; may be given again"))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for NameGlobs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = |name, include| {
            let globs = matches.get_many::<String>(name).into_iter().flatten();
            let places = matches.indices_of(name).into_iter().flatten();
            places.zip(globs).map(move |(place, glob)| (place, NameGlob { include, glob: glob.clone() }))
        };
        let mut globs: Vec<_> = given("include", true).chain(given("exclude", false)).collect();
        globs.sort_by_key(|(place, _)| *place);
        Ok(Self(globs.into_iter().map(|(_, glob)| glob).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
