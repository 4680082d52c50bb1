//! Text that log collectors and tools put before each line of a log.
//!
//! A prefix is taken off before the format after it reads the line. Its host, container or file is
//! the record's source; its own time is when the line was passed on, which the line itself says
//! better.

use crate::parse::time::{Civil, rfc3339};
use crate::parse::{LogRecord, address};

/// Something in front of each line. Its name, a `+` and the name of a format are a format:
/// `syslog+combined`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinePrefix {
    /// RFC 3164, rsyslog with its times in RFC 3339, and journalctl's short forms with a date as
    /// text: `Nov 22 10:11:12 web1 nginx[7]: `; the tag with its process alone, `nginx[7]: `; the
    /// priority without a time, `<190>nginx: `.
    Syslog,
    /// RFC 5424: `<190>1 2003-10-11T22:14:15.003Z web1 nginx 7 - - `, with the priority or without.
    Syslog5424,
    /// journalctl's forms with other times: `short-full`, `short-unix`, `short-monotonic`.
    Journald,
    /// Files of Kubernetes' container runtimes: `2016-10-06T00:17:09.669794202Z stdout F `.
    Cri,
    /// `docker compose logs`: `web-1  | `, with `--timestamps` too.
    Compose,
    /// `kubectl logs --prefix`: `[pod/web-1/nginx] `, with `--timestamps` too.
    Kubectl,
    /// `kubectl logs --timestamps` and `docker logs --timestamps`, in RFC 3339; Go's package `log`,
    /// `2025/05/01 07:57:03 `; Unix time, `1732270272 `.
    Timestamps,
    /// The level that a logger gives a message: `INFO `, `[info] `, `INFO:     `.
    Level,
    /// `grep -n` of one file, `12:`; `cat -n`, blanks, the number and a tab.
    Numbered,
    /// `grep` over several files: `access.log:`; `access.log-` before an address, as it prints the
    /// lines around those that it finds (`-C`).
    Grep,
    /// The same with `-n`: `access.log:12:`, `access.log-13-`. Apart from the other, as an IPv6
    /// address may begin with such a number.
    GrepNumbered,
}

/// The line that grep prints between groups of lines (`-C`).
pub(crate) const GROUPS_APART: &[u8] = b"--";

impl LinePrefix {
    /// All of them, the more particular before the more general.
    pub(crate) const ALL: [LinePrefix; 11] = [
        Self::Cri,
        Self::Kubectl,
        Self::Compose,
        Self::Syslog5424,
        Self::Syslog,
        Self::Journald,
        Self::Timestamps,
        Self::Level,
        Self::Numbered,
        Self::Grep,
        Self::GrepNumbered,
    ];

