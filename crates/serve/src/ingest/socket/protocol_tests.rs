//! Answers of the frame layer: groups 1 to 7 of the Autobahn test suite's cases, written anew. Each
//! is sent whole, frame by frame and byte by byte, to a peer that echoes messages, and tells the
//! echo.

use super::frame::{INVALID_DATA, PROTOCOL_ERROR, TOO_BIG, Violation};
use super::message::{Receiver, SocketEvent};

/// Reaction of the peer.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PeerAction {
    Text(String),
    Binary(Vec<u8>),
    Pong(Vec<u8>),
    /// Answered a close frame with its code.
    Closed(Option<u16>),
    /// Ended the connection with this code.
    Failed(u16),
}

use PeerAction::{Binary, Closed, Failed, Pong, Text};

const FIN: u8 = 0x80;
const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

const TEXT_BYTES_MAX: usize = 1 << 20;

/// A frame as a client sends it.
fn frame(first: u8, payload: impl AsRef<[u8]>) -> Vec<u8> {
    let payload = payload.as_ref();
    let mut frame = vec![first];
    match payload.len() {
        short @ 0..126 => frame.push(0x80 | short as u8),
        long @ 126..65_536 => {
            frame.push(0x80 | 126);
            frame.extend((long as u16).to_be_bytes());
        }
        long => {
            frame.push(0x80 | 127);
            frame.extend((long as u64).to_be_bytes());
        }
    }
    let key = [0x37, 0xfa, 0x21, 0x3d];
    frame.extend(key);
    frame.extend(payload.iter().enumerate().map(|(at, byte)| byte ^ key[at % 4]));
    frame
}

fn text(payload: impl AsRef<[u8]>) -> Vec<u8> {
    frame(FIN | TEXT, payload)
}

fn binary(payload: impl AsRef<[u8]>) -> Vec<u8> {
    frame(FIN | BINARY, payload)
}

fn ping(payload: impl AsRef<[u8]>) -> Vec<u8> {
    frame(FIN | PING, payload)
}

fn close(code: u16, reason: impl AsRef<[u8]>) -> Vec<u8> {
    frame(FIN | CLOSE, [&code.to_be_bytes(), reason.as_ref()].concat())
}

fn said(text: &str) -> PeerAction {
    Text(text.to_owned())
}

fn pong(payload: impl AsRef<[u8]>) -> PeerAction {
    Pong(payload.as_ref().to_vec())
}

/// Sends pieces as they are to the echoing peer.
fn echo<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<PeerAction> {
    let mut receiver = Receiver::new(TEXT_BYTES_MAX);
    let (mut done, mut message) = (Vec::new(), Vec::new());
    for mut input in pieces {
        loop {
            match receiver.next(&mut input) {
                Ok(SocketEvent::More) => break,
                Ok(SocketEvent::Binary(bytes)) => {
                    // Not all at once: a block may be full.
                    let bytes = bytes.min(1_000);
                    let at = message.len();
                    message.resize(at + bytes, 0);
                    receiver.take(&mut input, &mut message[at..]);
                }
                Ok(SocketEvent::BinaryEnd) => done.push(Binary(std::mem::take(&mut message))),
                Ok(SocketEvent::Text(text)) => done.push(Text(text)),
                Ok(SocketEvent::Ping) => done.push(Pong(receiver.control().to_vec())),
                Ok(SocketEvent::Pong) => {}
                Ok(SocketEvent::Close(code)) => done.push(Closed(code)),
                Err(Violation { code, .. }) => {
                    done.push(Failed(code));
                    return done;
                }
            }
        }
        assert!(input.is_empty(), "all is used up");
    }
    done
}

/// Holds a case to its expected reactions, however it is cut.
#[track_caller]
fn case(name: &str, frames: &[Vec<u8>], expected: &[PeerAction]) {
    let bytes = frames.concat();
    assert_eq!(echo([&bytes[..]]), expected, "{name}, whole");
    assert_eq!(echo(frames.iter().map(Vec::as_slice)), expected, "{name}, frame by frame");
    assert_eq!(echo(bytes.chunks(1)), expected, "{name}, byte by byte");
    assert_eq!(echo(bytes.chunks(997)), expected, "{name}, in pieces of 997");
}

