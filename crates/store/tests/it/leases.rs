//! Leased and open entries stay; durations of leases.

use crate::child::Child;
use crate::common::{MIB, check_clean, folder, get, put, put_with, settings, store};
use rorqual_pipe::ErrorClass;
use rorqual_store::{EntryLease, LeaseTerms, PutOptions, Removed, Store, StoreSettings};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const TERMS: LeaseTerms<'_> = LeaseTerms { ttl: MINUTE, holder: "test" };

/// A store whose clock is set by hand.
fn clocked(dir: &Path, bytes_max: u64) -> (Store, Arc<AtomicU64>) {
    let clock = Arc::new(AtomicU64::new(1_000_000_000));
    let shared = Arc::clone(&clock);
    let settings = StoreSettings { clock: Some(Arc::new(move || shared.load(Ordering::Relaxed))), ..settings(dir) };
    (Store::init(&settings, None, Some(bytes_max)).unwrap(), clock)
}

fn leases(store: &Store) -> Vec<EntryLease> {
    let mut all = Vec::new();
    store
        .for_each_lease(|lease| {
            all.push(lease.clone());
            Ok(())
        })
        .unwrap();
    all
}

#[test]
fn a_leased_entry_outlives_newer_ones() {
    let dir = folder();
    let (store, _) = clocked(dir.path(), 10_000);
    let leased = put_with(&store, &[1; 4_000], &PutOptions { name: None, lease: Some(TERMS), ..PutOptions::default() }).unwrap();
    let plain = put(&store, &[2; 4_000]);
    assert_eq!(put(&store, &[3; 4_000]).evicted.entries, 1);
    assert!(get(&store, &leased.digest).is_some() && get(&store, &plain.digest).is_none());
    assert_eq!(store.remove(&leased.digest, false).unwrap(), Removed::Leased(1));
    assert!(store.release_lease(&leased.lease.unwrap().id).unwrap());
    assert_eq!(store.remove(&leased.digest, false).unwrap(), Removed::Done);
    check_clean(&store);
}

#[test]
fn a_store_that_is_all_leased_refuses_with_numbers_and_evicts_nothing() {
    let dir = folder();
    let (store, _) = clocked(dir.path(), 10_000);
    let free = put(&store, &[0; 1_000]);
    for byte in [1, 2] {
        put_with(&store, &[byte; 4_000], &PutOptions { name: None, lease: Some(TERMS), ..PutOptions::default() }).unwrap();
    }
    let error = put_with(&store, &[3; 4_000], &PutOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorClass::Limit);
    for part in
        ["no room for 3.91 KiB", "may hold 9.77 KiB", "\"max_size\" of store init", "7.81 KiB are leased (2 entries", "lease ls"]
    {
        assert!(error.to_string().contains(part), "{part} is missing in: {error}");
    }
    assert!(get(&store, &free.digest).is_some());
    put(&store, &[3; 1_500]);
    assert!(get(&store, &free.digest).is_none());
    check_clean(&store);
}

#[test]
fn leases_expire_are_renewed_and_released() {
    let dir = folder();
    let (store, clock) = clocked(dir.path(), MIB);
    let digest = put(&store, b"abc").digest;
    let one = store.take_lease(&digest, &TERMS).unwrap().unwrap();
    let two = store.take_lease(&digest, &LeaseTerms { holder: "other", ..TERMS }).unwrap().unwrap();
    assert_eq!((one.holder.as_str(), one.expires_ms - one.taken_ms, leases(&store).len()), ("test", 60_000, 2));
    clock.fetch_add(59_999, Ordering::Relaxed);
    let renewed = store.renew_lease(&two.id, MINUTE).unwrap().unwrap();
    assert_eq!((renewed.expires_ms, renewed.taken_ms), (two.expires_ms + 59_999, two.taken_ms));
    clock.fetch_add(1, Ordering::Relaxed);
    assert_eq!(leases(&store), [renewed]);
    assert!(store.renew_lease(&one.id, MINUTE).unwrap().is_none(), "an expired lease is over");
    assert!(!store.release_lease(&one.id).unwrap());
    assert_eq!(store.remove(&digest, false).unwrap(), Removed::Leased(1));
    assert!(store.release_lease(&two.id).unwrap() && !store.release_lease(&two.id).unwrap());
    assert_eq!(store.gc().unwrap().leases, 1, "the expired row was still there");
    assert_eq!(store.remove(&digest, false).unwrap(), Removed::Done);
    assert!(store.take_lease(&digest, &TERMS).unwrap().is_none());
}

