//! Files and indexes that were changed from outside.

use crate::common::{MIB, check_clean, digests, folder, get, pool, put, put_with, rebuilt, settings, store};
use rorqual_pipe::{Control, ErrorClass, Input};
use rorqual_store::{PutOptions, Removed, Store, Verdict, VerifyResult, rebuild};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Puts other bytes into a blob.
fn overwrite(path: &Path, bytes: &[u8]) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn verdicts(store: &Store, repair: bool) -> Vec<(String, Option<Removed>)> {
    let mut damaged = Vec::new();
    let note = |checked: &VerifyResult| {
        if let Verdict::Damaged(why) = &checked.verdict {
            damaged.push((why.clone(), checked.removed));
        }
        Ok(())
    };
    store.verify(repair, 2, &pool(), &Control::default(), note).unwrap();
    damaged
}

#[test]
fn verify_finds_each_kind_of_damage_and_repairs_it() {
    let dir = folder();
    let store = store(dir.path(), MIB);
    let sound = put(&store, b"sound").digest;
    let [changed, cut, missing] = [b"changed", b"cut off", b"missing"].map(|bytes| put(&store, bytes).digest);
    overwrite(&store.path(&changed), b"chanGed");
    overwrite(&store.path(&cut), b"cut");
    std::fs::remove_file(store.path(&missing)).unwrap();
    for digest in [&cut, &missing] {
        assert_eq!(store.get(digest, None).unwrap_err().kind(), ErrorClass::Corrupt);
    }
    let found = verdicts(&store, false);
    let mut whys: Vec<&str> = found.iter().map(|(why, _)| why.as_str()).collect();
    whys.sort_by_key(|why| (why.contains("missing"), why.contains("has 3 bytes instead of 7")));
    assert!(
        whys.len() == 3 && whys[0].contains("another digest") && whys[1].contains("instead") && whys[2].contains("missing"),
        "{whys:?}"
    );
    assert!(verdicts(&store, true).iter().all(|(_, removed)| *removed == Some(Removed::Done)));
    assert_eq!(digests(&store).into_iter().collect::<Vec<_>>(), [sound.to_string()]);
    check_clean(&store);
}

/// An unreadable file may be sound: a link to itself stands for a disk that fails.
#[test]
fn what_can_not_be_read_is_reported_and_not_removed() {
    let dir = folder();
    let store = store(dir.path(), MIB);
    let digest = put(&store, b"abc").digest;
    let path = store.path(&digest);
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&path, &path).unwrap();
    let mut seen = Vec::new();
    let note = |checked: &VerifyResult| {
        seen.push((matches!(checked.verdict, Verdict::Unreadable(_)), checked.removed));
        Ok(())
    };
    store.verify(true, 1, &pool(), &Control::default(), note).unwrap();
    assert_eq!(seen, [(true, None)]);
    assert_eq!(digests(&store).len(), 1);
}

#[test]
fn a_put_mends_an_entry_whose_file_is_gone() {
    let dir = folder();
    let store = store(dir.path(), MIB);
    let digest = put(&store, b"abc").digest;
    std::fs::remove_file(store.path(&digest)).unwrap();
    put(&store, b"abc");
    assert_eq!(get(&store, &digest).unwrap(), b"abc");
    check_clean(&store);
}

/// The bytes are at hand, and the entry's may have changed in any way.
#[test]
fn a_put_mends_an_entry_that_is_damaged() {
    let dir = folder();
    let store = store(dir.path(), MIB);
    let digest = put_with(&store, b"abcdef", &PutOptions { name: Some("n"), ..PutOptions::default() }).unwrap().digest;
    for damage in [&b"abXdef"[..], b"abc", b"abcdefghi", b""] {
        let mut reader = store.get(&digest, None).unwrap().unwrap();
        overwrite(&store.path(&digest), damage);
        let stored = put(&store, b"abcdef");
        assert_eq!((stored.digest, stored.new), (digest, false));
        assert_eq!(get(&store, &digest).unwrap(), b"abcdef");
        assert!(verdicts(&store, false).is_empty(), "{damage:?}");
        // An open reader goes on with the old file.
        let mut read = Vec::new();
        std::io::Read::read_to_end(&mut reader.file, &mut read).unwrap();
        assert_eq!(read, damage);
        check_clean(&store);
    }
    assert_eq!(store.find("n").unwrap(), rorqual_store::KeyMatch::One(digest), "its names stay");
}