    /// Name in formats.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Syslog => "syslog",
            Self::Syslog5424 => "syslog5424",
            Self::Journald => "journald",
            Self::Cri => "cri",
            Self::Compose => "compose",
            Self::Kubectl => "kubectl",
            Self::Timestamps => "timestamps",
            Self::Level => "level",
            Self::Numbered => "numbered",
            Self::Grep => "grep",
            Self::GrepNumbered => "grep-n",
        }
    }

    /// True if it can name a source.
    pub(crate) fn has_source(self) -> bool {
        !matches!(self, Self::Timestamps | Self::Level | Self::Numbered)
    }

    pub(crate) fn named(name: &str) -> Option<LinePrefix> {
        Self::ALL.into_iter().find(|prefix| prefix.name() == name)
    }

    /// The source that the prefix names, nothing where it names none, and the line after it;
    /// `None` where the line does not begin so.
    pub(crate) fn split(self, line: &[u8]) -> Option<(&[u8], &[u8])> {
        match self {
            Self::Syslog => syslog(line),
            Self::Syslog5424 => syslog_5424(line),
            Self::Journald => journald(line),
            Self::Cri => cri(line),
            Self::Compose => compose(line),
            Self::Kubectl => kubectl(line),
            Self::Timestamps => timestamped(line).map(|line| (&b""[..], line)),
            Self::Level => levelled(line).map(|line| (&b""[..], line)),
            Self::Numbered => numbered(line).map(|line| (&b""[..], line)),
            Self::Grep => grep(line),
            Self::GrepNumbered => grep_numbered(line),
        }
    }

    /// True if it says that the line goes on in the next one.
    pub(crate) fn is_of_piece(self, line: &[u8]) -> bool {
        self == Self::Cri && cri_tagged(line).is_some_and(|(_, tag, _)| tag == b'P')
    }

    /// True if it may end at the first colon of the line, which an IPv6 address has, too.
    pub(crate) fn ends_in_colon(self) -> bool {
        matches!(self, Self::Grep | Self::GrepNumbered | Self::Numbered)
    }

    /// Parts of it that are not stored.
    pub(crate) fn unkept(self) -> &'static [&'static str] {
        match self {
            Self::Syslog | Self::Journald => &["time passed on", "program"],
            Self::Syslog5424 => &["time passed on", "program", "structured data"],
            Self::Cri | Self::Timestamps => &["time passed on"],
            Self::Compose | Self::Kubectl | Self::Grep => &[],
            Self::Level => &["level"],
            Self::Numbered | Self::GrepNumbered => &["line number"],
        }
    }

    /// The prefix of a line that says what the record says. The program that wrote the line, its
    /// process and the time at which it was passed on are not kept.
    pub(crate) fn text(self, record: &LogRecord<'_>) -> Vec<u8> {
        let time_us = record.time_us.unwrap_or_default();
        let civil = Civil::new(time_us, record.zone_seconds);
        let source: &[u8] = match (self, record.source) {
            (Self::Cri, b"stderr") => b"stderr",
            // After another prefix, which has the source.
            (Self::Cri, _) => b"stdout",
            (Self::Kubectl, b"") => b"-/-",
            (_, b"") => b"-",
            (_, source) => source,
        };
        let time = rfc3339(time_us, record.zone_seconds).into_bytes();
        let (before, after): (Vec<u8>, &[u8]) = match self {
            Self::Syslog => (format!("{} {:2} {} ", civil.month_name(), civil.day, civil.clock()).into_bytes(), b" -: "),
            Self::Syslog5424 => ([b"1 ", &time[..], b" "].concat(), b" - - - - "),
            Self::Journald => (format!("{}.{:06} ", time_us.div_euclid(1_000_000), civil.fraction_us).into_bytes(), b" -: "),
            Self::Cri => ([&time[..], b" "].concat(), b" F "),
            Self::Compose => (Vec::new(), b" | "),
            Self::Kubectl => (b"[".to_vec(), b"] "),
            Self::Timestamps => return [&time[..], b" "].concat(),
            Self::Level => return b"- ".to_vec(),
            Self::Numbered => return b"0:".to_vec(),
            Self::Grep => (Vec::new(), b":"),
            Self::GrepNumbered => (Vec::new(), b":0:"),
        };
        [&before[..], source, after].concat()
    }
}

/// The first word, and the text after the blank that ends it.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = memchr::memchr(b' ', text).filter(|space| *space > 0)?;
    Some((&text[..space], &text[space + 1..]))
}

/// Text after a priority, `<190>`; the text itself where it has none.
fn without_priority(text: &[u8]) -> &[u8] {
    let digits = text.iter().skip(1).take(3).take_while(|byte| byte.is_ascii_digit()).count();
    match text {
        [b'<', rest @ ..] if digits > 0 && rest.get(digits) == Some(&b'>') => &rest[digits + 1..],
        _ => text,
    }
}

/// Text after digits in the places of `shape` that have a `0`, and the same bytes in all others.
fn shaped<'t>(text: &'t [u8], shape: &[u8]) -> Option<&'t [u8]> {
    let (head, rest) = text.split_at_checked(shape.len())?;
    let fits = |(byte, wanted): (&u8, &u8)| if *wanted == b'0' { byte.is_ascii_digit() } else { byte == wanted };
    head.iter().zip(shape).all(fits).then_some(rest)
}

