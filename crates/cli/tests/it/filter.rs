//! `rorqual logs --where`: the report of the lines that are meant is that of a log of these lines.

use crate::common::{TestFolder, Truth, line, log, rorqual};
use rorqual_testkit::paths::on_every_path;

const LINES: u64 = 21_000;

/// True if the line of that number is meant.
type Keep = fn(u64) -> bool;

/// The lines of `log` that `keep` names by their number.
fn lines(keep: impl Fn(u64) -> bool) -> Vec<u8> {
    (0..LINES).filter(|number| keep(*number)).flat_map(|number| (line(number) + "\n").into_bytes()).collect()
}

#[test]
fn the_lines_that_are_meant_are_counted_and_no_others() {
    let folder = TestFolder::new();
    let file = folder.file("access.log", log(LINES));
    let cases: [(&str, Keep); 7] = [
        ("status = 404", |number| number % 3 == 2),
        ("status >= 300 and path = /p3", |number| number % 3 != 0 && number % 7 == 3),
        ("path ~ \"^/p[0-2]$\" or status = 200", |number| number % 7 <= 2 || number % 3 == 0),
        ("not (client in 10.0.1.0/24) and bytes < 100", |number| number % 5 != 1 && number % 1_000 < 100),
        ("query contains \"=77\"", |number| number.to_string().starts_with("77")),
        ("hour = 1", |number| number / 3_600 == 1),
        ("bot", |_| false),
    ];
    for (filter, keep) in cases {
        let expected = lines(keep);
        let truth = Truth::of(&expected);
        let report = rorqual(&["logs", "--json", "--top", "100", "--where", filter, &file]).run().exits(0).json();
        assert_eq!(report["lines"]["total"], LINES, "{filter}");
        assert_eq!(report["lines"]["filtered"].as_u64(), Some(LINES - truth.parsed), "{filter}");
        if truth.parsed > 0 {
            truth.check(&report);
        }
        assert_eq!(report["lines"]["parsed"], truth.parsed, "{filter}");
    }
}

#[test]
fn a_filter_says_the_same_on_every_path() {
    let filter = ["logs", "--json", "--top", "100", "--where", "status in (3xx, 404) and path != /p1"];
    let expected = lines(|number| number % 3 != 0 && number % 7 != 1);
    let plain = rorqual(&["logs", "--json", "--top", "100"]).stdin(expected).run().exits(0).json();
    on_every_path(crate::common::PROGRAM, &filter, &[&["--threads", "1"], &["--threads", "3"]], &log(LINES), |path, ran| {
        let report = ran.exits(0).json();
        assert_eq!(report["panels"], plain["panels"], "{path}");
        assert_eq!(report["histogram"], plain["histogram"], "{path}");
        assert_eq!(report["percentiles"], plain["percentiles"], "{path}");
    });
}

#[test]
fn what_is_no_filter_is_told_with_its_column() {
    let folder = TestFolder::new();
    let file = folder.file("access.log", log(10));
    for (filter, said) in [
        ("status >= ", "column 11"),
        ("statsu = 200", "column 1"),
        ("status = 200 or", "column 16"),
        ("path ~ \"(\"", "column 8"),
        ("client in 10.0.0.0/99", "column 11"),
    ] {
        rorqual(&["logs", "--where", filter, &file]).run().exits(2).says(&["--where", said]);
    }
    // A format that fits nothing is an error, whatever the filter means.
    let wrong = ["logs", "--format", "$status $request_time", "--where", "status >= 500", &file];
    rorqual(&wrong).run().exits(2).says(&["not one of 10 lines could be read"]);
    let rejected = rorqual(&["logs", "--json", "--format", "$status $request_time", "--where", "rejected", &file]).run();
    assert_eq!(rejected.json()["lines"]["rejected"], 10);
    // A page tells the lines that were left out.
    let page = rorqual(&["logs", "--where", "status = 404", "--html", "-", &file]).run().exits(0);
    assert!(page.text().contains("left out by the filter"), "{}", page.text());
}
