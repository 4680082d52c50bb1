//! The inputs: logs of random sizes in every encoding, with truths that other programs have found.

use rorqual_testkit::generate::{AccessLog, Rng, write_lines};
use rorqual_testkit::paths::{gzip, zstd_frame};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

const SAMPLES: usize = 24;
/// Sizes are spread evenly over the powers of two up to this one.
const BYTES_LOG_MAX: f64 = 23.0;
const BYTES_LOG_MAX_FAST: f64 = 21.0;

/// Patterns for a search; they match from a sixth of a percent of the lines to all of them.
pub(crate) const PATTERNS: [&str; 4] =
    [r" 404 ", r#""GET [^"]*\.php[^"]*" (4|5)[0-9][0-9] "#, r"^66\.249\.", r"[0-9]{3} [0-9]{6,}"];

/// An input of whole lines.
#[derive(Clone)]
pub(crate) struct Sample {
    pub(crate) path: PathBuf,
    pub(crate) gzip_path: PathBuf,
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) gzip: Arc<[u8]>,
    pub(crate) zstd: Arc<[u8]>,
    pub(crate) lines: u64,
    /// Lines with each of [`PATTERNS`], as `grep -E` counts them.
    pub(crate) matches: [u64; 4],
    /// Digests in the form of `sha256sum` and its like: SHA-256, SHA-512, SHA-1, MD5.
    pub(crate) digests: [String; 4],
}

pub(crate) fn make(random: &mut Rng, folder: &Path, fast: bool) -> Vec<Sample> {
    let log_max = if fast { BYTES_LOG_MAX_FAST } else { BYTES_LOG_MAX };
    (0..SAMPLES).map(|number| Sample::make(random, folder, number, log_max)).collect()
}

impl Sample {
    fn make(random: &mut Rng, folder: &Path, number: usize, log_max: f64) -> Self {
        // The first is empty.
        let size = if number == 0 { 0 } else { random.fraction().mul_add(log_max - 6.0, 6.0).exp2() as u64 };
        let mut bytes = Vec::new();
        let written = write_lines(&mut AccessLog::new(size, random.next()), size, &mut bytes).expect("a Vec takes everything");
        let path = folder.join(format!("sample{number}.log"));
        let packed = gzip(&bytes);
        let gzip_path = folder.join(format!("sample{number}.log.gz"));
        std::fs::write(&path, &bytes).and_then(|()| std::fs::write(&gzip_path, &packed)).expect("room on the disk");
        Self {
            lines: written.lines,
            matches: PATTERNS.map(|pattern| counted_by_grep(pattern, &path)),
            digests: ["sha256sum", "sha512sum", "sha1sum", "md5sum"].map(|program| first_word(Command::new(program).arg(&path))),
            gzip: packed.into(),
            zstd: zstd_frame(&bytes).into(),
            bytes: bytes.into(),
            gzip_path,
            path,
        }
    }
}

fn counted_by_grep(pattern: &str, path: &Path) -> u64 {
    let mut grep = Command::new("grep");
    grep.env("LC_ALL", "C").args(["-a", "-c", "-E", pattern]).arg(path);
    first_word(&mut grep).parse().expect("a count")
}

fn first_word(command: &mut Command) -> String {
    let output = command.output().expect("coreutils and grep are everywhere");
    String::from_utf8_lossy(&output.stdout).split_whitespace().next().expect("an answer").to_owned()
}
