//! Every fuzz target of the server over its corpus: mended faults stay mended, with no fuzzer at
//! hand.
#![allow(clippy::print_stdout, clippy::expect_used, unreachable_pub)]

#[path = "../../../fuzz/src/server/mod.rs"]
mod server;

use std::fs;
use std::path::Path;

#[test]
fn every_target_takes_its_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, target) in server::TARGETS {
        let mut inputs: Vec<_> =
            fs::read_dir(corpus.join(name)).expect("a corpus").map(|entry| entry.expect("a file").path()).collect();
        inputs.sort();
        assert!(!inputs.is_empty(), "{name} has no corpus");
        for input in inputs {
            // Shown when the target panics.
            println!("{}", input.display());
            target(&fs::read(&input).expect("a file"));
        }
    }
}