/// Text after a point and the digits after it, if there are any.
fn without_fraction(text: &[u8]) -> &[u8] {
    let Some(fraction) = text.strip_prefix(b".") else { return text };
    let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
    &fraction[digits..]
}

/// Text after `2016-10-06T00:17:09.669794202Z`, with any zone.
fn without_iso_time(text: &[u8]) -> Option<&[u8]> {
    let rest = without_fraction(shaped(text, b"0000-00-00T00:00:00")?);
    match rest {
        [b'Z', rest @ ..] => Some(rest),
        [b'+' | b'-', rest @ ..] => shaped(rest, b"00:00").or_else(|| shaped(rest, b"0000")),
        _ => None,
    }
}

/// Text after `Nov 22 10:11:12`, where days below ten have a blank or a zero.
fn without_bsd_time(text: &[u8]) -> Option<&[u8]> {
    let (month, rest) = text.split_first_chunk::<3>()?;
    crate::parse::time::month_from_name(*month)?;
    let rest = shaped(rest, b" 00 00:00:00").or_else(|| shaped(rest, b"  0 00:00:00"))?;
    Some(without_fraction(rest))
}

/// Host and line of `web1 nginx[7]: `, or with no host.
fn host_and_tag(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (first, rest) = word(text)?;
    if first.ends_with(b":") {
        return Some((b"", rest));
    }
    // Of a message without a tag rsyslog writes the blanks on either side.
    if let Some(rest) = rest.strip_prefix(b" ") {
        return Some((first, rest));
    }
    let (tag, rest) = word(rest)?;
    // BusyBox writes the priority as words.
    let (tag, rest) = if is_priority(tag) { word(rest)? } else { (tag, rest) };
    tag.ends_with(b":").then_some((first, rest))
}

/// True of `local7.info`: a facility and a level of syslog.
fn is_priority(word: &[u8]) -> bool {
    const FACILITIES: [&[u8]; 13] = [
        b"kern",
        b"user",
        b"mail",
        b"daemon",
        b"auth",
        b"syslog",
        b"lpr",
        b"news",
        b"uucp",
        b"cron",
        b"authpriv",
        b"ftp",
        b"security",
    ];
    let Some(point) = memchr::memchr(b'.', word) else { return false };
    let (facility, level) = (&word[..point], &word[point + 1..]);
    let is_local = matches!(facility, [b'l', b'o', b'c', b'a', b'l', b'0'..=b'7']);
    (is_local || FACILITIES.contains(&facility)) && address::is_level(level)
}

/// Text after `haproxy[14389]: `, where only the message of a syslog was kept.
fn after_tag_with_process(line: &[u8]) -> Option<&[u8]> {
    let (tag, rest) = word(line)?;
    let (name, process) = tag.strip_suffix(b"]:")?.split_at(memchr::memchr(b'[', tag)?);
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/');
    let is_process = process.len() > 1 && process[1..].iter().all(u8::is_ascii_digit);
    (!name.is_empty() && name.iter().all(is_name) && is_process).then_some(rest)
}

fn syslog(whole: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = without_priority(whole);
    if let Some(rest) = after_tag_with_process(line) {
        return Some((b"", rest));
    }
    if let Some(rest) = without_bsd_time(line).or_else(|| without_iso_time(line)) {
        return host_and_tag(rest.strip_prefix(b" ")?);
    }
    // The priority alone, or with a tag. In RFC 5424 a version follows it.
    let has_version = line.starts_with(b"1 ");
    (line.len() < whole.len() && !has_version).then(|| (&b""[..], after_tag(line).unwrap_or(line)))
}

/// Text after `nginx: `.
fn after_tag(line: &[u8]) -> Option<&[u8]> {
    let (tag, rest) = word(line)?;
    let name = tag.strip_suffix(b":")?;
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/');
    (!name.is_empty() && name != b"unix" && name.iter().all(is_name)).then_some(rest)
}

