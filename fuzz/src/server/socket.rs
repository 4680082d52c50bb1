//! WebSockets: what is heard is what a naive decoder of RFC 6455 says that has the whole input at
//! once, wherever the reads end.

use super::{Choices, config, log, pieces};
use rorqual_serve::fuzzing::{ClientHeard, Surface, TEXT_BYTES_MAX, hear};
use serde_json::Value;

thread_local!(static SURFACE: Surface = Surface::new(config()).expect("enough memory"));

/// A byte of flags, one for the cuts, one for the pieces that are taken; then frames, or what
/// frames are built from.
pub fn socket(data: &[u8]) {
    let Some((&[flags, cuts, piece_bytes], data)) = data.split_first_chunk::<3>() else { return };
    let built = if flags & 1 == 0 { data.to_vec() } else { frames(data) };
    let expected = decode(&built);
    let (whole, _) = hear([&built[..]], usize::MAX);
    assert_eq!(whole, expected, "{}", built.escape_ascii());
    let (cut, copied) = hear(pieces(&built, cuts.max(1)), 1 + usize::from(piece_bytes));
    assert_eq!(cut, expected, "in pieces of {cuts}: {}", built.escape_ascii());
    assert!(copied <= built.len() as u64, "{copied} bytes were copied for {}", built.len());
    if flags & 2 != 0 {
        let size = (flags & 4 != 0).then_some(1 << 30);
        upload(&built, cuts, size, &expected);
    }
}

/// The same frames as an upload: what is taken are the bytes of its messages, and the code at the
/// end is the one for how it ended.
fn upload(frames: &[u8], cuts: u8, size: Option<u64>, heard: &[ClientHeard]) {
    let reads = pieces(frames, cuts).into_iter().map(<[u8]>::to_vec).collect();
    let (offset, said) = SURFACE.with(|surface| {
        let taken = surface.socket(reads, size);
        let _ = surface.clear("");
        taken
    });
    let said = server_frames(&said);
    let (Some((8, last)), Some((1, first))) = (said.last(), said.first()) else { panic!("{said:?}") };
    assert!(first.starts_with(b"{") && said.iter().filter(|(opcode, _)| *opcode == 8).count() == 1, "{said:?}");
    let code = last.first_chunk().map(|code| u16::from_be_bytes(*code));
    // A log that is none is refused when that shows.
    if code == Some(4422) {
        return;
    }
    let (expected_offset, codes) = ending(heard);
    assert!(codes.contains(&code), "{code:?} is none of {codes:?}: {said:?}");
    assert_eq!(offset, expected_offset, "{said:?}");
}

/// Bytes of messages up to the end, and codes that may tell it.
fn ending(heard: &[ClientHeard]) -> (u64, Vec<Option<u16>>) {
    let mut offset = 0;
    for said in heard {
        match said {
            ClientHeard::Binary(bytes) | ClientHeard::Begun(bytes) => offset += bytes.len() as u64,
            ClientHeard::Text(text) if text == r#"{"type":"end"}"# => return (offset, vec![Some(1000)]),
            // The one thing that a client may say can be written in many ways.
            ClientHeard::Text(_) => return (offset, vec![Some(1000), Some(4400)]),
            ClientHeard::Closed(code) => return (offset + begun(heard), vec![*code]),
            ClientHeard::Failed(code) => return (offset + begun(heard), vec![Some(*code)]),
            ClientHeard::Ping(_) | ClientHeard::Pong(_) => {}
        }
    }
    (offset, vec![Some(4400)])
}

/// Bytes of a message that had no end, which are last in the list.
fn begun(heard: &[ClientHeard]) -> u64 {
    match heard.last() {
        Some(ClientHeard::Begun(bytes)) => bytes.len() as u64,
        _ => 0,
    }
}

