//! Shared by the tests: the program, folders, a log with answers worked out by hand.

pub(crate) use rorqual_testkit::folder::{TestFolder, names_in};
use rorqual_testkit::process::{ProcessEnd, ProcessRun};
use std::collections::BTreeMap;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_rorqual-query");

pub(crate) const MIB: u64 = 1 << 20;

pub(crate) const SAMPLE: &[u8] = include_bytes!("../../../../samples/apache_combined.log");

/// The program with these arguments.
pub(crate) fn query(args: &[&str]) -> ProcessRun {
    ProcessRun::new(PROGRAM).args(args)
}

/// Answer of the program to `sql` as CSV.
pub(crate) fn csv(sql: &str) -> String {
    answer(query(&["--to", "csv", sql]))
}

/// Output of a run that must go well and have no message.
pub(crate) fn answer(run: ProcessRun) -> String {
    let ran: ProcessEnd = run.run().exits(0);
    assert_eq!(said(&ran), "");
    ran.text().to_owned()
}

/// The messages, but for the one line of the sample whose size is none.
pub(crate) fn said(ran: &ProcessEnd) -> String {
    ran.stderr.lines().filter(|line| !line.contains("a line with a field that could not be read, which is null")).collect()
}

/// Lines of a combined log by hour and status, as CSV: found by splitting at blanks and quotes, by
/// no parser of ours.
pub(crate) fn hours_by_hand(log: &[u8]) -> String {
    let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
    for line in String::from_utf8_lossy(log).lines() {
        let time = line.split('[').nth(1).expect("a time");
        let (day, month, year, hour) = (&time[..2], &time[3..6], &time[7..11], &time[12..14]);
        let month = 1 + "JanFebMarAprMayJunJulAugSepOctNovDec".find(month).expect("a month") / 3;
        let status = line.split("\" ").nth(1).expect("a status").split(' ').next().expect("a status");
        *counts.entry((format!("{year}-{month:02}-{day}T{hour}:00:00Z"), status.to_owned())).or_default() += 1;
    }
    let mut text = "hour,status,lines\n".to_owned();
    for ((hour, status), lines) in counts {
        text.push_str(&format!("{hour},{status},{lines}\n"));
    }
    text
}

/// The same question in SQL.
pub(crate) fn hours_of(table: &str) -> String {
    format!("SELECT date_trunc('hour', time) AS hour, status, count(*) AS lines FROM '{table}' GROUP BY 1, 2 ORDER BY 1, 2")
}