fn syslog_5424(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = without_priority(line).strip_prefix(b"1 ")?;
    let rest = rest.strip_prefix(b"-").or_else(|| without_iso_time(rest))?.strip_prefix(b" ")?;
    let (host, rest) = word(rest)?;
    let (_program, rest) = word(rest)?;
    let (_process, rest) = word(rest)?;
    let (_kind, rest) = word(rest)?;
    let rest = without_structured_data(rest)?;
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    let host = if host == b"-" { b"" } else { host };
    Some((host, rest.strip_prefix(b"\xef\xbb\xbf").unwrap_or(rest)))
}

/// Text after `-`, or `[id name="value"][id …]`, where a value may hold escaped quotes and
/// brackets.
fn without_structured_data(text: &[u8]) -> Option<&[u8]> {
    if let Some(rest) = text.strip_prefix(b"-") {
        return Some(rest);
    }
    let mut rest = text;
    while let Some(element) = rest.strip_prefix(b"[") {
        let (mut quoted, mut escaped) = (false, false);
        let end = element.iter().position(|byte| {
            quoted ^= *byte == b'"' && !escaped;
            let ends = *byte == b']' && !quoted;
            escaped = *byte == b'\\' && !escaped;
            ends
        })?;
        rest = &element[end + 1..];
    }
    (rest.len() < text.len()).then_some(rest)
}

fn journald(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = without_full_time(line).or_else(|| without_monotonic_time(line)).or_else(|| without_unix_time(line))?;
    host_and_tag(rest.strip_prefix(b" ")?)
}

/// Text after `Fri 2024-11-22 10:11:12 UTC`.
fn without_full_time(line: &[u8]) -> Option<&[u8]> {
    let (weekday, rest) = word(line)?;
    let is_weekday = weekday.len() == 3 && weekday.iter().all(u8::is_ascii_alphabetic);
    let rest = without_fraction(shaped(rest, b"0000-00-00 00:00:00")?).strip_prefix(b" ")?;
    let zone = memchr::memchr(b' ', rest).filter(|zone| *zone > 0)?;
    is_weekday.then_some(&rest[zone..])
}

/// Text after `[12345.678901]`, which is filled up with blanks.
fn without_monotonic_time(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"[")?.trim_ascii_start();
    without_seconds(rest)?.strip_prefix(b"]")
}

/// Text after `1732270272.123456`.
fn without_unix_time(line: &[u8]) -> Option<&[u8]> {
    without_seconds(line)
}

fn without_seconds(text: &[u8]) -> Option<&[u8]> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = &text[digits..];
    (digits > 0 && rest.first() == Some(&b'.')).then(|| without_fraction(rest))
}

fn timestamped(line: &[u8]) -> Option<&[u8]> {
    without_iso_time(line).or_else(|| without_go_time(line)).or_else(|| without_epoch(line))?.strip_prefix(b" ")
}

/// Text after Unix time in seconds, with a fraction or none, or in milliseconds, since 2001.
fn without_epoch(line: &[u8]) -> Option<&[u8]> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    matches!(digits, 10 | 13).then(|| without_fraction(&line[digits..]))
}

/// The line after a level, in brackets or before a colon, and the blanks that fill its column; a
/// `-` is an absent one.
fn levelled(line: &[u8]) -> Option<&[u8]> {
    let (level, rest) = word(line)?;
    let level = level.strip_suffix(b":").unwrap_or(level);
    let level = level.strip_prefix(b"[").and_then(|inner| inner.strip_suffix(b"]")).unwrap_or(level);
    (level == b"-" || address::is_level(level)).then(|| rest.trim_ascii_start())
}

/// The line after its number.
fn numbered(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii_start();
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match &line[digits..] {
        [b':' | b'\t', rest @ ..] if digits > 0 => Some(rest),
        _ => None,
    }
}

