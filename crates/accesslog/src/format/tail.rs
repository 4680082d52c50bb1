//! The tail after the agent of a combined line: times, sizes, names of servers.
//!
//! Servers differ there, and few write the unit. A value with a name, with a unit or with three
//! digits after its point is read as a time; any other number may be bytes as well as any time, and
//! is stepped over.

use super::compile::QuoteEscaping;
use super::{LineSyntax, LogFormat};
use crate::parse::number::{Unit, duration_sum_us, duration_us, has_three_decimals};

/// The combined format, as nginx names its fields, with any word for the second.
const COMBINED: &str =
    r#"$remote_addr $ident $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#;

/// Names of the formats that are made of a tail, each with the text before the client. Where there
/// is a port, the last would take it for a part of the host.
const LAYOUTS: [(&str, &str); 3] =
    [("combined_times", ""), ("vhost_combined_times", "$host:$port "), ("host_combined_times", "$host ")];

/// True of the name of a format that is made of a tail.
pub(super) fn is_layout(name: &str) -> bool {
    LAYOUTS.iter().any(|(known, _)| *known == name)
}

/// Name of the one that reads nothing of it.
pub(super) const EXTRA: &str = "combined_extra";

/// The same with a host before the client.
pub(super) const HOST_EXTRA: &str = "host_combined_extra";

/// Name of a common one with text after it that is not read.
pub(super) const COMMON_EXTRA: &str = "common_extra";

/// Begins the names of fields that are stepped over.
pub(super) const UNREAD: &str = "after_agent_";

/// Two readings of nginx's clock differ so much.
const CLOCK_US: u64 = 2_000;

/// Lines that have the same number in one place, from which on it is no time.
const CONSTANT_LINES_MIN: usize = 8;

/// Fields of a tail, at most: longer ones are text, not fields.
const FIELDS_MAX: usize = 40;

/// Kinds of values in one place of a tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TailSlot {
    /// `0.005`, or nginx's list of them.
    Seconds,
    /// `12ms` and `0.5s`, which say their unit.
    Suffixed,
    /// A number before a word that is its unit: `94.801 ms`.
    Before(Unit),
    /// An absent value: `-`.
    Absent,
    /// Anything else.
    Other,
}

/// The text after the closing quote of a combined line's agent; `None` where there is none.
pub(super) fn of_line(line: &[u8]) -> Option<&[u8]> {
    // After the request, the status and the size.
    let request = after_quoted(line)?;
    let referrer = after_quoted(request)?;
    let agent = after_quoted(referrer)?;
    let numbers = request[..memchr::memchr(b'"', request)?].trim_ascii();
    let is_number = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b' ' | b'-');
    let tail = agent.strip_suffix(b"\r").unwrap_or(agent);
    (numbers.iter().all(is_number) && !tail.trim_ascii().is_empty()).then_some(tail)
}

/// The text after the size of a common line; `None` where there is none, or a referrer is.
pub(super) fn of_common_line(line: &[u8]) -> Option<&[u8]> {
    let mut words = after_quoted(line)?.trim_ascii().splitn(3, |byte| *byte == b' ');
    let tail = words.nth(2)?;
    (!tail.starts_with(b"\"")).then_some(tail)
}

/// Text after the next text in quotes.
fn after_quoted(text: &[u8]) -> Option<&[u8]> {
    let open = memchr::memchr(b'"', text)?;
    let mut rest = &text[open + 1..];
    loop {
        let at = memchr::memchr2(b'"', b'\\', rest)?;
        if rest[at] == b'"' {
            return Some(&rest[at + 1..]);
        }
        rest = rest.get(at + 2..)?;
    }
}

/// The combined formats, with a host before the client and without, with the tail that most of the
/// lines have, read as far as it says what it is; none where no time of it is.
pub(super) fn formats(lines: &[&[u8]]) -> Vec<LogFormat> {
    let Some(tail) = source(lines) else { return Vec::new() };
    let format = |(name, before): &(&str, &str)| {
        LogFormat::nginx(name, &format!("{before}{COMBINED}{tail}"), QuoteEscaping::Backslash).ok()
    };
    LAYOUTS.iter().filter_map(format).collect()
}

