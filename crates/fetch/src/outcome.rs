//! Ends of one attempt, and the next step: [`decide`] is the whole policy.

use crate::client::RefusedRedirect;
use crate::error::{FetchError, FetchErrorKind, reason};
use crate::given;
use crate::limits::{BACKOFF_MAX, PROGRESS_BYTES, RETRY_AFTER_MAX, START_OVERS_MAX};
use crate::proxy::ProxySetting;
use crate::setting::{CA_CERT, CONNECT_TIMEOUT, IDLE_TIMEOUT, KEEP_ENCODING, MAX_TIME};
use reqwest::header::{HeaderMap, LOCATION, RETRY_AFTER};
use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::time::{Duration, SystemTime};

/// The reason for which an attempt failed.
#[derive(Debug, Clone)]
pub(crate) enum AttemptOutcome {
    /// The file system refused, or a setting can't be.
    Local(FetchError),
    /// Ctrl-C.
    Stopped,
    /// The time for everything is over.
    TimeUp(Duration),
    /// A certificate that is not to be trusted, or no TLS at all on the other side.
    Untrusted(String),
    /// No such name, nobody listens, no way there; with the proxy before the reason.
    Unreachable(String),
    /// Connecting took longer than allowed.
    ConnectTimeout { limit: Duration, way: String },
    /// No byte for longer than allowed.
    Idle(Duration),
    /// The connection broke or the body ended early.
    Broken(String),
    /// A redirect that is not followed.
    Refused(String),
    /// A status that is neither 200, 206 nor 416.
    Status { text: String, again: bool, wait: Option<Duration> },
    /// The body is encoded in a way that was not asked for.
    Encoded(String),
    /// The file is another than the one that a part is there of.
    Changed(String),
    /// Ranges were asked for and are not to be had.
    NoRanges(String),
    /// Everything is there and has another digest; `resumed` when some of it came from an earlier
    /// run.
    Mismatch { why: String, resumed: bool },
    /// Bytes were given that can't be taken back, and other ones would have to follow.
    GivenAway(String),
}

/// The next step after an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextStep {
    /// Again after a pause, from where it stands.
    Resume(Duration),
    /// From nothing, after a pause; `whole` asks for no ranges.
    StartOver { whole: bool, after: Duration },
    /// Nothing helps.
    GiveUp,
}

/// Attempts so far, which bound the further ones.
#[derive(Debug, Clone)]
pub(crate) struct AttemptLimits {
    retries: u32,
    retry_delay: Duration,
    /// Failures since the last progress.
    row: u32,
    start_overs: u32,
    /// Failures that threw away received bytes.
    losses: u32,
    pub(crate) failures: u32,
    /// Bytes that had arrived when the row began.
    row_bytes: u64,
}

