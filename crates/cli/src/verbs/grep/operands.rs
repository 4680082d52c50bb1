//! Operands: the pattern, and the files.

use crate::args::GrepArgs;
use rorqual_pipe::escaped_path;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Patterns, and paths to search.
pub(crate) struct Operands {
    pub(crate) patterns: Vec<Vec<u8>>,
    /// The files that patterns came from, each with the place of its first one.
    sources: Vec<(usize, PathBuf)>,
    pub(crate) paths: Vec<PathBuf>,
    /// No file was named: it is the present folder, or standard input.
    pub(crate) implied: bool,
}

impl Operands {
    /// Reads what was typed. Files of patterns may have `text_bytes_max` bytes together.
    pub(crate) fn read(args: &GrepArgs, text_bytes_max: u64) -> Result<Self, String> {
        let mut operands = args.operands.iter();
        let mut patterns: Vec<Vec<u8>> = args.patterns.iter().flat_map(|pattern| typed(pattern, args)).collect();
        let mut sources = Vec::new();
        let mut left = text_bytes_max;
        for file in &args.pattern_files {
            sources.push((patterns.len(), file.clone()));
            add_file(file, &mut left, &mut patterns)?;
        }
        if args.patterns.is_empty() && args.pattern_files.is_empty() {
            patterns.extend(typed(operands.next().ok_or("a pattern is missing; see rorqual grep --help")?, args));
        }
        let mut paths: Vec<PathBuf> = operands.map(PathBuf::from).collect();
        let implied = paths.is_empty();
        if implied {
            paths.push(if args.recursive || args.dereference_recursive { "." } else { "-" }.into());
        }
        Ok(Self { patterns, sources, paths, implied })
    }

    /// The file and line of a pattern; nothing of one that was typed.
    pub(crate) fn place(&self, index: usize) -> Option<String> {
        let (first, file) = self.sources.iter().rev().find(|(first, _)| *first <= index)?;
        Some(format!("{}: line {}", escaped_path(file), index - first + 1))
    }
}

/// Splits a pattern of several lines into several patterns, as grep does, unless a match may have
/// several.
fn typed(pattern: &OsStr, args: &GrepArgs) -> impl Iterator<Item = Vec<u8>> {
    pattern.as_bytes().split(|byte| *byte == b'\n' && !args.multiline).map(<[u8]>::to_vec)
}

fn add_file(path: &PathBuf, left: &mut u64, patterns: &mut Vec<Vec<u8>>) -> Result<(), String> {
    let failed = |cause| format!("{}: cannot read the patterns: {cause}", escaped_path(path));
    let source: Box<dyn Read> =
        if path.as_os_str() == "-" { Box::new(std::io::stdin()) } else { Box::new(File::open(path).map_err(failed)?) };
    let mut text = Vec::new();
    let read = source.take(*left + 1).read_to_end(&mut text).map_err(failed)? as u64;
    *left = left.checked_sub(read).ok_or_else(|| {
        format!("{}: more patterns than the memory has room to compile (a larger --memory moves the limit)", escaped_path(path))
    })?;
    let text = text.strip_suffix(b"\n").or_else(|| (!text.is_empty()).then_some(&text[..]));
    let lines = text.into_iter().flat_map(|text| text.split(|byte| *byte == b'\n'));
    // As ripgrep: a list that was made on Windows is the same list.
    patterns.extend(lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line).to_vec()));
    Ok(())
}
