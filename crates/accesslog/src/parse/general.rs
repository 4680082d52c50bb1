//! Reads a line of any text format, by a loop over its compiled program.

use super::clock::ClockPieces;
use super::number::{self, NumberError, Unit, present};
use super::record::{Draft, FlawPosition, LineFlaw, LineOutcome, LogRecord};
use super::time::{self, CLF_BYTES, ClfClock, Instant};
use super::{address, request};
use crate::format::Field;
use crate::format::program::{FieldEnd, FieldPart, Op, Program};
use crate::own::{OwnPlace, OwnReader};

/// Fields without which a line with a flaw is of no use.
pub(crate) fn needed(fields: u16) -> u16 {
    fields & (Field::Time.bit() | Field::Status.bit())
}

/// Reads one line, without its line end. Values of the format's own variables go to `own`.
pub(crate) fn parse<'a>(
    program: &Program,
    clock: &mut ClfClock,
    line: &'a [u8],
    mut own: Option<&mut ProgramOwn>,
) -> LineOutcome<'a> {
    // A byte order mark may begin the first line of a file.
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if line.trim_ascii().is_empty() {
        return LineOutcome::Blank;
    }
    let (outcome, has_gap) = read(program, clock, line, Leniency::None, own.as_deref_mut());
    let is_sound = matches!(outcome, LineOutcome::Parsed(_)) && !has_gap;
    if !is_sound
        && memchr::memmem::find(line, b" - ").is_some()
        && let (dashed @ LineOutcome::Parsed(_), false) = read(program, clock, line, Leniency::Dashes, own.as_deref_mut())
    {
        return dashed;
    }
    if !is_sound && (line.starts_with(b" ") || memchr::memmem::find(line, b"  ").is_some()) {
        // Only where one blank at a time does not do: a variable may be empty, with a blank on
        // either side.
        match read(program, clock, line, Leniency::Padded, own.as_deref_mut()) {
            (padded @ LineOutcome::Parsed(_), false) => return padded,
            // A field that never is empty was: by single blanks, values stand in others' fields.
            (padded @ LineOutcome::Repaired(..), false) if has_gap => return padded,
            _ => {}
        }
    }
    if !is_sound && own.is_some() {
        // The values are those of the last reading.
        return read(program, clock, line, Leniency::None, own).0;
    }
    outcome
}

/// The values of a line of a program, with the place of each of its variables.
#[derive(Debug, Clone)]
pub(crate) struct ProgramOwn {
    pub(crate) reader: OwnReader,
    pub(crate) places: Box<[Option<OwnPlace>]>,
}

impl ProgramOwn {
    #[inline]
    fn set(&mut self, variable: u16, text: &[u8]) {
        if let Some(place) = self.places.get(usize::from(variable)).copied().flatten() {
            self.reader.set(place, text);
        }
    }
}

/// Ways to write a line otherwise than the format has it, which are tried where it does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leniency {
    None,
    /// Fields may have more than one blank around them.
    Padded,
    /// A field in quotes that is absent may be a `-` without them, as in S3's logs.
    Dashes,
}

/// Reads a line by the format, with this leniency; also whether a field is empty that never is.
fn read<'a>(
    program: &Program,
    clock: &mut ClfClock,
    line: &'a [u8],
    lenient: Leniency,
    mut own: Option<&mut ProgramOwn>,
) -> (LineOutcome<'a>, bool) {
    let line = if lenient == Leniency::Padded && !program.lead.starts_with(b" ") { without_blanks(line) } else { line };
    let (draft, has_gap) = match read_as_it_is(program, clock, line, lenient, own.as_deref_mut()) {
        Ok(read) => read,
        Err(flaw) => return (LineOutcome::Rejected(flaw), false),
    };
    if program.begins_as_common && is_shifted(line, &draft.record) {
        return (read_after_host(program, clock, line, lenient, own), has_gap);
    }
    if program.begins_as_common && holds_two(line) {
        return (LineOutcome::Rejected(LineFlaw::TwoLines), has_gap);
    }
    if program.begins_with_host && is_shifted_after_host(&draft.record) {
        return (LineOutcome::Rejected(LineFlaw::Start), has_gap);
    }
    (draft.outcome(needed(program.fields)), has_gap)
}

