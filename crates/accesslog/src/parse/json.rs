//! Reads a line that is one JSON object, by the names of its keys, in any order.
//!
//! One pass over the line, without a tree: values of keys that mean something are remembered as
//! slices, all others are stepped over. Nested objects are entered only where a key path leads into
//! them, and the rest is skipped by counting brackets, so that no depth of nesting costs stack.

use super::escape::undo_escapes;
use super::general::{self, needed, status};
use super::json_own::{DEPTH_MAX, JsonForm, JsonOwn};
use super::memo::KeyMemo;
use super::number::{self, Unit, present};
use super::record::{Draft, LineFlaw, LineOutcome};
use super::time::ClfClock;
use super::{address, request, w3c, with_values};
use crate::format::Field;
use crate::format::json::{JsonKeys, JsonWriterKind, KeyMeaning};
use crate::format::program::FieldPart;
use crate::own::{LogVariable, OwnReader};
use std::borrow::Cow;

/// State of a parser from line to line.
#[derive(Clone, Debug)]
pub(crate) struct JsonState {
    /// Strings of the current line whose escapes were undone.
    scratch: Vec<u8>,
    memo: KeyMemo,
    /// Key of a time of the current line that is not read, as nothing tells its unit.
    unitless: Option<&'static str>,
    /// Values of keys that no field of a record is for, where these are asked for.
    own: Option<Box<JsonOwn>>,
}

impl JsonState {
    pub(crate) fn new() -> JsonState {
        JsonState { scratch: Vec::new(), memo: KeyMemo::new(), unitless: None, own: None }
    }

    /// The same with the values of the log's own columns.
    pub(crate) fn with_own(self, own: OwnReader) -> JsonState {
        JsonState { own: Some(Box::new(JsonOwn::new(own))), ..self }
    }

    /// The same that also learns the keys of the lines, and the kinds of their values.
    pub(crate) fn learning(self) -> JsonState {
        JsonState { own: self.own.map(|own| Box::new(own.learning())), ..self }
    }

    /// The variables of the lines that a state has learnt from.
    pub(crate) fn learnt(&self) -> Vec<LogVariable> {
        self.own.as_ref().map(|own| own.learnt()).unwrap_or_default()
    }

    /// The key of a time of the last line that was not read, as nothing tells its unit.
    pub(crate) fn unitless(&self) -> Option<&'static str> {
        self.unitless
    }

    /// Forgets the last line; after an uncommonly long one its room too.
    fn clear(&mut self) {
        if self.scratch.capacity() > SCRATCH_BYTES_KEPT {
            self.scratch = Vec::new();
        }
        self.scratch.clear();
        if let Some(own) = &mut self.own {
            own.begin();
        }
    }
}

/// Room for undone escapes that is kept from line to line.
const SCRATCH_BYTES_KEPT: usize = 64 << 10;

/// A value as found: in the line itself, or in the scratch from where to where.
#[derive(Clone, Copy)]
enum JsonText<'a> {
    Line(&'a [u8]),
    Scratch(usize, usize),
}

/// The best value so far for one kind of part.
#[derive(Clone, Copy)]
struct BestValue<'a> {
    slot: u16,
    rank: u8,
    text: JsonText<'a>,
    /// The key, and the object that it is in.
    key: &'a [u8],
    object: u16,
}

impl<'a> JsonText<'a> {
    fn of<'s>(self, scratch: &'s [u8]) -> &'s [u8]
    where
        'a: 's,
    {
        match self {
            JsonText::Line(text) => text,
            JsonText::Scratch(start, end) => &scratch[start..end],
        }
    }
}

/// A key, after the number of the object that it is in.
type ObjectKey<'a> = (u16, &'a [u8]);

/// The form of a value that is no text in quotes, or was one.
fn form(text: &[u8]) -> JsonForm {
    match text {
        [] => JsonForm::Text,
        digits if digits.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-') => JsonForm::Integer,
        other if matches!(other[0], b'0'..=b'9' | b'-') => JsonForm::Decimal,
        _ => JsonForm::Text,
    }
}

const KINDS: usize = 16;
const TIME: usize = 0;
const CLIENT: usize = 1;
const REQUEST: usize = 4;
const METHOD: usize = 5;
const TARGET: usize = 6;
const PATH: usize = 7;
const QUERY: usize = 8;
const PROTOCOL: usize = 9;
const STATUS: usize = 10;
const BYTES: usize = 11;
const AGENT: usize = 13;