/// The tail that most of the lines have, as the end of a format string; `None` where no time of it
/// is read.
fn source(lines: &[&[u8]]) -> Option<String> {
    let tails: Vec<&[u8]> = lines.iter().filter_map(|line| of_line(line)).collect();
    let mut shapes: Vec<Vec<TailPiece<'_>>> = tails.iter().filter_map(|tail| shape(tail)).collect();
    let most = most_common(&shapes)?;
    shapes.retain(|other| same(other, &most));
    let times = TailTimes::of(&shapes);
    let mut source = String::new();
    for (at, piece) in most.iter().enumerate() {
        match piece {
            // It would be a variable.
            TailPiece::Literal(text) if text.contains(&b'$') => return None,
            TailPiece::Literal(text) => source.push_str(str::from_utf8(text).ok()?),
            TailPiece::Value(_) if times.request == Some(at) => {
                source.push_str(&format!("${{request_time{}}}", variable_end(place(&shapes, at))));
            }
            TailPiece::Value(_) if times.upstream == Some(at) => {
                source.push_str(&format!("${{upstream_response_time{}}}", variable_end(place(&shapes, at))));
            }
            // Its unit belongs to the time before it.
            TailPiece::Value(text) if is_unit_of_read(&shapes, &times, at) => source.push_str(str::from_utf8(text).ok()?),
            TailPiece::Value(_) => source.push_str(&format!("${{{UNREAD}{at}}}")),
        }
    }
    (times.request.is_some() || times.upstream.is_some()).then_some(source)
}

/// The text that the format does not read of the first tail of the lines; `None` where it reads all
/// of it, or is none with a tail.
pub(super) fn unread(format: &LogFormat, lines: &[&[u8]]) -> Option<String> {
    if let LineSyntax::Prefixed(prefix, format) = format.kind() {
        let after: Vec<&[u8]> = lines.iter().filter_map(|line| Some(prefix.split(line)?.1)).collect();
        return unread(format, &after);
    }
    if format.name() == COMMON_EXTRA {
        return lines.iter().find_map(|line| of_common_line(line)).map(|tail| String::from_utf8_lossy(tail).into_owned());
    }
    let layout = LAYOUTS.iter().find(|(name, _)| *name == format.name());
    if layout.is_none() && !matches!(format.name(), EXTRA | HOST_EXTRA) {
        return None;
    }
    let tail = lines.iter().find_map(|line| of_line(line))?;
    let whole = || String::from_utf8_lossy(tail).trim().to_owned();
    let names = layout.and_then(|(_, before)| format.source().strip_prefix(before)?.strip_prefix(COMBINED));
    let Some(names) = names else { return Some(whole()) };
    // A unit is no variable of its own.
    let is_read = names.split("${").skip(1).flat_map(|name| {
        let has_unit = name.split_once("} ").is_some_and(|(_, after)| unit_of(first_word(after.as_bytes())).is_some());
        std::iter::repeat_n(!name.starts_with(UNREAD), 1 + usize::from(has_unit))
    });
    let Some(pieces) = shape(tail) else { return Some(whole()) };
    let values = (0..pieces.len()).filter(|at| matches!(pieces[*at], TailPiece::Value(_)));
    let text = |at: usize| {
        let key = key_at(&pieces, at).map_or(String::new(), |key| format!("{key}="));
        if let TailPiece::Value(text) = pieces[at] { key + &String::from_utf8_lossy(text) } else { key }
    };
    let unread: Vec<String> = values.zip(is_read).filter(|(_, is_read)| !is_read).map(|(at, _)| text(at)).collect();
    (!unread.is_empty()).then(|| unread.join(" "))
}

