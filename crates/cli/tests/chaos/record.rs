//! Records of a run.

use crate::check::Check;
use crate::director::Rest;
use crate::options::Options;
use crate::process::Series;
use crate::tallies::Tallies;
use serde_json::{Value, json};
use std::path::Path;

const SCHEMA: &str = "rorqual.chaos/1";

pub(crate) fn write(
    path: &Path,
    options: &Options,
    tallies: &Tallies,
    series: &Series,
    rests: &[Rest],
    checks: &[Check],
    notes: &[String],
) {
    let rest = |rest: &Rest| -> Value {
        let held = &rest.held;
        json!({
            "life": rest.life,
            "seconds": rest.seconds,
            "resident_bytes": held.resident_bytes,
            "descriptors": held.descriptors.len(),
            "threads": held.threads,
        })
    };
    let record = json!({
        "schema": SCHEMA,
        "seconds": options.time.as_secs_f64(),
        "seed": options.seed,
        "notes": notes,
        "faults": tallies.fates(),
        "outcomes": tallies.outcomes(),
        "rests": rests.iter().map(rest).collect::<Vec<Value>>(),
        "checks": checks,
        "names": ["clients", "rorqual serve"],
        "series": series,
    });
    std::fs::write(path, record.to_string() + "\n").unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
