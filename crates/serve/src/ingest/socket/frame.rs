//! Frames as RFC 6455 has them, decoded while they arrive: nothing of a payload is held, whatever a
//! frame's size.
//!
//! The decoder is given the bytes of a read and returns the items in them. It keeps the head of a
//! frame (14 bytes at most) and the payload of a control frame (125 at most), as these may come in
//! pieces; a payload of a message stays in its buffer until somebody takes it.

use super::mask::copy_unmasked;

/// Violation of the protocol by a client, with the code that ends the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) code: u16,
    pub(super) what: &'static str,
}

/// A frame against the protocol.
pub(super) const PROTOCOL_ERROR: u16 = 1002;
/// A text that is none.
pub(super) const INVALID_DATA: u16 = 1007;
/// A text longer than any that means something here.
pub(super) const TOO_BIG: u16 = 1009;

fn protocol(what: &'static str) -> Violation {
    Violation { code: PROTOCOL_ERROR, what }
}

/// Of which kind a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageKind {
    Text,
    Binary,
}

/// A frame that may stand between the fragments of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ControlFrame {
    Close,
    Ping,
    Pong,
}

/// Item at the front of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameStep {
    /// Nothing more: it is used up.
    More,
    /// So many bytes of a message, which wait to be taken.
    Payload(MessageKind, usize),
    /// The end of a message.
    End(MessageKind),
    /// A control frame, whose payload the decoder has.
    Control(ControlFrame),
}

/// The longest head: two bytes, a length of eight, a key of four.
const HEAD_BYTES_MAX: usize = 14;

/// The longest payload of a control frame.
pub(super) const CONTROL_BYTES_MAX: usize = 125;

/// State of the decoder between reads.
#[derive(Debug)]
pub(super) struct FrameDecoder {
    head: [u8; HEAD_BYTES_MAX],
    head_bytes: usize,
    frame: Option<WebSocketFrame>,
    /// A message whose last fragment has not come.
    message: Option<MessageKind>,
    control: [u8; CONTROL_BYTES_MAX],
    control_bytes: usize,
}

/// The frame whose payload is next.
#[derive(Debug, Clone, Copy)]
struct WebSocketFrame {
    holds: Holds,
    last: bool,
    left: u64,
    /// Turned so that its first byte is for the next.
    key: [u8; 4],
}

#[derive(Debug, Clone, Copy)]
enum Holds {
    Message(MessageKind),
    Control(ControlFrame),
}

impl WebSocketFrame {
    fn move_payload(&mut self, input: &mut &[u8], place: &mut [u8]) {
        let (payload, rest) = input.split_at(place.len());
        self.key = copy_unmasked(payload, place, self.key);
        self.left -= payload.len() as u64;
        *input = rest;
    }
}

impl FrameDecoder {
    pub(super) fn new() -> Self {
        let (head, control) = ([0; HEAD_BYTES_MAX], [0; CONTROL_BYTES_MAX]);
        Self { head, head_bytes: 0, frame: None, message: None, control, control_bytes: 0 }
    }

    /// The payload of the last control frame.
    pub(super) fn control(&self) -> &[u8] {
        &self.control[..self.control_bytes]
    }

    /// True if the rest of a frame of a message is still to come.
    pub(super) fn within(&self) -> bool {
        self.frame.is_some_and(|frame| frame.left > 0)
    }

    /// Goes on to the next item, and takes heads and control frames out of the input.
    pub(super) fn step(&mut self, input: &mut &[u8]) -> Result<FrameStep, Violation> {
        loop {
            let frame = match self.frame {
                Some(frame) => frame,
                None => match self.begin(input)? {
                    Some(frame) => *self.frame.insert(frame),
                    None => return Ok(FrameStep::More),
                },
            };
            match frame.holds {
                Holds::Control(control) => return Ok(self.take_control(frame, control, input)),
                Holds::Message(kind) if frame.left > 0 => {
                    let here = usize::try_from(frame.left).unwrap_or(usize::MAX).min(input.len());
                    return Ok(if here == 0 { FrameStep::More } else { FrameStep::Payload(kind, here) });
                }
                Holds::Message(kind) => {
                    self.frame = None;
                    if frame.last {
                        self.message = None;
                        return Ok(FrameStep::End(kind));
                    }
                }
            }
        }
    }

