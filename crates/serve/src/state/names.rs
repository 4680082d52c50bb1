//! Names of the files of a folder, and their checksums.

use crate::limits::ID_BYTES;
use rorqual_digest::{Algorithm, Hasher};

/// Version of these files; others are left alone.
pub(super) const VERSION: u32 = 3;

/// Extension of all of a session but its rows.
pub(super) const SESSION: &str = "session";

/// Extension of a copy of it that is on the disk for sure.
pub(super) const SYNCED: &str = "synced";

/// Extension of its rows.
pub(super) const ROWS: &str = "rows";

/// Name of the file that one server locks.
pub(super) const LOCK: &str = "lock";

/// Name of a file that is being written: this, and then as the session.
pub(super) const UNFINISHED: &str = "new-";

/// Extension of such a file.
pub(super) const TMP: &str = "tmp";

/// Extension of one that is to be a copy.
pub(super) const COPY: &str = "copy";

/// The checksum of all that follows it in a session's file.
pub(super) fn checksum(parts: &[&[u8]]) -> String {
    let mut hasher = Hasher::new(Algorithm::Sha256);
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finish().to_string()
}

/// The name of an entry with that key, as sessions have names.
pub(super) fn hex_id(key: &[&[u8]]) -> String {
    let mut id = checksum(key);
    id.truncate(2 * ID_BYTES);
    id
}

/// True if a name is that of a session.
pub(super) fn is_id(name: &str) -> bool {
    name.len() == 2 * ID_BYTES && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