/// Parts of one kind compete for one place.
fn kind(part: &FieldPart) -> Option<usize> {
    Some(match part {
        FieldPart::AnyTime | FieldPart::Clf | FieldPart::Iso | FieldPart::Epoch(_) => TIME,
        FieldPart::Client => CLIENT,
        FieldPart::User => 2,
        FieldPart::Host => 3,
        FieldPart::Request => REQUEST,
        FieldPart::Method => METHOD,
        FieldPart::Target | FieldPart::Url => TARGET,
        FieldPart::Path => PATH,
        FieldPart::Query | FieldPart::MarkedQuery => QUERY,
        FieldPart::Protocol => PROTOCOL,
        FieldPart::Status => STATUS,
        FieldPart::Bytes => BYTES,
        FieldPart::Referrer | FieldPart::EncodedReferrer => 12,
        FieldPart::Agent | FieldPart::EncodedAgent => AGENT,
        FieldPart::RequestTime(_) => 14,
        FieldPart::UpstreamTime(_) => 15,
        FieldPart::Skip | FieldPart::Hierarchy | FieldPart::AbsoluteRequest | FieldPart::Clock(_) => return None,
    })
}

/// Key in which collectors write their time, and its rank among the keys for one.
const COLLECTED: &[u8] = b"@timestamp";
const COLLECTED_RANK: u8 = 5;

/// True of `22/Nov/2024:10:10:00 +0000`, in brackets or without, also without the zone.
fn is_common_log_time(text: &[u8]) -> bool {
    const BYTES_MIN: usize = 20;
    let text = text.strip_prefix(b"[").unwrap_or(text);
    text.len() >= BYTES_MIN && text[2] == b'/' && text[6] == b'/' && text[11] == b':'
}

/// Reads one line, without its line end.
pub(crate) fn parse<'a>(keys: &JsonKeys, clock: &mut ClfClock, state: &'a mut JsonState, line: &'a [u8]) -> LineOutcome<'a> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if line.trim_ascii().is_empty() {
        return LineOutcome::Blank;
    }
    state.clear();
    let mut scan = LineScan { keys, state, line, at: 0, depth: 0, held: [None; KINDS], writer: None };
    let scanned = scan.line();
    let (held, at, writer) = (scan.held, scan.at, scan.writer);
    let scratch = &*state.scratch;
    let mut fill = RecordFiller { keys, clock, held: &held, scratch, writer, unitless: None, draft: Draft::default() };
    fill.all(state.own.as_deref_mut());
    state.unitless = fill.unitless;
    match scanned {
        Ok(()) => {}
        Err(Stopped::Broken) => fill.draft.note(LineFlaw::NotJson(u32::try_from(at).unwrap_or(u32::MAX))),
        Err(Stopped::TextAfter) => fill.draft.note(LineFlaw::TextAfter),
    }
    // Much else that is logged has a path.
    let has = |kinds: &[usize]| kinds.iter().any(|kind| held[*kind].is_some());
    let is_access = match (keys.is_well_known(), writer) {
        // A process that ends has a status, too.
        (true, Some(JsonWriterKind::Application)) => has(&[METHOD, REQUEST, CLIENT, AGENT]),
        (true, _) => has(&[STATUS, METHOD, REQUEST]),
        (false, _) => has(&[STATUS, METHOD, TARGET, PATH, REQUEST]),
    };
    if !is_access && scanned.is_ok() {
        return LineOutcome::Rejected(LineFlaw::NoAccess);
    }
    let outcome = fill.draft.outcome(needed(Field::Time.bit() | Field::Status.bit()));
    with_values(outcome, state.own.as_deref().map(|own| &own.reader))
}

/// Reads one line of `label:value` with tabs between, without its line end.
pub(crate) fn parse_labels<'a>(
    keys: &JsonKeys,
    clock: &mut ClfClock,
    state: &'a mut JsonState,
    line: &'a [u8],
) -> LineOutcome<'a> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if line.trim_ascii().is_empty() {
        return LineOutcome::Blank;
    }
    state.clear();
    let mut scan = LineScan { keys, state, line, at: 0, depth: 0, held: [None; KINDS], writer: None };
    scan.labels();
    let held = scan.held;
    let has = |kind: usize| held[kind].is_some();
    // Much else that is logged has a path.
    let is_access = has(STATUS) || has(METHOD) || has(REQUEST) || (has(TARGET) && has(CLIENT));
    if !is_access || memchr::memchr(b'\t', line).is_none() {
        return LineOutcome::Rejected(LineFlaw::NoLabels);
    }
    let mut fill =
        RecordFiller { keys, clock, held: &held, scratch: &state.scratch, writer: None, unitless: None, draft: Draft::default() };
    fill.all(state.own.as_deref_mut());
    let outcome = fill.draft.outcome(needed(Field::Time.bit() | Field::Status.bit()));
    with_values(outcome, state.own.as_deref().map(|own| &own.reader))
}