    /// Moves payload to `place`, no more than lies at the front of the input.
    pub(super) fn take(&mut self, input: &mut &[u8], place: &mut [u8]) {
        if let Some(frame) = &mut self.frame {
            frame.move_payload(input, place);
        }
    }

    fn take_control(&mut self, mut frame: WebSocketFrame, control: ControlFrame, input: &mut &[u8]) -> FrameStep {
        let here = (frame.left as usize).min(input.len());
        frame.move_payload(input, &mut self.control[self.control_bytes..self.control_bytes + here]);
        self.control_bytes += here;
        if frame.left > 0 {
            self.frame = Some(frame);
            return FrameStep::More;
        }
        self.frame = None;
        FrameStep::Control(control)
    }

    /// Reads a head, as far as it has come. A violation is told by the first byte that shows it.
    fn begin(&mut self, input: &mut &[u8]) -> Result<Option<WebSocketFrame>, Violation> {
        loop {
            if self.head_bytes >= 1 {
                self.check_first()?;
            }
            if self.head_bytes >= 2 {
                let bytes = self.check_second()?;
                if self.head_bytes == bytes {
                    return self.opened().map(Some);
                }
            }
            let Some((byte, rest)) = input.split_first() else { return Ok(None) };
            self.head[self.head_bytes] = *byte;
            self.head_bytes += 1;
            *input = rest;
            #[cfg(any(fuzzing, test))]
            super::mask::copied::add(1);
        }
    }

    fn check_first(&self) -> Result<(), Violation> {
        let first = self.head[0];
        if first & 0x70 != 0 {
            return Err(protocol("a reserved bit is set, and no extension was agreed on"));
        }
        match (first & 0x0f, self.message) {
            (0, None) => Err(protocol("a continuation without a message to continue")),
            (1 | 2, Some(_)) => Err(protocol("a new message within one that is not complete")),
            (8..=10, _) if first & 0x80 == 0 => Err(protocol("a control frame in fragments")),
            (0..=2 | 8..=10, _) => Ok(()),
            _ => Err(protocol("a reserved opcode")),
        }
    }

    /// Checks the second byte, and tells how long the head is.
    fn check_second(&self) -> Result<usize, Violation> {
        let (first, second) = (self.head[0], self.head[1]);
        if second & 0x80 == 0 {
            return Err(protocol("a frame of a client is not masked"));
        }
        let length = second & 0x7f;
        if first & 0x08 != 0 && usize::from(length) > CONTROL_BYTES_MAX {
            return Err(protocol("a control frame with more than 125 bytes"));
        }
        Ok(2 + length_bytes(second) + 4)
    }

    /// The frame of a whole head.
    fn opened(&mut self) -> Result<WebSocketFrame, Violation> {
        self.head_bytes = 0;
        let length = self.head[1] & 0x7f;
        let (long, key) = self.head[2..].split_at(length_bytes(length));
        let (left, shorter) = match long.len() {
            0 => (u64::from(length), None),
            2 => (number(long), Some(125)),
            _ => (number(long), Some(u64::from(u16::MAX))),
        };
        if shorter.is_some_and(|shorter| left <= shorter) || left > i64::MAX as u64 {
            return Err(protocol("a length that is not written in the shortest way, or has its highest bit set"));
        }
        let key = [key[0], key[1], key[2], key[3]];
        let holds = match self.head[0] & 0x0f {
            8 => Holds::Control(ControlFrame::Close),
            9 => Holds::Control(ControlFrame::Ping),
            10 => Holds::Control(ControlFrame::Pong),
            opcode => {
                let begun = if opcode == 1 { MessageKind::Text } else { MessageKind::Binary };
                Holds::Message(*self.message.get_or_insert(begun))
            }
        };
        if matches!(holds, Holds::Control(_)) {
            self.control_bytes = 0;
        }
        Ok(WebSocketFrame { holds, last: self.head[0] & 0x80 != 0, left, key })
    }
}

/// Bytes of the longer length that the second byte of a head announces.
const fn length_bytes(second: u8) -> usize {
    match second & 0x7f {
        126 => 2,
        127 => 8,
        _ => 0,
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
