//! Settings that messages of this crate name.

use rorqual_pipe::Setting;

/// A proxy does the TLS.
pub(crate) const BEHIND_PROXY: Setting = Setting::new("behind-proxy");
/// Address that is listened at.
pub(crate) const BIND: Setting = Setting::new("bind");
/// Folder for the rows of files that the server reads.
pub(crate) const CACHE_DIR: Setting = Setting::new("cache-dir");
/// Most bytes of that folder.
pub(crate) const CACHE_MAX: Setting = Setting::new("cache-max");
/// Most connections with the token.
pub(crate) const CONNECTIONS: Setting = Setting::new("connections");
/// Servers whose logs are shown.
pub(crate) const PEERS: Setting = Setting::new("peers");
/// File with their tokens.
pub(crate) const PEERS_TOKENS: Setting = Setting::new("peers-tokens");
/// Port that is listened at.
pub(crate) const PORT: Setting = Setting::new("port");
/// Address that browsers see.
pub(crate) const PUBLIC_URL: Setting = Setting::new("public-url");
/// Most renderings at a time.
pub(crate) const RENDERS: Setting = Setting::new("renders");
/// Most sessions that run or keep their rows.
pub(crate) const SESSIONS: Setting = Setting::new("sessions");
/// Folder in which sessions are kept.
pub(crate) const STATE: Setting = Setting::new("state");
/// Certificate of the server.
pub(crate) const TLS_CERT: Setting = Setting::new("tls-cert");
/// Key of the certificate.
pub(crate) const TLS_KEY: Setting = Setting::new("tls-key");
/// File with the token.
pub(crate) const TOKEN_FILE: Setting = Setting::new("token-file");