/// A file that would not fit beside all others is looked for before it is written.
#[test]
fn a_put_mends_a_damaged_entry_in_a_full_store() {
    let dir = folder();
    let store = store(dir.path(), 3 * MIB);
    let file = dir.path().join("input");
    let bytes: Vec<u8> = (0..2 * MIB as u32 / 4).flat_map(u32::to_le_bytes).collect();
    std::fs::write(&file, &bytes).unwrap();
    let put_file = || {
        let input = Input::open(&file).unwrap().stored();
        store.put(input, Some(2 * MIB), &PutOptions::default(), &pool(), &Control::default()).unwrap()
    };
    let digest = put_file().digest;
    for at in [0, bytes.len() - 1] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        overwrite(&store.path(&digest), &damaged);
        assert_eq!(put_file().digest, digest);
        assert!(get(&store, &digest).unwrap() == bytes, "{at}");
    }
    assert!(!put_file().new);
    check_clean(&store);
}

#[test]
fn a_damaged_index_is_named_and_made_anew() {
    let dir = folder();
    let old = store(dir.path(), MIB);
    let [one, two] = [b"one", b"two"].map(|bytes| {
        put_with(&old, bytes, &PutOptions { name: Some("n"), lease: None, ..PutOptions::default() }).unwrap().digest
    });
    let error = rebuild(&settings(dir.path()), None).unwrap_err().to_string();
    assert!(error.contains("other processes have the store open"), "{error}");
    drop(old);
    let index = dir.path().join("index.sqlite");
    for bytes in [vec![7; 50_000], Vec::new(), b"SQLite format 3\0".to_vec()] {
        std::fs::write(&index, &bytes).unwrap();
        let error = Store::open(&settings(dir.path())).err().unwrap();
        assert_eq!(error.kind(), ErrorClass::Corrupt, "{error}");
        assert_eq!(rebuilt(dir.path(), Some(MIB)).entries, 2);
        let new = Store::open(&settings(dir.path())).unwrap();
        assert_eq!((get(&new, &one).unwrap(), get(&new, &two).unwrap()), (b"one".to_vec(), b"two".to_vec()));
        assert_eq!(new.usage().unwrap().bytes_max, MIB);
        check_clean(&new);
    }
    std::fs::remove_file(&index).unwrap();
    let error = Store::init(&settings(dir.path()), None, None).err().unwrap().to_string();
    assert!(error.contains("files but no index") && error.contains("\"rebuild\" of store gc"), "{error}");
}

/// The bound is lost with the index; a gc must not take the default for it.
#[test]
fn a_new_index_has_room_for_all_files() {
    let dir = folder();
    let digest = put(&store(dir.path(), 20 << 30), b"small").digest;
    let blob = dir.path().join("blobs/sha256/ab").join("ab".repeat(32));
    std::fs::create_dir_all(blob.parent().unwrap()).unwrap();
    std::fs::File::create(&blob).unwrap().set_len(11 << 30).unwrap();
    let usage = rebuilt(dir.path(), None);
    assert_eq!((usage.entries, usage.bytes_max), (2, (11 << 30) + 5));
    let store = Store::open(&settings(dir.path())).unwrap();
    assert_eq!(store.gc().unwrap().evicted.entries, 0);
    assert!(blob.exists() && get(&store, &digest).is_some());
    drop(store);
    std::fs::remove_file(&blob).unwrap();
    assert_eq!(rebuilt(dir.path(), None).bytes_max, 10 << 30);
}

#[test]
fn an_index_of_a_newer_version_is_left_alone() {
    let dir = folder();
    drop(store(dir.path(), MIB));
    let index = rusqlite::Connection::open(dir.path().join("index.sqlite")).unwrap();
    index.pragma_update(None, "user_version", 2).unwrap();
    let error = Store::open(&settings(dir.path())).err().unwrap().to_string();
    assert!(error.contains("has version 2, and this program knows 1"), "{error}");
}

#[test]
fn foreign_files_are_left_alone_and_counted() {
    let dir = folder();
    let store = store(dir.path(), MIB);
    put(&store, b"abc");
    for path in ["blobs/sha256/README", "blobs/sha256/ba/notes.txt"] {
        std::fs::write(dir.path().join(path), b"mine").unwrap();
    }
    assert_eq!(store.gc().unwrap().foreign, 2);
    assert!(dir.path().join("blobs/sha256/ba/notes.txt").exists());
}