/// True if a list of clients stands where the format has a host, so that each field is taken from
/// the place of another.
fn is_shifted_after_host(record: &LogRecord<'_>) -> bool {
    memchr::memchr(b',', record.host).is_some() || record.user.starts_with(b"- ")
}

/// True if the text taken for client or user has a field of the line in it that stands further on:
/// lines of several formats stand in one log, and between blanks any word can be read as a client.
/// A user may have blanks in its name, but after the `-` for the identity, which nothing but
/// another format's line has elsewhere.
fn is_shifted(line: &[u8], record: &LogRecord<'_>) -> bool {
    if memchr::memchr(b' ', record.client).is_some() {
        return true;
    }
    if memchr::memchr(b' ', record.user).is_none() {
        return false;
    }
    let is_dash = |word: &[u8]| word == b"-";
    let has_identity = line.split(|byte| *byte == b' ').nth(1).is_some_and(is_dash);
    record.user.starts_with(b"- ")
        || record.user.ends_with(b" -")
        || (!has_identity && record.user.split(|byte| *byte == b' ').any(is_dash))
}

/// True if a line has two times that a request follows: of two writers, or before and after a
/// crash, where the first line was cut. No field of the first can be told from the second's.
fn holds_two(line: &[u8]) -> bool {
    let ends_time = |at: &usize| {
        let time = at.checked_sub(CLF_BYTES + 1).and_then(|start| line[start..*at].strip_prefix(b"["));
        line[*at..].starts_with(b"] \"") && time.is_some_and(|time| time[2] == b'/' && time[6] == b'/' && time[11] == b':')
    };
    // Each line comes here whose format has no function of its own: a search for all three bytes
    // would be made anew for each.
    memchr::memchr_iter(b']', line).filter(ends_time).nth(1).is_some()
}

/// Reads a line that is shifted by its first word, where that is a host and all after it is sound.
#[cold]
fn read_after_host<'a>(
    program: &Program,
    clock: &mut ClfClock,
    line: &'a [u8],
    lenient: Leniency,
    own: Option<&mut ProgramOwn>,
) -> LineOutcome<'a> {
    let (word, rest) = line.split_at(memchr::memchr(b' ', line).map_or(line.len(), |blank| blank + 1));
    let host = present(address::client(word.trim_ascii_end()));
    let is_host = address::is_host_before(host) || word == b"- ";
    let draft = match read_as_it_is(program, clock, rest, lenient, own) {
        Ok((draft, false)) if is_host && program.fields & Field::Host.bit() == 0 => draft,
        _ => return LineOutcome::Rejected(LineFlaw::Start),
    };
    let is_addressed = address::is_host(draft.record.client) && !is_shifted(rest, &draft.record);
    match draft.outcome(needed(program.fields)) {
        LineOutcome::Parsed(record) if is_addressed => LineOutcome::Repaired(LogRecord { host, ..record }, LineFlaw::HostFirst),
        _ => LineOutcome::Rejected(LineFlaw::Start),
    }
}

/// Reads a line by the places that the format gives its fields.
fn read_as_it_is<'a>(
    program: &Program,
    clock: &mut ClfClock,
    line: &'a [u8],
    lenient: Leniency,
    mut own: Option<&mut ProgramOwn>,
) -> Result<(Draft<'a>, bool), LineFlaw> {
    if let Some(own) = &mut own {
        own.reader.values.clear();
    }
    let rest = line.strip_prefix(&*program.lead).ok_or(LineFlaw::Start)?;
    let mut reader = LineReader {
        clock,
        pieces: ClockPieces::default(),
        draft: Draft::default(),
        padded: lenient == Leniency::Padded,
        dashes: lenient == Leniency::Dashes,
        has_gap: false,
        is_shifted_later: program.begins_as_common,
        own,
    };
    reader.read_ops(&program.ops, rest);
    if program.has_clock {
        reader.finish_clock();
    }
    Ok((reader.draft, reader.has_gap))
}

fn without_blanks(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|byte| **byte == b' ').count();
    &text[blanks..]
}

