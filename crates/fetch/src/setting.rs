//! Settings that messages of this crate name.

use rorqual_pipe::Setting;

/// Leave to go on from https to http.
pub(crate) const ALLOW_DOWNGRADE: Setting = Setting::new("allow-downgrade");
/// Further certificates that are trusted.
pub(crate) const CA_CERT: Setting = Setting::new("ca-cert");
/// Longest time for a connection.
pub(crate) const CONNECT_TIMEOUT: Setting = Setting::new("connect-timeout");
/// Header that is sent along.
pub(crate) const HEADER: Setting = Setting::new("header");
/// Longest time without a byte.
pub(crate) const IDLE_TIMEOUT: Setting = Setting::new("idle-timeout");
/// Files are taken in the encoding that the server gives them.
pub(crate) const KEEP_ENCODING: Setting = Setting::new("keep-encoding");
/// Most redirects that are followed.
pub(crate) const MAX_REDIRECTS: Setting = Setting::new("max-redirects");
/// Longest time of a fetch.
pub(crate) const MAX_TIME: Setting = Setting::new("max-time");
/// File that is written.
pub(crate) const OUTPUT: Setting = Setting::new("output");