#[test]
fn a_clock_that_is_set_back_keeps_leases_and_the_order_of_use() {
    let dir = folder();
    let (store, clock) = clocked(dir.path(), 10_000);
    let leased = put_with(&store, &[1; 3_000], &PutOptions { name: None, lease: Some(TERMS), ..PutOptions::default() }).unwrap();
    let older = put(&store, &[2; 3_000]);
    clock.fetch_sub(500_000_000, Ordering::Relaxed);
    let newer = put(&store, &[3; 3_000]);
    put(&store, &[4; 3_000]);
    assert!(get(&store, &older.digest).is_none(), "it was used before the clock jumped");
    assert!(get(&store, &newer.digest).is_some() && get(&store, &leased.digest).is_some());
    let later = get(&store, &newer.digest).is_some();
    put(&store, &[5; 3_000]);
    assert!(later && get(&store, &newer.digest).is_some(), "a read counts as use on either side of the jump");
}

#[test]
fn reads_write_only_when_the_last_use_is_old() {
    let dir = folder();
    let now = Arc::new(AtomicU64::new(1_000_000));
    let (steps, clock) = (Arc::new(AtomicU64::new(0)), Arc::clone(&now));
    let count = Arc::clone(&steps);
    let hook = move |step| {
        count.fetch_add(u64::from(step == "commit"), Ordering::Relaxed);
        Ok(())
    };
    let clock_now = move || clock.load(Ordering::Relaxed);
    let settings = StoreSettings {
        touch_after: MINUTE,
        clock: Some(Arc::new(clock_now)),
        hook: Some(Arc::new(hook)),
        ..settings(dir.path())
    };
    let store = Store::init(&settings, None, None).unwrap();
    let digest = put(&store, b"abc").digest;
    let commits = |advance_ms| {
        now.fetch_add(advance_ms, Ordering::Relaxed);
        let before = steps.load(Ordering::Relaxed);
        get(&store, &digest).unwrap();
        steps.load(Ordering::Relaxed) - before
    };
    assert_eq!([commits(0), commits(59_999), commits(1), commits(1), commits(60_000)], [0, 0, 1, 0, 1]);
}

#[test]
fn terms_that_make_no_sense_are_refused() {
    let dir = folder();
    let store = store(dir.path(), MIB);
    let digest = put(&store, b"abc").digest;
    let long = "x".repeat(256);
    for terms in [
        LeaseTerms { ttl: Duration::ZERO, ..TERMS },
        LeaseTerms { ttl: Duration::from_secs(367 * 86_400), ..TERMS },
        LeaseTerms { holder: &long, ..TERMS },
        LeaseTerms { holder: "a\u{1b}b", ..TERMS },
    ] {
        assert_eq!(store.take_lease(&digest, &terms).unwrap_err().kind(), ErrorClass::Limit);
    }
    assert!(leases(&store).is_empty());
}

#[test]
fn a_reader_keeps_its_entry_in_this_process_and_in_another() {
    let dir = folder();
    let store = store(dir.path(), 10_000);
    let (here, there) = (put(&store, &[1; 4_000]), put(&store, &[2; 4_000]));
    let reader = store.get(&here.digest, None).unwrap().unwrap();
    let mut child = Child::start("hold", dir.path(), &[&there.digest.to_string()]);
    child.wait_for_line("held");
    for digest in [&here.digest, &there.digest] {
        assert_eq!(store.remove(digest, true).unwrap(), Removed::Open);
    }
    let error = put_with(&store, &[3; 4_000], &PutOptions::default()).unwrap_err();
    assert!(error.to_string().contains("7.81 KiB are being read (2 entries)"), "{error}");
    child.kill();
    assert_eq!(put(&store, &[3; 4_000]).evicted.entries, 1);
    assert!(get(&store, &there.digest).is_none() && get(&store, &here.digest).is_some());
    drop(reader);
    put(&store, &[4; 4_000]);
    put(&store, &[5; 4_000]);
    assert!(get(&store, &here.digest).is_none());
    check_clean(&store);
}
