//! Messages, made of frames: binary ones are handed on as they come, short texts are put together
//! and have to be UTF-8.

use super::frame::{
    CONTROL_BYTES_MAX, ControlFrame, FrameDecoder, FrameStep, INVALID_DATA, MessageKind, PROTOCOL_ERROR, TOO_BIG, Violation,
};
use std::str::from_utf8;

/// Message or event of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SocketEvent {
    /// Nothing more: the input is used up.
    More,
    /// So many bytes of a binary message lie at the front of the input.
    Binary(usize),
    /// The end of a binary message.
    BinaryEnd,
    /// A whole text.
    Text(String),
    /// It wants an answer with the payload of this frame.
    Ping,
    /// It is there.
    Pong,
    /// It leaves, with this code where it gave one. Nothing after this means anything.
    Close(Option<u16>),
}

/// Decoder of a client's frames into messages.
pub(super) struct Receiver {
    decoder: FrameDecoder,
    text: Vec<u8>,
    /// Bytes at the start of the text that are whole characters.
    checked: usize,
    text_bytes_max: usize,
    closed: bool,
}

impl Receiver {
    /// A receiver of texts up to that length.
    pub(super) fn new(text_bytes_max: usize) -> Self {
        Self { decoder: FrameDecoder::new(), text: Vec::new(), checked: 0, text_bytes_max, closed: false }
    }

    /// Goes on to the next event, and takes all but binary payloads out of the input.
    pub(super) fn next(&mut self, input: &mut &[u8]) -> Result<SocketEvent, Violation> {
        loop {
            if self.closed {
                *input = &[];
                return Ok(SocketEvent::More);
            }
            return Ok(match self.decoder.step(input)? {
                FrameStep::More => SocketEvent::More,
                FrameStep::Payload(MessageKind::Binary, bytes) => SocketEvent::Binary(bytes),
                FrameStep::Payload(MessageKind::Text, bytes) => {
                    self.push_text(input, bytes)?;
                    continue;
                }
                FrameStep::End(MessageKind::Binary) => SocketEvent::BinaryEnd,
                FrameStep::End(MessageKind::Text) => SocketEvent::Text(self.end_text()?),
                FrameStep::Control(ControlFrame::Ping) => SocketEvent::Ping,
                FrameStep::Control(ControlFrame::Pong) => SocketEvent::Pong,
                FrameStep::Control(ControlFrame::Close) => {
                    self.closed = true;
                    SocketEvent::Close(close_code(self.decoder.control())?)
                }
            });
        }
    }

    /// Moves a binary payload to `place`, no more than lies at the front of the input.
    pub(super) fn take(&mut self, input: &mut &[u8], place: &mut [u8]) {
        self.decoder.take(input, place);
    }

    /// The payload of the last control frame.
    pub(super) fn control(&self) -> &[u8] {
        self.decoder.control()
    }

    /// True if the rest of a frame of a message is still to come.
    pub(super) fn within(&self) -> bool {
        self.decoder.within()
    }

    fn push_text(&mut self, input: &mut &[u8], bytes: usize) -> Result<(), Violation> {
        let before = self.text.len();
        // The first fault is told, wherever reads end.
        let here = bytes.min(self.text_bytes_max - before);
        self.text.resize(before + here, 0);
        self.decoder.take(input, &mut self.text[before..]);
        match from_utf8(&self.text[self.checked..]) {
            Ok(_) => self.checked = self.text.len(),
            // A text cut in the middle of a character may still become one.
            Err(error) if error.error_len().is_none() => self.checked += error.valid_up_to(),
            Err(_) => return Err(NOT_UTF8),
        }
        if here < bytes {
            return Err(Violation { code: TOO_BIG, what: "a text longer than any that is understood here" });
        }
        Ok(())
    }

    fn end_text(&mut self) -> Result<String, Violation> {
        self.checked = 0;
        String::from_utf8(std::mem::take(&mut self.text)).map_err(|_| NOT_UTF8)
    }
}

const NOT_UTF8: Violation = Violation { code: INVALID_DATA, what: "a text that is not UTF-8" };

/// The code that a close frame gives.
fn close_code(payload: &[u8]) -> Result<Option<u16>, Violation> {
    debug_assert!(payload.len() <= CONTROL_BYTES_MAX);
    let (high, low, reason) = match payload {
        [] => return Ok(None),
        [_] => return Err(Violation { code: PROTOCOL_ERROR, what: "a close frame with half a code" }),
        [high, low, reason @ ..] => (*high, *low, reason),
    };
    let code = u16::from_be_bytes([high, low]);
    // 1004 to 1006 and 1015 are never sent; up to 2999 is for the protocol itself, and the rest for
    // programs.
    if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return Err(Violation { code: PROTOCOL_ERROR, what: "a close code that may not be sent" });
    }
    match from_utf8(reason) {
        Ok(_) => Ok(Some(code)),
        Err(_) => Err(NOT_UTF8),
    }
}
