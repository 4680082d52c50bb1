//! Every fuzz target over its corpus: mended faults stay mended, with no fuzzer at hand.
#![allow(clippy::print_stdout)]

#[path = "../../../../fuzz/src/lib.rs"]
#[allow(unreachable_pub, dead_code)]
pub(crate) mod targets;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn every_target_takes_its_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, target) in targets::TARGETS {
        let mut inputs: Vec<_> = fs::read_dir(corpus.join(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
        inputs.sort();
        assert!(!inputs.is_empty(), "{name} has no corpus");
        for input in inputs {
            // Shown when the target panics.
            println!("{}", input.display());
            target(&fs::read(&input).unwrap());
        }
    }
    let targets = targets::TARGETS.iter().map(|(name, _)| (*name).to_owned());
    let all: BTreeSet<String> = targets.chain(targets::OF_THE_SERVER.iter().map(|name| (*name).to_owned())).collect();
    let folders = fs::read_dir(&corpus).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(folders.collect::<BTreeSet<_>>(), all, "each target has a corpus, and each corpus a target");
}