struct LineReader<'p, 'a> {
    clock: &'p mut ClfClock,
    pieces: ClockPieces,
    draft: Draft<'a>,
    /// True if fields may have more than one blank around them.
    padded: bool,
    /// True if an absent field in quotes may stand without them.
    dashes: bool,
    /// True if a field was empty that never is.
    has_gap: bool,
    /// True if a client of several words is looked at when the line is read: it may be shifted.
    is_shifted_later: bool,
    own: Option<&'p mut ProgramOwn>,
}

/// A field cut out of a line.
struct FieldCut<'a> {
    text: &'a [u8],
    rest: &'a [u8],
    flaw: Option<LineFlaw>,
    /// True if all of the field is there, even if what should follow is not.
    is_whole: bool,
}

impl<'a> LineReader<'_, 'a> {
    fn read_ops(&mut self, ops: &[Op], line: &'a [u8]) {
        let mut rest = line;
        let mut is_dash = false;
        for (at, op) in ops.iter().enumerate() {
            if is_dash {
                let after = after_dash(op, &rest[1..]);
                let Some((dash_next, after)) = after.filter(|_| self.read_part(op, b"-").is_ok()) else {
                    return self.draft.note(LineFlaw::Missing(op.part.spot()));
                };
                (is_dash, rest) = (dash_next, after);
                continue;
            }
            if let Some(length) = ops.get(at + 1).filter(|_| self.dashes).and_then(|next| before_dash(op, next, rest)) {
                if let Err(flaw) = self.read_part(op, &rest[..length]) {
                    return self.draft.note(flaw);
                }
                self.draft.sound |= op.part.fields();
                (is_dash, rest) = (true, &rest[length + op.end.len() - 1..]);
                continue;
            }
            if self.padded && op.is_bare {
                rest = without_blanks(rest);
            }
            if op.may_end && is_count(rest.trim_ascii_end()) {
                // Servers write the common and the combined format into one log.
                if let Err(flaw) = self.read_part(op, rest.trim_ascii_end()) {
                    self.draft.note(flaw);
                }
                return;
            }
            let next = ops.get(at + 1).map_or(FlawPosition::Other, |next| next.part.spot());
            let cut = match self.cut(op, rest, next) {
                Ok(cut) => cut,
                Err(flaw) => return self.draft.note(flaw),
            };
            if let Some(flaw) = cut.flaw {
                self.read_cut(op, &cut);
                // What follows cannot be found any more.
                return self.draft.note(flaw);
            }
            let text = if self.padded && op.is_bare { cut.text.trim_ascii_end() } else { cut.text };
            let is_gap = op.is_bare && text.is_empty() && op.part.is_never_empty();
            self.has_gap |= is_gap;
            match self.read_part(op, text) {
                // Nothing at all, where even an absent one is a dash: it stands elsewhere.
                Ok(()) if is_gap && op.part.is_time() => self.draft.note(LineFlaw::NotTime),
                Ok(()) if is_gap && op.part == FieldPart::Status => self.draft.note(LineFlaw::NotNumber(Field::Status)),
                Ok(()) => self.draft.sound |= op.part.fields(),
                Err(flaw) => self.read_first_word(op, text, flaw),
            }
            rest = cut.rest;
        }
    }

    /// Reads the number that a line goes on after, where it should end; otherwise notes the flaw.
    #[cold]
    fn read_first_word(&mut self, op: &Op, text: &'a [u8], flaw: LineFlaw) {
        let is_last = op.stop == FieldEnd::LineEnd && op.is_bare && op.part.is_number();
        let word = memchr::memchr(b' ', text).filter(|_| is_last).map(|end| &text[..end]);
        if word.is_none_or(|word| self.read_part(op, word).is_err()) {
            return self.draft.note(flaw);
        }
        self.draft.sound |= op.part.fields();
        self.draft.note(LineFlaw::TextAfter);
    }

    fn cut(&mut self, op: &Op, text: &'a [u8], next: FlawPosition) -> Result<FieldCut<'a>, LineFlaw> {
        if let FieldPart::Clock(items) = &op.part {
            let length = self.pieces.read(items, text)?;
            let after = text[length..].strip_prefix(&*op.end).ok_or_else(|| missing_end(op, &text[length..], next))?;
            return Ok(FieldCut { text: &text[..length], rest: after, flaw: None, is_whole: true });
        }
        if op.stop == FieldEnd::LineEnd {
            return Ok(cut_last(op, text));
        }
        match field_bytes(op, text) {
            Some(length) => {
                Ok(FieldCut { text: &text[..length], rest: &text[length + op.end.len()..], flaw: None, is_whole: true })
            }
            None => Ok(cut_short(op, text, next)),
        }
    }

    /// Reads a field whose end is flawed. Half a path or half a number would be a wrong value, so
    /// only texts that people read, and a status, which has a known length, are taken from a cut
    /// field. That it cannot be read then is no second flaw.
    fn read_cut(&mut self, op: &Op, cut: &FieldCut<'a>) {
        let is_taken = cut.is_whole || matches!(op.part, FieldPart::Referrer | FieldPart::Agent | FieldPart::Status);
        if is_taken && self.read_part(op, cut.text).is_ok() {
            self.draft.sound |= op.part.fields();
        }
    }

    fn read_part(&mut self, op: &Op, text: &'a [u8]) -> Result<(), LineFlaw> {
        if let (Some(variable), Some(own)) = (op.variable, &mut self.own) {
            own.set(variable, text);
        }
        if op.is_skipped {
            return Ok(());
        }
        let part = &op.part;
        let record = &mut self.draft.record;
        match part {
            FieldPart::Skip | FieldPart::Clock(_) => {}
            FieldPart::Hierarchy if is_hierarchy(text) => {}
            FieldPart::Hierarchy => {
                // Which word is one too many nothing tells: half a path would be a wrong value.
                self.draft.sound = 0;
                return Err(LineFlaw::TextAfter);
            }
            FieldPart::Client => {
                record.client = present(address::client(text));
                let is_shifted = self.is_shifted_later && memchr::memchr(b' ', record.client).is_some();
                return if is_shifted { Ok(()) } else { checked_client(record) };
            }
            FieldPart::User => record.user = if text == b"\"\"" { b"" } else { present(text) },
            FieldPart::Host => record.host = present(text),
            FieldPart::Clf | FieldPart::Iso | FieldPart::Epoch(_) | FieldPart::AnyTime => {
                return self.read_time(part, text);
            }
            FieldPart::Request => return request::read(text, record),
            FieldPart::AbsoluteRequest => return request::read_absolute(text, record),
            FieldPart::Method => record.method = present(text),
            FieldPart::Target => request::read_target(present(text), record),
            FieldPart::Url => request::read_url(present(text), record),
            FieldPart::Path => record.path = present(text),
            FieldPart::Query | FieldPart::MarkedQuery => {
                record.query = present(text.strip_prefix(b"?").unwrap_or(text));
            }
            FieldPart::Protocol => record.protocol = present(text),
            FieldPart::Status => record.status = status(text)?,
            FieldPart::Bytes => {
                let text = self.draft.so_far(text);
                self.draft.record.bytes = bytes(text)?;
            }
            FieldPart::Referrer | FieldPart::EncodedReferrer => record.referrer = present(text),
            FieldPart::Agent | FieldPart::EncodedAgent => record.agent = present(text),
            FieldPart::RequestTime(unit) => {
                let text = self.draft.so_far(text);
                self.draft.record.request_time_us = duration(text, *unit, Field::RequestTime)?;
            }
            FieldPart::UpstreamTime(unit) => {
                let text = self.draft.so_far(text);
                self.draft.record.upstream_time_us = duration(text, *unit, Field::UpstreamTime)?;
            }
        }
        Ok(())
    }

    fn read_time(&mut self, part: &FieldPart, text: &[u8]) -> Result<(), LineFlaw> {
        if present(text).is_empty() {
            return Ok(());
        }
        let instant = match part {
            FieldPart::Clf => clf(self.clock, text).or_else(|flaw| other_time(self.clock, text, flaw))?,
            FieldPart::Iso => time::iso(text).or_else(|flaw| other_time(self.clock, text, flaw))?,
            FieldPart::Epoch(unit) => epoch(text, *unit).or_else(|flaw| other_time(self.clock, text, flaw))?,
            _ => return Ok(()),
        };
        self.draft.record.time_us = Some(instant.time_us);
        self.draft.record.zone_seconds = instant.zone_seconds;
        Ok(())
    }

    fn finish_clock(&mut self) {
        let record = &mut self.draft.record;
        let known = record.time_us.map(|time_us| Instant { time_us, zone_seconds: record.zone_seconds });
        match self.pieces.finish(known) {
            Ok(Some(instant)) => {
                record.time_us = Some(instant.time_us);
                record.zone_seconds = instant.zone_seconds;
            }
            Ok(None) => {}
            Err(flaw) => {
                self.draft.sound &= !Field::Time.bit();
                self.draft.note(flaw);
            }
        }
    }
}

