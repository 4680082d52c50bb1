//! The few frames of a WebSocket that a sender of a log has to know.

use super::client::Client;
use serde_json::Value;
use std::io::{self, ErrorKind};
use std::time::Duration;

/// The asking for a WebSocket: any 16 bytes as base64 do.
pub(super) const UPGRADE: &str =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: bm8gcmFuZG9tbmVzcyEhIQ==\r\n";

/// What the server said.
pub(super) enum Said {
    /// A text, as JSON.
    Text(Value),
    /// That it closes.
    Close,
}

/// What comes from the server, frame by frame.
#[derive(Default)]
pub(super) struct Incoming {
    bytes: Vec<u8>,
}

/// The head of a binary message of `length` bytes with its mask.
pub(super) fn head(length: usize, mask: [u8; 4]) -> Vec<u8> {
    let mut head = vec![0x82];
    match length {
        0..=125 => head.push(0x80 | length as u8),
        126..=0xffff => {
            head.push(0x80 | 126);
            head.extend_from_slice(&(length as u16).to_be_bytes());
        }
        _ => {
            head.push(0x80 | 127);
            head.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    head.extend_from_slice(&mask);
    head
}

impl Incoming {
    /// What the server says next, if it does so within `time`; its pings are answered.
    pub(super) fn next(&mut self, client: &mut Client<'_>, time: Duration) -> io::Result<Option<Said>> {
        loop {
            let Some((opcode, payload)) = self.frame()? else {
                if !client.listen(time)? {
                    return Ok(None);
                }
                self.read(client)?;
                continue;
            };
            match opcode {
                0x1 => return Ok(Some(Said::Text(serde_json::from_slice(&payload).unwrap_or_default()))),
                0x8 => return Ok(Some(Said::Close)),
                0x9 => client.send(&pong(&payload))?,
                _ => {}
            }
        }
    }

    fn read(&mut self, client: &mut Client<'_>) -> io::Result<()> {
        let mut buffer = [0; 4096];
        match client.read(&mut buffer)? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            count => {
                self.bytes.extend_from_slice(&buffer[..count]);
                Ok(())
            }
        }
    }

    /// The first whole frame of what came.
    fn frame(&mut self) -> io::Result<Option<(u8, Vec<u8>)>> {
        let [first, second, rest @ ..] = &self.bytes[..] else { return Ok(None) };
        let (length, head) = match second & 0x7f {
            126 => match rest {
                [high, low, ..] => (usize::from(u16::from_be_bytes([*high, *low])), 4),
                _ => return Ok(None),
            },
            // What this server says is short.
            127 => return Err(ErrorKind::InvalidData.into()),
            short => (usize::from(short), 2),
        };
        let opcode = first & 0x0f;
        if self.bytes.len() < head + length {
            return Ok(None);
        }
        let payload = self.bytes[head..head + length].to_vec();
        self.bytes.drain(..head + length);
        Ok(Some((opcode, payload)))
    }
}

/// A control frame has at most 125 bytes; a mask of zeros is one.
fn pong(payload: &[u8]) -> Vec<u8> {
    let payload = &payload[..payload.len().min(125)];
    let mut frame = vec![0x8a, 0x80 | payload.len() as u8, 0, 0, 0, 0];
    frame.extend_from_slice(payload);
    frame
}