/// Retry, resume, start over or give up: one clause for each outcome.
///
/// `resumable`: the received bytes can be kept, as there is a strong validator, and the server did
/// not refuse ranges.
pub(crate) fn decide(outcome: &AttemptOutcome, tries: &mut AttemptLimits, resumable: bool) -> NextStep {
    match outcome {
        // Trying again changes nothing about these.
        AttemptOutcome::Local(_) | AttemptOutcome::Stopped | AttemptOutcome::TimeUp(_) => NextStep::GiveUp,
        AttemptOutcome::Untrusted(_) | AttemptOutcome::Refused(_) | AttemptOutcome::Encoded(_) | AttemptOutcome::GivenAway(_) => {
            NextStep::GiveUp
        }
        AttemptOutcome::Status { again: false, .. } => NextStep::GiveUp,
        // The server says when to come back; a wait beyond all patience is an answer, too.
        AttemptOutcome::Status { wait: Some(wait), .. } if *wait > RETRY_AFTER_MAX => NextStep::GiveUp,
        AttemptOutcome::Status { wait, .. } => match tries.pause() {
            Some(pause) => NextStep::Resume(pause.max(wait.unwrap_or_default())),
            None => NextStep::GiveUp,
        },
        // Nothing was begun, so nothing is lost.
        AttemptOutcome::Unreachable(_) | AttemptOutcome::ConnectTimeout { .. } => {
            tries.pause().map_or(NextStep::GiveUp, NextStep::Resume)
        }
        // Something was begun: go on from it where that is safe.
        AttemptOutcome::Idle(_) | AttemptOutcome::Broken(_) if resumable => {
            tries.pause().map_or(NextStep::GiveUp, NextStep::Resume)
        }
        AttemptOutcome::Idle(_) | AttemptOutcome::Broken(_) => {
            tries.pause_after_loss().map_or(NextStep::GiveUp, |after| NextStep::StartOver { whole: false, after })
        }
        // The bytes of an earlier run may have gone bad; those of this one are the server's.
        AttemptOutcome::Mismatch { resumed: false, .. } => NextStep::GiveUp,
        AttemptOutcome::Mismatch { resumed: true, .. } => NextStep::StartOver { whole: false, after: Duration::ZERO },
        // The received bytes are of no use.
        AttemptOutcome::Changed(_) if tries.starts_over() => NextStep::StartOver { whole: false, after: Duration::ZERO },
        AttemptOutcome::NoRanges(_) if tries.starts_over() => NextStep::StartOver { whole: true, after: Duration::ZERO },
        AttemptOutcome::Changed(_) | AttemptOutcome::NoRanges(_) => NextStep::GiveUp,
    }
}

impl AttemptLimits {
    pub(crate) fn new(retries: u32, retry_delay: Duration) -> Self {
        Self { retries, retry_delay, row: 0, start_overs: 0, losses: 0, failures: 0, row_bytes: 0 }
    }

    /// A row of failures ends with progress.
    pub(crate) fn received(&mut self, total_bytes: u64) {
        if total_bytes >= self.row_bytes + PROGRESS_BYTES {
            self.row = 0;
            self.row_bytes = total_bytes;
        }
    }

    /// The pause before another attempt, if there is to be one: doubled from one to the next, and
    /// by up to half longer or shorter, so that a thousand clients of one server don't come back
    /// together.
    fn pause(&mut self) -> Option<Duration> {
        self.failures += 1;
        if self.row >= self.retries {
            return None;
        }
        let pause = self.retry_delay.saturating_mul(1 << self.row.min(16)).min(BACKOFF_MAX);
        self.row += 1;
        Some(pause.mul_f64(0.5 + fastrand::f64()))
    }

    /// The same, where the received bytes are lost: that was no progress, and does not begin a new
    /// row.
    fn pause_after_loss(&mut self) -> Option<Duration> {
        self.losses += 1;
        if self.losses > self.retries {
            self.failures += 1;
            return None;
        }
        self.pause()
    }

    fn starts_over(&mut self) -> bool {
        self.failures += 1;
        self.start_overs += 1;
        self.start_overs <= START_OVERS_MAX
    }
}

impl AttemptOutcome {
    /// The outcome of a `send` that failed, by the proxy given.
    pub(crate) fn of_request(error: &reqwest::Error, connect_timeout: Duration, proxy: Option<&ProxySetting>) -> Self {
        let way = proxy.map_or_else(String::new, |proxy| format!(" by {proxy}"));
        if let Some(refused) = in_chain::<RefusedRedirect>(error) {
            return Self::Refused(refused.to_string());
        }
        if error.is_connect() && error.is_timeout() {
            return Self::ConnectTimeout { limit: connect_timeout, way };
        }
        if let Some(error) = in_chain::<rustls::Error>(error) {
            return Self::Untrusted(untrusted(error));
        }
        match () {
            () if error.is_connect() => Self::Unreachable(format!("{way}: {}", deepest(error))),
            () if error.is_builder() => {
                Self::Local(FetchError::new(FetchErrorKind::Local, format!("not a request: {}", deepest(error))))
            }
            () if error.is_redirect() => Self::Refused(deepest(error)),
            () => Self::Broken(deepest(error)),
        }
    }

