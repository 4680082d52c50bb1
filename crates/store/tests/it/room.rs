//! The bound, and room for files that are being written.

use crate::child::Child;
use crate::common::{MIB, check_clean, digest, files, folder, found, get, pool, put, put_with, settings, store};
use rorqual_pipe::{Control, ErrorClass, Input};
use rorqual_store::{LeaseTerms, PutOptions, Store};
use std::io::{Cursor, Read};
use std::time::Duration;

#[test]
fn a_file_above_the_bound_is_refused_before_it_is_read_or_as_soon_as_it_shows() {
    let dir = folder();
    let store = store(dir.path(), 8 * MIB);
    let kept = put(&store, b"kept");
    for size in [Some(9 * MIB), None] {
        let control = Control::default();
        let reader = Box::new(std::io::repeat(1).take(9 * MIB));
        let error = store.put(Input::from_reader("big", reader), size, &PutOptions::default(), &pool(), &control).unwrap_err();
        assert_eq!(error.kind(), ErrorClass::Limit);
        assert!(error.to_string().contains("\"max_size\" of store init"), "{error}");
        assert_eq!(control.stored_bytes() == 0, size.is_some());
    }
    assert!(get(&store, &kept.digest).is_none() || store.usage().unwrap().entries == 1);
    check_clean(&store);
}

#[test]
fn a_growing_put_evicts_before_it_writes() {
    let dir = folder();
    let store = store(dir.path(), 8 * MIB);
    for byte in 0..8 {
        put(&store, &vec![byte; MIB as usize]);
    }
    // At every block: the files on the disk never exceed the bound by more than the room that is
    // free of charge.
    let blobs = dir.path().to_owned();
    let mut most = 0;
    let reader = std::io::repeat(9).take(7 * MIB + 5);
    let watched = Watched(reader, move || {
        let bytes: u64 = files(&blobs.join("blobs"))
            .iter()
            .chain(&files(&blobs.join("tmp")))
            .map(|path| path.metadata().map_or(0, |m| m.len()))
            .sum();
        most = most.max(bytes);
        assert!(bytes <= 9 * MIB, "{bytes}");
    });
    let stored = store
        .put(Input::from_reader("pipe", Box::new(watched)), None, &PutOptions::default(), &pool(), &Control::default())
        .unwrap();
    assert_eq!((stored.evicted.entries, stored.bytes), (8, 7 * MIB + 5));
    check_clean(&store);
}

struct Watched<R, F>(R, F);

impl<R: Read, F: FnMut()> Read for Watched<R, F> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        (self.1)();
        self.0.read(buffer)
    }
}

#[test]
fn a_lower_bound_takes_effect_with_the_next_gc() {
    let dir = folder();
    let store = store(dir.path(), 10_000);
    let all: Vec<_> = (0..5).map(|byte| put(&store, &[byte; 2_000]).digest).collect();
    let store = Store::init(&settings(dir.path()), None, Some(4_500)).unwrap();
    let collected = store.gc().unwrap();
    assert_eq!((collected.evicted.entries, collected.evicted.bytes), (3, 6_000));
    assert!(get(&store, &all[2]).is_none() && get(&store, &all[3]).is_some());
    check_clean(&store);
}

#[test]
fn a_batch_of_small_entries_makes_room_for_a_large_one() {
    let dir = folder();
    let store = store(dir.path(), 200_000);
    (0..400_u32).for_each(|number| drop(put(&store, &number.to_le_bytes().repeat(125))));
    let large = put(&store, &[7; 150_000]);
    assert_eq!(large.evicted.entries, 300);
    check_clean(&store);
}

/// Beside each other the old and the new bytes would not fit: then the entry must not go for
/// itself.
#[test]
fn a_file_that_is_put_again_keeps_names_leases_and_all_others() {
    let dir = folder();
    let store = store(dir.path(), 10 * MIB);
    let big = vec![5; 6 * MIB as usize];
    let file = dir.path().join("file");
    std::fs::write(&file, &big).unwrap();
    let terms = LeaseTerms { ttl: Duration::from_secs(600), holder: "" };
    let put_file = |options: &PutOptions<'_>| {
        let input = Input::open_stored(&file).unwrap();
        let (size_bytes, pool) = (input.size_bytes(), pool());
        let stored = store.put(input, size_bytes, options, &pool, &Control::default()).unwrap();
        assert_eq!(pool.lent(), 0);
        stored
    };
    let first = put_file(&PutOptions { name: Some("a"), lease: None, ..PutOptions::default() });
    let other = put(&store, &vec![6; 3 * MIB as usize]).digest;
    for lease in [None, Some(terms), None] {
        let again = put_file(&PutOptions { name: Some("b"), lease, ..PutOptions::default() });
        assert_eq!((again.digest, again.bytes, again.new, again.evicted.entries), (first.digest, 6 * MIB, false, 0));
        assert_eq!(again.lease.is_some(), lease.is_some());
    }
    let entry = store.entry(&first.digest).unwrap().unwrap();
    assert_eq!((entry.names, entry.leases), (vec!["a".to_owned(), "b".to_owned()], 1));
    // It is the one that was used last.
    put(&store, &vec![7; 2 * MIB as usize]);
    assert!(get(&store, &other).is_none() && get(&store, &first.digest).unwrap() == big);
    // As long as an entry, and another one.
    std::fs::write(&file, vec![8; 2 * MIB as usize]).unwrap();
    put(&store, &vec![9; 2 * MIB as usize]);
    assert!(put_file(&PutOptions::default()).new);
    check_clean(&store);
}

