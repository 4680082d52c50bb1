//! Inputs that are no access log, told by their first bytes or lines: what they are, and the way
//! on.

use super::w3c::W3cColumns;
use rorqual_pipe::setting::FORMAT;
use std::fmt::{self, Write as _};

/// Members of an archive that are named.
const MEMBERS_NAMED: usize = 3;

/// Bytes of a member's name that are read.
const NAME_BYTES_MAX: usize = 200;

/// Kinds of input that are no access log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForeignContent {
    /// Files in one.
    Archive {
        /// The kind of archive.
        archive: Archive,
        /// The first files in it, as far as the start of the archive names them.
        members: Vec<String>,
        /// True if there are more; `None` where the start of the archive does not tell.
        more: Option<bool>,
    },
    /// Data that is no text, by its kind.
    Binary(&'static str),
    /// Lines that are no requests.
    Text(TextKind),
}

/// Kinds of archives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Archive {
    /// Of tar, compressed or not.
    Tar,
    /// Of zip, and formats built on it.
    Zip,
    /// Of 7-Zip.
    SevenZip,
    /// Of WinRAR.
    Rar,
    /// Of cpio, as in packages of RPM.
    Cpio,
    /// Of ar, as packages of Debian.
    Ar,
}

/// Kinds of lines that are recognised and are no requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// Messages of all programs of a machine.
    Syslog,
    /// nginx's error log.
    NginxErrors,
    /// Apache's error log.
    ApacheErrors,
    /// `key=value` words.
    Logfmt,
    /// Messages of Vercel's drains, of which several may be about one request.
    Vercel,
    /// Records of Azure, several in an object.
    AzureRecords,
    /// Lines in W3C's extended format whose columns are none of requests, as Windows' firewall and
    /// Exchange write them.
    W3cEvents,
    /// IIS's own format with commas, whose dates are in the order of the machine's language.
    IisNative,
    /// Caddy's lines for a console: a time, words for people and JSON, with tabs between.
    CaddyConsole,
    /// JSON objects without a request.
    Json,
    /// A page of HTML, or XML.
    Markup,
}

impl ForeignContent {
    /// Bytes of no format that is known, and no text.
    pub const NO_TEXT: ForeignContent = ForeignContent::Binary("binary data");

    /// An archive or a known kind of binary data, by the first bytes.
    #[must_use]
    pub fn of_bytes(head: &[u8]) -> Option<ForeignContent> {
        if let Some((members, more)) = tar_members(head) {
            return Some(ForeignContent::Archive { archive: Archive::Tar, members, more });
        }
        let archive = |archive, (members, more)| ForeignContent::Archive { archive, members, more };
        Some(match head {
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => archive(Archive::Zip, zip_members(head)),
            [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] => archive(Archive::SevenZip, (Vec::new(), None)),
            [b'R', b'a', b'r', b'!', 0x1a, 7, ..] => archive(Archive::Rar, (Vec::new(), None)),
            [b'!', b'<', b'a', b'r', b'c', b'h', b'>', b'\n', ..] => archive(Archive::Ar, members_of(head, 8, ar_member)),
            [b'0', b'7', b'0', b'7', b'0', b'1' | b'2' | b'7', ..] if cpio_member(head, 0).is_some() => {
                archive(Archive::Cpio, members_of(head, 0, cpio_member))
            }
            // After a checksum of the header.
            _ if head.get(8..12) == Some(b"DUCK") => ForeignContent::Binary(DUCKDB),
            _ => ForeignContent::Binary(BINARY.iter().find(|(magic, _)| head.starts_with(magic))?.1),
        })
    }

    /// The kind of an input that begins so, by its first bytes or by its first lines.
    #[must_use]
    pub fn of_head(head: &[u8]) -> Option<ForeignContent> {
        Self::of_bytes(head).or_else(|| Self::of_lines(&super::detect::sample_lines(head)))
    }