    /// The outcome of a body that broke off.
    pub(crate) fn of_body(error: &reqwest::Error) -> Self {
        Self::Broken(deepest(error))
    }

    pub(crate) fn of_status(status: reqwest::StatusCode, headers: &HeaderMap) -> Self {
        // Timeout, too early, too many, and the ones that a server gives when it has troubles of
        // its own.
        let again = matches!(status.as_u16(), 408 | 425 | 429 | 500 | 502 | 503 | 504);
        let wait = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()).and_then(retry_after);
        // An address that the client below makes nothing of is not even offered to be followed. Of
        // several choices it takes none.
        let away = headers.get(LOCATION).filter(|_| status.is_redirection()).and_then(|value| value.to_str().ok());
        let is_redirect = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308);
        let away = match away {
            Some(address) if is_redirect => format!(", a redirect to {address:?}, and only http and https are fetched"),
            Some(address) => format!(" and names {address:?}, which is not followed; give that address itself"),
            None => String::new(),
        };
        Self::Status { text: format!("the server answers {status}{away}"), again, wait }
    }

    /// The error that a fetch ends with.
    pub(crate) fn into_error(self, url: &str) -> FetchError {
        let kind = match &self {
            Self::Local(error) => return error.clone(),
            Self::Stopped => FetchErrorKind::Stopped,
            Self::TimeUp(_) | Self::ConnectTimeout { .. } | Self::Idle(_) => FetchErrorKind::Timeout,
            Self::Untrusted(_) | Self::Unreachable(_) => FetchErrorKind::Connect,
            Self::Refused(_) | Self::Encoded(_) | Self::Status { .. } => FetchErrorKind::Answer,
            Self::Mismatch { .. } => FetchErrorKind::Digest,
            Self::Broken(_) | Self::Changed(_) | Self::NoRanges(_) | Self::GivenAway(_) => FetchErrorKind::Broken,
        };
        FetchError::new(kind, format!("{url}: {self}"))
    }
}

impl fmt::Display for AttemptOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |time: &Duration| time.as_secs_f64();
        match self {
            Self::Local(error) => write!(f, "{error}"),
            Self::Stopped => f.write_str("stopped"),
            Self::TimeUp(limit) => write!(f, "not done in {} s ({MAX_TIME})", seconds(limit)),
            Self::Untrusted(why) => write!(f, "no trusted connection: {why}"),
            Self::Unreachable(why) => write!(f, "cannot connect{why}"),
            Self::ConnectTimeout { limit, way } => write!(f, "no connection{way} in {} s ({CONNECT_TIMEOUT})", seconds(limit)),
            Self::Idle(limit) => write!(f, "no byte came for {} s ({IDLE_TIMEOUT})", seconds(limit)),
            Self::Broken(why) => write!(f, "the transfer broke: {why}"),
            Self::Refused(why) => write!(f, "not followed: {why}"),
            Self::Status { text, wait: Some(wait), .. } => write!(f, "{text}, and to come back in {} s", wait.as_secs()),
            Self::Status { text, .. } => f.write_str(text),
            Self::Encoded(encoding) => {
                write!(f, "the server sends the file encoded as {encoding}, though asked not to ({KEEP_ENCODING} takes it so)")
            }
            Self::Changed(how) => write!(f, "the file on the server changed: {how}"),
            Self::NoRanges(why) => write!(f, "no ranges to be had: {why}"),
            Self::Mismatch { why, .. } => f.write_str(why),
            Self::GivenAway(why) => write!(f, "{why}, and what was given out already can't be taken back"),
        }
    }
}

/// The fault of a certificate, and the extension it lacks where it has no names at all.
fn untrusted(error: &rustls::Error) -> String {
    use rustls::{CertificateError, Error};
    let nameless = matches!(
        error,
        Error::InvalidCertificate(CertificateError::NotValidForNameContext { presented, .. }) if presented.is_empty()
    );
    if given::is_authority(error) {
        return format!(
            "its certificate is its own authority, as openssl req -x509 makes it; {CA_CERT} trusts it where it names that very one"
        );
    }
    let hint = if nameless { " (made by openssl req it needs -addext subjectAltName=DNS:NAME or IP:ADDRESS)" } else { "" };
    format!("{error}{hint}")
}

