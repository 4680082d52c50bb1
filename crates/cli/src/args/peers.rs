//! Arguments of `rorqual serve` for logs of other servers.

use clap::Args;
use rorqual_serve::{FleetSettings, PeerAddress};
use std::path::PathBuf;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Logs of other servers")]
pub(crate) struct PeersArgs {
    /// Show the logs of these servers as one session: addresses without their tokens,
    /// `https://HOST:PORT`, or `https://HOST:PORT/#s=ID` for one of several logs. Rows stay where
    /// they are; counts are added up here. A server that does not answer is named
    #[arg(long, value_name = "URL", value_delimiter = ',', requires = "peers_tokens")]
    pub(crate) peers: Vec<String>,
    /// Tokens of --peers, in a file that only its owner can read: on each line an address as the
    /// server prints it, with its token, or one token for all others
    #[arg(long, value_name = "FILE", requires = "peers")]
    pub(crate) peers_tokens: Option<PathBuf>,
    /// Trust these certificates (PEM) of --peers, instead of those of the system; may be repeated
    #[arg(long, value_name = "FILE", requires = "peers")]
    pub(crate) peers_ca_cert: Vec<PathBuf>,
}

impl PeersArgs {
    /// The settings; `None` where no servers are given.
    pub(crate) fn fleet(&self) -> Result<Option<FleetSettings>, String> {
        if self.peers.is_empty() {
            return Ok(None);
        }
        let peers = PeerAddress::all(&self.peers, self.peers_tokens.as_deref())?;
        Ok(Some(FleetSettings::new(peers, self.peers_ca_cert.clone())))
    }
}
