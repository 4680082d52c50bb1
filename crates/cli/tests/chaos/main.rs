//! `make chaos`: a real `rorqual serve` under everything that networks, disks, clocks and kills do
//! to a server, and many clients that go on regardless. No total may be wrong, nothing be left, and
//! every failure has to be a status of docs/api.md.
//!
//! Run by `cargo test` it takes half a minute; `make chaos` gives it ten minutes or an hour and
//! keeps its series as a plot.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test, and printing is its report"
)]

#[allow(dead_code, reason = "made for the soak as well")]
#[path = "../soak/check.rs"]
mod check;
#[allow(dead_code, reason = "made for other tests as well")]
#[path = "../it/common.rs"]
mod common;
#[path = "../soak/options.rs"]
mod options;
#[allow(dead_code, reason = "made for the soak as well")]
#[path = "../soak/process.rs"]
mod process;

mod answer;
mod director;
mod documented;
mod inputs;
mod kit;
mod leak;
mod leftovers;
mod lives;
mod op;
mod plan;
mod questions;
mod record;
mod slope;
mod socket;
mod state;
mod store;
mod tallies;
mod upload;

use check::Check;
use common::{MIB, TestFolder};
use director::{Director, Disks};
use kit::Kit;
use lives::{End, Lives, MEMORY_BYTES, SESSIONS};
use op::Op;
use options::Options;
use plan::{Step, Trouble};
use process::Sampler;
use rorqual_testkit::disk::{TestDisk, own_mounts};
use rorqual_testkit::generate::Rng;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time as one test among others.
const TIME_DEFAULT: Duration = Duration::from_secs(30);

