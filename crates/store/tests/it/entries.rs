//! One process, one store: each file that goes in comes out, under every name it has.

use crate::common::{MIB, check_clean, digest, files, folder, found, get, pool, put, put_with, settings, store};
use rorqual_digest::{Algorithm, Digest};
use rorqual_pipe::{Control, ErrorClass, Input};
use rorqual_store::{KeyMatch, PutOptions, Removed, Store, StoreSettings, check_name};
use rorqual_testkit::fault::{FaultPlan, FaultyIo};
use std::fs::File;
use std::io::{Cursor, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// FIPS 180-4's own example.
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
/// BLAKE3's test vectors, of no bytes.
const NOTHING_BLAKE3: &str = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";

#[test]
fn what_goes_in_comes_out() {
    let dir = folder();
    let store = store(dir.path(), 100 * MIB);
    for length in [0, 1, 262_143, 262_144, 262_145, 1_048_576, 3_000_000] {
        let bytes: Vec<u8> = (0..length).map(|index: u64| ((index * index) >> 7) as u8).collect();
        let stored = put(&store, &bytes);
        assert_eq!((stored.new, stored.bytes, stored.digest), (true, length, digest(&bytes)));
        assert_eq!(get(&store, &stored.digest).unwrap(), bytes);
        assert!(!put(&store, &bytes).new);
    }
    assert_eq!(put(&store, b"abc").digest.to_string(), ABC);
    check_clean(&store);
}

#[test]
fn a_blob_is_read_only_and_named_by_its_digest() {
    let dir = folder();
    let store = store(dir.path(), MIB);
    let stored = put(&store, b"abc");
    let path = dir.path().join("blobs/sha256/ba").join(ABC);
    assert_eq!(store.path(&stored.digest), path);
    assert_eq!(std::fs::metadata(path).unwrap().mode() & 0o7777, 0o444);
}

#[test]
fn blocks_of_zeros_take_no_disk() {
    let dir = folder();
    let store = store(dir.path(), 2_000 * MIB);
    let (pool, zeros) = (pool(), std::io::repeat(0).take(200 * MIB + 1));
    let reader = Box::new(zeros.chain(Cursor::new(b"end")).chain(std::io::repeat(0).take(300_000)));
    let stored =
        store.put(Input::from_reader("zeros", reader), None, &PutOptions::default(), &pool, &Control::default()).unwrap();
    let metadata = std::fs::metadata(store.path(&stored.digest)).unwrap();
    assert_eq!(metadata.len(), 200 * MIB + 4 + 300_000);
    assert!(metadata.blocks() * 512 < 2 * MIB, "{} blocks", metadata.blocks());
    check_clean(&store);
}

#[test]
fn an_entry_is_found_by_digest_prefix_and_name() {
    let dir = folder();
    let store = store(dir.path(), MIB);
    let abc = put_with(&store, b"abc", &PutOptions { name: Some("first"), lease: None, ..PutOptions::default() }).unwrap().digest;
    for key in
        [ABC, &ABC.to_uppercase(), &ABC[..4], &ABC[..5], &ABC[..63], "first", &abc.encode(rorqual_digest::DigestForm::Base64)]
    {
        assert_eq!(found(&store, key), Some(abc), "{key}");
    }
    for key in [&ABC[..3], "", "zzzz", "First", "ba79", &ABC.replace("ba", "ab")] {
        assert_eq!(found(&store, key), None, "{key}");
    }
}

#[test]
fn a_prefix_of_several_is_ambiguous_and_a_name_goes_before_it() {
    let dir = folder();
    let store = store(dir.path(), MIB);
    // Enough entries that some share four digits: 2 of 1,000 in 65,536 do almost surely, and always
    // the same ones.
    let all: Vec<String> = (0..1_000_u32).map(|number| put(&store, &number.to_le_bytes()).digest.to_string()).collect();
    let mut prefixes: Vec<&str> = all.iter().map(|digest| &digest[..4]).collect();
    prefixes.sort_unstable();
    let shared = prefixes.windows(2).find(|pair| pair[0] == pair[1]).unwrap()[0];
    assert_eq!(store.find(shared).unwrap(), KeyMatch::Many);
    let named = put_with(&store, b"named", &PutOptions { name: Some(shared), lease: None, ..PutOptions::default() }).unwrap();
    assert_eq!(found(&store, shared), Some(named.digest));
}

#[test]
fn a_name_that_is_pointed_elsewhere_leaves_the_old_entry() {
    let dir = folder();
    let store = store(dir.path(), MIB);
    let named = |bytes: &[u8]| {
        put_with(&store, bytes, &PutOptions { name: Some("latest"), lease: None, ..PutOptions::default() }).unwrap().digest
    };
    let (one, two) = (named(b"one"), named(b"two"));
    assert_eq!(found(&store, "latest"), Some(two));
    assert_eq!(get(&store, &one).unwrap(), b"one");
    assert_eq!(store.entry(&one).unwrap().unwrap().names, Vec::<String>::new());
    assert_eq!(store.remove(&two, false).unwrap(), Removed::Done);
    assert_eq!(found(&store, "latest"), None);
    assert_eq!(store.remove(&two, false).unwrap(), Removed::Missing);
    check_clean(&store);
}

#[test]
fn names_that_would_mislead_are_refused() {
    for name in ["", "a\nb", "\u{1b}[2J", ABC, &ABC.to_uppercase(), &"x".repeat(256)] {
        assert!(check_name(Algorithm::Sha256, name).is_err(), "{name}");
    }
    for name in ["a", "release/1.0 ä", &"x".repeat(255), &ABC[..63]] {
        assert!(check_name(Algorithm::Sha256, name).is_ok(), "{name}");
    }
}

#[test]
fn blake3_is_chosen_at_the_start_and_stays() {
    let dir = folder();
    let store = Store::init(&settings(dir.path()), Some(Algorithm::Blake3), None).unwrap();
    assert_eq!(put(&store, b"").digest.to_string(), NOTHING_BLAKE3);
    let again = Store::init(&settings(dir.path()), None, None).unwrap();
    assert_eq!(again.algorithm(), Algorithm::Blake3);
    let error = Store::init(&settings(dir.path()), Some(Algorithm::Sha256), None).err().unwrap().to_string();
    assert!(error.contains("is addressed by blake3"), "{error}");
    assert!(Store::init(&settings(&dir.path().join("other")), Some(Algorithm::Md5), None).is_err());
    check_clean(&store);
}

#[test]
fn a_put_that_fails_leaves_nothing() {
    let dir = folder();
    let store = store(dir.path(), 100 * MIB);
    for at in [0, 1, 5, 40] {
        let fault = FaultPlan::new(at, true, ErrorKind::ConnectionReset);
        let reader = FaultyIo::new(std::io::repeat(7).take(5 * MIB), 100_000, &fault);
        let pool = pool();
        let error = store
            .put(Input::from_reader("upload", Box::new(reader)), None, &PutOptions::default(), &pool, &Control::default())
            .unwrap_err();
        assert_eq!((error.kind(), error.name(), pool.lent()), (ErrorClass::Io, "upload", 0));
        assert_eq!(store.usage().unwrap().reserved_bytes, 0);
        assert_eq!(files(&dir.path().join("tmp")).len(), 0);
    }
    let control = Control::default();
    control.stop();
    let reader = Box::new(Cursor::new(b"abc"));
    let error = store.put(Input::from_reader("x", reader), None, &PutOptions::default(), &pool(), &control).unwrap_err();
    assert_eq!(error.kind(), ErrorClass::Stopped);
    check_clean(&store);
}

#[test]
fn a_part_is_adopted_without_a_copy() {
    let dir = folder();
    let store = store(dir.path(), MIB);
    let part = store.parts_dir().join("download");
    std::fs::write(&part, b"abc").unwrap();
    let inode = std::fs::metadata(&part).unwrap().ino();
    let adopt = |digest: &Digest| store.adopt(&part, Arc::new(File::open(&part).unwrap()), digest, &PutOptions::default());
    let wrong = adopt(&Digest::from_bytes(Algorithm::Blake3, &[0; 32]).unwrap());
    assert!(wrong.is_err() && part.exists());
    let stored = adopt(&digest(b"abc")).unwrap();
    assert!(stored.new && !part.exists());
    assert_eq!(std::fs::metadata(store.path(&stored.digest)).unwrap().ino(), inode);
    std::fs::write(&part, b"abc").unwrap();
    assert!(!adopt(&digest(b"abc")).unwrap().new);
    assert!(!part.exists());
    std::fs::write(&part, b"young").unwrap();
    check_clean(&store);
    assert!(part.exists(), "a gc leaves downloads of less than a week");
}

/// Before it is asked for, and at the last moment: a file of another program stays.
#[test]
fn a_part_that_was_replaced_is_not_adopted() {
    for at in ["before", "rename"] {
        let dir = folder();
        let part = dir.path().join("parts/download");
        let (other, replace) = (dir.path().join("other"), part.clone());
        let swap = move || std::fs::write(&other, b"abd").and_then(|()| std::fs::rename(&other, &replace));
        // Making the store and putting the other one back are renames as well.
        let armed = Arc::new(AtomicBool::new(false));
        let (shared, swapping) = (Arc::clone(&armed), swap.clone());
        let hook = move |step| if step == at && shared.swap(false, Ordering::Relaxed) { swapping() } else { Ok(()) };
        let store = Store::init(&StoreSettings { hook: Some(Arc::new(hook)), ..settings(dir.path()) }, None, None).unwrap();
        std::fs::write(&part, b"abc").unwrap();
        let file = Arc::new(File::open(&part).unwrap());
        if at == "before" {
            swap().unwrap();
        }
        armed.store(true, Ordering::Relaxed);
        let error = store.adopt(&part, file, &digest(b"abc"), &PutOptions::default()).unwrap_err().to_string();
        assert!(error.contains("another file"), "{at}: {error}");
        assert_eq!(std::fs::read(&part).unwrap(), b"abd", "{at}");
        assert!(get(&store, &digest(b"abc")).is_none(), "{at}");
        check_clean(&store);
    }
}

#[test]
fn without_a_store_there_is_a_clear_error() {
    let dir = folder();
    let error = Store::open(&StoreSettings::new(dir.path().join("none"))).err().unwrap().to_string();
    assert!(error.contains("there is no store; `rorqual store init`"), "{error}");
}

#[test]
fn waits_for_the_disk_by_default() {
    let dir = folder();
    assert!(StoreSettings::new(dir.path()).fsync);
    let store = Store::init(&StoreSettings::new(dir.path()), None, None).unwrap();
    assert_eq!(get(&store, &put(&store, b"durable").digest).unwrap(), b"durable");
    check_clean(&store);
}

/// Puts of a process each: what they cost is what they write.
#[test]
fn a_put_is_added_to_the_log_of_the_index_which_has_an_end() {
    let dir = folder();
    drop(store(dir.path(), MIB));
    let index = || std::fs::read(dir.path().join("index.sqlite")).unwrap();
    let log_bytes = || std::fs::metadata(dir.path().join("index.sqlite-wal")).map_or(0, |log| log.len());
    let one = |number: u32| drop(put(&Store::open(&settings(dir.path())).unwrap(), &number.to_le_bytes()));
    one(0);
    let before = index();
    one(1);
    assert!(index() == before, "the index was written, which takes syncs");
    let largest = (2..400)
        .map(|number| {
            one(number);
            log_bytes()
        })
        .max();
    assert!(index() != before);
    assert!(largest.is_some_and(|bytes| (500 << 10..1 << 20).contains(&bytes)), "{largest:?}");
    assert_eq!(Store::open(&settings(dir.path())).unwrap().usage().unwrap().entries, 400);
}