/// Reason for which the scan of a line ended before its end.
#[derive(Clone, Copy)]
enum Stopped {
    Broken,
    TextAfter,
}

/// One pass over a line.
struct LineScan<'s, 'a> {
    keys: &'s JsonKeys,
    state: &'s mut JsonState,
    line: &'a [u8],
    at: usize,
    /// Objects around it, where all are entered.
    depth: usize,
    held: [Option<BestValue<'a>>; KINDS],
    /// The writer of the line, where a key tells it.
    writer: Option<JsonWriterKind>,
}

/// A string of a line without its quotes.
#[derive(Clone, Copy)]
struct QuotedText<'a> {
    text: &'a [u8],
    has_escapes: bool,
}

impl<'a> LineScan<'_, 'a> {
    fn line(&mut self) -> Result<(), Stopped> {
        self.space();
        self.expect(b'{')?;
        self.object(0)?;
        self.space();
        if self.at == self.line.len() { Ok(()) } else { Err(Stopped::TextAfter) }
    }

    /// The members of a line of labels.
    fn labels(&mut self) {
        for member in self.line.split(|byte| *byte == b'\t') {
            let Some(colon) = memchr::memchr(b':', member) else { continue };
            let (label, value) = (&member[..colon], &member[colon + 1..]);
            let meaning = self.state.memo.meaning(self.keys, 0, label);
            match (meaning.slot, &mut self.state.own) {
                (Some(slot), _) => self.hold(slot, (0, label), |_scratch| JsonText::Line(value)),
                (None, Some(own)) => own.value(0, label, JsonForm::Text, value),
                (None, None) => {}
            }
        }
    }

    /// The members of an object whose `{` has been read, up to its `}`. Entering an object makes
    /// its path longer, and known paths are a few keys long, so that this does not go deep.
    fn object(&mut self, object: u16) -> Result<(), Stopped> {
        self.space();
        if self.take(b'}') {
            return Ok(());
        }
        loop {
            self.expect(b'"')?;
            let key = self.string()?;
            self.space();
            self.expect(b':')?;
            self.space();
            // An object that no known key leads into has none.
            let meaning = u8::try_from(object).map(|object| self.state.memo.meaning(self.keys, object, key.text));
            let meaning = meaning.unwrap_or_default();
            self.writer = match (self.writer, meaning.writer) {
                (Some(known), Some(other)) => Some(known.and(other)),
                (known, other) => known.or(other),
            };
            self.value(meaning, (object, key.text))?;
            self.space();
            if self.take(b'}') {
                return Ok(());
            }
            self.expect(b',')?;
            self.space();
        }
    }

    fn value(&mut self, meaning: KeyMeaning, key: ObjectKey<'a>) -> Result<(), Stopped> {
        match self.peek() {
            Some(b'"') => {
                self.at += 1;
                let string = self.string()?;
                match (meaning.slot, &mut self.state.own) {
                    (Some(slot), _) => self.hold_string(slot, key, string),
                    (None, Some(own)) if string.has_escapes => own.escaped(key.0, key.1, string.text),
                    (None, Some(own)) => own.value(key.0, key.1, JsonForm::Text, string.text),
                    (None, None) => {}
                }
            }
            Some(b'{') => match meaning.object {
                Some(object) => {
                    self.at += 1;
                    let object = u16::from(object);
                    self.state.own.as_mut().map(|own| own.enter(key.0, key.1, Some(object)));
                    self.object(object)?;
                }
                None => self.own_object(key)?,
            },
            Some(b'[') => self.array(meaning, key)?,
            Some(_) => {
                let text = self.scalar()?;
                let is_word = matches!(text, b"null" | b"true" | b"false");
                match (meaning.slot.filter(|_| !is_word), &mut self.state.own) {
                    (Some(slot), _) => self.hold(slot, key, |_scratch| JsonText::Line(text)),
                    (None, Some(own)) if text != b"null" => own.value(key.0, key.1, form(text), text),
                    (None, _) => {}
                }
            }
            None => return Err(Stopped::Broken),
        }
        Ok(())
    }

    /// Steps over an object, the values of whose keys are taken where these are asked for.
    fn own_object(&mut self, (object, key): ObjectKey<'a>) -> Result<(), Stopped> {
        let start = self.at;
        let depth = self.depth;
        let entered = self.state.own.as_mut().filter(|_| depth < DEPTH_MAX).and_then(|own| own.enter(object, key, None));
        if let Some(entered) = entered {
            self.at += 1;
            self.depth += 1;
            let read = self.object(entered);
            self.depth = depth;
            if read.is_ok() {
                return Ok(());
            }
            // What is no JSON within it is nobody's.
            self.at = start;
        }
        self.skip_nested()?;
        if let Some(own) = self.state.own.as_mut().filter(|_| entered.is_none()) {
            own.value(object, key, JsonForm::Text, &self.line[start..self.at]);
        }
        Ok(())
    }

    /// An array: its first string is the value (a header that came once), the rest is skipped.
    fn array(&mut self, meaning: KeyMeaning, key: ObjectKey<'a>) -> Result<(), Stopped> {
        let start = self.at;
        if let Some(slot) = meaning.slot {
            self.at += 1;
            self.space();
            if self.take(b'"') {
                let string = self.string()?;
                self.hold_string(slot, key, string);
            }
            self.at = start;
        }
        self.skip_nested()?;
        if let (None, Some(own)) = (meaning.slot, &mut self.state.own) {
            own.value(key.0, key.1, JsonForm::Text, &self.line[start..self.at]);
        }
        Ok(())
    }

    fn hold_string(&mut self, slot: u16, key: ObjectKey<'a>, string: QuotedText<'a>) {
        let line_bytes = self.line.len();
        let is_encoded = matches!(self.keys.slot(slot).part, FieldPart::EncodedReferrer | FieldPart::EncodedAgent);
        self.hold(slot, key, |scratch| {
            if !string.has_escapes && !is_encoded {
                return JsonText::Line(string.text);
            }
            let start = scratch.len();
            if string.text.len() > scratch.capacity() - start {
                // Once for all of the line, which is never longer undone than as it is: growing bit
                // by bit would take twice that.
                scratch.reserve_exact(line_bytes.saturating_sub(start).max(1 << 10));
            }
            undo_escapes(string.text, scratch);
            if is_encoded {
                let text = scratch.split_off(start);
                url_decode(&text, scratch);
            }
            JsonText::Scratch(start, scratch.len())
        });
    }

    /// Keeps a value unless one of lower rank is there; of equals the later one counts, as JSON has
    /// it.
    #[inline]
    fn hold(&mut self, slot: u16, (object, key): ObjectKey<'a>, text: impl FnOnce(&mut Vec<u8>) -> JsonText<'a>) {
        let known = self.keys.slot(slot);
        let Some(kind) = kind(&known.part) else {
            return;
        };
        if kind != TIME && self.state.own.is_none() && self.held[kind].is_some_and(|held| held.rank < known.rank) {
            return;
        }
        let text = text(&mut self.state.scratch);
        // Only a server writes such a time: a collector's stands beside it.
        let is_common = kind == TIME && known.rank > COLLECTED_RANK && is_common_log_time(text.of(&self.state.scratch));
        let known_rank = if is_common { COLLECTED_RANK - 1 } else { known.rank };
        let is_better = self.held[kind].is_none_or(|held| held.rank >= known_rank);
        // An empty or '-' value must not push aside, or stand before, one that says something.
        let is_absent = matches!(text, JsonText::Line(b"" | b"-"));
        let rank = if is_absent { u8::MAX } else { known_rank };
        let value = BestValue { slot, rank, text, key, object };
        let displaced = match self.held[kind] {
            Some(held) if is_absent || !is_better => ((held.key, held.object) != (key, object) && !is_absent).then_some(value),
            held => {
                self.held[kind] = Some(value);
                held.filter(|held| held.rank != u8::MAX && (held.key, held.object) != (key, object))
            }
        };
        // A second time of the request says nothing; that of a collector is another one.
        let is_collected = |displaced: &BestValue<'a>| {
            let winner = self.held[kind].map(|held| held.text.of(&self.state.scratch));
            displaced.key == COLLECTED && self.keys.is_well_known() && winner.is_some_and(is_common_log_time)
        };
        if let Some(displaced) = displaced.filter(|displaced| kind != TIME || is_collected(displaced)) {
            self.take_displaced(&displaced);
        }
    }

    /// Takes the value of a key that another says better.
    fn take_displaced(&mut self, value: &BestValue<'a>) {
        let JsonState { own: Some(own), scratch, .. } = &mut *self.state else { return };
        let text = value.text.of(scratch);
        own.value(value.object, value.key, form(text), text);
    }

    /// The string whose opening quote has been read.
    #[inline]
    fn string(&mut self) -> Result<QuotedText<'a>, Stopped> {
        let start = self.at;
        let mut has_escapes = false;
        loop {
            let rest = &self.line[self.at..];
            let Some(found) = memchr::memchr2(b'"', b'\\', rest) else {
                self.at = self.line.len();
                return Err(Stopped::Broken);
            };
            if rest[found] == b'"' {
                let text = &self.line[start..self.at + found];
                self.at += found + 1;
                return Ok(QuotedText { text, has_escapes });
            }
            has_escapes = true;
            self.at = (self.at + found + 2).min(self.line.len());
        }
    }

    /// A number or a word.
    fn scalar(&mut self) -> Result<&'a [u8], Stopped> {
        let rest = &self.line[self.at..];
        let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t');
        let length = rest.iter().position(is_end).unwrap_or(rest.len());
        let is_scalar = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
        if length == 0 || !rest[..length].iter().all(is_scalar) {
            return Err(Stopped::Broken);
        }
        self.at += length;
        Ok(&rest[..length])
    }

    /// Steps over the object or array that begins here.
    fn skip_nested(&mut self) -> Result<(), Stopped> {
        let mut depth = 0usize;
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'"' => {
                    self.string()?;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                _ => {}
            }
        }
        Err(Stopped::Broken)
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    #[inline]
    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Result<(), Stopped> {
        if self.take(byte) { Ok(()) } else { Err(Stopped::Broken) }
    }

    #[inline]
    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }
}

