//! The everyday binary stays small: it links no engine.

use rorqual_testkit::process::ProcessRun;

#[test]
fn the_everyday_binary_links_no_engine() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let tree = |package: &str| {
        let args = [
            "tree",
            "--locked",
            "--offline",
            "--manifest-path",
            manifest,
            "-p",
            package,
            "-e",
            "normal,build",
            "--prefix",
            "none",
        ];
        ProcessRun::new(&cargo).args(args).run().exits(0).text().to_owned()
    };
    assert!(tree("rorqual-query").contains("datafusion"), "the check sees what it looks for");
    let everyday = tree("rorqual");
    assert!(everyday.contains("rorqual-pipe"));
    for engine in ["datafusion", "sqlparser", "object_store"] {
        assert!(!everyday.contains(engine), "rorqual depends on {engine}");
    }
}