/// A piece of a tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TailPiece<'t> {
    /// A blank, a quote, a bracket, `rt=`.
    Literal(&'t [u8]),
    Value(&'t [u8]),
}

/// Takes a tail apart at blanks, quotes and brackets. `None` where a quote is not closed, or it has
/// too many fields.
fn shape(tail: &[u8]) -> Option<Vec<TailPiece<'_>>> {
    let mut pieces = Vec::new();
    let mut rest = tail;
    while let Some(first) = rest.first() {
        if pieces.len() > 4 * FIELDS_MAX {
            return None;
        }
        let closes = match first {
            b'"' => Some(b'"'),
            b'[' => Some(b']'),
            _ => None,
        };
        let (literal, value) = match closes {
            _ if *first == b' ' => (1, 0),
            Some(close) => (1, rest[1..].iter().position(|byte| *byte == close)?),
            None => key_and_value(rest),
        };
        pieces.push(TailPiece::Literal(&rest[..literal]));
        if *first != b' ' && !(literal < rest.len() && value == 0 && matches!(rest[literal], b'"' | b'[')) {
            pieces.push(TailPiece::Value(&rest[literal..literal + value]));
        }
        rest = &rest[literal + value..];
        if closes.is_some() {
            pieces.push(TailPiece::Literal(&rest[..1]));
            rest = &rest[1..];
        }
    }
    pieces.retain(|piece| *piece != TailPiece::Literal(b""));
    Some(pieces)
}

/// Lengths of `rt=` and of `0.005, 0.1`, the value that follows; a value in quotes or brackets
/// comes by itself.
fn key_and_value(text: &[u8]) -> (usize, usize) {
    let word = text.iter().position(|byte| matches!(byte, b' ' | b'"' | b'[')).unwrap_or(text.len());
    let key = memchr::memchr(b'=', &text[..word]).map_or(0, |equals| equals + 1);
    let mut end = word;
    // Several upstreams: `0.1, 0.2 : 0.3`.
    while text[..end].ends_with(b",") || text[..end].ends_with(b" :") || text[end..].starts_with(b" : ") {
        let more = text.get(end + 1..).unwrap_or_default();
        let next = more.iter().position(|byte| *byte == b' ').unwrap_or(more.len());
        if end + 1 + next <= end || end >= text.len() {
            break;
        }
        end += 1 + next;
    }
    (key, end - key)
}

fn same(left: &[TailPiece<'_>], right: &[TailPiece<'_>]) -> bool {
    let alike = |(left, right): (&TailPiece<'_>, &TailPiece<'_>)| match (left, right) {
        (TailPiece::Literal(left), TailPiece::Literal(right)) => left == right,
        (TailPiece::Value(_), TailPiece::Value(_)) => true,
        _ => false,
    };
    left.len() == right.len() && left.iter().zip(right).all(alike)
}

fn most_common<'t>(shapes: &[Vec<TailPiece<'t>>]) -> Option<Vec<TailPiece<'t>>> {
    // A log has one or two; a few lines are enough to find them by.
    const TRIED: usize = 8;
    let count = |shape: &&Vec<TailPiece<'t>>| shapes.iter().filter(|other| same(other, shape)).count();
    shapes.iter().take(TRIED).max_by_key(count).cloned()
}

