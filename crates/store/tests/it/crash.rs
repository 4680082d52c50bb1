//! Ended, or failing, at every single step on the disk.

use crate::child::{Child, no_starts};
use crate::common::{check_clean, digests, folder, get, put, put_with, rebuilt, settings, store};
use rorqual_pipe::Error;
use rorqual_store::{LeaseTerms, PutOptions, StepHook, Store, StoreSettings, rebuild};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const TASKS: [&str; 8] = ["init", "put", "large", "again", "itself", "remove", "gc", "rebuild"];
const LEASED: &[u8] = &[9; 500];
const TERMS: LeaseTerms<'_> = LeaseTerms { ttl: Duration::from_secs(600), holder: "crash" };

/// A full store with a leased entry, an orphan and an old temporary file.
fn prepare(dir: &Path) {
    let store = store(dir, 3 << 20);
    put_with(&store, LEASED, &PutOptions { name: Some("leased"), lease: Some(TERMS), ..PutOptions::default() }).unwrap();
    for byte in 1..4 {
        put(&store, &vec![byte; 900_000]);
    }
    std::fs::write(dir.join("tmp/1-1"), b"left behind").unwrap();
    let orphan = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    std::fs::create_dir_all(dir.join("blobs/sha256/ba")).unwrap();
    std::fs::write(dir.join("blobs/sha256/ba").join(orphan), b"abc").unwrap();
}

fn task(settings: &StoreSettings, name: &str) -> Result<(), Error> {
    if name == "init" {
        return Store::init(settings, None, Some(3 << 20)).map(drop);
    }
    if name == "rebuild" {
        return rebuild(settings, Some(3 << 20)).map(drop);
    }
    let store = Store::open(settings)?;
    match name {
        "put" => put_with(&store, &[5; 600_000], &PutOptions { name: Some("n"), lease: Some(TERMS), ..PutOptions::default() })
            .map(drop),
        "large" => put_with(&store, &vec![6; 2_000_000], &PutOptions::default()).map(drop),
        "again" => {
            put_with(&store, &vec![1; 900_000], &PutOptions { name: Some("n"), lease: None, ..PutOptions::default() }).map(drop)
        }
        // The second time it has to go for its own bytes.
        "itself" => (0..2).try_for_each(|_| {
            put_with(&store, &vec![8; 2_000_000], &PutOptions { name: Some("n"), lease: None, ..PutOptions::default() }).map(drop)
        }),
        "remove" => store.remove(&crate::common::digest(&vec![2; 900_000]), false).map(drop),
        "gc" => store.gc().map(drop),
        other => panic!("{other}"),
    }
}

/// Counts steps, and does something at the one with number `at`; the name of that step is kept.
fn hook(at: u64, then: fn() -> std::io::Result<()>) -> (StepHook, Arc<OnceLock<&'static str>>) {
    let (steps, reached) = (AtomicU64::new(0), Arc::new(OnceLock::new()));
    let shared = Arc::clone(&reached);
    let hook = move |step| {
        if steps.fetch_add(1, Ordering::Relaxed) == at { shared.set(step).map_or(Ok(()), |()| then()) } else { Ok(()) }
    };
    (Arc::new(hook), reached)
}

pub(crate) fn work(dir: &Path, name: &str, at: u64) {
    let (hook, _) = hook(at, || std::process::abort());
    task(&StoreSettings { hook: Some(hook), ..settings(dir) }, name).unwrap();
}

fn check_after(dir: &Path, name: &str, place: &str) {
    // An entry begun anew is whole; a leased one is there.
    let store = Store::init(&settings(dir), None, None).unwrap_or_else(|error| {
        // No index, rather than an old one without its log.
        assert!(name == "rebuild" && error.to_string().contains("files but no index"), "{place}: {error}");
        let _ = rebuilt(dir, Some(3 << 20));
        Store::open(&settings(dir)).unwrap()
    });
    if name != "init" {
        assert_eq!(get(&store, &crate::common::digest(LEASED)).expect(place), LEASED, "{place}");
    }
    check_clean(&store);
    put(&store, b"goes on");
    assert!(digests(&store).contains(&crate::common::digest(b"goes on").to_string()), "{place}");
    check_clean(&store);
}

#[test]
fn killed_at_any_step_nothing_is_torn_and_a_gc_leaves_nothing() {
    let mut kills = 0;
    for name in TASKS {
        for at in 0.. {
            let dir = folder();
            if name != "init" {
                prepare(dir.path());
            }
            let ended = Child::start("crash", dir.path(), &[name, &at.to_string()]).wait();
            check_after(dir.path(), name, &format!("{name} killed at step {at}"));
            if ended.is_ok() {
                assert!(at > 2, "{name} has more steps than {at}");
                break;
            }
            kills += 1;
        }
    }
    assert!(kills >= 50, "{kills}");
}

#[test]
fn failing_at_any_step_nothing_is_lost_and_it_is_said() {
    let attempt = |name: &str, at: u64| {
        let dir = folder();
        if name != "init" {
            prepare(dir.path());
        }
        let (hook, reached) = hook(at, || Err(std::io::ErrorKind::StorageFull.into()));
        let result = task(&StoreSettings { hook: Some(hook), ..settings(dir.path()) }, name);
        (dir, reached, result)
    };
    for name in TASKS {
        for at in 0.. {
            let _no_starts = no_starts();
            let (dir, reached, result) = attempt(name, at);
            let place = format!("{name} failed at step {at}");
            check_after(dir.path(), name, &place);
            let Some(step) = reached.get() else {
                assert!(result.is_ok(), "{place}: {result:?}");
                break;
            };
            // The entry is there; only its temporary file stays until the next gc.
            if (name, *step) == ("again", "unlink") {
                continue;
            }
            let error = result.expect_err(&place).to_string();
            assert!(error.contains("no storage space"), "{place}: {error}");
        }
    }
}