    /// The kind of most of the lines, where it is one kind.
    #[must_use]
    pub fn of_lines(lines: &[&[u8]]) -> Option<ForeignContent> {
        let lines: Vec<&[u8]> = lines.iter().map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect();
        let most = |is: &dyn Fn(&[u8]) -> bool| lines.iter().filter(|line| is(line)).count() * 2 > lines.len();
        if most(&is_binary) {
            return Some(Self::NO_TEXT);
        }
        if lines.first().is_some_and(|line| is_markup(line)) {
            return Some(ForeignContent::Text(TextKind::Markup));
        }
        if W3cColumns::of_sample(&lines).is_some_and(|columns| !columns.are_of_requests()) {
            return Some(ForeignContent::Text(TextKind::W3cEvents));
        }
        KINDS.iter().find(|(_, is)| most(is)).map(|(kind, _)| ForeignContent::Text(*kind))
    }

    /// The command that writes a log in it, named `name`, to standard output, where there is one.
    #[must_use]
    pub fn extraction(&self, name: &str) -> Option<String> {
        let ForeignContent::Archive { archive, members, .. } = self else { return None };
        let is_log = |member: &&String| member.contains("access") || member.contains(".log");
        let member = members.iter().find(is_log).or(members.first()).map_or("MEMBER".to_owned(), |member| quoted(member));
        let name = quoted(name);
        Some(match archive {
            Archive::Tar => format!("tar -xOf {name} {member}"),
            Archive::Zip => format!("unzip -p {name} {member}"),
            Archive::SevenZip => format!("7z x -so {name}"),
            Archive::Rar => format!("bsdtar -xOf {name}"),
            Archive::Cpio => format!("bsdtar -xOf {name} {member}"),
            Archive::Ar => format!("ar p {name} {member}"),
        })
    }

    /// The way to use it instead, in a sentence or two; the input is named `name`, and `verb`
    /// reads a log.
    #[must_use]
    pub fn way_on(&self, name: &str, verb: &str) -> String {
        // What came by a pipe or an upload has no name that a command could have.
        let name = if name.is_empty() || name == "-" || name == "standard input" { "FILE" } else { name };
        if let Some(extraction) = self.extraction(name) {
            return format!("Read what is in it: {extraction} | rorqual {verb} -");
        }
        let file = quoted(name);
        match self {
            ForeignContent::Binary("a gzip, zstd, bzip2, xz, lzma or lz4 file that is compressed once more") => {
                format!("Undo the outer compression first: zcat {file} | rorqual {verb} -")
            }
            ForeignContent::Binary("a Parquet file" | "an Arrow file") => {
                format!("rorqual serve, summary, head, schema, convert and query read it: rorqual summary {file}")
            }
            ForeignContent::Binary(DUCKDB) => format!(
                "duckdb writes its tables as files that are read: duckdb -readonly {file} -c \"COPY TABLE TO 'TABLE.parquet'\""
            ),
            ForeignContent::Binary("an encrypted Parquet file") => {
                "No keys are taken: decrypt it with a program that has them".to_owned()
            }
            ForeignContent::Binary("a systemd journal") => {
                format!("journalctl writes its messages: journalctl --file {file} -o cat | rorqual {verb} -")
            }
            ForeignContent::Binary(_) | ForeignContent::Archive { .. } => {
                "rorqual grep, count and hash take any bytes".to_owned()
            }
            ForeignContent::Text(TextKind::Syslog) => format!(
                "Where one of its programs logs requests, give that one's lines: rorqual grep -F nginx {file} | rorqual {verb} -; \
                 rorqual grep searches all of it"
            ),
            ForeignContent::Text(TextKind::NginxErrors) => {
                "Requests are in the file that access_log names; rorqual grep searches this one".to_owned()
            }
            ForeignContent::Text(TextKind::ApacheErrors) => {
                "Requests are in the file that CustomLog names; rorqual grep searches this one".to_owned()
            }
            ForeignContent::Text(TextKind::Logfmt) => format!("rorqual grep searches it: rorqual grep -F 'level=error' {file}"),
            ForeignContent::Text(TextKind::Vercel) => format!(
                "One message of each request gives its line: jq -c 'if type == \"array\" then .[] else . end | select(.proxy) | \
                 .proxy + {{requestId}}' {file} | jq -c -s 'unique_by(.requestId)[]' | rorqual {verb} -"
            ),
            ForeignContent::Text(TextKind::AzureRecords) => {
                format!("Each record by itself is read: jq -c '.records[]' {file} | rorqual {verb} -")
            }
            ForeignContent::Text(TextKind::W3cEvents) => format!("rorqual grep searches it: rorqual grep -F 10.0.0.1 {file}"),
            ForeignContent::Text(TextKind::IisNative) => format!(
                "A format says the order of its dates; where the month is first: rorqual {verb} {FORMAT} \
                 '%h, %u, %{{%m/%d/%y, %H:%M:%S}}t, %{{service}}n, %{{computer}}n, %A, %{{ms}}T, %I, %O, %>s, %{{error}}n, %m, %U, \
                 %{{parameters}}n,' {file}; where the day is, with %d/%m/%y"
            ),
            ForeignContent::Text(TextKind::CaddyConsole) => format!(
                "Its lines are JSON once their time is a key of it: sed -E 's|^([0-9]+)/([0-9]+)/([0-9]+) ([0-9:.]+)\t[^{{]*[{{]|{{\
                 \"ts\": \"\\1-\\2-\\3T\\4Z\", |' {file} | rorqual {verb} -. Caddy itself writes JSON with: format json"
            ),
            ForeignContent::Text(TextKind::Json) => {
                format!("rorqual serve, summary, head, schema, convert and query read it as a table: rorqual summary {file}")
            }
            ForeignContent::Text(TextKind::Markup) => "It may be what a server said instead of the log: look at it".to_owned(),
        }
    }
}