/// True if lines have growing numbers before them, which may else be read as the beginning of their
/// IPv6 addresses.
pub(crate) fn are_numbered(lines: &[&[u8]]) -> bool {
    // Fewer may grow by chance.
    const LINES_MIN: usize = 8;
    let number = |line: &&[u8]| {
        let text = line.trim_ascii_start();
        let digits = text.len() - numbered(text)?.len() - 1;
        str::from_utf8(&text[..digits]).ok()?.parse::<u64>().ok()
    };
    lines.len() >= LINES_MIN
        && lines.windows(2).all(|pair| matches!((number(&pair[0]), number(&pair[1])), (Some(a), Some(b)) if a < b))
}

/// After `2025/05/01 07:57:03`, with a fraction or none, as Go's package `log` begins lines.
fn without_go_time(line: &[u8]) -> Option<&[u8]> {
    shaped(line, b"0000/00/00 00:00:00").map(without_fraction)
}

fn cri(line: &[u8]) -> Option<(&[u8], &[u8])> {
    cri_tagged(line).map(|(stream, _, rest)| (stream, rest))
}

/// Stream and first tag of a line, and the text after them.
fn cri_tagged(line: &[u8]) -> Option<(&[u8], u8, &[u8])> {
    let (stream, rest) = word(timestamped(line)?)?;
    // `P` is a part of a line, `F` all of it or its last part; more tags may follow a colon.
    let (tags, rest) = word(rest)?;
    let tag = *tags.first()?;
    let known = matches!(stream, b"stdout" | b"stderr") && matches!(tag, b'F' | b'P');
    (known && matches!(tags.get(1), None | Some(b':'))).then_some((stream, tag, rest))
}

fn compose(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = without_colour(line);
    let (service, rest) = word(line)?;
    let rest = rest.trim_ascii_start().strip_prefix(b"|")?;
    let rest = without_colour(rest);
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    let is_service = service.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    is_service.then(|| (service, timestamped(rest).unwrap_or(rest)))
}

/// Text after a terminal's sequence that sets a colour, `ESC [36m`.
fn without_colour(text: &[u8]) -> &[u8] {
    let Some(sequence) = text.strip_prefix(b"\x1b[") else { return text };
    let digits = sequence.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    sequence[digits..].strip_prefix(b"m").unwrap_or(text)
}

fn kubectl(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (source, rest) = word(line)?;
    let source = source.strip_prefix(b"[")?.strip_suffix(b"]")?;
    let source = source.strip_prefix(b"pod/").unwrap_or(source);
    let is_named = memchr::memchr(b'/', source).is_some();
    is_named.then(|| (source, timestamped(rest).unwrap_or(rest)))
}

fn grep(line: &[u8]) -> Option<(&[u8], &[u8])> {
    if let Some(context) = grep_context(line) {
        return Some(context);
    }
    let colon = memchr::memchr(b':', line).filter(|colon| *colon > 0)?;
    let (file, rest) = (&line[..colon], &line[colon + 1..]);
    // A quote or a bracket before the colon is in the line itself.
    // Digits alone are the number of a line, and of a file by that name who knows.
    let is_number = file.iter().all(u8::is_ascii_digit);
    if is_number || file.iter().any(|byte| matches!(byte, b'"' | b'[' | b'{' | b' ')) {
        return None;
    }
    Some((file, rest))
}

/// File and line of `access.log-203.0.113.1 - -`, as grep prints the lines around those that it
/// finds. Names have dashes, too: only before an address is one the end of the file's.
fn grep_context(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (first, _) = word(line)?;
    let dash = memchr::memrchr(b'-', first).filter(|dash| *dash > 0)?;
    let (file, client) = (&first[..dash], &first[dash + 1..]);
    let is_file = !file.iter().all(u8::is_ascii_digit) && !file.iter().any(|byte| matches!(byte, b'"' | b'[' | b'{' | b':'));
    (is_file && address::is_address(address::client(client))).then(|| (file, &line[dash + 1..]))
}

