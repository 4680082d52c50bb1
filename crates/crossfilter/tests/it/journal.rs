//! Stores that outlive their process.

use crate::log::{Plain, Random, Setup, State, text_of};
use crate::turns::{answers, rows, take, turns};
use proptest::prelude::*;
use rorqual_crossfilter::limits::WORK_BYTES_MIN;
use rorqual_crossfilter::{RowStore, RowStoreSettings, Stack, View, ViewError, ViewParts};
use rorqual_pipe::Control;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

const JOURNAL_BYTES_MAX: u64 = 1 << 30;

fn settings(setup: &Setup) -> RowStoreSettings {
    RowStoreSettings {
        segment_rows: setup.segment_rows,
        ..RowStoreSettings::new(setup.memory_bytes, WORK_BYTES_MIN, setup.threads)
    }
}

fn journal() -> File {
    tempfile::tempfile().expect("a file")
}

fn handle(file: &File) -> File {
    file.try_clone().expect("a handle")
}

fn restore(setup: &Setup, file: &File, head: &[u8]) -> std::io::Result<Arc<RowStore>> {
    RowStore::restore(settings(setup), handle(file), JOURNAL_BYTES_MAX, head)
}

fn content(file: &File) -> Vec<u8> {
    let mut bytes = vec![0; file.metadata().expect("a size").len() as usize];
    file.read_exact_at(&mut bytes, 0).expect("it is there");
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Turns of any length, with a crash after any of them.
    #[test]
    fn restored_stores_say_what_one_run_says(
        seed in any::<u64>(),
        threads in 1..=3usize,
        segment_rows in prop_oneof![Just(40), Just(512), Just(1 << 16)],
        small in any::<bool>(),
        count in 1..3_000usize,
    ) {
        let rows = rows(seed, count);
        let memory_bytes = if small { 600 << 10 } else { 64 << 20 };
        let setup = Setup { threads, segment_rows, memory_bytes, spill_bytes: None };
        let whole = Setup { memory_bytes: 64 << 20, ..setup.clone() }.record(text_of(&rows));
        let file = journal();
        let mut store = RowStore::with_journal(settings(&setup), handle(&file), JOURNAL_BYTES_MAX).expect("a journal");
        let mut random = Random(seed | 1);
        let (mut taken, mut saved, mut head) = (0, 0, store.checkpoint().expect("there is room"));
        while taken < count {
            let end = (taken + 1 + random.below(400) as usize).min(count);
            take(&turns(&setup, &store), &rows[taken..end]);
            taken = end;
            if random.one_in(3) {
                (saved, head) = (taken, store.checkpoint().expect("there is room"));
            }
            if random.one_in(9) {
                // As much as can be had: rows go to the journal before the checkpoint.
                let _ = (0..256).rev().find_map(|parts| store.try_reserve(store.memory_bytes() / 256 * parts));
            }
            if random.one_in(4) {
                // Rows since the checkpoint are lost, and come again.
                store = restore(&setup, &file, &head).expect("it is whole");
                taken = saved;
                prop_assert_eq!(store.rows(), saved as u64);
            }
        }
        prop_assert!(store.is_whole());
        let expected = answers(&whole);
        prop_assert_eq!(&answers(&store), &expected);
        let head = store.checkpoint().expect("there is room");
        drop(store);
        let restored = restore(&setup, &file, &head).expect("it is whole");
        prop_assert_eq!(&answers(&restored), &expected);
        prop_assert_eq!(&restored.checkpoint().expect("there is room"), &head, "nothing is new");
    }
}

fn small_one() -> (Setup, File, Vec<u8>) {
    let setup = Setup { threads: 1, segment_rows: 30, memory_bytes: 1 << 20, spill_bytes: None };
    let file = journal();
    let store = RowStore::with_journal(settings(&setup), handle(&file), JOURNAL_BYTES_MAX).expect("a journal");
    for part in rows(3, 70).chunks(20) {
        take(&turns(&setup, &store), part);
    }
    let head = store.checkpoint().expect("there is room");
    (setup, file, head)
}

#[test]
fn no_damage_is_overlooked() {
    let (setup, file, head) = small_one();
    let whole = content(&file);
    assert!(restore(&setup, &file, &head).is_ok());
    for at in 0..head.len() {
        let mut damaged = head.clone();
        damaged[at] ^= 1 << (at % 8);
        assert!(restore(&setup, &file, &damaged).is_err(), "byte {at} of the head");
        assert!(restore(&setup, &file, &head[..at]).is_err(), "{at} bytes of the head");
    }
    let expected = answers(&restore(&setup, &file, &head).expect("it is whole"));
    for (at, byte) in whole.iter().enumerate() {
        file.write_all_at(&[byte ^ 1 << (at % 8)], at as u64).expect("it can be written");
        if let Ok(store) = restore(&setup, &file, &head) {
            // A column, which a question finds, or a part of a segment's record that nobody needs.
            match store.verify() {
                Ok(()) => assert_eq!(answers(&store), expected, "byte {at} of the journal"),
                Err(_) => assert!(has_damage(&store), "byte {at} of the journal"),
            }
        }
        file.write_all_at(&[*byte], at as u64).expect("it can be written");
    }
    assert_eq!(content(&file), whole, "what can't be restored is not cut off");
    for length in 0..whole.len() {
        let cut = journal();
        (&cut).write_all(&whole[..length]).expect("it can be written");
        assert!(restore(&setup, &cut, &head).is_err(), "{length} bytes of the journal");
    }
    let (_, other, _) = small_one();
    assert!(restore(&setup, &other, &head).is_err(), "another store's journal");
    let poor = Setup { memory_bytes: 0, ..setup };
    assert!(restore(&poor, &file, &head).is_ok(), "few values have room");
}