impl fmt::Display for ForeignContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ForeignContent::Archive { archive, members, more } => {
                f.write_str(match archive {
                    Archive::Tar => "a tar archive",
                    Archive::Zip => "a zip archive",
                    Archive::SevenZip => "a 7z archive",
                    Archive::Rar => "a RAR archive",
                    Archive::Cpio => "a cpio archive",
                    Archive::Ar => "an ar archive",
                })?;
                if members.is_empty() {
                    return Ok(());
                }
                let and_more = match more {
                    Some(true) => ", …",
                    Some(false) => "",
                    None => ", and perhaps more",
                };
                write!(f, " ({}{and_more})", members.join(", "))
            }
            ForeignContent::Binary(what) => f.write_str(what),
            ForeignContent::Text(kind) => f.write_str(match kind {
                TextKind::Syslog => "a syslog whose messages are not requests",
                TextKind::NginxErrors => "an error log of nginx",
                TextKind::ApacheErrors => "an error log of Apache",
                TextKind::Logfmt => "logfmt (key=value), which is not read as a log of requests",
                TextKind::Vercel => "a log of Vercel's drains, which has several messages for one request",
                TextKind::AzureRecords => "records of Azure in one object",
                TextKind::W3cEvents => "a log in W3C's format without columns of requests",
                TextKind::IisNative => "a log in IIS's own format, with dates in the order of the machine's language",
                TextKind::CaddyConsole => "a log that Caddy wrote for a console",
                TextKind::Json => "JSON without requests, such as the log of an application",
                TextKind::Markup => "a page of HTML or XML",
            }),
        }
    }
}