/// Seconds, or a date.
fn retry_after(value: &str) -> Option<Duration> {
    let value = value.trim();
    if value.bytes().all(|byte| byte.is_ascii_digit()) {
        // Digits that are too many for a number are a wait beyond any limit.
        return (!value.is_empty()).then(|| value.parse().map_or(Duration::MAX, Duration::from_secs));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}

/// The first cause of type `T`, also inside of an [`io::Error`].
fn in_chain<'a, T: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        // `source` of an io::Error passes over the error in it.
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = inner.map(|inner| inner as &(dyn StdError + 'static)).or_else(|| error.source());
    }
    None
}

/// The words of the last cause, which are the ones that say something.
fn deepest(error: &(dyn StdError + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    reason(&error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tries(retries: u32) -> AttemptLimits {
        AttemptLimits::new(retries, Duration::from_secs(1))
    }

    #[test]
    fn pauses_double_with_jitter_and_end() {
        let mut tries = tries(8);
        for average in [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0] {
            let NextStep::Resume(pause) = decide(&AttemptOutcome::Broken(String::new()), &mut tries, true) else {
                panic!("too few")
            };
            let ratio = pause.as_secs_f64() / average;
            assert!((0.5..1.5).contains(&ratio), "{pause:?} for {average} s");
        }
        assert_eq!(decide(&AttemptOutcome::Broken(String::new()), &mut tries, true), NextStep::GiveUp);
        tries.received(PROGRESS_BYTES);
        assert!(matches!(decide(&AttemptOutcome::Broken(String::new()), &mut tries, true), NextStep::Resume(_)));
    }

    #[test]
    fn retry_after_is_honoured_within_reason() {
        let status = |wait| AttemptOutcome::Status { text: String::new(), again: true, wait };
        let wait = Duration::from_secs(100);
        assert_eq!(decide(&status(Some(wait)), &mut tries(1), true), NextStep::Resume(wait));
        assert_eq!(decide(&status(Some(Duration::from_secs(3_601))), &mut tries(1), true), NextStep::GiveUp);
        assert_eq!(decide(&status(Some(wait)), &mut tries(0), true), NextStep::GiveUp);
        assert_eq!(retry_after("120"), Some(Duration::from_secs(120)));
        assert_eq!(retry_after("99999999999999999999999"), Some(Duration::MAX));
        assert_eq!(retry_after("Sun, 06 Nov 1994 12:00:00 GMT"), Some(Duration::ZERO));
        assert_eq!(retry_after("soon"), None);
        assert_eq!(retry_after(""), None);
    }

    #[test]
    fn what_can_not_be_resumed_starts_over() {
        let after = |next| matches!(next, NextStep::StartOver { whole: false, .. });
        assert!(after(decide(&AttemptOutcome::Broken(String::new()), &mut tries(1), false)));
        assert!(after(decide(&AttemptOutcome::Idle(Duration::ZERO), &mut tries(1), false)));
        let mut tries = tries(0);
        for _ in 0..START_OVERS_MAX {
            assert!(after(decide(&AttemptOutcome::Changed(String::new()), &mut tries, true)));
        }
        assert_eq!(decide(&AttemptOutcome::Changed(String::new()), &mut tries, true), NextStep::GiveUp);
    }

    #[test]
    fn bytes_that_are_thrown_away_are_no_progress() {
        let mut tries = AttemptLimits::new(5, Duration::from_millis(1));
        let broken = AttemptOutcome::Broken("cut".to_owned());
        let again = (1..100).find(|attempt| {
            tries.received(attempt * 2 * PROGRESS_BYTES);
            decide(&broken, &mut tries, false) == NextStep::GiveUp
        });
        assert_eq!(again, Some(6));
    }
}
