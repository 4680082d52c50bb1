//! Trust between the processes of a cluster: one key, which each of them has in a file.
//!
//! The key is a certificate that signs itself, with its private key. Every port takes connections
//! by TLS from those that have it, and every connection is made to those that have it; there is no
//! other way in. Without a key, ports are on this machine only.

use crate::limits::{ALIVE_EVERY, ALIVE_WITHIN, CONNECT_MAX, STREAMS_MAX};
use rcgen::{CertificateParams, KeyPair};
use rorqual_pipe::{escaped_path, reason};
use std::error::Error;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity, Server, ServerTlsConfig};

/// Name in the certificate, whatever the machine is called.
const NAME: &str = "rorqual-cluster";

/// Longest key file that is read.
const KEY_BYTES_MAX: u64 = 64 << 10;

/// Start of the second part of a key file.
const PRIVATE: &str = "-----BEGIN PRIVATE KEY-----";

/// The key of a cluster.
#[derive(Clone)]
pub(crate) struct ClusterKey {
    certificate: String,
    private: String,
}

impl std::fmt::Debug for ClusterKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ClusterKey")
    }
}

impl ClusterKey {
    /// Writes a new key into a file that only its owner reads; one that is there stays.
    ///
    /// # Errors
    /// A sentence for people.
    pub(crate) fn create(path: &Path) -> Result<(), String> {
        let failed = |cause: &dyn std::fmt::Display| format!("{}: cannot make a key: {cause}", escaped_path(path));
        let made = KeyPair::generate().and_then(|pair| {
            let certificate = CertificateParams::new(vec![NAME.to_owned()])?.self_signed(&pair)?;
            Ok(certificate.pem() + &pair.serialize_pem())
        });
        let text = made.map_err(|error| failed(&error))?;
        let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let written = file.and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        written.map_err(|cause| failed(&reason(&cause)))
    }

    /// Reads the key of a file, which others must not be able to read.
    ///
    /// # Errors
    /// A sentence for people.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let name = escaped_path(path);
        let failed = |cause: std::io::Error| format!("{name}: {}", reason(&cause));
        let file = std::fs::File::open(path).map_err(failed)?;
        let mode = file.metadata().map_err(failed)?.permissions().mode();
        // A group may read it: secrets of Kubernetes come so.
        if mode & 0o027 != 0 {
            return Err(format!("{name}: others can read the key of the cluster: chmod 600 takes that away"));
        }
        let mut text = String::new();
        file.take(KEY_BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
        let none = || format!("{name}: is not the key of a cluster; `rorqual cluster key FILE` makes one");
        let at = text.find(PRIVATE).filter(|at| *at > 0).ok_or_else(none)?;
        let key = Self { certificate: text[..at].to_owned(), private: text[at..].to_owned() };
        // Both ends of a connection are tried: a damaged key is told here, and not as a connection
        // that fails.
        let usable = Server::builder().tls_config(key.server()).is_ok()
            && Endpoint::from_static("https://localhost").tls_config(key.client()).is_ok();
        if usable { Ok(key) } else { Err(none()) }
    }

    fn identity(&self) -> Identity {
        Identity::from_pem(&self.certificate, &self.private)
    }

    fn server(&self) -> ServerTlsConfig {
        let anchor = Certificate::from_pem(&self.certificate);
        ServerTlsConfig::new().identity(self.identity()).client_ca_root(anchor).timeout(CONNECT_MAX)
    }

    fn client(&self) -> ClientTlsConfig {
        let anchor = Certificate::from_pem(&self.certificate);
        ClientTlsConfig::new().ca_certificate(anchor).identity(self.identity()).domain_name(NAME).timeout(CONNECT_MAX)
    }
}

/// A host as it is in a URL: IPv6 addresses have brackets.
pub(crate) fn bracketed(host: &str) -> String {
    if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() }
}

/// The trust of a process: a key, or this machine.
#[derive(Debug, Clone)]
pub(crate) struct Trust(Option<ClusterKey>);

impl Trust {
    /// The trust of a key file, if there is one.
    ///
    /// # Errors
    /// A sentence for people.
    pub(crate) fn of(key: Option<&Path>) -> Result<Self, String> {
        key.map(ClusterKey::read).transpose().map(Self)
    }

    /// True if connections are encrypted.
    pub(crate) fn has_key(&self) -> bool {
        self.0.is_some()
    }

    /// Refuses an address that other machines reach, without a key.
    ///
    /// # Errors
    /// A sentence for people.
    pub(crate) fn check(&self, address: &SocketAddr) -> Result<(), String> {
        if self.has_key() || address.ip().is_loopback() {
            return Ok(());
        }
        Err(format!(
            "--listen {address}: other machines reach it, and without --key FILE everyone could read files through it; \
             `rorqual cluster key FILE` makes a key, which all processes of the cluster need"
        ))
    }

    /// Refuses a scheduler on another machine, without a key: anyone who answers there would be
    /// given the query, or give tasks.
    ///
    /// # Errors
    /// A sentence for people.
    pub(crate) fn check_scheduler(&self, host: &str) -> Result<(), String> {
        let is_here = match host.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(address) => address.is_loopback(),
            Err(_) => host == "localhost",
        };
        if self.has_key() || is_here {
            return Ok(());
        }
        Err(format!(
            "the scheduler at {host} is on another machine, and there is no key of the cluster (--key, of a query --cluster-key)"
        ))
    }

    /// A server that takes connections of those who have the key.
    ///
    /// # Errors
    /// When the key is damaged.
    pub(crate) fn server(&self) -> Result<Server, tonic::transport::Error> {
        let server = Server::builder()
            .max_concurrent_streams(Some(STREAMS_MAX))
            .tcp_nodelay(true)
            .http2_keepalive_interval(Some(ALIVE_EVERY))
            .http2_keepalive_timeout(Some(ALIVE_WITHIN));
        match &self.0 {
            Some(key) => server.tls_config(key.server()),
            None => Ok(server),
        }
    }

    /// The address of a process as a URL.
    pub(crate) fn url(&self, host: &str, port: u16) -> String {
        let scheme = if self.has_key() { "https" } else { "http" };
        format!("{scheme}://{}:{port}", bracketed(host))
    }

    /// A connection to be made to those who have the key. The engine asks for each that it makes.
    ///
    /// # Errors
    /// When the key is damaged.
    pub(crate) fn endpoint(&self, endpoint: &Endpoint) -> Result<Endpoint, Box<dyn Error + Send + Sync>> {
        let uri = endpoint.uri();
        // The engine writes http:// for its own connections, which would be plain whatever the key.
        let url = self.url(uri.host().unwrap_or_default(), uri.port_u16().unwrap_or_default());
        let endpoint = Endpoint::from_shared(url)?
            .connect_timeout(CONNECT_MAX)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(ALIVE_EVERY)
            .keep_alive_timeout(ALIVE_WITHIN)
            .keep_alive_while_idle(true);
        match &self.0 {
            Some(key) => Ok(endpoint.tls_config(key.client())?),
            None => Ok(endpoint),
        }
    }
}