/// The frames that a server sent: whole, unmasked, texts of JSON.
fn server_frames(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut frames = Vec::new();
    while let [first, second, rest @ ..] = bytes {
        assert!(first & 0xf0 == 0x80 && second & 0x80 == 0, "{first:x} {second:x}");
        let (length, rest) = match second {
            126 => (usize::from(u16::from_be_bytes([rest[0], rest[1]])), &rest[2..]),
            127 => panic!("the server says nothing so long"),
            short => (usize::from(*short), rest),
        };
        let (payload, rest) = rest.split_at(length);
        if first & 0x0f == 1 {
            let said: Value = serde_json::from_slice(payload).expect("JSON");
            assert!(["ready", "taken", "done", "error"].contains(&said["type"].as_str().expect("a type")), "{said}");
        }
        frames.push((first & 0x0f, payload.to_vec()));
        bytes = rest;
    }
    assert!(bytes.is_empty(), "half a head");
    frames
}

/// Bytes of frames that are built, and one frame more.
const BYTES_MAX: usize = 100 << 10;

/// Frames that are right, mostly.
fn frames(data: &[u8]) -> Vec<u8> {
    let mut choices = Choices(data);
    let (log, mut sent, mut bytes) = (log(40), 0, Vec::new());
    while !choices.is_over() && bytes.len() < BYTES_MAX {
        let what = choices.byte();
        let opcode = [0, 1, 2, 2, 2, 8, 9, 10][usize::from(what & 7)];
        let payload: Vec<u8> = match choices.below(8) {
            0 => Vec::new(),
            1 => br#"{"type":"end"}"#.to_vec(),
            2 => [&choices.of(&[1000_u16, 1001, 3000, 4999, 1005, 999]).to_be_bytes()[..], "é".as_bytes()].concat(),
            3 => vec![b'a'; choices.of(&[1, 124, 125, 126, 127, 300, 1023, 1024, 1025, 2000])],
            4 => "κόσμε\u{10ffff}".as_bytes()[..choices.below(15)].to_vec(),
            5 => {
                let length = usize::from(choices.byte()) * 4;
                let end = (sent + length).min(log.len());
                log[std::mem::replace(&mut sent, end)..end].to_vec()
            }
            6 => vec![b'x'; 65_530 + choices.below(12)],
            _ => {
                let length = choices.below(200);
                choices.bytes(length).to_vec()
            }
        };
        let last = if what & 0x10 == 0 { 0x80 } else { 0 };
        let odd = if what & 0xe0 == 0xe0 { choices.byte() } else { 0 };
        push_frame(&mut bytes, (last | opcode) ^ (odd & 0x7f), odd & 0x80 == 0, &payload, choices.byte());
    }
    bytes
}

fn push_frame(bytes: &mut Vec<u8>, first: u8, masked: bool, payload: &[u8], key: u8) {
    bytes.push(first);
    let mask = if masked { 0x80 } else { 0 };
    match payload.len() {
        short @ 0..126 => bytes.push(mask | short as u8),
        long @ 126..65_536 => {
            bytes.push(mask | 126);
            bytes.extend((long as u16).to_be_bytes());
        }
        long => {
            bytes.push(mask | 127);
            bytes.extend((long as u64).to_be_bytes());
        }
    }
    let key = [key, 0, key.rotate_left(3), 0x55];
    if masked {
        bytes.extend(key);
    }
    bytes.extend(payload.iter().enumerate().map(|(at, byte)| if masked { byte ^ key[at % 4] } else { *byte }));
}

/// The message whose fragments come.
struct Message {
    text: bool,
    bytes: Vec<u8>,
}

/// RFC 6455, section by section, of all that a client sent.
fn decode(input: &[u8]) -> Vec<ClientHeard> {
    let (mut heard, mut message) = (Vec::new(), None);
    let mut rest = input;
    let failed = loop {
        match decode_frame(&mut rest, &mut message, &mut heard) {
            Ok(true) => {}
            Ok(false) => break None,
            Err(code) => break Some(code),
        }
    };
    heard.extend(failed.map(ClientHeard::Failed));
    let begun = message.filter(|message| !message.text && !message.bytes.is_empty());
    heard.extend(begun.map(|message| ClientHeard::Begun(message.bytes)));
    heard
}