/// First bytes of files that are no text.
const BINARY: &[(&[u8], &str)] = &[
    (b"\x1f\x8b\x08", TWICE),
    (b"\x28\xb5\x2f\xfd", TWICE),
    (b"\xfd7zXZ\0", TWICE),
    (b"\x04\x22\x4d\x18", TWICE),
    (b"\x1f\x9d", "a file of compress (.Z)"),
    (b"\xff\x06\0\0sNaPpY", "a Snappy stream"),
    (b"PAR1", "a Parquet file"),
    (b"PARE", "an encrypted Parquet file"),
    (b"ARROW1\0\0", "an Arrow file"),
    (b"Obj\x01", "an Avro file"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"LPKSHHRH", "a systemd journal"),
    (b"ElfFile\0", "an event log of Windows"),
    (b"\x7fELF", "a program (ELF)"),
    (b"MZ\x90\0", "a program of Windows"),
    (b"\xca\xfe\xba\xbe\0\0", "a class file of Java"),
    (b"\x89PNG\r\n\x1a\n", "a picture (PNG)"),
    (b"\xff\xd8\xff", "a picture (JPEG)"),
    (b"GIF8", "a picture (GIF)"),
    (b"%PDF-", "a PDF document"),
    (b"\xed\xab\xee\xdb", "a package of RPM"),
    (b"\xd4\xc3\xb2\xa1", "a packet capture"),
    (b"\xa1\xb2\xc3\xd4", "a packet capture"),
    (b"\x0a\x0d\x0d\x0a", "a packet capture"),
];

const DUCKDB: &str = "a DuckDB database";

const TWICE: &str = "a gzip, zstd, bzip2, xz, lzma or lz4 file that is compressed once more";

/// Tells whether a line is of a kind.
type IsKind = fn(&[u8]) -> bool;

/// Kinds of lines, the more particular first.
const KINDS: [(TextKind, IsKind); 9] = [
    (TextKind::NginxErrors, is_nginx_error),
    (TextKind::ApacheErrors, is_apache_error),
    (TextKind::Vercel, is_vercel),
    (TextKind::AzureRecords, is_azure_records),
    (TextKind::IisNative, is_iis_native),
    (TextKind::CaddyConsole, is_caddy_console),
    (TextKind::Json, is_json),
    (TextKind::Syslog, is_syslog),
    (TextKind::Logfmt, is_logfmt),
];

/// True if a line has bytes that texts have not: a zero, or more than a few control characters.
fn is_binary(line: &[u8]) -> bool {
    let controls = line.iter().filter(|byte| matches!(byte, 0..=8 | 14..=26 | 28..=31 | 127)).count();
    line.contains(&0) || controls * 20 > line.len()
}

fn is_markup(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii_start();
    let starts = |with: &[u8]| line.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    starts(b"<!doctype") || starts(b"<html") || starts(b"<?xml")
}

/// `2024/01/02 03:04:05 [error] 31#31: *5 …`
fn is_nginx_error(line: &[u8]) -> bool {
    has_shape(line, b"0000/00/00 00:00:00 [") && memchr::memmem::find(&line[..line.len().min(60)], b"#").is_some()
}

/// `[Wed Oct 11 14:32:52.123456 2000] [core:error] [pid 3] …`, and older ones without a fraction.
fn is_apache_error(line: &[u8]) -> bool {
    has_shape(line, b"[Aaa Aaa 00 00:00:00") && memchr::memmem::find(&line[..line.len().min(60)], b"] [").is_some()
}

/// `{"id":…,"deploymentId":…,"projectId":…}`, or a list of these.
fn is_vercel(line: &[u8]) -> bool {
    let has = |key: &[u8]| memchr::memmem::find(line, key).is_some();
    matches!(line.first(), Some(b'{' | b'[')) && has(b"\"deploymentId\"") && has(b"\"projectId\"")
}

/// `{"records":[{…},{…}]}`
fn is_azure_records(line: &[u8]) -> bool {
    line.starts_with(b"{\"records\"") || line.starts_with(b"{ \"records\"")
}