/// Makes a record of the values held.
struct RecordFiller<'p, 'a> {
    keys: &'p JsonKeys,
    clock: &'p mut ClfClock,
    held: &'p [Option<BestValue<'a>>; KINDS],
    scratch: &'a [u8],
    writer: Option<JsonWriterKind>,
    /// Key of a time that nothing tells the unit of.
    unitless: Option<&'static str>,
    draft: Draft<'a>,
}

impl<'p, 'a> RecordFiller<'p, 'a> {
    fn all(&mut self, mut own: Option<&mut JsonOwn>) {
        let has_request = self.request();
        for kind in 0..KINDS {
            let is_request = (REQUEST..=PROTOCOL).contains(&kind);
            let Some(held) = self.held[kind].filter(|_| kind != REQUEST) else {
                continue;
            };
            let text = self.text(held);
            let is_other = (is_request && has_request) || (kind == BYTES && self.is_request_size(held));
            let part = if is_other { None } else { self.part_of(held.slot, text) };
            let Some(part) = part else {
                self.unitless = self.keys.slot(held.slot).unitless.or(self.unitless);
                if let Some(own) = &mut own {
                    own.value(held.object, held.key, form(text), text);
                }
                continue;
            };
            match self.part(&part, text) {
                Ok(()) => self.draft.sound |= part.fields(),
                Err(flaw) => self.draft.note(flaw),
            }
        }
        let record = &mut self.draft.record;
        if self.writer == Some(JsonWriterKind::Alp) && record.client.is_empty() && address::is_address(record.host) {
            record.client = std::mem::take(&mut record.host);
        }
    }