/// Length of a field that a `-` follows where the format has a field in quotes.
fn before_dash(op: &Op, next: &Op, text: &[u8]) -> Option<usize> {
    let before = op.end.strip_suffix(b"\"").filter(|before| !before.is_empty() && next.end.starts_with(b"\""))?;
    let end = find(text, before, op.escaped)?;
    let after = text[end + before.len()..].strip_prefix(b"-")?;
    after_dash(next, after).map(|_| end)
}

/// The text after a field in quotes of which there was but a `-`; true before it where the next one
/// is so, too.
fn after_dash<'a>(op: &Op, text: &'a [u8]) -> Option<(bool, &'a [u8])> {
    let end = op.end.strip_prefix(b"\"")?;
    if op.stop == FieldEnd::LineEnd {
        return (text.trim_ascii_end() == end).then_some((false, b""));
    }
    if let Some(after) = text.strip_prefix(end) {
        return Some((false, after));
    }
    let after = text.strip_prefix(end.strip_suffix(b"\"")?)?;
    after.starts_with(b"-").then_some((true, after))
}

/// True of Squid's `HIER_DIRECT/10.0.0.1`, or `NONE/-`: a word in capitals, and a peer.
fn is_hierarchy(text: &[u8]) -> bool {
    const CODE_BYTES_MIN: usize = 4;
    let is_code = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    let code = memchr::memchr(b'/', text).map(|slash| &text[..slash]);
    code.is_some_and(|code| code.len() >= CODE_BYTES_MIN && code.iter().all(is_code))
}