/// True if an export of all rows finds that a store is damaged.
fn has_damage(store: &RowStore) -> bool {
    let ended = store.each(&View::default(), &Control::default(), |_| Ok(()));
    matches!(ended, Err(ViewError::Io(_))) && store.is_damaged()
}

/// The answer to the first question about all rows, with so many buckets.
fn first_view(store: &RowStore, buckets: usize) -> String {
    let wanted = ViewParts { top: 50, buckets, stack: Stack::Class, facets: false };
    let viewed = store.view(&View::default(), &wanted, &Control::default()).expect("no segment is read");
    serde_json::to_string(&viewed).expect("JSON")
}

#[test]
fn the_first_view_of_a_restored_store_reads_no_segment() {
    let setup = Setup { threads: 2, segment_rows: 100, memory_bytes: 64 << 20, spill_bytes: None };
    let file = journal();
    let store = RowStore::with_journal(settings(&setup), handle(&file), JOURNAL_BYTES_MAX).expect("a journal");
    take(&turns(&setup, &store), &rows(9, 3_000));
    let head = store.checkpoint_counted(&Control::default()).expect("there is room");
    let buckets = [1, 60, 400, 2_000];
    let expected = buckets.map(|buckets| first_view(&store, buckets));
    // Segments are the first records, and their bytes are gone.
    let kept = content(&file);
    let mut at = 16;
    while kept[at] == 2 {
        at += 9 + u32::from_le_bytes([kept[at + 1], kept[at + 2], kept[at + 3], kept[at + 4]]) as usize;
    }
    assert!(at > kept.len() / 4, "there are segments");
    file.write_all_at(&vec![0; at - 16], 16).expect("it can be written");
    let restored = restore(&setup, &file, &head).expect("no segment is read");
    assert_eq!(buckets.map(|buckets| first_view(&restored, buckets)), expected);
    assert!(!restored.is_damaged());
    assert!(has_damage(&restored) && restored.verify().is_err());
    // Rows that come later are counted beside those.
    file.write_all_at(&kept, 0).expect("it can be written");
    let restored = restore(&setup, &file, &head).expect("it is whole");
    for store in [&store, &restored] {
        take(&turns(&setup, store), &rows(5, 700));
    }
    assert_eq!(buckets.map(|buckets| first_view(&restored, buckets)), buckets.map(|buckets| first_view(&store, buckets)));
    assert_eq!(answers(&restored), answers(&store));
    let head = restored.checkpoint_counted(&Control::default()).expect("there is room");
    drop(restored);
    assert_eq!(answers(&restore(&setup, &file, &head).expect("it is whole")), answers(&store));
}

#[test]
fn values_without_room_are_not_restored() {
    let setup = Setup { threads: 1, segment_rows: 512, memory_bytes: 4 << 20, spill_bytes: None };
    let file = journal();
    let store = RowStore::with_journal(settings(&setup), handle(&file), JOURNAL_BYTES_MAX).expect("a journal");
    let many: Vec<Plain> =
        (0..).zip(rows(1, 6_000)).map(|(index, row): (usize, Plain)| Plain { path: format!("/a/path/{index}"), ..row }).collect();
    take(&turns(&setup, &store), &many);
    let head = store.checkpoint().expect("there is room");
    let poor = Setup { memory_bytes: 0, ..setup };
    let error = restore(&poor, &file, &head).err().expect("there is less room");
    assert_eq!(error.kind(), std::io::ErrorKind::OutOfMemory);
}

#[test]
fn what_came_after_the_checkpoint_is_cut_off() {
    let (setup, file, head) = small_one();
    let length = file.metadata().expect("a size").len();
    let store = restore(&setup, &file, &head).expect("it is whole");
    take(&turns(&setup, &store), &rows(5, 500));
    let _ = store.checkpoint().expect("there is room");
    assert!(file.metadata().expect("a size").len() > length);
    let store = restore(&setup, &file, &head).expect("it is whole");
    assert_eq!((store.rows(), file.metadata().expect("a size").len()), (70, length));
}

#[test]
fn a_journal_has_its_limit() {
    let setup = Setup { threads: 1, segment_rows: 100, memory_bytes: 1 << 20, spill_bytes: None };
    let store = RowStore::with_journal(settings(&setup), journal(), 4_000).expect("a journal");
    take(&turns(&setup, &store), &rows(1, 2_000));
    let error = store.checkpoint().expect_err("there is no room");
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    assert!(setup.store().checkpoint().is_err(), "a store without a journal");
}

/// Texts that had no room in the dictionary have none after a restart.
#[test]
fn shortages_are_remembered() {
    let setup = Setup { threads: 1, segment_rows: 512, memory_bytes: 128 << 10, spill_bytes: None };
    let file = journal();
    let store = RowStore::with_journal(settings(&setup), handle(&file), JOURNAL_BYTES_MAX).expect("a journal");
    let many: Vec<Plain> = (0..)
        .zip(rows(1, 4_000))
        .map(|(index, row): (usize, Plain)| Plain { state: State::Sound, path: format!("/a/path/{index}"), ..row })
        .collect();
    take(&turns(&setup, &store), &many);
    assert!(store.is_whole() && store.rows() == 4_000);
    let head = store.checkpoint().expect("there is room");
    let restored = restore(&setup, &file, &head).expect("it is whole");
    assert_eq!(answers(&restored), answers(&store));
    take(&turns(&setup, &restored), &many[..100]);
    take(&turns(&setup, &store), &many[..100]);
    assert_eq!(answers(&restored), answers(&store));
}
