//! Chunks that are not decoded, by the counts that EXPLAIN ANALYZE shows.

use crate::common::{TestFolder, answer, csv, query};

/// The sum of a count over all partitions, as the plan has it.
fn count(plan: &str, name: &str) -> u64 {
    let (_, rest) = plan.split_once(&format!("{name}=")).unwrap_or_else(|| panic!("no {name} in {plan}"));
    let text: String = rest.chars().take_while(|character| character.is_ascii_digit() || *character == '.').collect();
    let unit = rest[text.len()..].trim_start();
    let factor = if unit.starts_with('K') { 1e3 } else { 1.0 };
    (text.parse::<f64>().unwrap() * factor) as u64
}

fn analyzed(sql: &str) -> String {
    answer(query(&["--to", "csv", "--threads", "2", &format!("EXPLAIN ANALYZE {sql}")]))
}

const ROWS: u64 = 60_000;

/// Rows in the order of time, a second each.
fn ordered(folder: &TestFolder) -> String {
    let row = |n: u64| {
        let (day, hour, minute, second) = (1 + n / 86_400, n / 3_600 % 24, n / 60 % 60, n % 60);
        format!("{{\"time\":\"2025-01-{day:02}T{hour:02}:{minute:02}:{second:02}Z\",\"n\":{n},\"text\":\"{n:0>60}\"}}\n")
    };
    folder.file("rows.ndjson", (0..ROWS).map(row).collect::<String>())
}

#[test]
fn chunks_of_json_outside_of_a_span_are_not_decoded_further() {
    let folder = TestFolder::new();
    let path = ordered(&folder);
    let compressed = folder.file("rows.ndjson.zst", zstd::encode_all(&std::fs::read(&path).unwrap()[..], 1).unwrap());
    for path in [&path, &compressed] {
        let sql = format!("SELECT n, text FROM '{path}' WHERE time >= '2025-01-01T10:00:00Z' AND time < '2025-01-01T10:00:10Z'");
        let numbers: Vec<String> = (36_000..36_010).map(|n| format!("{n},{n:0>60}\n")).collect();
        assert_eq!(csv(&format!("{sql} ORDER BY n")), format!("n,text\n{}", numbers.concat()));
        let plan = analyzed(&sql);
        // 7 MB are about 26 blocks of 256 KiB; ten rows lie in one, or two.
        assert!(count(&plan, "chunks_skipped") >= 20, "{plan}");
        assert!((10..=2 * 2_500).contains(&count(&plan, "rows_decoded")), "{plan}");
    }
    let all = analyzed(&format!("SELECT n, text FROM '{path}' WHERE n >= 0"));
    assert_eq!((count(&all, "chunks_skipped"), count(&all, "rows_decoded")), (0, ROWS), "{all}");
}

#[test]
fn lines_of_a_log_outside_of_a_span_are_not_decoded_further() {
    let folder = TestFolder::new();
    let line = |n: u64| {
        let (hour, minute, second) = (n / 3_600 % 24, n / 60 % 60, n % 60);
        format!("h - - [02/Jan/2025:{hour:02}:{minute:02}:{second:02} +0000] \"GET /{n} HTTP/1.1\" 200 1 \"-\" \"-\"\n")
    };
    let path = folder.file("access.log", (0..ROWS).map(line).collect::<String>());
    let plan = analyzed(&format!("SELECT path FROM '{path}' WHERE time >= '2025-01-02T16:00:00Z'"));
    assert_eq!((count(&plan, "rows_outside"), count(&plan, "rows_decoded")), (57_600, 2_400), "{plan}");
}

#[test]
fn row_groups_and_pages_of_parquet_are_left_out() {
    let folder = TestFolder::new();
    let (path, parquet) = (ordered(&folder), folder.text("rows.parquet"));
    let sql = format!("SELECT time, n, text || text AS text FROM '{path}' ORDER BY n");
    let _ = query(&["--memory", "256MiB", "-o", &parquet, &sql]).run().exits(0);
    let plan = analyzed(&format!("SELECT text FROM '{parquet}' WHERE n = 59990"));
    // One group of three pages of 20,000 rows, of which one is read.
    assert!(plan.contains("page_index_rows_pruned=60.00 K total \u{2192} 20.00 K matched"), "{plan}");
    let none = analyzed(&format!("SELECT text FROM '{parquet}' WHERE n < 0"));
    assert!(none.contains("files_ranges_pruned_statistics=1 total \u{2192} 0 matched"), "{none}");
    assert_eq!(csv(&format!("SELECT n FROM '{parquet}' WHERE time = '2025-01-01T16:39:50Z'")), "n\n59990\n");
}