/// The client of a column or a key, whatever it is; but the first of a list is an address.
pub(crate) fn client_of(text: &[u8]) -> Result<&[u8], LineFlaw> {
    let client = present(address::client(text));
    if memchr::memchr(b',', client).is_some() { Err(LineFlaw::NotClient) } else { Ok(client) }
}

/// Takes a client out of the record that is neither an address nor a name.
fn checked_client(record: &mut LogRecord<'_>) -> Result<(), LineFlaw> {
    if record.client.is_empty() || address::is_host(record.client) {
        return Ok(());
    }
    record.client = b"";
    Err(LineFlaw::NotClient)
}

/// Length of the field that `text` begins with; `None` if its end is not there.
fn field_bytes(op: &Op, text: &[u8]) -> Option<usize> {
    match op.stop {
        FieldEnd::Literal => match op.part {
            // A common-log time has a known width, so that it may hold the literal (a space).
            FieldPart::Clf if text.get(CLF_BYTES..).is_some_and(|rest| begins_with(rest, &op.end)) => Some(CLF_BYTES),
            // The colons of an IPv6 address in brackets are not the one before the port.
            FieldPart::Host if text.first() == Some(&b'[') => {
                let close = memchr::memchr(b']', text)?;
                find(&text[close..], &op.end, false).map(|at| close + at)
            }
            _ => find(text, &op.end, op.escaped),
        },
        FieldEnd::List => find_list_end(text, &op.end, op.escaped),
        FieldEnd::Number => Some(number_bytes(text)),
        FieldEnd::Slash => memchr::memchr(b'/', text),
        FieldEnd::LineEnd => Some(text.len()),
    }
}

