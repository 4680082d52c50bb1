//! Decoders stay within their share of the memory, and say so where the input wants more.

use crate::common::{MIB, TestFolder, log, rorqual};
use rorqual_testkit::paths::greedy_encodings;

#[test]
fn the_greediest_that_are_allowed_stay_within_the_promise() {
    let folder = TestFolder::new();
    // More than any dictionary, so that all of it is used.
    let bytes = log(120_000);
    assert!(bytes.len() as u64 > 10 * MIB);
    for (name, stored) in greedy_encodings(&bytes) {
        let file = folder.file(name, &stored);
        let ran = rorqual(&["count", "--json", &file]).run().exits(0);
        ran.within(24 * MIB);
        assert_eq!(
            (&ran.json()["total"]["bytes"], &ran.json()["total"]["lines"]),
            (&bytes.len().into(), &120_000.into()),
            "{name}"
        );
        let little = rorqual(&["count", "--json", "--threads", "1", "--memory", "19MiB", &file]).run();
        match name {
            "bzip2" => assert_eq!(little.exits(0).within(19 * MIB).code, Some(0)),
            _ => _ = little.exits(2).says(&[&file, &format!("this {name} data needs "), "--memory moves the limit"]),
        }
    }
}
