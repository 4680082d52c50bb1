//! Operands: the pattern, and the files.

use crate::args::{GREP_USAGE as USAGE, GrepArgs};
use crate::objects;
use rorqual_pipe::decode::Charset;
use rorqual_pipe::{Control, Input, escaped_path};
use rustix::fs::FileType;
use std::ffi::OsStr;
use std::fmt::Display;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Share of the memory that patterns of files may take before they are looked at: half.
const PATTERNS_SHARE: u64 = 2;

/// Copies of their text while it is read and cut into lines.
const READ_COPIES: u64 = 3;

/// The mark that some programs begin UTF-8 with, as which that of UTF-16 comes, too.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Memory of each line beside its bytes: its place in a list that doubles, and its own piece.
const LINE_BYTES: u64 = 80;

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
    /// Reads what was typed. Patterns of files may take half of the memory; a stop ends the wait
    /// for a file that stalls.
    pub(crate) fn read(args: &GrepArgs, memory_bytes: u64, control: &Control) -> Result<Self, String> {
        let mut operands = args.operands.iter();
        let mut patterns: Vec<Vec<u8>> = args.patterns.iter().flat_map(|pattern| typed(pattern, args)).collect();
        let mut sources = Vec::new();
        let mut left = memory_bytes / PATTERNS_SHARE;
        for file in &args.pattern_files {
            sources.push((patterns.len(), file.clone()));
            add_file(file, args, (&mut left, &mut patterns), control)?;
        }
        if args.patterns.is_empty() && args.pattern_files.is_empty() {
            patterns.extend(typed(operands.next().ok_or_else(missing)?, args));
        }
        let mut paths: Vec<PathBuf> = operands.map(PathBuf::from).collect();
        let implied = paths.is_empty();
        if implied {
            paths.push(if args.recursive || args.dereference_recursive { "." } else { "-" }.into());
        }
        Ok(Self { patterns, sources, paths: objects::expand(paths)?, implied })
    }

    /// The file and line of a pattern; nothing of one that was typed.
    pub(crate) fn place(&self, index: usize) -> Option<String> {
        let (first, file) = self.sources.iter().rev().find(|(first, _)| *first <= index)?;
        Some(format!("{}: line {}", escaped_path(file), index - first + 1))
    }
}

fn missing() -> String {
    format!("a pattern is missing\n\nUsage: {USAGE}\n\nFor more information, try 'rorqual grep --help'.")
}

/// Splits a pattern of several lines into several patterns, as grep does, unless a match may have
/// several.
fn typed(pattern: &OsStr, args: &GrepArgs) -> impl Iterator<Item = Vec<u8>> {
    pattern.as_bytes().split(|byte| *byte == b'\n' && !args.multiline).map(<[u8]>::to_vec)
}

fn add_file(
    path: &Path,
    args: &GrepArgs,
    (left, patterns): (&mut u64, &mut Vec<Vec<u8>>),
    control: &Control,
) -> Result<(), String> {
    let failed = |cause: &dyn Display| format!("{}: cannot read the patterns: {cause}", escaped_path(path));
    let source = pattern_source(path, control)?;
    let mut stored = Vec::new();
    source.take(*left / READ_COPIES + 1).read_to_end(&mut stored).map_err(|cause| failed(&cause))?;
    if control.stopped() {
        return Err(format!("{}: not all patterns were read", escaped_path(path)));
    }
    let charset = if decodes(args) { Charset::detect(&stored) } else { Charset::Utf8 };
    let mut needed = READ_COPIES * stored.len() as u64;
    let too_many =
        || format!("{}: more patterns than half of --memory has room for (a larger one moves the limit)", escaped_path(path));
    let text = match charset {
        Charset::Utf8 => stored,
        // Of two bytes at most three are made.
        _ if 2 * needed > *left => return Err(too_many()),
        Charset::Utf16Le => utf8_of(&stored, u16::from_le_bytes).map_err(|cause| failed(&cause))?,
        Charset::Utf16Be => utf8_of(&stored, u16::from_be_bytes).map_err(|cause| failed(&cause))?,
    };
    needed = needed.max(READ_COPIES * text.len() as u64);
    // It belongs to no pattern, as it belongs to no line.
    let text = text.strip_prefix(MARK).unwrap_or(&text);
    let lines = memchr::memchr_iter(b'\n', text).count() as u64 + 1;
    *left = left.checked_sub(needed + LINE_BYTES * lines).ok_or_else(too_many)?;
    let text = text.strip_suffix(b"\n").or_else(|| (!text.is_empty()).then_some(text));
    let lines = text.into_iter().flat_map(|text| text.split(|byte| *byte == b'\n'));
    // As ripgrep: a list that was made on Windows is the same list.
    patterns.extend(lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line).to_vec()));
    Ok(())
}

/// True if texts are read by their marks: files of patterns as those that are searched.
pub(super) fn decodes(args: &GrepArgs) -> bool {
    !args.text && !args.null_data
}

/// UTF-16, with its mark or without, as UTF-8.
fn utf8_of(stored: &[u8], unit_of: fn([u8; 2]) -> u16) -> Result<Vec<u8>, String> {
    if !stored.len().is_multiple_of(2) {
        return Err("it is UTF-16, and ends within a character (-a takes the bytes)".to_owned());
    }
    let units = stored.chunks_exact(2).map(|unit| unit_of([unit[0], unit[1]]));
    let mut text = String::with_capacity(stored.len());
    let mut offset = 0;
    for character in char::decode_utf16(units) {
        let character =
            character.map_err(|_| format!("it is UTF-16, with half of a pair at byte {offset} (-a takes the bytes)"))?;
        offset += 2 * character.len_utf16();
        text.push(character);
    }
    Ok(text.into_bytes())
}

/// Patterns as they are stored. Standard input that is a file is read from the place which is
/// shared with who reads it next: as a file to search it has no more.
fn pattern_source(path: &Path, control: &Control) -> Result<Box<dyn Read>, String> {
    let is_file = || rustix::fs::fstat(std::io::stdin()).is_ok_and(|data| FileType::from_raw_mode(data.st_mode).is_file());
    if path.as_os_str() == "-" && is_file() {
        return Ok(Box::new(std::io::stdin()));
    }
    let reader = Input::open_stored(path).and_then(|input| input.into_reader(control));
    reader.map(|reader| reader as Box<dyn Read>).map_err(|error| format!("-f {error}"))
}