fn grep_numbered(line: &[u8]) -> Option<(&[u8], &[u8])> {
    if let Some((file, rest)) = grep_context(line) {
        let dash = memchr::memrchr(b'-', file).filter(|dash| *dash > 0)?;
        return address::is_bare_number(&file[dash + 1..]).then(|| (&file[..dash], rest));
    }
    let (file, rest) = grep(line)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match &rest[digits..] {
        [b':', numbered @ ..] if digits > 0 => Some((file, numbered)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(prefix: LinePrefix, line: &str) -> Option<(String, String)> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        prefix.split(line.as_bytes()).map(|(source, rest)| (text(source), text(rest)))
    }

    #[track_caller]
    fn splits(prefix: LinePrefix, before: &str, source: &str) {
        assert_eq!(
            split(prefix, &format!("{before}1.2.3.4 - a")),
            Some((source.to_owned(), "1.2.3.4 - a".to_owned())),
            "{before}"
        );
    }

    #[test]
    fn syslog_as_written_by_servers_and_journalctl() {
        splits(LinePrefix::Syslog, "Nov 22 10:11:12 web1 nginx: ", "web1");
        splits(LinePrefix::Syslog, "<190>Nov  2 10:11:12 web1 nginx[77]: ", "web1");
        splits(LinePrefix::Syslog, "Nov 22 10:11:12 nginx: ", "");
        splits(LinePrefix::Syslog, "Nov 22 10:11:12.123456 web1 nginx[77]: ", "web1");
        splits(LinePrefix::Syslog, "2024-11-22T10:11:12.123456+01:00 web1 nginx: ", "web1");
        splits(LinePrefix::Syslog, "2024-11-22T10:11:12+0100 web1 nginx[7]: ", "web1");
        splits(LinePrefix::Syslog, "2024-11-22T10:11:12+01:00 10.0.0.9  ", "10.0.0.9");
        splits(LinePrefix::Syslog, "Nov 22 10:11:12 web1 local7.info nginx: ", "web1");
        splits(LinePrefix::Syslog, "<190>", "");
        splits(LinePrefix::Syslog, "<190>nginx: ", "");
        assert_eq!(split(LinePrefix::Syslog, "Nov 22 10:11:12 web1 web.info nginx: a"), None);
        assert_eq!(split(LinePrefix::Syslog, "Nox 22 10:11:12 web1 nginx: a"), None);
        assert_eq!(split(LinePrefix::Syslog, "Nov 22 10:11:12 web1 nginx a"), None);
    }

    /// The second is RFC 5424's own example of structured data.
    #[test]
    fn syslog_of_rfc_5424() {
        splits(LinePrefix::Syslog5424, "<165>1 2003-08-24T05:14:15.000003-07:00 192.0.2.1 myproc 8710 - - ", "192.0.2.1");
        let data = r#"[exampleSDID@32473 iut="3" eventSource="Appl\"ic]ation"][examplePriority@32473 class="high"]"#;
        splits(
            LinePrefix::Syslog5424,
            &format!("<165>1 2003-10-11T22:14:15.003Z mymachine.example.com evntslog - ID47 {data} \u{feff}"),
            "mymachine.example.com",
        );
        splits(LinePrefix::Syslog5424, "1 - - - - - - ", "");
        assert_eq!(split(LinePrefix::Syslog5424, "1 2003-10-11T22:14:15.003Z h p - - [x"), None);
    }

    #[test]
    fn journalctls_other_times() {
        splits(LinePrefix::Journald, "Fri 2024-11-22 10:11:12 UTC web1 nginx[7]: ", "web1");
        splits(LinePrefix::Journald, "Fri 2024-11-22 10:11:12.123456 CET web1 nginx[7]: ", "web1");
        splits(LinePrefix::Journald, "1732270272.123456 web1 nginx[7]: ", "web1");
        splits(LinePrefix::Journald, "[ 1234.567890] web1 nginx[7]: ", "web1");
    }

    #[test]
    fn containers() {
        splits(LinePrefix::Cri, "2016-10-06T00:17:09.669794202Z stdout F ", "stdout");
        splits(LinePrefix::Cri, "2016-10-06T00:17:09.669794202+02:00 stderr P:x ", "stderr");
        assert_eq!(split(LinePrefix::Cri, "2016-10-06T00:17:09.669794202Z stdout X a"), None);
        splits(LinePrefix::Compose, "web-1  | ", "web-1");
        splits(LinePrefix::Compose, "\x1b[36mweb_1    |\x1b[0m ", "web_1");
        splits(LinePrefix::Compose, "web-1  | 2016-10-06T00:17:09.669794202Z ", "web-1");
        splits(LinePrefix::Kubectl, "[pod/web-7d4/nginx] ", "web-7d4/nginx");
        splits(LinePrefix::Kubectl, "[pod/web-7d4/nginx] 2016-10-06T00:17:09.669794202Z ", "web-7d4/nginx");
        splits(LinePrefix::Timestamps, "2016-10-06T00:17:09.669794202Z ", "");
        splits(LinePrefix::Timestamps, "2025/05/01 07:57:03 ", "");
        splits(LinePrefix::Timestamps, "2025/05/01 07:57:03.123456 ", "");
    }

    #[test]
    fn levels_and_numbers() {
        for before in ["INFO ", "info: ", "[warn] ", "INFO:     ", "- "] {
            splits(LinePrefix::Level, before, "");
        }
        assert_eq!(split(LinePrefix::Level, "INFOS a"), None);
        splits(LinePrefix::Timestamps, "1700000000 ", "");
        splits(LinePrefix::Timestamps, "1700000000.123 ", "");
        splits(LinePrefix::Timestamps, "1700000000123 ", "");
        assert_eq!(split(LinePrefix::Timestamps, "17000 a"), None);
        splits(LinePrefix::Numbered, "17:", "");
        splits(LinePrefix::Numbered, "    17\t", "");
        assert_eq!(split(LinePrefix::Numbered, "17-203.0.113.9 - a"), None);
    }

    #[test]
    fn files_that_grep_names() {
        splits(LinePrefix::Grep, "access.log:", "access.log");
        splits(LinePrefix::GrepNumbered, "/var/log/nginx/access.log.1:1234:", "/var/log/nginx/access.log.1");
        assert_eq!(split(LinePrefix::GrepNumbered, "access.log:1.2.3.4 - a"), None);
        // Lines around those that were found.
        splits(LinePrefix::Grep, "access.log-", "access.log");
        splits(LinePrefix::Grep, "access.log-20241122-", "access.log-20241122");
        splits(LinePrefix::GrepNumbered, "access.log-13-", "access.log");
        let ipv6 = "access.log-2001:db8::1 - a";
        assert_eq!(split(LinePrefix::Grep, ipv6), Some(("access.log".to_owned(), "2001:db8::1 - a".to_owned())));
        assert_eq!(split(LinePrefix::GrepNumbered, "access.log-1.2.3.4 - a"), None);
        assert_eq!(split(LinePrefix::Grep, "web-1 - - [22/Nov/2024:10:11:12 +0000]"), None);
        assert_eq!(split(LinePrefix::Grep, "1.2.3.4 - - [22/Nov/2024:10:11:12 +0000]"), None);
    }

    #[test]
    fn names_are_found_again() {
        for prefix in LinePrefix::ALL {
            assert_eq!(LinePrefix::named(prefix.name()), Some(prefix));
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let record =
            LogRecord { time_us: Some(1_732_270_272_123_456), zone_seconds: 3_600, source: b"web1/a", ..LogRecord::default() };
        for prefix in LinePrefix::ALL {
            let source = match prefix {
                LinePrefix::Timestamps | LinePrefix::Level | LinePrefix::Numbered => "",
                LinePrefix::Cri => "stderr",
                LinePrefix::Compose => "web-1",
                _ => "web1/a",
            };
            let line = [&prefix.text(&LogRecord { source: source.as_bytes(), ..record })[..], b"x y"].concat();
            assert_eq!(split(prefix, &String::from_utf8_lossy(&line)), Some((source.to_owned(), "x y".to_owned())));
        }
    }
}
