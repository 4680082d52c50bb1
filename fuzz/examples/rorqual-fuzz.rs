//! Every fuzz target in one program, as 20 programs of 180 MB each take longer to link than to run:
//! `FUZZ_TARGET` names the target, and libFuzzer has the command line.
#![no_main]

use rorqual_fuzz::{TARGETS, Target, server};
use std::sync::LazyLock;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let mut targets = TARGETS.iter().chain(&server::TARGETS);
    let target = targets.find(|(target, _)| *target == name);
    target.unwrap_or_else(|| panic!("FUZZ_TARGET={name}: no such target; fuzz/corpus/ has a folder of each")).1
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| TARGET(data));
