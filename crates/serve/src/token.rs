//! The token: made anew for each server, or that of a file, which may be changed while the server runs.

use crate::limits::{TOKEN_BYTES, TOKEN_CHARS};
use crate::secrets::{self, Version};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use subtle::ConstantTimeEq;

/// What a request must show.
#[derive(Debug)]
pub(crate) struct Token {
    current: Mutex<Current>,
    file: Option<PathBuf>,
}

#[derive(Debug)]
struct Current {
    text: Arc<str>,
    /// Of the file that it was read from, or that was found unfit since.
    version: Option<Version>,
}

impl Token {
    /// The token of `file`, which is made with a fresh one where there is none; without a file a fresh one.
    ///
    /// # Errors
    /// When the file can't be made or read, is for others to read, or has no fit token; when the system has no randomness.
    pub(crate) fn new(file: Option<PathBuf>) -> Result<Self, String> {
        let fresh = random_text(TOKEN_BYTES).map_err(|error| error.to_string())?;
        let current = match &file {
            None => Current { text: fresh.into(), version: None },
            Some(path) => {
                secrets::create(path, &format!("{fresh}\n"))?;
                read(path)?
            }
        };
        Ok(Self { current: Mutex::new(current), file })
    }

    /// The token, as it was last read.
    pub(crate) fn text(&self) -> Arc<str> {
        Arc::clone(&self.lock().text)
    }

    /// Whether it is the one given. Where it is not, the file may have another one by now.
    pub(crate) fn is(&self, given: &str) -> bool {
        same(given, &self.text()) || (self.refresh() && same(given, &self.text()))
    }

    /// Reads a file that has changed. Whether there is another token now; one that is unfit leaves the old one.
    pub(crate) fn refresh(&self) -> bool {
        let Some(path) = &self.file else { return false };
        let mut current = self.lock();
        let version = secrets::version(path);
        if version == current.version {
            return false;
        }
        match read(path) {
            Ok(read) => {
                let changed = read.text != current.text;
                *current = read;
                if changed {
                    tracing::info!("the token was changed");
                }
                changed
            }
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
        *self.lock() = read;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(path: &std::path::Path) -> Result<Current, String> {
    let (least, most) = TOKEN_CHARS;
    let (text, version) = secrets::private(path, most as u64 + 2)?;
    let text = text.trim_end_matches(['\r', '\n']);
    // What needs no quoting in an address, a cookie and a header.
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte));
    if !plain || text.len() < least || text.len() > most {
        let fit = format!("{least} to {most} letters, digits and -_.~ on one line");
        return Err(format!("{}: has no token: {fit}", path.display()));
    }
    Ok(Current { text: text.into(), version: Some(version) })
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