/// First occurrence of `literal` in `text`; where `escaped`, one that no backslash escapes.
#[inline]
fn find(text: &[u8], literal: &[u8], escaped: bool) -> Option<usize> {
    let (&first, more) = literal.split_first()?;
    let mut from = 0;
    loop {
        let at = from + memchr::memchr(first, &text[from..])?;
        if begins_with(&text[at + 1..], more) && !(escaped && is_escaped(text, at)) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// `starts_with` for literals of a few bytes, for which a call of memcmp took a quarter of all
/// time.
#[inline]
fn begins_with(text: &[u8], literal: &[u8]) -> bool {
    text.len() >= literal.len() && text.iter().zip(literal).all(|(byte, expected)| byte == expected)
}

/// True if an odd number of backslashes stands before `at`.
#[inline]
fn is_escaped(text: &[u8], at: usize) -> bool {
    let mut slashes = 0;
    while slashes < at && text[at - 1 - slashes] == b'\\' {
        slashes += 1;
    }
    slashes % 2 == 1
}

/// The same as [`find`], but an occurrence within a list (`0.1, 0.2 : 0.3`) is none.
fn find_list_end(text: &[u8], literal: &[u8], escaped: bool) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + find(&text[from..], literal, escaped)?;
        let goes_on = text[..at].ends_with(b",") || text[..at].ends_with(b" :") || text[at..].starts_with(b" : ");
        if !goes_on {
            return Some(at);
        }
        from = at + 1;
    }
}

fn number_bytes(text: &[u8]) -> usize {
    if text.first() == Some(&b'-') {
        return 1;
    }
    let is_number = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let length = text.iter().take_while(|byte| is_number(byte)).count();
    // nginx's $pipe is 'p' or '.': a point at the end is not the number's.
    if text[..length].ends_with(b".") { length - 1 } else { length }
}

/// The last field of a line: all up to the literal that ends the line.
fn cut_last<'a>(op: &Op, text: &'a [u8]) -> FieldCut<'a> {
    let text = if op.end.ends_with(b" ") { text } else { text.trim_ascii_end() };
    let whole = |length: usize| FieldCut { text: &text[..length], rest: &[], flaw: None, is_whole: true };
    if op.end.is_empty() {
        // A format that ends before the line does says nothing of the words that follow.
        let mut blanks = memchr::memchr_iter(b' ', if op.is_bare && op.part.is_word() { text } else { b"" });
        return match blanks.find(|at| !text[..*at].ends_with(b",")) {
            Some(end) => FieldCut { flaw: Some(LineFlaw::TextAfter), ..whole(end) },
            None => whole(text.len()),
        };
    }
    let Some(first) = find(text, &op.end, op.escaped) else {
        return FieldCut { text, rest: &[], flaw: Some(missing_end(op, text, FlawPosition::Other)), is_whole: false };
    };
    let last = text.len() - op.end.len();
    let inner = text.ends_with(&op.end) && !(op.escaped && is_escaped(text, last));
    // A quote within the field is part of it where it opens; where it closes, other fields follow.
    let more_fields = op.escaped && (closes(text, first) || memchr::memmem::find(&text[first..], b"\" \"").is_some());
    if first == last || (inner && !more_fields) {
        return whole(last);
    }
    FieldCut { text: &text[..first], rest: &[], flaw: Some(LineFlaw::TextAfter), is_whole: true }
}

/// True if the quote at `at` stands after a word, as one that closes does.
fn closes(text: &[u8], at: usize) -> bool {
    match text[..at].last() {
        Some(before) => !matches!(before, b' ' | b'(' | b'[' | b'{' | b'=' | b':' | b',' | b';' | b'/'),
        None => text.get(1) == Some(&b' '),
    }
}

/// A field whose end is missing, because the line ends within it or within the literal after it.
fn cut_short<'a>(op: &Op, text: &'a [u8], next: FlawPosition) -> FieldCut<'a> {
    // Where another word follows than the format has, the quote still ends the field.
    let closed = if op.escaped && op.end.starts_with(b"\"") { find(text, b"\"", true) } else { None };
    let text = closed.map_or(text, |quote| &text[..=quote]);
    let begun = (1..op.end.len()).rev().find(|length| text.ends_with(&op.end[..*length]));
    let text_only = &text[..text.len() - begun.unwrap_or(0)];
    let flaw = if begun.is_some() { LineFlaw::Missing(next) } else { missing_end(op, text, next) };
    FieldCut { text: text_only, rest: &[], flaw: Some(flaw), is_whole: begun.is_some() }
}

/// The flaw of a field that does not end with its literal.
fn missing_end(op: &Op, text: &[u8], next: FlawPosition) -> LineFlaw {
    match op.end.first() {
        Some(mark) if mark.is_ascii_punctuation() => LineFlaw::Unclosed(op.part.spot(), char::from(*mark)),
        _ if text.is_empty() => LineFlaw::Missing(op.part.spot()),
        _ => LineFlaw::Missing(next),
    }
}

