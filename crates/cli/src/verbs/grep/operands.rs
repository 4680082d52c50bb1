//! Which of the operands is the pattern, and which are files.

use crate::args::GrepArgs;
use rorqual_pipe::escaped_path;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

/// The patterns, and the files to search. Files of patterns may have `text_bytes_max` bytes together.
pub(crate) fn read(args: &GrepArgs, text_bytes_max: u64) -> Result<(Vec<String>, Vec<PathBuf>), String> {
    let mut operands = args.operands.iter();
    let mut patterns: Vec<String> = args.patterns.iter().flat_map(|pattern| lines(pattern)).collect();
    let mut left = text_bytes_max;
    for file in &args.pattern_files {
        patterns.extend(of_file(file, &mut left)?);
    }
    if args.patterns.is_empty() && args.pattern_files.is_empty() {
        let pattern = operands.next().ok_or("a pattern is missing; see rorqual grep --help")?;
        let pattern = pattern.to_str().ok_or("the pattern is not UTF-8; other bytes are written as in '(?-u)\\xFF'")?;
        patterns.extend(lines(pattern));
    }
    let paths: Vec<PathBuf> = operands.map(PathBuf::from).collect();
    let default = if args.recursive { "." } else { "-" };
    Ok((patterns, if paths.is_empty() { vec![default.into()] } else { paths }))
}

/// As grep: a pattern of several lines is several patterns.
fn lines(pattern: &str) -> Vec<String> {
    pattern.split('\n').map(str::to_owned).collect()
}

fn of_file(path: &PathBuf, left: &mut u64) -> Result<Vec<String>, String> {
    let failed = |cause| format!("{}: cannot read the patterns: {cause}", escaped_path(path));
    let source: Box<dyn Read> =
        if path.as_os_str() == "-" { Box::new(std::io::stdin()) } else { Box::new(File::open(path).map_err(failed)?) };
    let mut text = String::new();
    let read = source.take(*left + 1).read_to_string(&mut text).map_err(failed)? as u64;
    *left = left.checked_sub(read).ok_or_else(|| {
        format!("{}: more patterns than the memory has room to compile (a larger --memory moves the limit)", escaped_path(path))
    })?;
    Ok(text.lines().map(str::to_owned).collect())
}
