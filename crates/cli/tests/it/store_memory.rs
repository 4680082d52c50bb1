//! The store over HTTP, with objects far above the memory: puts side by side, and clients that do
//! not read.

use crate::client::{Server, Stream, read_answer};
use crate::common::{MIB, TestFolder};
use crate::encrypted;
use std::io::{Read, Write};
use std::thread;

/// Number of objects that the server takes in at a time.
const OBJECTS: u64 = 4;

const OBJECT_BYTES: u64 = 160 * MIB;

/// Number of readers at a time where they are encrypted.
const ENCRYPTED_READERS: u64 = 16;

/// A stretch of an object, unlike any other of any object.
fn piece(object: u64, number: u64) -> Vec<u8> {
    let mut piece = vec![0x5a; MIB as usize];
    for (at, stretch) in piece.chunks_mut(4 << 10).enumerate() {
        stretch[..24].copy_from_slice([object, number, at as u64].map(u64::to_le_bytes).as_flattened());
    }
    piece
}

fn begin(server: &Server, method: &str, object: u64, length: u64) -> Box<dyn Stream> {
    let mut stream = server.open();
    let head = server.head(method, &format!("/store/object-{object}"));
    stream.write_all(format!("{head}Content-Length: {length}\r\n\r\n").as_bytes()).expect("it listens");
    stream
}

fn put(server: &Server, object: u64) {
    let mut stream = begin(server, "PUT", object, OBJECT_BYTES);
    (0..OBJECT_BYTES / MIB).for_each(|number| stream.write_all(&piece(object, number)).expect("it listens"));
    let answer = read_answer(&mut stream);
    assert_eq!((answer.status, &answer.json()["bytes"]), (201, &OBJECT_BYTES.into()));
}

/// Asks for an object, and reads its head only.
fn ask(server: &Server, object: u64) -> (u16, Box<dyn Stream>) {
    let mut stream = begin(server, "GET", object, 0);
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).expect("an answer");
        head.extend(byte);
    }
    let status = String::from_utf8_lossy(&head[9..12]).parse().expect("a status");
    (status, stream)
}

fn check(object: u64, mut stream: impl Read) {
    let mut read = vec![0; MIB as usize];
    for number in 0..OBJECT_BYTES / MIB {
        stream.read_exact(&mut read).expect("the object");
        assert!(read == piece(object, number), "MiB {number} of object {object}");
    }
}

/// All objects at once.
fn each(work: impl Fn(u64) + Sync) {
    thread::scope(|scope| {
        for object in 0..OBJECTS {
            let work = &work;
            scope.spawn(move || work(object));
        }
    });
}

fn args(store: &str) -> [&str; 8] {
    ["--store", store, "--sessions", "1", "--threads", "1", "--connections", "100"]
}

#[test]
fn objects_above_the_memory_are_put_and_read_by_many() {
    let folder = TestFolder::new();
    let (server, memory) = Server::tight(&args(&folder.text("store")));
    assert!(OBJECTS * OBJECT_BYTES > 3 * memory);
    each(|object| put(&server, object));
    server.within(memory);
    let unread: Vec<_> = (0..80).map(|number| ask(&server, number % OBJECTS)).collect();
    assert!(unread.iter().all(|(status, _)| *status == 200));
    each(|object| check(object, ask(&server, object).1));
    server.within(memory);
}

#[test]
fn objects_that_are_encrypted_on_their_way_are_too() {
    let folder = TestFolder::new();
    let (server, memory) = encrypted::tight(&args(&folder.text("store")));
    assert!(OBJECTS * OBJECT_BYTES > 2 * memory && ENCRYPTED_READERS * OBJECT_BYTES > 9 * memory);
    each(|object| put(&server, object));
    server.within(memory);
    let mut unread: Vec<_> = (0..ENCRYPTED_READERS).map(|number| ask(&server, number % OBJECTS)).collect();
    assert!(unread.iter().all(|(status, _)| *status == 200));
    // All places are taken, by clients that do not read.
    assert!((0..20).all(|object| ask(&server, object % OBJECTS).0 == 503));
    server.within(memory);
    // They go on where they were.
    let reading = unread.split_off(unread.len() - OBJECTS as usize);
    thread::scope(|scope| {
        for (object, (_, stream)) in reading.into_iter().enumerate() {
            scope.spawn(move || check(object as u64, stream));
        }
    });
    server.within(memory);
}