    /// True of nginx's `$content_length`, which is the size of the request's body; elsewhere that
    /// key is the response's.
    fn is_request_size(&self, held: BestValue<'a>) -> bool {
        let is_key = |kind: usize, keys: &[&[u8]]| self.held[kind].is_some_and(|held| keys.contains(&held.key));
        held.key == b"content_length"
            && self.keys.is_well_known()
            && is_key(CLIENT, &[b"remote_addr"])
            && (is_key(REQUEST, &[b"request"])
                || is_key(TARGET, &[b"request_uri", b"uri"])
                || is_key(TIME, &[b"time_local", b"time_iso8601", b"msec"])
                || is_key(AGENT, &[b"http_user_agent"]))
    }

    /// The part that a slot is, in this line; `None` of a time that nothing tells the unit of.
    fn part_of(&self, slot: u16, text: &[u8]) -> Option<Cow<'p, FieldPart>> {
        let slot = self.keys.slot(slot);
        if slot.unitless.is_none() || !says_amount(text) {
            return Some(Cow::Borrowed(&slot.part));
        }
        let unit = self.writer.and_then(JsonWriterKind::unit)?;
        Some(Cow::Owned(match slot.part {
            FieldPart::UpstreamTime(_) => FieldPart::UpstreamTime(unit),
            _ => FieldPart::RequestTime(unit),
        }))
    }

    /// Reads the request line, if there is one: it says method, target and protocol at once. One
    /// that is not sound counts as a flaw only where no other keys say the same.
    fn request(&mut self) -> bool {
        let Some(held) = self.held[REQUEST] else {
            return false;
        };
        let text = self.text(held);
        match request::read(text, &mut self.draft.record) {
            Ok(()) => !present(text).is_empty(),
            Err(flaw) => {
                let says_same = self.held[METHOD].is_some() && self.held[TARGET].or(self.held[PATH]).is_some();
                if !says_same {
                    self.draft.note(flaw);
                }
                false
            }
        }
    }

    fn text(&self, held: BestValue<'a>) -> &'a [u8] {
        held.text.of(self.scratch)
    }

    fn part(&mut self, part: &FieldPart, text: &'a [u8]) -> Result<(), LineFlaw> {
        let has_target = self.held[TARGET].is_some();
        let is_number = matches!(part, FieldPart::Bytes | FieldPart::RequestTime(_) | FieldPart::UpstreamTime(_));
        let text = if is_number { self.draft.so_far(present(text)) } else { present(text) };
        let record = &mut self.draft.record;
        match part {
            FieldPart::AnyTime | FieldPart::Clf | FieldPart::Iso | FieldPart::Epoch(_) => return self.time(text),
            FieldPart::Client => record.client = general::client_of(text)?,
            FieldPart::User => record.user = text,
            FieldPart::Host => record.host = text,
            FieldPart::Method => record.method = text,
            FieldPart::Target => request::read_target(text, record),
            FieldPart::Url => request::read_url(text, record),
            FieldPart::Path if !has_target => record.path = text,
            FieldPart::Query | FieldPart::MarkedQuery if record.query.is_empty() => {
                record.query = text.strip_prefix(b"?").unwrap_or(text);
            }
            FieldPart::Protocol => record.protocol = text,
            FieldPart::Status => record.status = status(whole(text))?,
            FieldPart::Bytes => record.bytes = general::bytes(whole(text))?,
            FieldPart::Referrer | FieldPart::EncodedReferrer => record.referrer = text,
            FieldPart::Agent | FieldPart::EncodedAgent => record.agent = text,
            FieldPart::RequestTime(unit) => {
                record.request_time_us = duration(text, *unit, Field::RequestTime)?;
            }
            FieldPart::UpstreamTime(unit) => {
                record.upstream_time_us = duration(text, *unit, Field::UpstreamTime)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn time(&mut self, text: &[u8]) -> Result<(), LineFlaw> {
        if text.is_empty() {
            return Ok(());
        }
        let instant = general::any_time(self.clock, text)?;
        self.draft.record.time_us = Some(instant.time_us);
        self.draft.record.zone_seconds = instant.zone_seconds;
        Ok(())
    }
}

/// Text in the encoding of URLs, where a `+` is a blank unless blanks have another form.
fn url_decode(text: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    w3c::percent_decode(text, out);
    if memchr::memmem::find(text, b"%20").is_some() {
        return;
    }
    // A plus that was encoded is one.
    if memchr::memmem::find(text, b"%2B").or_else(|| memchr::memmem::find(text, b"%2b")).is_none() {
        out[start..].iter_mut().filter(|byte| **byte == b'+').for_each(|byte| *byte = b' ');
    }
}

/// True of a number without a unit, other than zero, which is the same in all.
fn says_amount(text: &[u8]) -> bool {
    text.last().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.') && text.iter().any(|byte| (b'1'..=b'9').contains(byte))
}

/// A number without `.0` at its end: where a writer has but one kind of numbers, whole ones look so
/// too.
fn whole(text: &[u8]) -> &[u8] {
    match memchr::memchr(b'.', text) {
        Some(dot) if dot > 0 && text.len() > dot + 1 && text[dot + 1..].iter().all(|byte| *byte == b'0') => &text[..dot],
        _ => text,
    }
}

fn duration(text: &[u8], unit: Unit, field: Field) -> Result<Option<u64>, LineFlaw> {
    if text.is_empty() {
        return Ok(None);
    }
    number::duration_sum_us(text, unit).map_err(|error| general::flaw_of(error, field))
}
