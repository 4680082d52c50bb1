//! The real log that the generated ones are made of.

use memchr::memmem;

/// 10,000 lines of a combined-format Apache log; one of them has a quote that never closes.
static SAMPLE: &[u8] = include_bytes!("../../../../samples/apache_combined.log");

/// A line cut where something is put in: the address's last octet, the time, the size of the
/// response.
pub(super) struct SampleLine {
    /// `83.149.9.`
    pub(super) network: &'static [u8],
    /// The last octet's digits.
    pub(super) octet: &'static [u8],
    /// ` - - [`
    pub(super) user: &'static [u8],
    /// `] "GET /a?b HTTP/1.1" 200 `
    pub(super) request: &'static [u8],
    /// The size of the response; `None` is `-`.
    pub(super) sent: Option<u64>,
    /// ` "referrer" "agent"` with the newline; kept as it is, closed or not.
    pub(super) tail: &'static [u8],
}

/// Every line of the sample, in order.
pub(super) fn records() -> Vec<SampleLine> {
    SAMPLE.split_inclusive(|&byte| byte == b'\n').filter_map(SampleLine::parse).collect()
}

impl SampleLine {
    fn parse(line: &'static [u8]) -> Option<Self> {
        let (client, rest) = cut(line, b" ", 0)?;
        let dot = memchr::memrchr(b'.', client)?;
        let (_, after_user) = cut(rest, b" [", 2)?;
        let user = &line[client.len()..line.len() - after_user.len()];
        let (_, from_bracket) = cut(after_user, b"] \"", 0)?;
        let (_, from_status) = cut(&from_bracket[3..], b"\" ", 2)?;
        let (_, from_sent) = cut(from_status, b" ", 1)?;
        let (sent, tail) = cut(from_sent, b" ", 0)?;
        Some(Self {
            network: &client[..=dot],
            octet: &client[dot + 1..],
            user,
            request: &from_bracket[..from_bracket.len() - from_sent.len()],
            sent: std::str::from_utf8(sent).ok()?.parse().ok(),
            tail,
        })
    }

    /// The path without its query; `None` where the request has another shape.
    pub(super) fn path(&self) -> Option<&'static [u8]> {
        let (_, target) = cut(self.request, b" /", 1)?;
        let end = memchr::memchr3(b'?', b' ', b'"', target)?;
        Some(&target[..end])
    }

    /// The user agent; `None` where its quotes do not close.
    pub(super) fn agent(&self) -> Option<&'static [u8]> {
        let quoted = self.tail.strip_suffix(b"\"\n")?;
        Some(&quoted[memchr::memrchr(b'"', quoted)? + 1..])
    }
}

/// Cuts at the first `mark`; the second half starts `skip` bytes into it.
fn cut(text: &'static [u8], mark: &[u8], skip: usize) -> Option<(&'static [u8], &'static [u8])> {
    let at = memmem::find(text, mark)?;
    Some((&text[..at], &text[at + skip..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_used_and_cut_in_the_right_places() {
        let records = records();
        assert_eq!(records.len(), 10_000);
        let first = &records[0];
        assert_eq!(first.network, b"83.149.9.");
        assert_eq!(first.octet, b"216");
        assert_eq!(first.user, b" - - [");
        assert!(first.request.starts_with(b"] \"GET /presentations/"));
        assert!(first.request.ends_with(b" HTTP/1.1\" 200 "));
        assert_eq!(first.sent, Some(203_023));
        assert!(first.tail.starts_with(b" \"http://semicomplete.com/"));
        assert!(first.tail.ends_with(b"Safari/537.36\"\n"));
    }

    #[test]
    fn the_line_with_the_open_quote_is_kept() {
        let open = records().iter().filter(|record| !record.tail.ends_with(b"\"\n")).count();
        assert_eq!(open, 1);
    }
}