/// The key before the value at a place, whether that is in quotes or not: `rt` of `rt="`.
fn key_at(pieces: &[TailPiece<'_>], at: usize) -> Option<String> {
    let literal = |back: usize| match pieces.get(at.checked_sub(back)?) {
        Some(TailPiece::Literal(text)) => Some(*text),
        _ => None,
    };
    let text = match literal(1)? {
        b"\"" | b"[" => literal(2)?,
        text => text,
    };
    text.strip_suffix(b"=").map(|key| String::from_utf8_lossy(key).to_ascii_lowercase())
}

/// The places of the times in a tail.
#[derive(Default)]
struct TailTimes {
    request: Option<usize>,
    upstream: Option<usize>,
}

impl TailTimes {
    fn of(shapes: &[Vec<TailPiece<'_>>]) -> TailTimes {
        let mut times = TailTimes::default();
        let Some(first) = shapes.first() else { return times };
        let mut nameless = Vec::new();
        for at in (0..first.len()).filter(|at| matches!(first[*at], TailPiece::Value(_))) {
            let place = place(shapes, at);
            match key_at(first, at).as_deref() {
                _ if place == TailSlot::Other => {}
                Some("rt" | "request_time") => times.request = times.request.or(Some(at)),
                Some("urt" | "upstream_response_time") => times.upstream = times.upstream.or(Some(at)),
                None if place == TailSlot::Seconds && is_constant(shapes, at) => {}
                None if place == TailSlot::Seconds => nameless.push(at),
                // Traefik's, the only one, and morgan's.
                None if matches!(place, TailSlot::Suffixed | TailSlot::Before(_)) => times.request = times.request.or(Some(at)),
                _ => {}
            }
        }
        if times.request.is_none() && times.upstream.is_none() {
            times.guess(shapes, &nameless);
        }
        times
    }

    /// Times without names: a request takes as long as its upstream, or longer.
    fn guess(&mut self, shapes: &[Vec<TailPiece<'_>>], places: &[usize]) {
        let covers = |long: usize, short: usize| shapes.iter().all(|pieces| at_least(pieces.get(long), pieces.get(short)));
        (self.request, self.upstream) = match *places {
            [only] => (Some(only), None),
            [first, second] if covers(first, second) => (Some(first), Some(second)),
            [first, second] if covers(second, first) => (Some(second), Some(first)),
            [first, ref more @ ..] if !more.is_empty() && more.iter().all(|other| covers(first, *other)) => (Some(first), None),
            _ => (None, None),
        };
    }
}

/// True if one time is as long as the other, or one of them is absent. nginx takes them from a
/// clock that it looks at now and then.
fn at_least(long: Option<&TailPiece<'_>>, short: Option<&TailPiece<'_>>) -> bool {
    let time = |piece: Option<&TailPiece<'_>>| match piece {
        Some(TailPiece::Value(text)) => duration_sum_us(text, Unit::Seconds).ok().flatten(),
        _ => None,
    };
    match (time(long), time(short)) {
        (Some(long), Some(short)) => covers(long, short),
        _ => true,
    }
}

/// True if a request of one time can have had an upstream of the other, by nginx's clock.
pub(super) fn covers(request_us: u64, upstream_us: u64) -> bool {
    request_us.saturating_add(CLOCK_US) >= upstream_us
}

/// The end of the name of a variable with values of a kind.
fn variable_end(slot: TailSlot) -> &'static str {
    match slot {
        TailSlot::Before(Unit::Millis) => "_ms",
        TailSlot::Before(Unit::Micros) => "_us",
        TailSlot::Before(_) => "",
        _ => "_s",
    }
}

/// The unit that a word is, where a variable can have it.
fn unit_of(word: &[u8]) -> Option<Unit> {
    match word {
        b"s" | b"sec" | b"secs" | b"second" | b"seconds" => Some(Unit::Seconds),
        b"ms" | b"msec" | b"msecs" | b"millis" | b"millisecond" | b"milliseconds" => Some(Unit::Millis),
        b"us" | b"\xc2\xb5s" | b"\xce\xbcs" | b"usec" | b"usecs" | b"micros" | b"microsecond" | b"microseconds" => {
            Some(Unit::Micros)
        }
        _ => None,
    }
}

fn first_word(text: &[u8]) -> &[u8] {
    text.split(|byte| matches!(byte, b' ' | b'"' | b'[')).next().unwrap_or_default()
}

/// The kind of a value before a word that is a unit in some of the lines; `None` where it is in
/// none.
fn before_unit(shapes: &[Vec<TailPiece<'_>>], at: usize) -> Option<TailSlot> {
    let word = |pieces: &Vec<TailPiece<'_>>| match (pieces.get(at + 1), pieces.get(at + 2)) {
        (Some(TailPiece::Literal(b" ")), Some(TailPiece::Value(word))) => unit_of(word),
        _ => None,
    };
    let unit = shapes.iter().find_map(word)?;
    let is_number = |pieces: &Vec<TailPiece<'_>>| match pieces.get(at) {
        Some(TailPiece::Value(b"-")) => true,
        Some(TailPiece::Value(text)) => {
            text.first().is_some_and(u8::is_ascii_digit)
                && text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
                && duration_us(text, unit).is_ok()
        }
        _ => false,
    };
    let are_alike = shapes.iter().all(|pieces| word(pieces) == Some(unit) && is_number(pieces));
    Some(if are_alike { TailSlot::Before(unit) } else { TailSlot::Other })
}