type Operation = fn(&mut Op<'_>);

/// Number of clients by operation. More upload than there are places, so that some are refused.
const CLIENTS: [(usize, Operation); 3] = [(SESSIONS + 3, upload::once), (2, store::once), (2, questions::once)];

/// Of one client's uploads one in so many stalls for longer than the server waits; all others wait
/// with it when the server is looked at.
const LONG_STALL_EVERY: u64 = 150;

/// Rows that do not fit the memory go to a disk with room for some of the large input's only; the
/// store's has room for a third of the inputs.
const TEMP_BYTES: u64 = 8 << 20;
const STORE_DISK_BYTES: u64 = 24 << 20;
const STORE_MAX: &str = "12MiB";
const STATE_BYTES: u64 = 512 << 20;

fn main() -> ExitCode {
    let options = match Options::of_program("chaos", TIME_DEFAULT) {
        Ok(options) => options,
        Err(code) => return code,
    };
    slope::prove();
    // Before there are other threads: they inherit it.
    let mounts = own_mounts();
    let sound = chaos(&options, mounts) && (options.given || leak::is_found());
    if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn chaos(options: &Options, mounts: bool) -> bool {
    println!("chaos: {} s, seed {} (--seconds, --minutes, --seed)", options.time.as_secs_f64(), options.seed);
    let folder = TestFolder::new();
    let (temp, store, state) = (folder.at("temp"), folder.at("store"), folder.at("state"));
    let disk = |folder, bytes| mounts.then(|| TestDisk::mount(folder, bytes)).flatten();
    let has_state = state::supported();
    let disks = Disks {
        temp: disk(&temp, TEMP_BYTES),
        store: disk(&store, STORE_DISK_BYTES),
        state: if has_state { disk(&state, STATE_BYTES) } else { None },
    };
    std::fs::create_dir_all(&temp).expect("a folder of ours");
    let (able, notes) = able(&disks, has_state);
    notes.iter().for_each(|note| println!("  note: {note}"));
    let plan = plan::plan(options.seed, options.time, &able, options.fast);
    let kit = kit(options, folder, &disks, has_state);
    expect(&kit, &plan);
    let state = has_state.then_some(state);
    let result = run(options, &kit, &disks, &plan, temp, state);
    report(options, &kit, result, &notes)
}

/// The faults of the server that can be done here, and those that can't be.
fn able(disks: &Disks, has_state: bool) -> (Vec<Trouble>, Vec<String>) {
    let (mut able, mut notes) = (vec![Trouble::Pause, Trouble::FewDescriptors], Vec::new());
    let mut add = |trouble, can: bool, why: &str| if can { able.push(trouble) } else { notes.push(why.to_owned()) };
    add(
        Trouble::FullTemp,
        disks.temp.is_some(),
        "no right to mount: the temporary disk is not filled, but bounded by --temp-max",
    );
    add(Trouble::FullStore, disks.store.is_some(), "no right to mount: the store's disk is not filled");
    add(Trouble::FullState, disks.state.is_some() || !has_state, "no right to mount: the state's disk is not filled");
    add(Trouble::Jump, Lives::can_jump(), "no libfaketime: the clock does not jump");
    if !has_state {
        able.retain(|trouble| *trouble != Trouble::FullState);
        notes.push("`serve` has no --state: a session has to be gone when its server has ended, and is begun anew".to_owned());
    }
    (able, notes)
}

fn kit(options: &Options, folder: TestFolder, disks: &Disks, has_state: bool) -> Kit {
    let store = folder.text("store/entries");
    let _ = common::rorqual(&["store", "--store", &store, "init", "--max-size", STORE_MAX]).run().exits(0);
    let mut flags =
        vec!["--memory".to_owned(), format!("{}MiB", MEMORY_BYTES / MIB), "--sessions".to_owned(), SESSIONS.to_string()];
    flags.extend(["--store".to_owned(), store, "--temp-dir".to_owned(), folder.text("temp")]);
    flags.extend(["--token-file".to_owned(), folder.text("token")]);
    if disks.temp.is_none() {
        flags.extend(["--temp-max".to_owned(), TEMP_BYTES.to_string()]);
    }
    if has_state {
        flags.extend(["--state".to_owned(), folder.text("state")]);
    }
    let inputs = inputs::make(&mut Rng::new(options.seed), folder.path(), options.fast);
    let time_max = 2 * options.time + Duration::from_secs(300);
    Kit {
        seed: options.seed,
        inputs,
        lives: Lives::new(lives::Settings { folder, flags, time_max }),
        proxy: rorqual_testkit::proxy::Proxy::new(),
        documented: documented::Documented::read(),
        tallies: tallies::Tallies::default(),
        state: has_state,
        gate: RwLock::new(()),
        leak: options.leak,
        fast: options.fast,
    }
}

/// Every planned fault has to come.
fn expect(kit: &Kit, plan: &[Step]) {
    for name in op::ALL.into_iter().chain(["out of order", "damaged part"]) {
        kit.tallies.expect(name);
    }
    if !kit.fast {
        kit.tallies.expect(op::STALLS_LONG);
    }
    for step in plan {
        match step.event {
            plan::Event::Trouble(trouble, _) => kit.tallies.expect(trouble.name()),
            plan::Event::Kill => kit.tallies.expect("kill -9"),
            plan::Event::Terminate => kit.tallies.expect("SIGTERM"),
            plan::Event::Rest => {}
        }
    }
}

/// Observations of a run.
struct Seen {
    rests: Vec<director::Rest>,
    series: process::Series,
    peak_bytes: u64,
    store: Check,
}

fn run(
    options: &Options,
    kit: &Kit,
    disks: &Disks,
    plan: &[Step],
    temp: std::path::PathBuf,
    state: Option<std::path::PathBuf>,
) -> Seen {
    kit.lives.begin(false);
    let watched = Arc::clone(&kit.lives);
    let sampler = Sampler::start(options.time, move || watched.id());
    let over = AtomicBool::new(false);
    let mut director = Director::new(kit, disks, temp, state);
    std::thread::scope(|scope| {
        let (over, mut client) = (&over, 0);
        for (count, operation) in CLIENTS {
            for _ in 0..count {
                scope.spawn(move || clients(kit, over, client, operation));
                client += 1;
            }
        }
        director.run(plan);
        over.store(true, Ordering::SeqCst);
    });
    director.rest();
    let rests = director.rests;
    let mut series = sampler.stop();
    series
        .marks
        .extend(plan.iter().find(|step| step.is_end()).map(|step| (step.at.as_secs_f64(), "kills from here on".to_owned())));
    kit.lives.end(End::Terminated, &kit.tallies);
    let store = store::check(&kit.lives.settings.folder.text("store/entries"));
    Seen { rests, series, peak_bytes: kit.lives.peak_bytes(), store }
}

/// One operation after the other, until it is over.
fn clients(kit: &Kit, over: &AtomicBool, client: u64, operation: Operation) {
    for number in 0.. {
        let _gate = kit.gate.read().unwrap();
        if over.load(Ordering::SeqCst) {
            return;
        }
        let mut op = Op::new(kit, client, number);
        op.stalls_long = !kit.fast && client == 0 && number % LONG_STALL_EVERY == 3;
        operation(&mut op);
    }
}

fn report(options: &Options, kit: &Kit, seen: Seen, notes: &[String]) -> bool {
    kit.tallies.print();
    let mut found = leftovers::checks(&seen.rests, seen.peak_bytes, options.fast);
    found.extend(kit.tallies.checks());
    found.push(seen.store);
    if let Some(path) = &options.json {
        record::write(path, options, &kit.tallies, &seen.series, &seen.rests, &found, notes);
    }
    found.iter().for_each(Check::print);
    found.iter().all(|check| check.ok)
}
