//! `many`: many slow uploads into one server at once, and viewers beside them; prints the results
//! as JSON.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a development tool; printing is its interface")]

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use rorqual_testkit::many::{LoadOutcome, LoadPlan, run};
use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "usage: many URL_WITH_TOKEN UPLOADS BYTES_PER_SECOND SECONDS VIEWERS";

/// Uploads begin within this time, so that connections come as fast as people do, and not as an
/// attack.
const RAMP: Duration = Duration::from_secs(5);

const VIEW_EVERY: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match outcome(&args).and_then(|outcome| Ok(serde_json::to_string(&outcome)?)) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("many: {error}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn outcome(args: &[String]) -> Result<LoadOutcome, Box<dyn Error>> {
    let [url, uploads, bytes_per_second, seconds, viewers] = args else {
        return Err("these are not the five arguments".into());
    };
    let (address, token) =
        url.strip_prefix("http://").and_then(|rest| rest.split_once("/?token=")).ok_or("the URL is none that `serve` prints")?;
    let bytes_per_second = bytes_per_second.parse()?;
    let plan = LoadPlan {
        address: address.to_owned(),
        token: token.to_owned(),
        uploads: uploads.parse()?,
        bytes_per_second,
        bytes: bytes_per_second * seconds.parse::<u64>()?,
        viewers: viewers.parse()?,
        view_every: VIEW_EVERY,
        ramp: RAMP,
    };
    // A socket each, and two for a viewer.
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    Ok(run(&plan)?)
}