/// Takes a frame; whether there may be another behind it.
fn decode_frame(rest: &mut &[u8], message: &mut Option<Message>, heard: &mut Vec<ClientHeard>) -> Result<bool, u16> {
    let input = *rest;
    let Some(&first) = input.first() else { return Ok(false) };
    let (last, opcode) = (first & 0x80 != 0, first & 0x0f);
    // 5.2: reserved bits and opcodes; 5.4: fragments; 5.5: control frames are whole.
    let allowed = match opcode {
        0 => message.is_some(),
        1 | 2 => message.is_none(),
        8..=10 => last,
        _ => false,
    };
    if first & 0x70 != 0 || !allowed {
        return Err(1002);
    }
    // 5.1: a client masks; 5.5: control frames are short.
    let Some(&second) = input.get(1) else { return Ok(false) };
    if second & 0x80 == 0 || (opcode >= 8 && second & 0x7f > 125) {
        return Err(1002);
    }
    let key_at = match second & 0x7f {
        126 => 4,
        127 => 10,
        _ => 2,
    };
    let Some(key) = input.get(key_at..key_at + 4) else { return Ok(false) };
    let length = match key_at {
        2 => u64::from(second & 0x7f),
        _ => input[2..key_at].iter().fold(0, |length, byte| length << 8 | u64::from(*byte)),
    };
    // 5.2: the shortest way, and no highest bit.
    if (key_at == 4 && length < 126) || (key_at == 10 && (length < 65_536 || length >> 63 != 0)) {
        return Err(1002);
    }
    let payload = &input[key_at + 4..];
    let here = payload.len().min(usize::try_from(length).unwrap_or(usize::MAX));
    let whole = here as u64 == length;
    let payload: Vec<u8> = payload[..here].iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key).collect();
    *rest = &input[key_at + 4 + here..];
    if opcode >= 8 {
        return if whole { decode_control(opcode, payload, heard) } else { Ok(false) };
    }
    let message_so_far = message.get_or_insert_with(|| Message { text: opcode == 1, bytes: Vec::new() });
    let before = message_so_far.bytes.len();
    message_so_far.bytes.extend(payload);
    if message_so_far.text {
        check_text(&message_so_far.bytes, before)?;
    }
    if !whole {
        return Ok(false);
    }
    if last {
        heard.extend(message.take().map(ended).transpose()?);
    }
    Ok(true)
}

/// 8.1: at the first byte that shows it; and texts have a limit of ours.
fn check_text(text: &[u8], before: usize) -> Result<(), u16> {
    for end in before + 1..=text.len() {
        if end > TEXT_BYTES_MAX {
            return Err(1009);
        }
        if std::str::from_utf8(&text[..end]).is_err_and(|error| error.error_len().is_some()) {
            return Err(1007);
        }
    }
    Ok(())
}

fn ended(message: Message) -> Result<ClientHeard, u16> {
    if !message.text {
        return Ok(ClientHeard::Binary(message.bytes));
    }
    String::from_utf8(message.bytes).map(ClientHeard::Text).map_err(|_| 1007)
}

fn decode_control(opcode: u8, payload: Vec<u8>, heard: &mut Vec<ClientHeard>) -> Result<bool, u16> {
    heard.push(match (opcode, &payload[..]) {
        (9, _) => ClientHeard::Ping(payload),
        (10, _) => ClientHeard::Pong(payload),
        (_, []) => ClientHeard::Closed(None),
        (_, [_]) => return Err(1002),
        (_, [high, low, reason @ ..]) => {
            // 7.4: those that are defined to be sent, by the registry of IANA, and those of
            // programs.
            let code = u16::from_be_bytes([*high, *low]);
            let sent = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014].contains(&code);
            if !sent && !(3000..5000).contains(&code) {
                return Err(1002);
            }
            std::str::from_utf8(reason).map_err(|_| 1007_u16)?;
            ClientHeard::Closed(Some(code))
        }
    });
    Ok(opcode != 8)
}
