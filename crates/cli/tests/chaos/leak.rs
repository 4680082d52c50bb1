//! The chaos of the chaos: wrong totals, an error that is in no document and a held connection, and
//! it has to say so.

use crate::kit::Kit;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

/// Checks that have to fail then.
const FOUND: [&str; 3] = ["totals", "answers", "server's descriptors"];

/// A connection that is held where none should be.
pub(crate) fn connection(kit: &Kit) -> TcpStream {
    let life = kit.lives.current();
    let mut stream = TcpStream::connect(life.address).expect("it listens");
    let head = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n", life.address, life.token);
    stream.write_all(head.as_bytes()).and_then(|()| stream.read_exact(&mut [0])).expect("it answers");
    stream
}

/// Runs this program once more, doing wrong.
pub(crate) fn is_found() -> bool {
    let program = std::env::current_exe().expect("we run");
    let output = Command::new(program).args(["--seconds", "9", "--leak"]).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let missed: Vec<&&str> = FOUND.iter().filter(|name| !text.contains(&format!("FAILED {name}: "))).collect();
    let sound = output.status.code() == Some(1) && missed.is_empty();
    println!(
        "{} wrongs on purpose: {}",
        if sound { "  ok  " } else { "FAILED" },
        if sound { "all found".to_owned() } else { format!("missed {missed:?}\n{text}") }
    );
    sound
}
