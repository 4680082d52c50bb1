//! `make soak`: all operations of the libraries side by side in one long-lived process, with faults
//! among them, and a real `rorqual serve` beside it. Afterwards nothing may be left: no descriptor,
//! thread, temporary file, buffer, or memory.
//!
//! A test of its own, and not one of `it`: its counts are of the whole process. Run by `cargo
//! test` it takes seconds; `make soak` gives it minutes or hours and keeps its samples as a plot.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test, and printing is its report"
)]

#[allow(dead_code, reason = "made for other tests as well")]
#[path = "../it/client.rs"]
mod client;
#[allow(dead_code, reason = "made for other tests as well")]
#[path = "../it/common.rs"]
mod common;

mod check;
mod checks;
mod leak;
mod options;
mod process;
mod record;
mod recorder;
mod samples;
mod serve;
mod work;

use check::Check;
use checks::Rest;
use options::Options;
use process::Sampler;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use work::Kit;

/// Workers that want to run operations. More than may, so that some wait at the gate.
const WORKERS: u64 = 6;

/// Duration as one test among others.
const TIME_DEFAULT: Duration = Duration::from_secs(9);

/// Of the time that is for warming up, at most this much: caches and arenas have their size by
/// then.
const WARM_UP_MAX: Duration = Duration::from_secs(60);

/// One arena for all threads, and no large block kept: the resident size at rest is then that of
/// what is held, and not of what each thread once freed.
pub(crate) const ALLOCATOR: [(&str, &str); 3] =
    [("MALLOC_ARENA_MAX", "1"), ("MALLOC_MMAP_THRESHOLD_", "262144"), ("MALLOC_TRIM_THRESHOLD_", "1048576")];

fn main() -> ExitCode {
    rorqual_pipe::allocator::settle(&ALLOCATOR).expect("this program can be started again");
    let options = match Options::of_program("soak", TIME_DEFAULT) {
        Ok(options) => options,
        Err(code) => return code,
    };
    let sound = soak(&options) && (options.given || leak::is_found());
    if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn soak(options: &Options) -> bool {
    println!("soak: {} s, seed {} (--seconds, --minutes, --seed)", options.time.as_secs_f64(), options.seed);
    let recorder = recorder::install();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kit = Kit::new(options.seed, folder.path(), options.fast);
    let server = serve::Serve::start();
    let server_id = server.id();
    let sampler = Sampler::start(options.time, move || Some(server_id));
    let warm_up = (options.time / 3).min(WARM_UP_MAX);

    let started = Instant::now();
    phase(&kit, &server, started + warm_up, 0);
    let before = Rest::of(&kit, &server);
    sampler.mark("at rest");
    let warm = kit.tallies.total();
    let end = started + options.time;
    phase(&kit, &server, end, WORKERS);
    let leaked = options.leak.then(|| leak::everything(&kit));
    let after = Rest::of(&kit, &server);
    let series = sampler.stop();

    let mut found = checks::leftovers(&before, &after);
    found.extend(checks::of_work(&kit, &recorder));
    found.extend(kit.finish());
    drop(leaked);
    record::print(&kit.tallies, &recorder, warm);
    if let Some(path) = &options.json {
        record::write(path, options, &kit.tallies, &series, &found);
    }
    found.iter().for_each(Check::print);
    found.iter().all(|check| check.ok)
}

/// All workers until `deadline`; when this returns, no operation is under way.
fn phase(kit: &Kit, server: &serve::Serve, deadline: Instant, first: u64) {
    std::thread::scope(|scope| {
        for worker in first..first + WORKERS {
            scope.spawn(move || kit.work(worker, deadline));
        }
        scope.spawn(|| server.work(kit, first, deadline));
    });
}