/// True if the value at a place is the unit of a time before it that is read.
fn is_unit_of_read(shapes: &[Vec<TailPiece<'_>>], times: &TailTimes, at: usize) -> bool {
    let number = at.checked_sub(2).filter(|number| times.request == Some(*number) || times.upstream == Some(*number));
    number.is_some_and(|number| matches!(place(shapes, number), TailSlot::Before(_)))
}

/// True if the numbers after the agents have a place in which all are the same.
pub(super) fn has_constant(lines: &[&[u8]]) -> bool {
    let tails = lines.iter().filter_map(|line| of_line(line));
    let mut shapes: Vec<Vec<TailPiece<'_>>> = tails.filter_map(shape).collect();
    let Some(most) = most_common(&shapes) else { return false };
    shapes.retain(|other| same(other, &most));
    (0..most.len()).any(|at| is_constant(&shapes, at))
}

/// True if many lines have a number in one place, and all the same one, other than zero: it is a
/// version, a ratio or a weight, and no time.
fn is_constant(shapes: &[Vec<TailPiece<'_>>], at: usize) -> bool {
    let mut values = shapes.iter().filter_map(|pieces| match pieces.get(at) {
        Some(TailPiece::Value(text)) if kind(text) != TailSlot::Absent => Some(*text),
        _ => None,
    });
    let Some(first) = values.next() else { return false };
    let mut lines = 1;
    let are_same = values.all(|other| {
        lines += 1;
        other == first
    });
    are_same && lines >= CONSTANT_LINES_MIN && first.iter().any(|byte| (b'1'..=b'9').contains(byte))
}

/// The kind of value that all lines have in one place.
fn place(shapes: &[Vec<TailPiece<'_>>], at: usize) -> TailSlot {
    if let Some(found) = before_unit(shapes, at) {
        return found;
    }
    let mut found = TailSlot::Absent;
    for pieces in shapes {
        let Some(TailPiece::Value(text)) = pieces.get(at) else { return TailSlot::Other };
        match (found, kind(text)) {
            (_, TailSlot::Absent) => {}
            (TailSlot::Absent, kind) => found = kind,
            (found, kind) if found == kind => {}
            _ => return TailSlot::Other,
        }
    }
    found
}

fn kind(text: &[u8]) -> TailSlot {
    let words = text.split(|byte| matches!(byte, b' ' | b',' | b':')).filter(|word| !matches!(*word, b"" | b"-"));
    let mut found = TailSlot::Absent;
    for kind in words.map(word_kind) {
        if kind == TailSlot::Other || (found != TailSlot::Absent && found != kind) {
            return TailSlot::Other;
        }
        found = kind;
    }
    found
}

fn word_kind(word: &[u8]) -> TailSlot {
    let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match &word[digits..] {
        _ if has_three_decimals(word) => TailSlot::Seconds,
        // Of minutes or hours alone nobody writes a request's time: `5m` is a size.
        [.., b's'] if digits > 0 && duration_us(word, Unit::Seconds).is_ok() => TailSlot::Suffixed,
        _ => TailSlot::Other,
    }
}
