//! Messages of the server: short frames, the latest of each kind only, so that a client which does
//! not read makes nothing grow.

/// Frames on their way out.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    bytes: Vec<u8>,
    sent: usize,
    /// The answer to the latest ping.
    pong: Option<Vec<u8>>,
    /// Bytes taken, if that is news.
    taken: Option<u64>,
    ping: bool,
}

const TEXT: u8 = 0x81;
const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;
const PONG: u8 = 0x8a;

impl Outgoing {
    /// A text, after those before.
    pub(super) fn text(&mut self, text: &str) {
        self.answer();
        self.push(TEXT, text.as_bytes());
    }

    /// The last frame: a ping that came before is answered, and nothing comes after it.
    pub(super) fn close(&mut self, code: Option<u16>) {
        self.answer();
        (self.taken, self.ping) = (None, false);
        let code = code.map(u16::to_be_bytes);
        self.push(CLOSE, code.as_ref().map_or(&[], |code| code));
    }

    /// Answers a ping, once there is room; where another came meanwhile, only that (RFC 6455,
    /// 5.5.3).
    pub(super) fn pong(&mut self, payload: &[u8]) {
        self.pong = Some(payload.to_vec());
    }

    /// Asks whether the client is there.
    pub(super) fn ping(&mut self) {
        self.ping = true;
    }

    /// Says how far the bytes were taken.
    pub(super) fn taken(&mut self, offset: u64) {
        self.taken = Some(offset);
    }

    /// Bytes to send next; empty where there are none.
    pub(super) fn pending(&mut self) -> &[u8] {
        if self.sent == self.bytes.len() {
            self.bytes.clear();
            self.sent = 0;
            self.answer();
            if let Some(offset) = self.taken.take() {
                self.text(&format!("{{\"type\":\"taken\",\"offset\":{offset}}}"));
            }
            if std::mem::take(&mut self.ping) {
                self.push(PING, &[]);
            }
        }
        &self.bytes[self.sent..]
    }

    /// So much of it was sent.
    pub(super) fn sent(&mut self, bytes: usize) {
        self.sent += bytes;
    }

    fn answer(&mut self) {
        if let Some(payload) = self.pong.take() {
            self.push(PONG, &payload);
        }
    }

    fn push(&mut self, first: u8, payload: &[u8]) {
        self.bytes.push(first);
        match payload.len() {
            short @ 0..=125 => self.bytes.push(short as u8),
            long @ 126..=0xffff => {
                self.bytes.push(126);
                self.bytes.extend_from_slice(&(long as u16).to_be_bytes());
            }
            long => {
                self.bytes.push(127);
                self.bytes.extend_from_slice(&(long as u64).to_be_bytes());
            }
        }
        self.bytes.extend_from_slice(payload);
    }
}