/// True if the text can be a number of bytes.
fn is_count(text: &[u8]) -> bool {
    text == b"-" || (!text.is_empty() && text.iter().all(u8::is_ascii_digit))
}

/// A status of 100 to 999; 0 for `-`, and for the 000 and 009 that nginx writes where there was
/// none, and the -1 of HAProxy.
pub(crate) fn status(text: &[u8]) -> Result<u16, LineFlaw> {
    let text = present(text);
    if text.is_empty() || matches!(text, b"0" | b"000" | b"009" | b"-1") {
        return Ok(0);
    }
    match number::unsigned(text) {
        Ok(status @ 100..=999) => u16::try_from(status).map_err(|_| LineFlaw::StatusRange),
        Ok(_) | Err(NumberError::TooLarge) => Err(LineFlaw::StatusRange),
        Err(NumberError::NotDigits) => Err(LineFlaw::NotNumber(Field::Status)),
    }
}

pub(crate) fn bytes(text: &[u8]) -> Result<Option<u64>, LineFlaw> {
    let text = present(text);
    if text.is_empty() {
        return Ok(None);
    }
    number::unsigned(text).map(Some).map_err(|error| flaw_of(error, Field::Bytes))
}

fn duration(text: &[u8], unit: Unit, field: Field) -> Result<Option<u64>, LineFlaw> {
    // Proxies write it where there was none.
    if text == b"-1" {
        return Ok(None);
    }
    number::duration_sum_us(text, unit).map_err(|error| flaw_of(error, field))
}

pub(crate) fn flaw_of(error: NumberError, field: Field) -> LineFlaw {
    match error {
        NumberError::NotDigits => LineFlaw::NotNumber(field),
        NumberError::TooLarge => LineFlaw::TooLarge(field),
    }
}

pub(crate) fn clf(clock: &mut ClfClock, text: &[u8]) -> Result<Instant, LineFlaw> {
    <&[u8; CLF_BYTES]>::try_from(text).map_err(|_| LineFlaw::NotTime).and_then(|text| clock.read(text))
}

/// A time that is not written as the format has it, where it is written in another way that is
/// known; otherwise the flaw.
#[cold]
fn other_time(clock: &mut ClfClock, text: &[u8], flaw: LineFlaw) -> Result<Instant, LineFlaw> {
    // A shorter number may be anything.
    const EPOCH_DIGITS_MIN: usize = 9;
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_number = text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    if flaw != LineFlaw::NotTime || (is_number && digits < EPOCH_DIGITS_MIN) {
        return Err(flaw);
    }
    any_time(clock, text)
}

/// A time in any of the forms that logs have: RFC 3339, common log, or Unix time in any unit.
pub(crate) fn any_time(clock: &mut ClfClock, text: &[u8]) -> Result<Instant, LineFlaw> {
    let text = text.strip_prefix(b"[").and_then(|text| text.strip_suffix(b"]")).unwrap_or(text);
    if text.get(2) == Some(&b'/') {
        return clf(clock, text).or_else(|_| time::clf_by_parts(text));
    }
    if text.get(4).is_some_and(|byte| matches!(byte, b'-' | b'/')) {
        return time::iso(text);
    }
    let time_us = number::epoch_us(text).map_err(|_| LineFlaw::NotTime)?;
    instant_from_epoch(time_us)
}

fn epoch(text: &[u8], unit: Unit) -> Result<Instant, LineFlaw> {
    let time_us = number::decimal_us(text, unit).map_err(|error| match error {
        NumberError::NotDigits => LineFlaw::NotTime,
        NumberError::TooLarge => LineFlaw::ImpossibleTime,
    })?;
    instant_from_epoch(time_us)
}

/// An instant up to the year 9999, which is what calendars can show.
pub(crate) fn instant_from_epoch(time_us: u64) -> Result<Instant, LineFlaw> {
    const YEAR_10000_US: i64 = 253_402_300_800_000_000;
    match i64::try_from(time_us) {
        Ok(time_us) if time_us < YEAR_10000_US => Ok(Instant { time_us, zone_seconds: 0 }),
        _ => Err(LineFlaw::ImpossibleTime),
    }
}