/// `192.0.2.7, -, 03/20/01, 7:55:20, W3SVC2, SALES1, …`
fn is_iis_native(line: &[u8]) -> bool {
    let mut fields = line.split(|byte| *byte == b',').skip(2).map(<[u8]>::trim_ascii);
    let (date, time, service) = (fields.next(), fields.next(), fields.next());
    let is_date = date.is_some_and(|date| date.iter().filter(|byte| matches!(byte, b'/' | b'.' | b'-')).count() == 2);
    let is_time = time.is_some_and(|time| time.first().is_some_and(u8::is_ascii_digit) && time.contains(&b':'));
    is_date && is_time && service.is_some_and(|service| service.starts_with(b"W3SVC"))
}

/// `2024/01/23 23:27:57.060\tINFO\thttp.log.access.log0\thandled request\t{…}`
fn is_caddy_console(line: &[u8]) -> bool {
    let is_access = |word: &[u8]| word.starts_with(b"http.log.access");
    has_shape(line, b"0000/00/00 00:00:00.") && line.split(|byte| *byte == b'\t').nth(2).is_some_and(is_access)
}

fn is_json(line: &[u8]) -> bool {
    line.starts_with(b"{") && serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok()
}

/// `<13>`, then a time of RFC 3164 or RFC 5424 (as rsyslog writes it into files too), a host and a
/// tag.
fn is_syslog(line: &[u8]) -> bool {
    let digits = line.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
    let marked = line.first() == Some(&b'<') && line.get(digits + 1) == Some(&b'>');
    let line = if marked { &line[digits + 2..] } else { line };
    let after_version = line.strip_prefix(b"1 ").filter(|_| marked);
    if after_version.is_some_and(|line| has_shape(line, b"0000-00-00T00:00:00")) {
        return true;
    }
    let (time, words) = match () {
        () if has_shape(line, b"Aaa 00 00:00:00 ") || has_shape(line, b"Aaa  0 00:00:00 ") => (15, 5),
        () if has_shape(line, b"0000-00-00T00:00:00") => (0, 4),
        () => return false,
    };
    // The tag ends in a colon: it is the second word after the time.
    let rest = &line[time..];
    let tag = rest.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).nth(if words == 4 { 2 } else { 1 });
    tag.is_some_and(|tag| tag.ends_with(b":"))
}

/// Two words `key=value` at least.
fn is_logfmt(line: &[u8]) -> bool {
    let is_key = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'@');
    let is_pair =
        |word: &&[u8]| memchr::memchr(b'=', word).is_some_and(|at| (1..=40).contains(&at) && word[..at].iter().all(is_key));
    line.split(|byte| *byte == b' ').filter(is_pair).nth(1).is_some()
        && line.split(|byte| *byte == b' ').next().is_some_and(|word| is_pair(&word))
}

/// True if a line begins as `shape` does, where `0` stands for a digit and `a` and `A` for letters.
fn has_shape(line: &[u8], shape: &[u8]) -> bool {
    let fits = |(byte, wanted): (&u8, &u8)| match wanted {
        b'0' => byte.is_ascii_digit(),
        b'a' | b'A' => byte.is_ascii_alphabetic(),
        other => byte == other,
    };
    line.len() >= shape.len() && line.iter().zip(shape).all(fits)
}

const TAR_BLOCK: usize = 512;

