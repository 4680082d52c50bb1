//! An HTTP answer as it came: whole, or not.

use serde_json::Value;

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// The answer in these bytes, which were read to their end; `None` where they are no whole
    /// answer.
    pub(crate) fn parse(bytes: &[u8], method: &str) -> Option<Self> {
        let bytes = bytes.strip_prefix(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap_or(bytes);
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = head.lines();
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let header = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
        let mut answer = Self { status, headers: lines.filter_map(header).collect(), body: Vec::new() };
        let body = &bytes[end + 4..];
        if method != "HEAD" && !matches!(status, 101 | 204 | 304) {
            answer.body = answer.whole_body(body)?;
        }
        Some(answer)
    }

    fn whole_body(&self, body: &[u8]) -> Option<Vec<u8>> {
        if self.header("transfer-encoding") == Some("chunked") {
            return dechunked(body);
        }
        let length: usize = self.header("content-length")?.parse().ok()?;
        (body.len() == length).then(|| body.to_vec())
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// The code of an error; empty where there is none.
    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }

    /// The offset to go on from, in an error.
    pub(crate) fn offset(&self) -> Option<u64> {
        self.json()["error"]["offset"].as_u64()
    }

    /// Label for the tallies: the status, and the code of an error.
    pub(crate) fn label(&self) -> String {
        if self.status < 400 { self.status.to_string() } else { format!("{} {}", self.status, self.code()).trim().to_owned() }
    }
}

fn dechunked(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let line = body.windows(2).position(|two| two == b"\r\n")?;
        let length = usize::from_str_radix(std::str::from_utf8(&body[..line]).ok()?, 16).ok()?;
        let chunk = body.get(line + 2..line + 2 + length)?;
        if length == 0 {
            return Some(whole);
        }
        whole.extend_from_slice(chunk);
        body = body.get(line + 2 + length + 2..)?;
    }
}
