//! The soak of the soak: one of everything is leaked, and the checks have to find it.

use crate::work::Kit;
use rorqual_pipe::{Lease, Operation};
use std::fs::File;
use std::process::Command;
use std::time::Duration;

/// Above the tolerance, and touched.
const BYTES: usize = 64 << 20;

/// Checks that have to fail then.
const FOUND: [&str; 6] = ["descriptors", "threads", "files", "buffers", "resident size", "in flight"];

/// Resources that are held until the checks are over.
pub(crate) struct Leaked {
    _descriptor: File,
    _buffer: Lease,
    _memory: Vec<u8>,
    _operation: Operation,
}

pub(crate) fn everything(kit: &Kit) -> Leaked {
    std::thread::spawn(|| std::thread::sleep(Duration::from_secs(3600)));
    Leaked {
        _descriptor: File::create(kit.folder().join("left")).expect("room on the disk"),
        _buffer: kit.pool.lease().expect("memory"),
        _memory: vec![1; BYTES],
        _operation: Operation::start("left"),
    }
}

/// Runs this program once more, with leaks.
pub(crate) fn is_found() -> bool {
    let program = std::env::current_exe().expect("we run");
    let output = Command::new(program).args(["--seconds", "3", "--leak"]).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let missed: Vec<&&str> = FOUND.iter().filter(|name| !text.contains(&format!("FAILED {name}: "))).collect();
    let sound = output.status.code() == Some(1) && missed.is_empty();
    println!(
        "{} leaks on purpose: {}",
        if sound { "  ok  " } else { "FAILED" },
        if sound { "all found".to_owned() } else { format!("missed {missed:?}\n{text}") }
    );
    sound
}
