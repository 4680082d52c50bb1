//! The token: made anew for each server, or that of a file, which may be changed while the server
//! runs; and the session key that a browser gets for it.

use crate::http::secrets::{self, Version};
use crate::limits::{TOKEN_BYTES, TOKEN_CHARS};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use subtle::ConstantTimeEq;
use tokio::sync::watch;

/// Purpose of the session key, for the key derivation.
const KEY_CONTEXT: &str = "rorqual serve 2026 session key of a browser";

/// The token of requests.
#[derive(Debug)]
pub(crate) struct AccessToken {
    current: Mutex<CurrentToken>,
    file: Option<PathBuf>,
    /// Number of changes of the token.
    changes: watch::Sender<u64>,
}

/// A grant for one request, which ends when the token that was shown for it is changed.
#[derive(Debug, Clone)]
pub(crate) struct AccessGrant {
    change: u64,
    changes: watch::Receiver<u64>,
}

#[derive(Debug)]
struct CurrentToken {
    text: Arc<str>,
    /// The cookie's value. Cookies go to every port of a host: whoever is sent it learns nothing of
    /// the token by it. It follows from the token, so that pages outlive a restart.
    key: Arc<str>,
    /// Of the file that it was read from, or that was found unfit since.
    version: Option<Version>,
}

impl AccessToken {
    /// The token of `file`, which is made with a fresh one where there is none; without a file a
    /// fresh one.
    ///
    /// # Errors
    /// When the file can't be made or read, is for others to read, or has no fit token; when the
    /// system has no randomness.
    pub(crate) fn new(file: Option<PathBuf>) -> Result<Self, String> {
        let fresh = random_text(TOKEN_BYTES).map_err(|error| error.to_string())?;
        let current = match &file {
            None => CurrentToken::new(&fresh, None),
            Some(path) => {
                secrets::create(path, &format!("{fresh}\n"))?;
                read(path)?
            }
        };
        Ok(Self { current: Mutex::new(current), file, changes: watch::Sender::new(0) })
    }

    /// The token, as it was last read.
    pub(crate) fn text(&self) -> Arc<str> {
        Arc::clone(&self.lock().text)
    }

    /// The session key of a browser that showed the token.
    pub(crate) fn key(&self) -> Arc<str> {
        Arc::clone(&self.lock().key)
    }

    /// The right of who gives the token. Where it is another one, the file may have that by now.
    pub(crate) fn pass(&self, given: &str) -> Option<AccessGrant> {
        self.pass_by(|current| same(given, &current.text))
    }

    /// The right of who gives the session key of this token.
    pub(crate) fn pass_of_key(&self, given: &str) -> Option<AccessGrant> {
        self.pass_by(|current| same(given, &current.key))
    }

    fn pass_by(&self, shown: impl Fn(&CurrentToken) -> bool) -> Option<AccessGrant> {
        let pass = || {
            let current = self.lock();
            let change = *self.changes.borrow();
            shown(&current).then(|| AccessGrant { change, changes: self.changes.subscribe() })
        };
        pass().or_else(|| if self.refresh() { pass() } else { None })
    }

    /// Hears of each change of the token from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Reads a file that has changed. Whether there is another token now; one that is unfit leaves
    /// the old one.
    pub(crate) fn refresh(&self) -> bool {
        let Some(path) = &self.file else { return false };
        let mut current = self.lock();
        let version = secrets::version(path);
        if version == current.version {
            return false;
        }
        match read(path) {
            Ok(read) => self.replace(&mut current, read),
            Err(error) => {
                current.version = version;
                tracing::warn!(?error, "the token stays as it was");
                false
            }
        }
    }

    /// Reads the file again, whatever its age.
    ///
    /// # Errors
    /// When it can't be read or has no fit token; the one before stays.
    pub(crate) fn reread(&self) -> Result<(), String> {
        let Some(path) = &self.file else { return Ok(()) };
        let read = read(path)?;
        self.replace(&mut self.lock(), read);
        Ok(())
    }

    /// Takes the token that was read; true if it is another one, which ends all requests by the one
    /// before.
    fn replace(&self, current: &mut CurrentToken, read: CurrentToken) -> bool {
        let changed = read.text != current.text;
        *current = read;
        if changed {
            self.changes.send_modify(|change| *change += 1);
            tracing::info!("the token was changed");
        }
        changed
    }

    fn lock(&self) -> MutexGuard<'_, CurrentToken> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CurrentToken {
    fn new(text: &str, version: Option<Version>) -> Self {
        let key = blake3::Hasher::new_derive_key(KEY_CONTEXT).update(text.as_bytes()).finalize();
        Self { text: text.into(), key: key.to_hex().as_str().into(), version }
    }
}

impl AccessGrant {
    /// True if the token has been changed since it was shown.
    pub(crate) fn is_revoked(&self) -> bool {
        *self.changes.borrow() != self.change
    }

    /// Comes back when the token is changed.
    pub(crate) async fn revoked(&mut self) {
        let change = self.change;
        if self.changes.wait_for(|now| *now != change).await.is_err() {
            // The server has ended, and with it all that could change.
            std::future::pending::<()>().await;
        }
    }
}

fn read(path: &std::path::Path) -> Result<CurrentToken, String> {
    let (least, most) = TOKEN_CHARS;
    let (text, version) = secrets::private(path, most as u64 + 2)?;
    let text = text.trim_end_matches(['\r', '\n']);
    // Characters that need no quoting in an address, a cookie and a header.
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte));
    if !plain || text.len() < least || text.len() > most {
        let fit = format!("{least} to {most} letters, digits and -_.~ on one line");
        return Err(format!("{}: has no token: {fit}", path.display()));
    }
    Ok(CurrentToken::new(text, Some(version)))
}

fn same(given: &str, token: &str) -> bool {
    given.as_bytes().ct_eq(token.as_bytes()).into()
}

/// Random bytes in hexadecimal.
pub(crate) fn random_text(bytes: usize) -> Result<String, getrandom::Error> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}