/// A stream shows its digest at its end, when the entry has gone for it.
#[test]
fn a_stream_that_is_put_again_keeps_its_names() {
    for size_bytes in [None, Some(6 * MIB)] {
        let dir = folder();
        let store = store(dir.path(), 10 * MIB);
        let big = vec![5; 6 * MIB as usize];
        for name in ["a", "b", "moved"] {
            put_with(&store, &big, &PutOptions { name: Some(name), lease: None, ..PutOptions::default() }).unwrap();
        }
        put_with(&store, &vec![6; 2 * MIB as usize], &PutOptions { name: Some("other"), lease: None, ..PutOptions::default() })
            .unwrap();
        // While it is read, somebody else takes one of the names.
        let meanwhile = store.clone();
        let mut moved = false;
        let mut reads = 0;
        let reader = Watched(Cursor::new(big.clone()), move || {
            reads += 1;
            if reads > 20 && !moved {
                put_with(&meanwhile, b"small", &PutOptions { name: Some("moved"), lease: None, ..PutOptions::default() })
                    .unwrap();
                moved = true;
            }
        });
        let input = Input::from_reader("stream", Box::new(reader));
        let again = store.put(input, size_bytes, &PutOptions::default(), &pool(), &Control::default()).unwrap();
        assert_eq!((again.digest, again.evicted.entries > 0), (digest(&big), true));
        let named = |name| found(&store, name);
        assert_eq!((named("a"), named("b")), (Some(again.digest), Some(again.digest)));
        assert_eq!(named("moved"), Some(digest(b"small")));
        assert_eq!(get(&store, &again.digest).unwrap(), big);
        // Another put gets none of them.
        put(&store, &vec![7; 9 * MIB as usize]);
        assert_eq!((named("a"), named("other")), (None, None));
        check_clean(&store);
    }
}

/// Space that a put had reserved is free again when it was killed, without anybody calling gc.
#[test]
fn what_a_killed_put_had_reserved_is_given_to_who_needs_it() {
    let dir = folder();
    let store = store(dir.path(), 8 * MIB);
    let mut child = Child::start("stall", dir.path(), &["6000000"]);
    child.wait_for_line("stalled");
    assert_eq!(store.usage().unwrap().reserved_bytes, 6_000_000);
    let large = vec![1; 4 * MIB as usize];
    let options = PutOptions::default();
    let error = crate::common::put_with(&store, &large, &options).unwrap_err();
    assert!(error.to_string().contains("5.72 MiB are reserved by puts in flight"), "{error}");
    assert_eq!(store.gc().unwrap().temps, 0, "its file belongs to a writer that lives");
    child.kill();
    assert!(put(&store, &large).new);
    check_clean(&store);
}

/// The stream that it would go for can't come, or has not come yet.
#[test]
fn nothing_goes_for_a_stream_that_is_refused_or_only_announced() {
    let dir = folder();
    let store = store(dir.path(), 30 * MIB);
    let all: Vec<_> = (0..3).map(|byte| put(&store, &vec![byte + 1; 9 * MIB as usize]).digest).collect();
    let put_stream = |bytes: &[u8], announced: u64| {
        // It breaks off where it has fewer bytes than it announced.
        let broken = (bytes.len() as u64) < announced;
        let reader = std::io::Cursor::new(bytes.to_vec()).chain(Ending(broken));
        let input = Input::from_reader("a stream", Box::new(reader)).stored();
        store.put(input, Some(announced), &PutOptions::default(), &pool(), &Control::default())
    };
    let are_there = || all.iter().filter(|digest| store.entry(digest).unwrap().is_some()).count();
    assert_eq!(put_stream(b"x", 20 * MIB).unwrap_err().kind(), ErrorClass::Io);
    assert_eq!(are_there(), 3, "one byte of 20 MB came");
    let reading = store.get(&all[0], None).unwrap();
    assert!(reading.is_some());
    let error = put_stream(&vec![9; 26 * MIB as usize], 26 * MIB).unwrap_err();
    assert_eq!((error.kind(), are_there()), (ErrorClass::Limit, 3), "{error}");
    assert!(error.to_string().contains("9.00 MiB are being read (1 entries)"), "{error}");
    // A file is there whole, and yet can't be stored.
    let file = dir.path().join("file");
    std::fs::write(&file, vec![9; 26 * MIB as usize]).unwrap();
    let input = Input::open_stored(&file).unwrap();
    let size = input.size_bytes();
    assert!(store.put(input, size, &PutOptions::default(), &pool(), &Control::default()).is_err());
    assert_eq!(are_there(), 3);
    drop(reading);
    assert!(put_stream(&vec![9; 26 * MIB as usize], 26 * MIB).unwrap().new);
    assert_eq!(are_there(), 0);
    check_clean(&store);
}

/// The end of a stream, or of its connection.
struct Ending(bool);

impl Read for Ending {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        if self.0 { Err(std::io::ErrorKind::ConnectionAborted.into()) } else { Ok(0) }
    }
}
