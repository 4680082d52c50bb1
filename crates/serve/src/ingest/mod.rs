//! Uploads: transports of their bytes, and the feed from which a session reads them.

pub(crate) mod checksummed_parts;
pub(crate) mod discard;
pub(crate) mod feed;
mod feeding;
pub(crate) mod first_bytes;
pub(crate) mod oneshot;
pub(crate) mod slow_uploads;
pub(crate) mod socket;
pub(crate) mod transport;
pub(crate) mod tus;
pub(crate) mod upload;