#[test]
fn group_1_framing() {
    for length in [0, 125, 126, 127, 128, 65_535, 65_536] {
        let payload = "*".repeat(length);
        case(&format!("1.1, {length}"), &[text(&payload)], &[said(&payload)]);
        let payload = vec![0xfe; length];
        case(&format!("1.2, {length}"), &[binary(&payload)], &[Binary(payload.clone())]);
    }
}

#[test]
fn lengths_are_written_in_the_shortest_way() {
    let key = [0; 4];
    for (what, head) in [
        ("16 bits for 125", [&[FIN | BINARY, 0xfe, 0, 125][..], &key].concat()),
        ("64 bits for 65535", [&[FIN | BINARY, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff][..], &key].concat()),
        ("the highest bit", [&[FIN | BINARY, 0xff, 0x80, 0, 0, 0, 0, 1, 0, 0][..], &key].concat()),
    ] {
        case(what, &[head], &[Failed(PROTOCOL_ERROR)]);
    }
}

#[test]
fn group_2_pings_and_pongs() {
    case("2.1", &[ping("")], &[pong("")]);
    case("2.2", &[ping("Hello, world!")], &[pong("Hello, world!")]);
    let bytes = [0x00, 0xff, 0xfe, 0xfd, 0xfc, 0xfb, 0x00, 0xff];
    case("2.3", &[ping(bytes)], &[pong(bytes)]);
    case("2.4 and 2.6", &[ping([0xfe; 125])], &[pong([0xfe; 125])]);
    case("2.5", &[ping([0xfe; 126])], &[Failed(PROTOCOL_ERROR)]);
    case("2.7", &[frame(FIN | PONG, ""), close(1000, "")], &[Closed(Some(1000))]);
    case("2.8", &[frame(FIN | PONG, "unsolicited"), close(1000, "")], &[Closed(Some(1000))]);
    case("2.9", &[frame(FIN | PONG, "unsolicited"), ping("ping payload")], &[pong("ping payload")]);
    let pings: Vec<_> = (0..10).map(|number| ping(format!("payload-{number}"))).collect();
    let pongs: Vec<_> = (0..10).map(|number| pong(format!("payload-{number}"))).collect();
    case("2.10 and 2.11", &pings, &pongs);
}

#[test]
fn group_3_reserved_bits() {
    case("3.1", &[frame(FIN | 0x10 | TEXT, "Hello")], &[Failed(PROTOCOL_ERROR)]);
    for (name, bits) in [("3.2", 0x20), ("3.3", 0x30), ("3.4", 0x40)] {
        let frames = [text("Hello"), frame(FIN | bits | TEXT, "Hello"), ping("")];
        case(name, &frames, &[said("Hello"), Failed(PROTOCOL_ERROR)]);
    }
    case("3.5", &[frame(FIN | 0x50 | BINARY, [0; 8])], &[Failed(PROTOCOL_ERROR)]);
    case("3.6", &[frame(FIN | 0x60 | PING, "Hello")], &[Failed(PROTOCOL_ERROR)]);
    case("3.7", &[frame(FIN | 0x70 | CLOSE, "")], &[Failed(PROTOCOL_ERROR)]);
}

#[test]
fn group_4_reserved_opcodes() {
    for opcode in [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] {
        case(&format!("4, {opcode} alone"), &[frame(FIN | opcode, "")], &[Failed(PROTOCOL_ERROR)]);
        case(&format!("4, {opcode} with a payload"), &[frame(FIN | opcode, "reserved"), ping("")], &[Failed(PROTOCOL_ERROR)]);
        let frames = [text("Hello"), frame(FIN | opcode, "reserved"), ping("")];
        case(&format!("4, {opcode} behind a text"), &frames, &[said("Hello"), Failed(PROTOCOL_ERROR)]);
    }
}

