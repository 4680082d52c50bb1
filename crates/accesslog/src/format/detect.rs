//! Detection of a log's format from its first lines.

use rorqual_pipe::setting::FORMAT;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::foreign::ForeignContent;
use super::prefix::{self, GROUPS_APART, LinePrefix};
use super::servers::SERVERS;
use super::w3c::{W3cColumns, is_directive};
use super::{Field, LineSyntax, LogFormat, tail};
use crate::note_reason::NoteReason;
use crate::parse::number::has_three_decimals;
use crate::parse::{LineFlaw, LineOutcome, LogParser, LogRecord, address, docker, record};
use rorqual_pipe::escaped;

/// Lines of a sample that are looked at, at most, where the first do not tell a format.
pub const SAMPLE_LINES_MAX: usize = 2_000;

/// Lines that have to tell a format together. What the first so many tell for sure, no later ones
/// change.
pub const WINDOW_LINES: usize = 200;

/// Lines by which the likely format is found, that the others are measured by.
const GUIDE_LINES: usize = 8;

/// Lines that [`Unknown`] shows, at most.
const UNKNOWN_LINES_MAX: usize = 5;

/// Bytes of each line that [`Unknown`] shows, at most.
const UNKNOWN_LINE_BYTES_MAX: usize = 200;

/// The format found for a log.
#[derive(Debug, Clone)]
pub struct Detection {
    /// The format that reads most lines of the sample. Of a JSON format it has only the fields that
    /// the sample has.
    pub format: LogFormat,
    /// Lines looked at; blank ones do not count.
    pub lines: usize,
    /// Lines among them that the format reads without a flaw, and where what it takes for client,
    /// host and user can be that. A request that is none (a scanner's bytes) is the client's flaw,
    /// not the format's, and does not count as one.
    pub sound: usize,
    /// True if at least 90 % of the lines are sound.
    pub sure: bool,
    /// Text after the agent that the format has no unit for, as the first line has it; the key of a
    /// time in JSON that nothing tells the unit of.
    pub unread: Option<String>,
}

/// A guess of a format that not all of the first lines fit, for people.
#[must_use]
pub fn doubtful_fit(format: &str, sound: usize, lines: usize) -> String {
    format!("taken for '{format}', but only {sound} of the first {lines} lines fit")
}

impl Detection {
    /// A sentence about a format that is not [`sure`](Self::sure).
    #[must_use]
    pub fn doubt_note(&self) -> Option<String> {
        (!self.sure).then(|| doubtful_fit(self.format.name(), self.sound, self.lines))
    }

    /// A sentence about the part of each line that the format leaves: it may be a time or a size,
    /// and nothing in the line says which.
    #[must_use]
    pub fn unread_note(&self) -> Option<String> {
        let unread = escaped(self.unread.as_deref()?);
        Some(if self.format.source().starts_with('#') {
            format!("this of each line is not read as a time, as no column tells its unit or its date: {unread}")
        } else {
            format!(
                "this of each line is a column of its own and no time or size, as nothing tells its unit: {unread}. A {FORMAT} that names it reads it, such as one that ends in %D or $request_time"
            )
        })
    }
}

/// No known format reads any line of the sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// The sample's first lines, each cut at 200 bytes, invalid UTF-8 replaced; none for an empty
    /// sample, nor for what is no text.
    pub lines: Vec<String>,
    /// The kind of input that it is instead, where that is recognised.
    pub foreign: Option<ForeignContent>,
}

impl Unknown {
    /// True for text that a format which is given may read.
    #[must_use]
    pub fn lacks_format(&self) -> bool {
        self.foreign.is_none() && !self.lines.is_empty()
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lines.first() {
            _ if self.foreign.is_some() => {
                self.foreign.iter().try_for_each(|foreign| write!(f, "this is {foreign}, and no access log"))
            }
            None => f.write_str("there is no line to find the format by"),
            Some(line) => write!(f, "no known format reads the first lines, such as {line:?}"),
        }
    }
}

impl std::error::Error for Unknown {}

/// Prefixes before one line, at most.
const PREFIXES_GUESSED_MAX: usize = 2;

