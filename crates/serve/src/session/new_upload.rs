//! New uploads, as clients announce them.

use crate::http::error::ApiError;
use crate::limits::{FILE_NAME_BYTES_MEAN, FINGERPRINT_BYTES_MAX, NAME_BYTES_MAX, SESSION_FILES_MAX};
use crate::setting::SESSIONS;
use crate::state::LogPart;
use axum::http::StatusCode;
use std::collections::HashSet;
use std::sync::OnceLock;

/// Announcement of a session's log.
pub(crate) struct NewUpload {
    pub(crate) name: String,
    /// Set once: at the start, or when it is announced later.
    pub(crate) size: OnceLock<u64>,
    /// The server reads it; nobody uploads.
    pub(crate) is_file: bool,
    /// Metadata of a tus client, to be told again as it was.
    pub(crate) metadata: Option<String>,
    /// Fingerprint by which the sender knows the file again; told again as it was.
    pub(crate) fingerprint: Option<String>,
    /// Files that the log is, where these are several.
    pub(crate) parts: Vec<LogPart>,
}

impl NewUpload {
    /// A log under a name; of a size, where that is known.
    pub(crate) fn new(name: String, size: Option<u64>, is_file: bool) -> Self {
        let size = size.map_or_else(OnceLock::new, OnceLock::from);
        Self { name, size, is_file, metadata: None, fingerprint: None, parts: Vec::new() }
    }

    /// An upload under a name; of a size, where that is known.
    pub(crate) fn upload(name: String, size: Option<u64>) -> Result<Self, ApiError> {
        if name.len() > NAME_BYTES_MAX {
            return Err(ApiError::bad_request(format!("a name has at most {NAME_BYTES_MAX} bytes")));
        }
        Ok(Self::new(name, size, false))
    }

    /// Several files that come one after another, and are one log.
    pub(crate) fn upload_of(
        name: Option<String>,
        size: Option<u64>,
        parts: Vec<LogPart>,
        files_max: usize,
    ) -> Result<Self, ApiError> {
        let refused = |what: String| Err(ApiError::bad_request(format!("\"files\": {what}")));
        if parts.is_empty() || parts.len() > files_max {
            let message = format!("a log has 1 to {files_max} files ({SESSIONS}), and here are {}", parts.len());
            return refused(message);
        }
        let names_max = files_max * FILE_NAME_BYTES_MEAN;
        if parts.iter().map(|part| part.name.len()).sum::<usize>() > names_max {
            return refused(format!("their names together have at most {names_max} bytes ({SESSIONS})"));
        }
        let mut names = HashSet::new();
        for part in &parts {
            if part.name.is_empty() || part.name.len() > NAME_BYTES_MAX {
                return refused(format!("the name of a file has 1 to {NAME_BYTES_MAX} bytes"));
            }
            if !names.insert(&part.name) {
                return refused(format!("{} is there twice: names are all different", part.name));
            }
        }
        let Some(all) = parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(part.size)) else {
            return refused("the sizes together are above 2^64 - 1 bytes".to_owned());
        };
        if size.is_some_and(|size| size != all) {
            return refused(format!("their sizes are {all} bytes together, and \"size\" is another"));
        }
        let announced = Self::upload(name.unwrap_or_else(|| name_of(&parts)), Some(all))?;
        Ok(Self { parts, ..announced })
    }

    /// Adds the fingerprint by which the sender will know the file again.
    pub(crate) fn with_fingerprint(self, fingerprint: Option<String>) -> Result<Self, ApiError> {
        if fingerprint.as_ref().is_some_and(|fingerprint| fingerprint.len() > FINGERPRINT_BYTES_MAX) {
            return Err(ApiError::bad_request(format!("a fingerprint has at most {FINGERPRINT_BYTES_MAX} bytes")));
        }
        Ok(Self { fingerprint, ..self })
    }

    /// A file that the server reads.
    pub(crate) fn file(name: String, size: Option<u64>) -> Self {
        Self::new(name, size, true)
    }

    /// Several files that the server reads as one log.
    pub(crate) fn files(parts: Vec<LogPart>) -> Self {
        let size = parts.iter().map(|part| part.size).sum();
        let name = name_of(&parts);
        Self { parts, ..Self::new(name, Some(size), true) }
    }

    /// Several streams and files that the server follows as one log.
    pub(crate) fn followed(parts: Vec<LogPart>) -> Self {
        let name = name_of(&parts);
        Self { parts, ..Self::new(name, None, true) }
    }
}

/// Name of a log that is several files.
fn name_of(parts: &[LogPart]) -> String {
    let first = parts.first().map_or("", |part| &part.name);
    match parts.len() {
        0 | 1 => first.to_owned(),
        all => format!("{first} and {} more", all - 1),
    }
}

/// Files that one upload may be, where so many sessions share the memory for them.
pub(crate) fn uploaded_files_max(sessions_max: usize) -> usize {
    let (each, all) = SESSION_FILES_MAX;
    (all / sessions_max).clamp(2, each)
}

/// More came than was announced.
pub(crate) fn too_long(size: u64, what: &str) -> ApiError {
    let message = format!("the session was announced with a size of {size} bytes: {what}");
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_long", message).with("size", size)
}