#[test]
fn group_5_fragments() {
    let more = |payload: &str| frame(CONTINUATION, payload);
    let last = |payload: &str| frame(FIN | CONTINUATION, payload);
    let start = |payload: &str| frame(TEXT, payload);
    case("5.1", &[frame(PING, "frag"), last("ment")], &[Failed(PROTOCOL_ERROR)]);
    case("5.2", &[frame(PONG, "frag"), last("ment")], &[Failed(PROTOCOL_ERROR)]);
    case("5.3 to 5.5", &[start("fragment1"), last("fragment2")], &[said("fragment1fragment2")]);
    let frames = [start("fragment1"), ping("ping payload"), last("fragment2")];
    case("5.6 to 5.8", &frames, &[pong("ping payload"), said("fragment1fragment2")]);
    for (name, stray) in [("5.9 to 5.11", last("stray")), ("5.12 to 5.14", more("stray"))] {
        case(name, &[stray, text("Hello, world!")], &[Failed(PROTOCOL_ERROR)]);
    }
    let frames = [start("fragment1"), last("fragment2"), more("fragment3"), text("fragment4")];
    case("5.15", &frames, &[said("fragment1fragment2"), Failed(PROTOCOL_ERROR)]);
    let frames = [more("fragment1"), start("fragment2"), last("fragment3")];
    case("5.16", &[&frames[..], &frames].concat(), &[Failed(PROTOCOL_ERROR)]);
    let frames = [last("fragment1"), start("fragment2"), last("fragment3")];
    case("5.17", &[&frames[..], &frames].concat(), &[Failed(PROTOCOL_ERROR)]);
    case("5.18", &[start("fragment1"), text("fragment2")], &[Failed(PROTOCOL_ERROR)]);
    let frames = [
        start("fragment1"),
        more("fragment2"),
        ping("pongme 1!"),
        more("fragment3"),
        ping("pongme 2!"),
        more("fragment4"),
        last("fragment5"),
    ];
    let whole = "fragment1fragment2fragment3fragment4fragment5";
    case("5.19 and 5.20", &frames, &[pong("pongme 1!"), pong("pongme 2!"), said(whole)]);
    let frames = [frame(BINARY, [1, 2]), frame(CONTINUATION, []), ping("between"), frame(FIN | CONTINUATION, [3])];
    case("binary fragments", &frames, &[pong("between"), Binary(vec![1, 2, 3])]);
}

/// Sends a text whole, and in two fragments cut anywhere.
fn text_case(payload: &[u8], expected: &PeerAction) {
    case(&format!("{payload:x?}"), &[text(payload)], std::slice::from_ref(expected));
    for cut in 0..=payload.len() {
        let (start, rest) = payload.split_at(cut);
        case(
            &format!("{payload:x?} cut at {cut}"),
            &[frame(TEXT, start), frame(FIN | CONTINUATION, rest)],
            std::slice::from_ref(expected),
        );
    }
}