/// The first files of a tar archive, and whether there may be more; `None` where it is none.
fn tar_members(head: &[u8]) -> Option<(Vec<String>, Option<bool>)> {
    let mut members = Vec::new();
    let (mut at, mut long_name) = (0, None);
    loop {
        let Some(header) = head.get(at..at + TAR_BLOCK) else {
            return (at > 0).then_some((members, None));
        };
        let Some(size) = tar_size(header) else {
            // Zeros end an archive, and nothing else does.
            return (at > 0).then(|| (members, header.iter().all(|byte| *byte == 0).then_some(false)));
        };
        let data = &head[(at + TAR_BLOCK).min(head.len())..];
        let data = &data[..data.len().min(usize::try_from(size).unwrap_or(usize::MAX))];
        match header[156] {
            b'L' => long_name = Some(text_of(data)),
            b'x' => long_name = pax_path(data).or(long_name),
            b'0' | 0 | b'7' if members.len() == MEMBERS_NAMED => return Some((members, Some(true))),
            b'0' | 0 | b'7' => members.push(long_name.take().unwrap_or_else(|| tar_name(header))),
            _ => long_name = None,
        }
        let blocks = usize::try_from(size.div_ceil(TAR_BLOCK as u64)).ok()?;
        at = blocks.checked_mul(TAR_BLOCK)?.checked_add(at + TAR_BLOCK)?;
    }
}

/// The size of the file after a tar header; `None` where the header's checksum is not right.
fn tar_size(header: &[u8]) -> Option<u64> {
    let sum: u64 = header.iter().enumerate().map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u64::from(*byte) }).sum();
    if header[0] == 0 || octal(&header[148..156])? != sum {
        return None;
    }
    match header[124] {
        // Sizes from 8 GiB on are in base 256.
        0x80 => Some(u64::from_be_bytes(header[128..136].try_into().ok()?)),
        _ => octal(&header[124..136]),
    }
}

/// Octal digits with blanks and zeros around them.
fn octal(field: &[u8]) -> Option<u64> {
    let digits: Vec<u8> = field.iter().copied().filter(|byte| !matches!(byte, b' ' | 0)).collect();
    let is_octal = !digits.is_empty() && digits.iter().all(|byte| (b'0'..=b'7').contains(byte));
    is_octal.then(|| digits.iter().fold(0, |value, byte| value * 8 + u64::from(byte - b'0')))
}

/// The name in a tar header, with the prefix that ustar puts before it.
fn tar_name(header: &[u8]) -> String {
    let (name, prefix) = (text_of(&header[..100]), text_of(&header[345..500]));
    if &header[257..262] == b"ustar" && header[263] == b'0' && !prefix.is_empty() { format!("{prefix}/{name}") } else { name }
}

/// `path=` of a pax header: records `LENGTH key=value`, each a line.
fn pax_path(data: &[u8]) -> Option<String> {
    let path = |line: &[u8]| line.splitn(2, |byte| *byte == b' ').nth(1)?.strip_prefix(b"path=").map(text_of);
    data.split(|byte| *byte == b'\n').find_map(path)
}

fn text_of(field: &[u8]) -> String {
    let text = field.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(&text[..text.len().min(NAME_BYTES_MAX)]).into_owned()
}

/// A member of an archive by its header.
struct MemberHeader {
    /// `None` for one that is no file.
    name: Option<String>,
    /// Place of the next header; `None` after the last.
    next: Option<usize>,
}

/// The first files of an archive whose first header is at `at`, and whether there may be more.
fn members_of(head: &[u8], mut at: usize, member: fn(&[u8], usize) -> Option<MemberHeader>) -> (Vec<String>, Option<bool>) {
    let mut members = Vec::new();
    while let Some(MemberHeader { name, next }) = member(head, at) {
        if name.is_some() && members.len() == MEMBERS_NAMED {
            return (members, Some(true));
        }
        members.extend(name);
        let Some(next) = next else { return (members, Some(false)) };
        at = next;
    }
    (members, None)
}

/// A member of an ar archive: name in 16 bytes, size in 10, and data up to an even place.
fn ar_member(head: &[u8], at: usize) -> Option<MemberHeader> {
    let header = head.get(at..at.checked_add(60)?).filter(|header| header.ends_with(b"`\n"))?;
    let digits = std::str::from_utf8(&header[48..58]).ok()?.trim_ascii_end();
    let size: usize = digits.parse().ok()?;
    // GNU ends a name in a slash; its tables of symbols and of long names begin with one.
    let name = text_of(header[..16].trim_ascii_end());
    let is_table = name.starts_with('/') || name.starts_with("__.SYMDEF");
    let name = (!is_table).then(|| name.trim_end_matches('/').to_owned());
    Some(MemberHeader { name, next: Some((at + 60).checked_add(size)?.checked_next_multiple_of(2)?) })
}