/// Formats tried besides the caller's, the more particular first. The combined ones read common
/// lines as well, so these come before them.
const CANDIDATES: [(&str, &str); 19] = [
    ("common", r#"%h %l %u %t "%r" %>s %b"#),
    ("vhost_common", r#"%v:%p %h %l %u %t "%r" %>s %b"#),
    ("host_common", r#"%v %h %l %u %t "%r" %>s %b"#),
    ("vhost_combined", r#"%v:%p %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i""#),
    (
        "traefik_common",
        r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $count "$router" "$server" ${request_time_s}"#,
    ),
    (
        "combined_forwarded",
        r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" "$http_x_forwarded_for""#,
    ),
    (
        "combined_upstream_timed",
        r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_time_s $upstream_response_time_s"#,
    ),
    (
        "combined_timed",
        r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_time_s"#,
    ),
    // Its default, `%h %V %u`: the host stands where others have the identity.
    (
        "lighttpd",
        r#"$remote_addr $host $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#,
    ),
    ("combined", r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i""#),
    (
        "combined_extra",
        r#"$remote_addr $ident $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $more"#,
    ),
    (
        "vhost_combined_upstream_timed",
        r#"$host:$port $remote_addr $ident $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_time_s $upstream_response_time_s"#,
    ),
    (
        "vhost_combined_timed",
        r#"$host:$port $remote_addr $ident $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_time_s"#,
    ),
    (
        "host_combined_upstream_timed",
        r#"$host $remote_addr $ident $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_time_s $upstream_response_time_s"#,
    ),
    (
        "host_combined_timed",
        r#"$host $remote_addr $ident $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_time_s"#,
    ),
    ("host_combined_forwarded", r#"%v %h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i" "%{X-Forwarded-For}i""#),
    ("host_combined", r#"%v %h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i""#),
    (
        "host_combined_extra",
        r#"$host $remote_addr $ident $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $more"#,
    ),
    // A time or a name of a thread after a common line, as Rack and Tomcat write them.
    (tail::COMMON_EXTRA, r#"$remote_addr $ident $remote_user [$time_local] "$request" $status $body_bytes_sent $more"#),
];

/// Names of [`CANDIDATES`] that end in a time.
const TIMED: [&str; 3] = ["combined_timed", "vhost_combined_timed", "host_combined_timed"];

/// Names of those that end in two.
const UPSTREAM_TIMED: [&str; 3] = ["combined_upstream_timed", "vhost_combined_upstream_timed", "host_combined_upstream_timed"];

/// Beginnings of formats that have a host with its port before the client.
const PORT_FIRST: [&str; 2] = ["%v:%p ", "$host:$port "];

/// Beginnings of those that have it without.
const HOST_FIRST: [&str; 2] = ["%v ", "$host "];

/// Number of common formats in [`CANDIDATES`].
const COMMON: usize = 3;

/// Finds the format of a log from the whole lines at its beginning, the first 200, or of at most
/// [`SAMPLE_LINES_MAX`] the first 200 that tell one; a last line without its line end counts only
/// if it is the only one. `extra` formats are tried first, and win where they read as many lines as
/// a known one.
pub fn detect(sample: &[u8], extra: &[LogFormat]) -> Result<Detection, Unknown> {
    let lines = sample_lines(sample);
    // An archive has the lines of a log in it, and others.
    if let Some(foreign) = ForeignContent::of_bytes(sample) {
        return Err(Unknown { lines: Vec::new(), foreign: Some(foreign) });
    }
    if let Some(detection) = in_w3c(&lines).or_else(|| in_default_w3c(&lines)).or_else(|| in_docker(&lines, extra)) {
        return Ok(detection);
    }
    // All that goes on where a common line ends reads common lines as well.
    let (common, combined) = CANDIDATES.split_at(COMMON);
    let known = common.iter().chain(SERVERS).chain(combined).filter_map(|(name, source)| candidate(name, source));
    let keyed = ["cloudflare", "json", "akamai", "ltsv"].into_iter().filter_map(LogFormat::named);
    let formats: Vec<LogFormat> = extra.iter().cloned().chain(keyed).chain(known).collect();
    let Some((sound, seen, format)) = first_sure(&formats, &lines) else {
        return Err(unknown(&lines));
    };
    let lines = &lines[..seen];
    let sure = is_sure(sound, lines.len());
    let unread = tail::unread(&format, lines).or_else(|| unitless(&format, lines));
    Ok(Detection { format: format.sampled_lines(lines), lines: lines.len(), sound, sure, unread })
}

/// The key of a time that nothing tells the unit of, of the first line that has one.
fn unitless(format: &LogFormat, lines: &[&[u8]]) -> Option<String> {
    let mut parser = LogParser::new(format);
    let key = |line: &&[u8]| {
        let _ = parser.parse(line);
        parser.unitless()
    };
    lines.iter().find_map(key).map(str::to_owned)
}

fn is_sure(sound: usize, lines: usize) -> bool {
    sound * 10 >= lines * 9
}

/// The format of the first lines; where they are in none for sure, as what a start-up script
/// prints, of the lines after them. With how many are sound, of how many that were looked at.
fn first_sure(formats: &[LogFormat], lines: &[&[u8]]) -> Option<(usize, usize, LogFormat)> {
    let mut first: Option<(usize, usize, LogFormat)> = None;
    for (number, window) in lines.chunks(WINDOW_LINES).enumerate() {
        let Some((fit, format)) = best(formats, window, &[]) else { continue };
        let seen = number * WINDOW_LINES + window.len();
        // A few lines at the end are no reason to take all others for something else.
        let is_whole = window.len() == WINDOW_LINES || first.as_ref().is_none_or(|(sound, ..)| fit.sound > *sound);
        if is_whole && is_sure(fit.sound, window.len()) {
            let before: usize =
                lines[..seen - window.len()].chunks(WINDOW_LINES).map(|lines| tally(&format, lines, 0).fit.sound).sum();
            return Some((before + fit.sound, seen, format));
        }
        if first.as_ref().is_none_or(|(sound, ..)| fit.sound > *sound) {
            first = Some((fit.sound, seen, format));
        }
    }
    first
}

/// The format that reads most lines soundly, as it is or after prefixes other than those that
/// are taken off; with how well it does.
fn best(formats: &[LogFormat], lines: &[&[u8]], before: &[LinePrefix]) -> Option<(FormatFit, LogFormat)> {
    let numbered = [before, &[LinePrefix::Numbered]].concat();
    if before.len() < PREFIXES_GUESSED_MAX && !before.contains(&LinePrefix::Numbered) && prefix::are_numbered(lines) {
        let after: Vec<&[u8]> = lines.iter().filter_map(|line| Some(LinePrefix::Numbered.split(line)?.1)).collect();
        if let Some((fit, format)) = self::best(formats, &after, &numbered).filter(|(fit, _)| is_sure(fit.sound, lines.len())) {
            return Some((fit, format.after(LinePrefix::Numbered)));
        }
    }
    let mut best = None;
    let mut most = FormatFit::default();
    let timed = tail::formats(lines);
    let sound_min = reached(formats.iter().chain(&timed), lines);
    for format in formats.iter().chain(&timed) {
        let FormatTally { fit, fields } = tally(format, lines, sound_min);
        let is_extra = best
            .as_ref()
            .is_some_and(|(_, format): &(FormatFit, LogFormat)| matches!(format.name(), tail::EXTRA | tail::HOST_EXTRA));
        if fit > most || (is_extra && fit == most) {
            most = fit;
            best = Some((fit, if format.is_json() { format.narrowed(fields) } else { format.clone() }));
        }
    }
    if before.len() >= PREFIXES_GUESSED_MAX || most.sound == lines.len() {
        return best;
    }
    // A file and a number are one prefix.
    let is_split = |prefix| prefix == LinePrefix::Numbered && before.last() == Some(&LinePrefix::Grep);
    for prefix in LinePrefix::ALL.into_iter().filter(|prefix| !before.contains(prefix) && !is_split(*prefix)) {
        let is_cut = |line: &[u8]| prefix.ends_in_colon() && begins_with_ipv6(line);
        let after = lines.iter().filter(|line| !is_cut(line)).filter_map(|line| Some(prefix.split(line)?.1));
        let after: Vec<&[u8]> = after.collect();
        if after.len() <= most.sound {
            continue;
        }
        if let Some((fit, format)) = self::best(formats, &after, &[before, &[prefix]].concat()).filter(|(fit, _)| *fit > most) {
            most = fit;
            best = Some((fit, format.after(prefix)));
        }
    }
    best
}

/// Number of sound lines that one of the formats reaches, the likely one by the very first lines.
/// There are dozens of formats, of which nearly all fail at once: they need not see every line.
fn reached<'a>(formats: impl Iterator<Item = &'a LogFormat>, lines: &[&[u8]]) -> usize {
    let first = &lines[..lines.len().min(GUIDE_LINES)];
    let likely = formats.max_by_key(|format| tally(format, first, 0).fit.sound);
    likely.map_or(0, |format| tally(format, lines, 0).fit.sound)
}

/// The format of that name among those that are recognised.
pub(super) fn known(name: &str) -> Option<LogFormat> {
    CANDIDATES.iter().chain(SERVERS).find(|(known, _)| *known == name).and_then(|(name, source)| candidate(name, source))
}

/// The sound lines' fields with their values, for people to see whether a format is the right one.
/// Looks at the first `lines` whole lines of the sample; one that is rejected gives an empty row.
pub fn preview(format: &LogFormat, sample: &[u8], lines: usize) -> Vec<Vec<(Field, String)>> {
    let mut parser = LogParser::new(format);
    let row = |line: &&[u8]| match parser.parse(line) {
        LineOutcome::Parsed(record) | LineOutcome::Repaired(record, _) => fields(&record),
        LineOutcome::Rejected(_) | LineOutcome::Blank => Vec::new(),
    };
    sample_lines(sample).iter().take(lines).map(row).collect()
}

/// The outcome of a format for one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriedLine {
    /// The record's fields with their values for people; `None` where there is no record.
    pub fields: Option<Vec<(Field, String)>>,
    /// The line's flaw.
    pub flaw: Option<String>,
}

/// The outcome of a format for some lines, without their newlines, where at most `line_bytes_max`
/// of one are parsed.
pub fn try_lines<'a>(format: &LogFormat, line_bytes_max: usize, lines: impl Iterator<Item = &'a [u8]>) -> Vec<TriedLine> {
    let mut parser = LogParser::new(format);
    let too_long = NoteReason::TooLong { line_bytes_max: line_bytes_max as u64 };
    let tried = |line: &'a [u8]| match parser.parse(line) {
        _ if line.len() > line_bytes_max => TriedLine { fields: None, flaw: Some(too_long.to_string()) },
        LineOutcome::Parsed(record) => TriedLine { fields: Some(fields(&record)), flaw: None },
        LineOutcome::Repaired(record, flaw) => TriedLine { fields: Some(fields(&record)), flaw: Some(flaw.to_string()) },
        LineOutcome::Rejected(flaw) => TriedLine { fields: None, flaw: Some(flaw.to_string()) },
        LineOutcome::Blank => TriedLine { fields: None, flaw: Some("a blank line".to_owned()) },
    };
    lines.map(tried).collect()
}

fn fields(record: &LogRecord<'_>) -> Vec<(Field, String)> {
    Field::ALL.into_iter().filter_map(|field| Some((field, record::field_text(record, field)?))).collect()
}

fn candidate(name: &str, source: &str) -> Option<LogFormat> {
    if source.contains('$') {
        LogFormat::nginx(name, source, super::compile::QuoteEscaping::Backslash).ok()
    } else {
        LogFormat::apache(name, source).ok()
    }
}

/// Whole lines that are not blank, nor what grep prints between groups of lines.
pub(super) fn sample_lines(sample: &[u8]) -> Vec<&[u8]> {
    let whole = memchr::memrchr(b'\n', sample).map_or(sample.len(), |end| end);
    let lines = sample[..whole].split(|byte| *byte == b'\n');
    lines.filter(|line| !line.trim_ascii().is_empty() && line.trim_ascii_end() != GROUPS_APART).take(SAMPLE_LINES_MAX).collect()
}

/// The fit of a format to a sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct FormatFit {
    sound: usize,
    /// Lines that would be sound if they named a client. Where a server listens on a socket of the
    /// file system no line does.
    nameless: usize,
}

#[derive(Default)]
struct FormatTally {
    fit: FormatFit,
    /// Bits of the fields that sound lines have.
    fields: u16,
}

/// The fit of a format; no more than a part of it where fewer than `sound_min` lines are sound.
fn tally(format: &LogFormat, lines: &[&[u8]], sound_min: usize) -> FormatTally {
    let mut parser = LogParser::new(format);
    let mut tally = FormatTally::default();
    // BunkerWeb's lines all have a client.
    let is_server = format.name() != "bunkerweb" && SERVERS.iter().any(|(name, _)| *name == format.name())
        || matches!(format.kind(), LineSyntax::W3c(_));
    let is_single = TIMED.contains(&format.name());
    let is_timed = is_single || UPSTREAM_TIMED.contains(&format.name());
    let is_forwarded = matches!(format.name(), "combined_forwarded" | "host_combined_forwarded");
    let (is_lighttpd, is_longer) = (format.name() == "lighttpd", format.name() == tail::COMMON_EXTRA);
    let has_port = PORT_FIRST.iter().any(|begin| format.source().starts_with(begin));
    // What a format that is given says its words are, they are.
    let is_guess = CANDIDATES.iter().any(|(name, _)| *name == format.name()) || tail::is_layout(format.name());
    let is_hosted = is_guess && (is_lighttpd || has_port || HOST_FIRST.iter().any(|begin| format.source().starts_with(begin)));
    let is_common = is_guess && matches!(format.kind(), LineSyntax::Text(program) if program.begins_as_common);
    let mut hosts = HostTally::default();
    for (number, line) in lines.iter().enumerate() {
        if tally.fit.sound + (lines.len() - number) < sound_min {
            break;
        }
        let (record, asks) = match parser.parse(line) {
            LineOutcome::Parsed(record) => (record, !record.path.is_empty()),
            LineOutcome::Repaired(record, LineFlaw::NotRequest) => (record, true),
            LineOutcome::Repaired(record, LineFlaw::SoFar) => (record, !record.path.is_empty()),
            _ => continue,
        };
        if (is_timed && !ends_in_times(line, is_single))
            || (has_port && !begins_with_port(line))
            || (is_forwarded && !ends_in_clients(line))
            || (is_longer && tail::of_common_line(line).is_none())
            || (is_lighttpd && !is_domain(record.host))
            || (is_hosted && !record.host.is_empty() && !address::is_host_before(address::client(record.host)))
        {
            continue;
        }
        // An address in the place of the host, and none in that of the client, is the client.
        if record.client.is_empty() && !format.is_json() && address::is_address(address::client(record.host)) {
            continue;
        }
        if !is_plausible(&record) || !is_access(format, &record, line, asks) || (is_timed && !is_in_order(&record)) {
            continue;
        }
        hosts.add(&record);
        // Proxies and clouds have lines of their own that no client asked for; a bare number is the
        // client of anonymised logs, and much else of others.
        let is_nameless = record.client.is_empty()
            || (is_guess && address::is_bare_number(record.client))
            || (is_common && has_two_clients(line));
        match format.has(Field::Client) && !format.is_json() && !is_server && is_nameless {
            true => tally.fit.nameless += 1,
            false => tally.fit.sound += 1,
        }
        tally.fields |= record::field_bits(&record);
    }
    if is_hosted && !has_port && hosts.are_clients() {
        tally.fit = hosts.doubted(tally.fit, lines.len());
    }
    if is_timed && tally.fit.sound > 0 && tail::has_constant(lines) { FormatTally::default() } else { tally }
}

/// The hosts of the lines of a format that has them beside the client.
#[derive(Debug, Default)]
struct HostTally {
    named: usize,
    /// Hosts that are an address without a port.
    addresses: usize,
}

impl HostTally {
    fn add(&mut self, record: &LogRecord<'_>) {
        self.named += usize::from(!record.host.is_empty());
        self.addresses += usize::from(address::is_address(record.host));
    }

    /// True if most of them are addresses: of two in a line either may be the client, and the other
    /// a proxy.
    fn are_clients(&self) -> bool {
        self.addresses * 2 > self.named
    }

    /// The fit where it is so: the lines with an address for a host are not sound, and if they are
    /// few it is not sure all the same.
    fn doubted(&self, fit: FormatFit, lines: usize) -> FormatFit {
        let most = (lines * 9).div_ceil(10).saturating_sub(1);
        let sound = fit.sound.saturating_sub(self.addresses).min(most);
        FormatFit { sound, nameless: fit.nameless + fit.sound - sound }
    }
}

/// W3C's format, where a line says the columns of others and most of them have these.
fn in_w3c(lines: &[&[u8]]) -> Option<Detection> {
    let columns = W3cColumns::of_sample(lines).filter(W3cColumns::are_of_requests)?;
    let unread = columns.unread();
    let format = LogFormat::w3c(Arc::new(columns));
    let lines = &lines[..lines.len().min(WINDOW_LINES)];
    // A site that nobody visited yet has none.
    let requests = lines.iter().filter(|line| !is_directive(line)).count();
    let sound = tally(&format, lines, 0).fit.sound;
    let sure = is_sure(sound, requests);
    (sound * 2 >= requests).then_some(Detection { format, lines: requests, sound, sure, unread })
}

/// W3C's format without a line that says the columns, where nearly all lines have those that a
/// server writes by default.
fn in_default_w3c(lines: &[&[u8]]) -> Option<Detection> {
    let lines = &lines[..lines.len().min(WINDOW_LINES)];
    let of = |columns| {
        let format = LogFormat::w3c(Arc::new(columns));
        let requests = lines.iter().filter(|line| is_request(&format, line)).count();
        (requests, format)
    };
    let (sound, format) = W3cColumns::defaults(lines.first()?).map(of).max_by_key(|(requests, _)| *requests)?;
    is_sure(sound, lines.len()).then_some(Detection { format, lines: lines.len(), sound, sure: true, unread: None })
}

/// True if a line is a request in W3C's format, when nothing but its values tells.
fn is_request(format: &LogFormat, line: &[u8]) -> bool {
    match LogParser::new(format).parse(line) {
        LineOutcome::Parsed(record) => is_plausible(&record) && record.path.starts_with(b"/") && !record.method.is_empty(),
        _ => false,
    }
}

/// The format of lines that are in Docker's envelopes, where most of them are. Lines in none, among
/// those that were looked at, do not fit.
fn in_docker(lines: &[&[u8]], extra: &[LogFormat]) -> Option<Detection> {
    let is_enveloped = |line: &&&[u8]| docker::enveloped(line).is_some();
    let wrapped = lines.iter().filter(is_enveloped).count();
    if wrapped * 2 <= lines.len() {
        return None;
    }
    let inner = detect(&docker::unwrapped(lines), extra).ok().filter(|inner| inner.sound > 0)?;
    let seen = &lines[..reach(&inner, lines)];
    let looked_at = inner.lines + seen.len() - seen.iter().filter(is_enveloped).count();
    let sure = is_sure(inner.sound, looked_at);
    Some(Detection { format: inner.format.in_docker(), lines: looked_at, sound: inner.sound, sure, unread: inner.unread })
}

/// Number of lines, in envelopes and not, in which stand those that a detection looked at. It is no
/// fewer than a log of another kind is judged by.
fn reach(inner: &Detection, lines: &[&[u8]]) -> usize {
    // A detection counts neither blank lines nor, among columns, what says their names.
    let has_directives = matches!(inner.format.kind(), LineSyntax::W3c(_));
    let is_counted = |text: &&&[u8]| !(has_directives && is_directive(text));
    let mut left = inner.lines;
    let needed = lines.iter().take_while(|line| {
        let is_needed = left > 0;
        left = left.saturating_sub(sample_lines(&docker::unwrapped(&[**line])).iter().filter(is_counted).count());
        is_needed
    });
    needed.count().max(lines.len().min(WINDOW_LINES))
}

/// True if client and host can be such, and the user is one word. Any format with fields between
/// blanks reads a line with something in front of the address, but not as these.
fn is_plausible(record: &LogRecord<'_>) -> bool {
    let host = address::client(record.host);
    (record.client.is_empty() || address::is_host(record.client))
        && (host.is_empty() || address::is_virtual_host(host))
        && !record.user.iter().any(u8::is_ascii_whitespace)
}

/// True of a line of JSON whose status is 0, as Caddy writes it where nothing was answered; in
/// others there is no status.
fn says_unanswered(line: &[u8]) -> bool {
    const KEY: &[u8] = b"\"status\":";
    let value = memchr::memmem::find(line, KEY).map(|at| line[at + KEY.len()..].trim_ascii_start());
    value.and_then(|value| value.strip_prefix(b"0")).is_some_and(|rest| matches!(rest.first(), Some(b',' | b'}')))
}

/// Statuses of HTTP.
const STATUSES: RangeInclusive<u16> = 100..=599;

/// True if a line is of an access log: in JSON much else has a path or a status, and between quotes
/// anything may be an agent.
fn is_access(format: &LogFormat, record: &LogRecord<'_>, line: &[u8], asks: bool) -> bool {
    // A quote that nothing escapes is the end of a field, and more fields follow.
    let has_quote = |text: &[u8]| memchr::memchr_iter(b'"', text).any(|at| at == 0 || text[at - 1] != b'\\');
    // Nobody else has these names; but FTP servers of IIS write `[1]USER`.
    if matches!(format.name(), "cloudflare" | "ltsv" | "w3c") {
        return !record.method.starts_with(b"[");
    }
    // So short that any line with a client and a hyphen would be one.
    if matches!(format.name(), "uvicorn" | "uvicorn_worker") {
        return asks && STATUSES.contains(&record.status);
    }
    // Its keys for status and size are those of others, too.
    if format.name() == "akamai" {
        return asks && record.time_us.is_some();
    }
    if !format.is_json() {
        return !has_quote(record.referrer) && !has_quote(record.agent);
    }
    let is_asked = !record.method.is_empty() || !record.client.is_empty() || !record.agent.is_empty();
    asks && is_asked && (STATUSES.contains(&record.status) || (record.status == 0 && says_unanswered(line)))
}

/// True if the request took as long as the upstream server; else the times stand the other way
/// round.
fn is_in_order(record: &LogRecord<'_>) -> bool {
    let (request, upstream) = (record.request_time_us, record.upstream_time_us);
    request.zip(upstream).is_none_or(|(request, upstream)| tail::covers(request, upstream))
}

/// True of the name of a virtual host that is no name of a user, which may stand in the same place.
fn is_domain(host: &[u8]) -> bool {
    host == b"localhost" || host.iter().any(|byte| matches!(byte, b'.' | b':'))
}

/// True if the last text in quotes is a list of clients, as in `X-Forwarded-For`, or an absent one.
/// Servers log any other header there, too.
fn ends_in_clients(line: &[u8]) -> bool {
    let Some(list) = line.trim_ascii_end().strip_suffix(b"\"").and_then(|line| line.rsplit(|byte| *byte == b'"').next()) else {
        // A common line among them.
        return true;
    };
    let is_client = |member: &[u8]| matches!(member, b"" | b"-" | b"unknown") || address::is_address(address::client(member));
    list.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).all(is_client)
}

/// True if an address stands where a common line has the identity, which is a `-` or a name: it may
/// be the client, and the one before it a proxy.
fn has_two_clients(line: &[u8]) -> bool {
    let mut words = line.trim_ascii_start().split(|byte| *byte == b' ');
    let is_list = words.next().is_some_and(|first| first.ends_with(b","));
    !is_list && words.next().is_some_and(address::is_address)
}

/// True if the first word is an address of IPv6, whose first group is no number of a line and no
/// name of a file.
fn begins_with_ipv6(line: &[u8]) -> bool {
    let word = line.split(|byte| *byte == b' ').next().unwrap_or_default();
    memchr::memchr(b':', word).is_some() && address::is_address(word)
}

/// True if the first word ends in a colon and a number: a time in front of the line has colons,
/// too.
fn begins_with_port(line: &[u8]) -> bool {
    let word = line.trim_ascii_start().split(|byte| *byte == b' ').next().unwrap_or_default();
    !word.starts_with(b":") && address::client(word) != word
}

/// True if the numbers after the last quote, or the single one, are written as nginx writes times;
/// others there may be anything (Apache's combinedio has byte counts).
fn ends_in_times(line: &[u8], is_single: bool) -> bool {
    let quote = memchr::memrchr(b'"', line).map_or(0, |at| at + 1);
    let tail = line[quote..].trim_ascii();
    if is_single && tail.contains(&b' ') {
        return false;
    }
    let mut words = tail.split(|byte| matches!(byte, b' ' | b','));
    words.all(|word| word.is_empty() || matches!(word, b"-" | b":") || has_three_decimals(word))
}

fn unknown(lines: &[&[u8]]) -> Unknown {
    let shown = |line: &&[u8]| {
        let cut = &line[..line.len().min(UNKNOWN_LINE_BYTES_MAX)];
        String::from_utf8_lossy(cut).trim_end().to_owned()
    };
    let foreign = ForeignContent::of_lines(lines);
    let lines = if let Some(ForeignContent::Binary(_)) = foreign { &[] } else { lines };
    Unknown { lines: lines.iter().take(UNKNOWN_LINES_MAX).map(shown).collect(), foreign }
}
