//! TLS: the certificate, which may be changed while the server runs, and handshakes with an end.

use crate::http::secrets;
use crate::limits::{HANDSHAKE_TIME_MAX, PEM_BYTES_MAX};
use crate::setting::{TLS_CERT, TLS_KEY};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Certificate and key of a server.
pub(crate) struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    config: Mutex<Arc<ServerConfig>>,
}

impl Tls {
    /// # Errors
    /// When the files can't be read, are not PEM, do not belong together, or the key is for others
    /// to read.
    pub(crate) fn new(certificate: PathBuf, key: PathBuf) -> Result<Self, String> {
        let config = Mutex::new(load(&certificate, &key)?);
        Ok(Self { certificate, key, config })
    }

    /// Reads the files again; present connections keep theirs.
    ///
    /// # Errors
    /// The same as [`Tls::new`]; the former ones stay.
    pub(crate) fn reload(&self) -> Result<(), String> {
        let config = load(&self.certificate, &self.key)?;
        *self.config.lock().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    /// The client's side of the handshake has to come in time. How many there are at once is
    /// bounded by the places for strangers. The connection holds so many bytes to be sent, at most.
    pub(crate) async fn accept(&self, stream: TcpStream, send_bytes_max: usize) -> io::Result<TlsStream<TcpStream>> {
        let config = Arc::clone(&self.config.lock().unwrap_or_else(PoisonError::into_inner));
        let limited = |connection: &mut rustls::ServerConnection| connection.set_buffer_limit(Some(send_bytes_max));
        let handshake = TlsAcceptor::from(config).accept_with(stream, limited);
        timeout(HANDSHAKE_TIME_MAX, handshake).await.unwrap_or_else(|_elapsed| Err(io::ErrorKind::TimedOut.into()))
    }
}

fn load(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, String> {
    let pem = secrets::public(certificate, PEM_BYTES_MAX)?;
    let chain: Result<Vec<CertificateDer<'static>>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let chain = chain.map_err(|error| format!("{TLS_CERT} {}: {error}", certificate.display()))?;
    if chain.is_empty() {
        return Err(format!("{TLS_CERT} {}: has no certificate (PEM)", certificate.display()));
    }
    let pem = secrets::key(key, PEM_BYTES_MAX)?;
    let key_der = PrivateKeyDer::from_pem_slice(&pem).map_err(|error| format!("{TLS_KEY} {}: {error}", key.display()))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        .with_single_cert(chain, key_der);
    let mut config =
        config.map_err(|error| format!("{TLS_CERT} {} and {TLS_KEY} {}: {error}", certificate.display(), key.display()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