/// A member of a cpio archive with a header of hexadecimal or octal digits (cpio(5)).
fn cpio_member(head: &[u8], at: usize) -> Option<MemberHeader> {
    const FILE_KIND: u64 = 0o170_000;
    const FILE: u64 = 0o100_000;
    let number = |from: usize, digits: usize, radix: u32| {
        let field = std::str::from_utf8(head.get(at.checked_add(from)?..at.checked_add(from + digits)?)?).ok()?;
        u64::from_str_radix(field, radix).ok()
    };
    let magic = head.get(at..at.checked_add(6)?)?;
    let (header, kind, name_bytes, size, align) = match magic {
        b"070701" | b"070702" => (110, number(14, 8, 16)?, number(94, 8, 16)?, number(54, 8, 16)?, 4),
        b"070707" => (76, number(18, 6, 8)?, number(59, 6, 8)?, number(65, 11, 8)?, 1),
        _ => return None,
    };
    let aligned = |place: usize| place.checked_next_multiple_of(align);
    let start = at.checked_add(header)?;
    let end = start.checked_add(usize::try_from(name_bytes).ok()?)?;
    let name = text_of(head.get(start..end)?);
    if name == "TRAILER!!!" {
        return Some(MemberHeader { name: None, next: None });
    }
    let next = aligned(aligned(end)?.checked_add(usize::try_from(size).ok()?)?)?;
    Some(MemberHeader { name: (kind & FILE_KIND == FILE).then_some(name), next: Some(next) })
}

/// The first files of a zip archive, by the headers before them, and whether there may be more.
fn zip_members(head: &[u8]) -> (Vec<String>, Option<bool>) {
    let mut members = Vec::new();
    let mut at = 0usize;
    while let Some([b'P', b'K', 3, 4, rest @ ..]) = head.get(at..at + 30) {
        let number = |from: usize| u16::from_le_bytes([rest[from - 4], rest[from - 3]]);
        let (name_bytes, extra_bytes) = (usize::from(number(26)), usize::from(number(28)));
        let Some(name) = head.get(at + 30..at + 30 + name_bytes) else { return (members, Some(true)) };
        if members.len() == MEMBERS_NAMED {
            return (members, Some(true));
        }
        if !name.ends_with(b"/") {
            members.push(text_of(name));
        }
        let stored = u64::from(number(18)) | u64::from(number(20)) << 16;
        // Its size is after it, or in an extra field: what follows can't be found from here.
        if number(6) & 8 != 0 || stored == 0xffff_ffff {
            return (members, None);
        }
        let Ok(stored) = usize::try_from(stored) else { return (members, None) };
        at = (at + 30 + name_bytes + extra_bytes).saturating_add(stored);
        if at >= head.len() {
            return (members, None);
        }
    }
    let ends = head.get(at..at + 4).is_some_and(|magic| magic.starts_with(b"PK"));
    (members, ends.then_some(false))
}

/// A word of a command as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain =
        |char: char| char.is_alphanumeric() || matches!(char, '.' | '_' | '/' | '-' | '+' | ':' | '@' | ',' | '=' | '%');
    if !word.is_empty() && word.chars().all(is_plain) && !word.starts_with('-') {
        return word.to_owned();
    }
    let mut text = String::from("'");
    for char in word.chars() {
        match char {
            '\'' => text.push_str("'\\''"),
            // A terminal must not be steered by a name; who has such files knows how to write them.
            char if char.is_control() => drop(write!(text, "{}", char.escape_default())),
            char => text.push(char),
        }
    }
    text + "'"
}