#[test]
fn group_6_utf8() {
    case("6.1.2", &[frame(TEXT, ""), frame(CONTINUATION, ""), frame(FIN | CONTINUATION, "")], &[said("")]);
    case("6.1.3", &[frame(TEXT, ""), frame(CONTINUATION, "middle"), frame(FIN | CONTINUATION, "")], &[said("middle")]);
    for valid in [
        // 6.1 and 6.2: nothing; all lengths together, and a noncharacter.
        "",
        "Hello-µ@ßöäüàá-UTF-8!!",
        // 6.5: κόσμε.
        "\u{3ba}\u{1f79}\u{3c3}\u{3bc}\u{3b5}",
        // 6.7 and 6.9: the first and the last of each length.
        "\u{0}",
        "\u{80}",
        "\u{800}",
        "\u{10000}",
        "\u{7f}",
        "\u{7ff}",
        "\u{ffff}",
        "\u{10ffff}",
        // 6.11: around the surrogates and below the end.
        "\u{d7ff}",
        "\u{e000}",
        "\u{fffd}",
        // 6.22: noncharacters are characters.
        "\u{fffe}",
        "\u{1fffe}\u{1ffff}\u{2fffe}\u{10fffe}",
        "\u{fdd0}\u{fdef}",
    ] {
        text_case(valid.as_bytes(), &said(valid));
    }
    for invalid in [
        // 6.3: κόσμε with a surrogate after it.
        &b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xed\xa0\x80edited"[..],
        // 6.8, 6.10: five and six bytes.
        b"\xf8\x88\x80\x80\x80",
        b"\xfc\x84\x80\x80\x80\x80",
        b"\xf7\xbf\xbf\xbf",
        b"\xfb\xbf\xbf\xbf\xbf",
        b"\xfd\xbf\xbf\xbf\xbf\xbf",
        // 6.11: above the end.
        b"\xf4\x90\x80\x80",
        // 6.12: continuation bytes alone.
        b"\x80",
        b"\xbf",
        b"\x80\xbf\x80\xbf",
        // 6.13: starts alone.
        b"\xc0 \xc1 \xdf ",
        b"\xe0 \xef ",
        b"\xf0 \xf7 ",
        // 6.14: the last byte is missing, at the end and before more.
        b"\xc0",
        b"\xe0\x80",
        b"\xf0\x80\x80",
        b"\xdf",
        b"\xef\xbf",
        b"\xf7\xbf\xbf",
        b"\xce\xba\xe1\xbd",
        // 6.15: cut ones after each other.
        b"\xdf\xef\xbf\xf3\xbf\xbf",
        // 6.16: never in UTF-8.
        b"\xfe",
        b"\xff",
        b"\xfe\xfe\xff\xff",
        // 6.17 to 6.19: longer than need be.
        b"\xc0\xaf",
        b"\xe0\x80\xaf",
        b"\xf0\x80\x80\xaf",
        b"\xc1\xbf",
        b"\xe0\x9f\xbf",
        b"\xf0\x8f\xbf\xbf",
        b"\xc0\x80",
        b"\xe0\x80\x80",
        // 6.20 and 6.21: surrogates, alone and in pairs.
        b"\xed\xa0\x80",
        b"\xed\xbf\xbf",
        b"\xed\xa0\x80\xed\xb0\x80",
        b"\xed\xaf\xbf\xed\xbf\xbf",
    ] {
        text_case(invalid, &Failed(INVALID_DATA));
    }
}

#[test]
fn group_6_4_fails_as_soon_as_it_shows() {
    let start = frame(TEXT, "κόσμε");
    // 6.4.1: a whole fragment that can't become anything; the message goes on, but nobody waits for
    // that.
    assert_eq!(echo([&start[..], &frame(CONTINUATION, b"\xf4\x90\x80\x80")]), [Failed(INVALID_DATA)]);
    // 6.4.2: the same of its first three bytes.
    assert_eq!(echo([&start[..], &frame(CONTINUATION, b"\xf4")]), []);
    assert_eq!(echo([&start[..], &frame(CONTINUATION, b"\xf4"), &frame(CONTINUATION, b"\x90")]), [Failed(INVALID_DATA)]);
    // 6.4.3 and 6.4.4: the same within a frame, by the byte.
    let whole = frame(FIN | TEXT, b"\xce\xba\xf4\x90\x80\x80edited");
    let head = 6;
    assert_eq!(echo([&whole[..head + 3]]), []);
    assert_eq!(echo([&whole[..head + 4]]), [Failed(INVALID_DATA)]);
}

