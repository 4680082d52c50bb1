//! Messages of the server on a WebSocket, read without waiting.

use super::client::HttpClient;
use serde_json::Value;
use std::io::{self, ErrorKind};
use std::time::Duration;

/// Message of the server.
pub(super) enum ServerMessage {
    /// A text, as JSON.
    Text(Value),
    /// Its close.
    Close,
}

/// Bytes from the server, frame by frame.
#[derive(Default)]
pub(super) struct IncomingFrames {
    bytes: Vec<u8>,
}

impl IncomingFrames {
    /// The next message of the server, if it comes within `time`; pings are answered.
    pub(super) fn next(&mut self, client: &mut HttpClient<'_>, time: Duration) -> io::Result<Option<ServerMessage>> {
        loop {
            let Some((opcode, payload)) = self.frame()? else {
                if !client.listen(time)? {
                    return Ok(None);
                }
                self.read(client)?;
                continue;
            };
            match opcode {
                0x1 => return Ok(Some(ServerMessage::Text(serde_json::from_slice(&payload).unwrap_or_default()))),
                0x8 => return Ok(Some(ServerMessage::Close)),
                0x9 => client.send(&pong(&payload))?,
                _ => {}
            }
        }
    }

    fn read(&mut self, client: &mut HttpClient<'_>) -> io::Result<()> {
        let mut buffer = [0; 4096];
        match client.read(&mut buffer)? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            count => {
                self.bytes.extend_from_slice(&buffer[..count]);
                Ok(())
            }
        }
    }

    /// The first whole frame of the received bytes.
    fn frame(&mut self) -> io::Result<Option<(u8, Vec<u8>)>> {
        let [first, second, rest @ ..] = &self.bytes[..] else { return Ok(None) };
        let (length, head) = match second & 0x7f {
            126 => match rest {
                [high, low, ..] => (usize::from(u16::from_be_bytes([*high, *low])), 4),
                _ => return Ok(None),
            },
            // Messages of this server are short.
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
