//! Files of `--state`: any bytes, and damage to real ones whose checksums were made right again.
//! Either a file is refused, or there is a session with its counts, of which anything can be asked.

use super::{Choices, config, log};
use rorqual_digest::{Algorithm, Hasher};
use rorqual_serve::Config;
use rorqual_serve::fuzzing::{ClientEnding, Surface};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

const ID: &str = "0123456789abcdef";

/// The files of a session that was kept.
#[derive(Clone)]
struct Kept {
    session: Vec<u8>,
    rows: Vec<u8>,
}

/// One that has ended, and one that goes on.
static REAL: LazyLock<[Kept; 2]> = LazyLock::new(|| [real(true), real(false)]);

/// A byte of flags; then what is done to a real session's files, or files as they are: the length
/// of one, and both. A whole earlier checkpoint may be beside them.
pub fn state(data: &[u8]) {
    let Some((flags, data)) = data.split_first() else { return };
    let kept = if flags & 1 == 0 { damaged(data, *flags) } else { given(data, *flags) };
    let real = &REAL[usize::from(flags >> 2 & 1)];
    let folder = tempfile::tempdir().expect("a folder");
    let write = |extension, bytes: &[u8]| fs::write(folder.path().join(ID).with_extension(extension), bytes).expect("room");
    write("session", &kept.session);
    write("rows", &kept.rows);
    if flags & 8 != 0 {
        write("synced", &real.session);
    }
    let surface = serve(folder.path()).expect("what is wrong is told");
    let listed = json(&request(&surface, "GET /api/sessions", b""));
    let sessions = listed["sessions"].as_array().expect("a list");
    assert_eq!(sessions.len() + surface.unrestored().len(), 1, "{listed} {:?}", surface.unrestored());
    // A checksum that is not made right tells all damage.
    if flags & 0b1011 == 0b1010 && kept.rows == real.rows {
        assert_eq!(surface.unrestored(), [""; 0], "the earlier checkpoint is whole");
    }
    if let [session] = &sessions[..] {
        // Perhaps the earlier one, which has the place of the later then.
        check_counts(session, &fs::read(folder.path().join(ID).with_extension("session")).expect("it is there"));
        ask(&surface, session);
    }
    let _ = surface.clear("");
    if surface.unrestored().is_empty() {
        let names: Vec<_> = fs::read_dir(folder.path()).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(names, ["lock"], "nothing of a session stays");
    }
}

fn serve(folder: &Path) -> Result<Surface, String> {
    let spill = Some((std::env::temp_dir(), 64 << 20));
    Surface::new(Config { state: Some(folder.to_owned()), spill, ..config() })
}

/// Checkpoint of a log of 300 lines, which was all of it or not.
fn real(whole: bool) -> Kept {
    let folder = tempfile::tempdir().expect("a folder");
    let surface = serve(folder.path()).expect("enough memory");
    let log = log(300);
    let size = log.len() + if whole { 0 } else { 100 };
    let made = request(&surface, "POST /api/sessions", format!("{{\"name\": \"kept.log\", \"size\": {size}}}").as_bytes());
    let id = json(&made)["id"].as_str().expect("an id").to_owned();
    let put = request(&surface, &format!("PUT /api/sessions/{id}/data?offset=0"), &log);
    assert!(put.starts_with(b"HTTP/1.1 200"), "{}", put.escape_ascii());
    surface.keep();
    let read = |extension| fs::read(folder.path().join(&id).with_extension(extension)).expect("it was kept");
    Kept { session: read("session"), rows: read("rows") }
}

/// Files of any bytes, whose checksums may be made right.
fn given(data: &[u8], flags: u8) -> Kept {
    let Some((length, data)) = data.split_first_chunk() else { return Kept { session: Vec::new(), rows: Vec::new() } };
    let (session, rows) = data.split_at(usize::from(u16::from_le_bytes(*length)).min(data.len()));
    let mut kept = Kept { session: session.to_vec(), rows: rows.to_vec() };
    if flags & 2 == 0 {
        make_right(&mut kept);
    }
    kept
}

/// Changes real files, and makes their checksums right, unless they are to be found wrong.
fn damaged(data: &[u8], flags: u8) -> Kept {
    let mut kept = REAL[usize::from(flags >> 2 & 1)].clone();
    let mut choices = Choices(data);
    while !choices.is_over() {
        let what = choices.byte();
        let at = usize::from(choices.byte()) | usize::from(choices.byte()) << 8;
        let bytes = if what & 1 == 0 { &mut kept.session } else { &mut kept.rows };
        let at = at % (bytes.len() + 1);
        let length = 1 + usize::from(what >> 4);
        match what >> 1 & 7 {
            0 | 1 => drop(bytes.splice(at..(at + length).min(bytes.len()), choices.bytes(length).to_vec())),
            2 => drop(bytes.splice(at..at, choices.bytes(length).to_vec())),
            3 => drop(bytes.drain(at..(at + length).min(bytes.len()))),
            4 => bytes.truncate(at),
            5 => bytes.get_mut(at).into_iter().for_each(|byte| *byte = byte.wrapping_add(1)),
            6 => bytes.extend_from_within(at..(at + 4 * length).min(bytes.len())),
            _ => set_number(bytes, choices.byte(), choices.byte()),
        }
    }
    if flags & 2 == 0 {
        make_right(&mut kept);
    }
    kept
}

