//! Options of the programs that run for a given time: the soak, and chaos.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "[--seconds N | --minutes N] [--seed N] [--json FILE] [--leak]";

pub(crate) struct Options {
    pub(crate) time: Duration,
    pub(crate) seed: u64,
    pub(crate) json: Option<PathBuf>,
    /// Leak on purpose: the checks must then fail.
    pub(crate) leak: bool,
    /// It was asked for by hand.
    pub(crate) given: bool,
    /// Small inputs, where there are only seconds.
    pub(crate) fast: bool,
}

impl Options {
    /// Options of this program's command line, or the code with which it ends at once.
    pub(crate) fn of_program(name: &str, time_default: Duration) -> Result<Self, ExitCode> {
        match Self::parse(std::env::args().skip(1), name, time_default) {
            Ok(Some(options)) => Ok(options),
            Ok(None) => Err(ExitCode::SUCCESS),
            Err(error) => {
                eprintln!("{name}: {error}\n{name} {USAGE}");
                Err(ExitCode::from(2))
            }
        }
    }

    /// `None` when there is nothing to do: the arguments are those of another harness, which asks
    /// for another test.
    fn parse(args: impl Iterator<Item = String>, name: &str, time_default: Duration) -> Result<Option<Self>, String> {
        let mut options = Self {
            time: time_default,
            seed: rorqual_testkit::generate::SEED_DEFAULT,
            json: None,
            leak: false,
            given: false,
            fast: true,
        };
        let mut args = args.peekable();
        while let Some(arg) = args.next() {
            let mut number = || args.next().and_then(|text| text.parse::<f64>().ok()).ok_or(format!("{arg} wants a number"));
            match arg.as_str() {
                "--seconds" => options.time = Duration::from_secs_f64(number()?),
                "--minutes" => options.time = Duration::from_secs_f64(60.0 * number()?),
                "--seed" => options.seed = number()? as u64,
                "--json" => options.json = Some(args.next().ok_or("--json wants a file")?.into()),
                "--leak" => options.leak = true,
                "--list" => return Ok(None),
                "-q" | "--quiet" | "--nocapture" | "--no-capture" | "--show-output" | "--exact" => continue,
                "--test-threads" | "--color" | "--format" | "--skip" => drop(args.next()),
                word if word.starts_with("--test-threads=") || word.starts_with("--color=") => continue,
                word if word.starts_with('-') => return Err(format!("{word} is not known")),
                word if name.contains(word) => continue,
                _ => return Ok(None),
            }
            options.given |= matches!(arg.as_str(), "--seconds" | "--minutes");
        }
        options.fast = options.time < Duration::from_secs(60);
        Ok(Some(options))
    }
}
