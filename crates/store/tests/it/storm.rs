//! Many processes at once: 10,000 puts and gets while entries are evicted all the time, and some
//! are leased or open.

use crate::child::Child;
use crate::common::{check_clean, digest, folder, get, put, put_with, settings, store};
use rorqual_digest::Digest;
use rorqual_store::{EntryReader, LeaseTerms, PutOptions, Store};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

const PROCESSES: u64 = 8;
const OPERATIONS: u64 = 1_250;
const CONTENTS: u64 = 300;
/// About a third of all contents.
const BYTES_MAX: u64 = 400_000;
const TERMS: LeaseTerms<'_> = LeaseTerms { ttl: Duration::from_secs(600), holder: "storm" };

/// One of the contents: up to 8 KB.
fn content(number: u64) -> Vec<u8> {
    let length = 8 + (number * 7_919) % 8_000;
    let mut bytes = number.to_le_bytes().repeat(length as usize / 8 + 1);
    bytes.truncate(length as usize);
    bytes
}

#[test]
fn eight_processes_lose_no_leased_byte_and_tear_no_entry() {
    let dir = folder();
    let store = store(dir.path(), BYTES_MAX);
    let children: Vec<Child> = (0..PROCESSES).map(|seed| Child::start("storm", dir.path(), &[&seed.to_string()])).collect();
    for child in children {
        child.wait().unwrap_or_else(|said| panic!("{said}"));
    }
    let usage = store.usage().unwrap();
    assert!(usage.leases == 0 && usage.bytes <= BYTES_MAX && usage.entries > 10, "{usage:?}");
    check_clean(&store);
}

/// SplitMix64.
struct StormRng(u64);

impl StormRng {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// Entries that one process keeps from being evicted.
#[derive(Default)]
struct Kept {
    leases: Vec<(u64, String)>,
    readers: Vec<(u64, EntryReader)>,
}

pub(crate) fn work(dir: &Path, seed: u64) {
    let store = Store::open(&settings(dir)).unwrap();
    let mut random = StormRng(seed);
    let mut kept = Kept::default();
    for _ in 0..OPERATIONS {
        let number = random.below(CONTENTS);
        let bytes = content(number);
        match random.below(10) {
            0..4 => assert_eq!(put(&store, &bytes).digest, digest(&bytes)),
            4 => {
                let stored =
                    put_with(&store, &bytes, &PutOptions { name: None, lease: Some(TERMS), ..PutOptions::default() }).unwrap();
                kept.leases.push((number, stored.lease.unwrap().id));
            }
            5 => kept.readers.extend(store.get(&digest(&bytes), None).unwrap().map(|reader| (number, reader))),
            6 => drop(store.remove(&digest(&bytes), false).unwrap()),
            _ => check(&get(&store, &digest(&bytes)), &bytes),
        }
        check_kept(&store, &kept, &mut random);
        let_go(&store, &mut kept, 4);
    }
    let_go(&store, &mut kept, 0);
}

fn check(read: &Option<Vec<u8>>, bytes: &[u8]) {
    assert!(read.as_deref().is_none_or(|read| read == bytes), "a torn entry");
}

/// One of the kept entries is there, whole, and the store knows it.
fn check_kept(store: &Store, kept: &Kept, random: &mut StormRng) {
    if !kept.leases.is_empty() {
        let (number, _) = &kept.leases[random.below(kept.leases.len() as u64) as usize];
        let bytes = content(*number);
        assert_eq!(get(store, &digest(&bytes)).expect("it is leased"), bytes);
    }
    if !kept.readers.is_empty() {
        let (number, reader) = &kept.readers[random.below(kept.readers.len() as u64) as usize];
        let (bytes, mut read) = (content(*number), vec![0; reader.bytes as usize]);
        reader.file.read_exact_at(&mut read, 0).unwrap();
        let wanted: Digest = digest(&bytes);
        assert!(read == bytes && store.entry(&wanted).unwrap().is_some(), "it is open");
    }
}

fn let_go(store: &Store, kept: &mut Kept, most: usize) {
    while kept.leases.len() > most {
        assert!(store.release_lease(&kept.leases.remove(0).1).unwrap());
    }
    while kept.readers.len() > most {
        kept.readers.remove(0);
    }
}

/// The same content, put by all and evicted by all: nobody ever finds a row without its bytes, or
/// half of them.
#[test]
fn threads_that_put_and_remove_the_same_entry_agree() {
    let dir = folder();
    let store = store(dir.path(), BYTES_MAX);
    let bytes = content(5);
    std::thread::scope(|scope| {
        for thread in 0..6 {
            // Half of them share a store, half have one of their own.
            let store = if thread % 2 == 0 { store.clone() } else { Store::open(&settings(dir.path())).unwrap() };
            let bytes = &bytes;
            scope.spawn(move || {
                for _ in 0..100 {
                    put(&store, bytes);
                    check(&get(&store, &digest(bytes)), bytes);
                    store.remove(&digest(bytes), false).unwrap();
                }
            });
        }
    });
    check_clean(&store);
}