/// Gives one of the numbers in a session's line another value.
fn set_number(bytes: &mut Vec<u8>, which: u8, value: u8) {
    let colons: Vec<usize> = bytes.windows(2).enumerate().filter(|(_, two)| two[0] == b':').map(|(at, _)| at + 1).collect();
    let Some(at) = colons.get(usize::from(which) % colons.len().max(1)) else { return };
    let end = bytes[*at..].iter().position(|byte| b",}]".contains(byte)).map_or(bytes.len(), |end| at + end);
    let values =
        ["0", "1", "-1", "null", "true", "\"x\"", "9223372036854775807", "18446744073709551615", "[]", "{}", "1e9", "7", "250"];
    drop(bytes.splice(*at..end, values[usize::from(value) % values.len()].bytes()));
}

/// Writes the checksums anew: of the session's file, of the head of its rows, and of each record.
fn make_right(kept: &mut Kept) {
    let line_end = |bytes: &[u8]| bytes.iter().position(|byte| *byte == b'\n').map(|end| end + 1);
    let start = line_end(&kept.session).unwrap_or(0);
    if let Some(head) = line_end(&kept.session[start..]).map(|end| start + end)
        && kept.session.len() >= head + 4
    {
        let end = kept.session.len() - 4;
        let checksum = crc32(&kept.session[head..end]);
        kept.session[end..].copy_from_slice(&checksum.to_le_bytes());
    }
    let mut hasher = Hasher::new(Algorithm::Sha256);
    hasher.update(&kept.session[start..]);
    let checksum = format!("{}\n", hasher.finish());
    drop(kept.session.splice(..start, checksum.into_bytes()));
    let mut at = 16;
    while let Some(length) = kept.rows.get(at + 1..at + 5).and_then(|bytes| bytes.first_chunk()) {
        let end = at + 9 + u32::from_le_bytes(*length) as usize;
        let Some(payload) = kept.rows.get(at + 9..end) else { break };
        let checksum = crc32(payload);
        kept.rows[at + 5..at + 9].copy_from_slice(&checksum.to_le_bytes());
        at = end;
    }
}

/// The checksum of IEEE 802.3, a bit at a time.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 })
    })
}

/// The session's description is that of its file.
fn check_counts(session: &Value, file: &[u8]) {
    let line = file.split(|byte| *byte == b'\n').nth(1).expect("it was read");
    let saved: Value = serde_json::from_slice(line).expect("it was read");
    for name in ["name", "size", "offset"] {
        assert_eq!(session[name], saved[name], "{name}: {session} of {saved}");
    }
}

/// Asks all there is to ask, for which codes, runs and times have to be what they are taken for.
fn ask(surface: &Surface, session: &Value) {
    let at = format!("/api/sessions/{}", session["id"].as_str().expect("an id"));
    let some = br#"{"where": "status >= 400"}"#;
    let questions: [(String, &[u8]); 10] = [
        (format!("GET {at}"), b""),
        (format!("POST {at}/view"), b"{}"),
        (format!("POST {at}/view"), some),
        (format!("POST {at}/rows"), b"{}"),
        (format!("POST {at}/rates"), b"{}"),
        (format!("POST {at}/explain"), br#"{"select": {"where": "status >= 400"}}"#),
        (format!("GET {at}/histogram"), b""),
        (format!("GET {at}/rejects"), b""),
        (format!("GET {at}/export?format=csv"), b""),
        (format!("PUT {at}/data?offset={}", session["offset"]), b"more\n"),
    ];
    for (line, body) in questions {
        let answer = request(surface, &line, body);
        assert!(answer.starts_with(b"HTTP/1.1 ") && !answer.starts_with(b"HTTP/1.1 500"), "{line}: {}", answer.escape_ascii());
    }
}

fn request(surface: &Surface, line: &str, body: &[u8]) -> Vec<u8> {
    let (host, token, length) = (surface.authority(), surface.token(), body.len());
    let head = format!(
        "{line} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    surface.exchange(&[head.as_bytes(), body], ClientEnding::Ends)
}

fn json(answer: &[u8]) -> Value {
    let start = answer.windows(4).position(|window| window == b"\r\n\r\n").expect("a head") + 4;
    serde_json::from_slice(&answer[start..]).unwrap_or_else(|_| panic!("no JSON: {}", answer.escape_ascii()))
}