#[test]
fn group_7_closing() {
    case("7.1.1", &[text("Hello World!"), frame(FIN | CLOSE, "")], &[said("Hello World!"), Closed(None)]);
    case("7.1.2", &[close(1000, ""), close(1000, "")], &[Closed(Some(1000))]);
    case("7.1.3", &[close(1000, ""), ping("too late")], &[Closed(Some(1000))]);
    case("7.1.4", &[close(1000, ""), text("too late")], &[Closed(Some(1000))]);
    let frames = [frame(TEXT, "fragment1"), close(1000, ""), frame(FIN | CONTINUATION, "fragment2")];
    case("7.1.5", &frames, &[Closed(Some(1000))]);
    let long = "BAsd7&jh23".repeat(26_214);
    case("7.1.6", &[text(&long), close(1000, ""), ping("")], &[said(&long), Closed(Some(1000))]);
    case("7.3.1", &[frame(FIN | CLOSE, "")], &[Closed(None)]);
    case("7.3.2", &[frame(FIN | CLOSE, "a")], &[Failed(PROTOCOL_ERROR)]);
    case("7.3.3", &[close(1000, "")], &[Closed(Some(1000))]);
    case("7.3.4", &[close(1000, "Hello World!")], &[Closed(Some(1000))]);
    case("7.3.5", &[close(1000, "*".repeat(123))], &[Closed(Some(1000))]);
    case("7.3.6", &[close(1000, "*".repeat(124))], &[Failed(PROTOCOL_ERROR)]);
    case("7.5.1", &[close(1000, b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xed\xa0\x80edited")], &[Failed(INVALID_DATA)]);
    for code in [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999] {
        case(&format!("7.7, {code}"), &[close(code, "")], &[Closed(Some(code))]);
    }
    for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535] {
        case(&format!("7.9 and 7.13, {code}"), &[close(code, "")], &[Failed(PROTOCOL_ERROR)]);
        case(&format!("7.9 and 7.13, {code} with a reason"), &[close(code, "reason")], &[Failed(PROTOCOL_ERROR)]);
    }
    case("a close in fragments", &[frame(CLOSE, "")], &[Failed(PROTOCOL_ERROR)]);
}

#[test]
fn what_a_client_sends_is_masked() {
    for first in [FIN | TEXT, FIN | BINARY, FIN | PING, FIN | CLOSE] {
        case("unmasked", &[vec![first, 0]], &[Failed(PROTOCOL_ERROR)]);
    }
}

#[test]
fn a_text_is_no_longer_than_one_that_is_understood() {
    let most = "x".repeat(TEXT_BYTES_MAX);
    case("as long as it may be", &[text(&most)], &[said(&most)]);
    // By the head alone the frame might be cut into pieces that are short enough; the received
    // bytes count.
    let over = [frame(TEXT, &most), frame(CONTINUATION, ""), frame(CONTINUATION, "x")].concat();
    assert_eq!(echo([&over[..]]), [Failed(TOO_BIG)]);
    // The first fault counts, also where one read has both.
    let none = [most.as_bytes(), b"x"].concat();
    case("no UTF-8, and then too long", &[text([b"\xff", &none[..]].concat())], &[Failed(INVALID_DATA)]);
    case("too long, and then no UTF-8", &[text([&none[..], b"\xff"].concat())], &[Failed(TOO_BIG)]);
}

/// Numbers that are the same each time (xorshift).
struct CaseRng(u64);

impl CaseRng {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

#[test]
fn any_bytes_mean_the_same_however_they_are_cut() {
    let mut random = CaseRng(0x2545_f491_4f6c_dd1d);
    let mut failed = 0;
    for _ in 0..20_000 {
        // Frames that are right, mostly, and then a byte or two that is not.
        let mut bytes = Vec::new();
        for _ in 0..random.below(6) {
            let opcode = [CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG][random.below(6)];
            let last = if random.below(3) == 0 { 0 } else { FIN };
            let payload = vec![b'a' + random.below(26) as u8; [0, 1, 2, 5, 125, 126, 300][random.below(7)]];
            bytes.extend(frame(last | opcode, payload));
        }
        for _ in 0..random.below(3).min(bytes.len()) {
            let at = random.below(bytes.len());
            bytes[at] = random.below(256) as u8;
        }
        let whole = echo([&bytes[..]]);
        assert_eq!(echo(bytes.chunks(1)), whole, "{bytes:x?}, byte by byte");
        let size = 1 + random.below(40);
        assert_eq!(echo(bytes.chunks(size)), whole, "{bytes:x?}, in pieces of {size}");
        failed += usize::from(matches!(whole.last(), Some(Failed(_))));
    }
    assert!((1_000..19_000).contains(&failed), "{failed} failed");
}
