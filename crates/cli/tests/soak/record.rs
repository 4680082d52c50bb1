//! Output of a soak, and the files that are kept of it.

use crate::check::Check;
use crate::options::Options;
use crate::process::Series;
use crate::recorder::Recorder;
use crate::work::Tallies;
use serde_json::json;
use std::path::Path;

const SCHEMA: &str = "rorqual.soak/1";

pub(crate) fn print(tallies: &Tallies, recorder: &Recorder, warm: u64) {
    println!("{} operations, {warm} of them to warm up", tallies.total());
    for (operation, outcomes) in tallies.all() {
        let outcomes: Vec<String> = outcomes.iter().map(|(outcome, count)| format!("{outcome} {count}")).collect();
        println!("  {operation}: {}", outcomes.join(", "));
    }
    for (name, count, sum) in recorder.all() {
        println!("  {name}: {count}{}", if sum == 0.0 { String::new() } else { format!(", {sum:.3}") });
    }
}

pub(crate) fn write(path: &Path, options: &Options, tallies: &Tallies, series: &Series, checks: &[Check]) {
    let record = json!({
        "schema": SCHEMA,
        "seconds": options.time.as_secs_f64(),
        "seed": options.seed,
        "outcomes": tallies.all(),
        "checks": checks,
        "series": series,
    });
    std::fs::write(path, record.to_string() + "\n").unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
