//! The client's end of a WebSocket, which sends the frames it is told to, right ones or wrong ones.
#![allow(clippy::expect_used, reason = "a test that is not answered has failed")]

use serde_json::Value;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

/// A browser's request to open one, with the key of RFC 6455's example.
pub const UPGRADE: [&str; 4] =
    ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="];

/// First bytes of frames: a whole message of either kind, and the last word.
pub const TEXT: u8 = 0x81;
/// See [`TEXT`].
pub const BINARY: u8 = 0x82;
/// See [`TEXT`].
pub const CLOSE: u8 = 0x88;

/// The mask of frames whose mask does not matter.
const MASK: [u8; 4] = [0x11, 0xe4, 0x07, 0x90];

/// Frame of a server.
#[derive(Debug, PartialEq)]
pub enum ServerFrame {
    /// A message, which is JSON.
    Text(Value),
    /// The answer to a ping.
    Pong(Vec<u8>),
    /// It closes, with a code if there is one.
    Close(Option<u16>),
}

/// The head of a frame that begins with `first` and has so many bytes.
#[must_use]
pub fn head(first: u8, length: usize, mask: [u8; 4]) -> Vec<u8> {
    let mut head = vec![first];
    match length {
        short @ 0..126 => head.push(0x80 | short as u8),
        long @ 126..65_536 => {
            head.push(0xfe);
            head.extend((long as u16).to_be_bytes());
        }
        long => {
            head.push(0xff);
            head.extend((long as u64).to_be_bytes());
        }
    }
    head.extend(mask);
    head
}

/// A frame as a client sends it.
#[must_use]
pub fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = head(first, payload.len(), MASK);
    frame.extend(payload.iter().enumerate().map(|(at, byte)| byte ^ MASK[at % 4]));
    frame
}

/// The next that a server says, its pings aside; `None` when it has left.
///
/// # Errors
/// When a frame is cut, or none that this server sends.
pub fn hear(stream: &mut impl Read) -> io::Result<Option<ServerFrame>> {
    loop {
        let mut head = [0; 2];
        if stream.read_exact(&mut head).is_err() {
            return Ok(None);
        }
        let length = match head[1] {
            short @ 0..126 => usize::from(short),
            126 => {
                let mut long = [0; 2];
                stream.read_exact(&mut long)?;
                usize::from(u16::from_be_bytes(long))
            }
            other => return Err(unknown(format!("a length of {other:#x}: longer than what is said here, or masked"))),
        };
        let mut payload = vec![0; length];
        stream.read_exact(&mut payload)?;
        match head[0] {
            TEXT => return Ok(Some(ServerFrame::Text(serde_json::from_slice(&payload)?))),
            CLOSE => return Ok(Some(ServerFrame::Close(payload.first_chunk().map(|code| u16::from_be_bytes(*code))))),
            0x89 => {}
            0x8a => return Ok(Some(ServerFrame::Pong(payload))),
            other => return Err(unknown(format!("a frame that begins with {other:#x}"))),
        }
    }
}

fn unknown(what: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

/// One that is open.
pub struct WebSocket {
    /// The stream below it.
    pub stream: TcpStream,
}

impl WebSocket {
    /// Opens one after a request that asked for it.
    ///
    /// # Panics
    /// When the server does not take it.
    #[must_use]
    pub fn opened(mut stream: TcpStream) -> Self {
        let (mut answer, mut byte) = (Vec::new(), [0]);
        while !answer.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).expect("an answer");
            answer.push(byte[0]);
        }
        let answer = String::from_utf8(answer).expect("text").to_ascii_lowercase();
        assert!(answer.starts_with("http/1.1 101"), "{answer}");
        // The example of RFC 6455.
        assert!(answer.contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="), "{answer}");
        Self { stream }
    }

    /// Sends bytes as they are.
    ///
    /// # Panics
    /// When nobody takes them.
    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("it is taken");
    }

    /// Sends a binary message.
    pub fn binary(&mut self, payload: &[u8]) {
        self.send(&frame(BINARY, payload));
    }

    /// Sends a text.
    pub fn text(&mut self, text: &str) {
        self.send(&frame(TEXT, text.as_bytes()));
    }

    /// The next that the server says; `None` when it has left.
    ///
    /// # Panics
    /// When that is no whole frame.
    pub fn hear(&mut self) -> Option<ServerFrame> {
        hear(&mut self.stream).expect("a whole frame")
    }

    /// All that is still said, up to the end.
    #[must_use]
    pub fn rest(mut self) -> Vec<ServerFrame> {
        std::iter::from_fn(|| self.hear()).collect()
    }

    /// The last words and the code after them.
    ///
    /// # Panics
    /// When the server leaves without.
    #[must_use]
    pub fn end(self) -> (Value, Option<u16>) {
        let mut rest = self.rest();
        let Some(ServerFrame::Close(code)) = rest.pop() else { panic!("no close frame behind {rest:?}") };
        let Some(ServerFrame::Text(last)) = rest.pop() else { panic!("no last words") };
        (last, code)
    }

    /// Checks the error at the end, and its code.
    ///
    /// # Panics
    /// When it is another.
    pub fn refused(self, close_code: u16, code: &str) -> Value {
        let (last, close) = self.end();
        assert_eq!((&last["type"], &last["error"]["code"], close), (&"error".into(), &code.into(), Some(close_code)), "{last}");
        last["error"].clone()
    }
}
