//! A fleet: logs that stay with the servers that have them, shown as one session.
//!
//! This server asks its peers for parts of a view, adds them up and makes the same answers of the
//! sum as a server with all rows (`docs/design/fleet.md`). Its pieces, from below:
//!
//! * `address`: where the peers are, and their tokens.
//! * `wire`: the questions, which a peer answers in `explore/fleet_parts.rs`.
//! * `peer`: one peer, with its state when last known.
//! * `live_peers`: the peers that answer now, and the columns of all.
//! * `ask`: the rounds of a question; `facets`: those of the fields that it chooses values of;
//!   `rows`: the rows of all in one order; `compare`: two views; `explain`: what is more frequent
//!   in one of them; `suggest`: typed texts.
//! * `shown`: the session, its report, and the peers that are missing.
//! * `handlers`: the addresses of the session.

mod address;
mod ask;
mod compare;
mod explain;
mod facets;
pub(crate) mod handlers;
mod live_peers;
mod peer;
mod rows;
mod shown;
mod suggest;
pub(crate) mod wire;

pub use address::PeerAddress;

use crate::http::token::random_text;
use crate::limits::{ID_BYTES, PEER_CONNECT_TIME, PEER_PART_TIME, PEER_PROBE_EVERY, PEER_PROBE_TIME, PEER_QUESTION_TIME};
use peer::Peer;
use rorqual_fetch::direct_client;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::{Semaphore, watch};

/// Settings of a fleet.
#[derive(Debug, Clone)]
pub struct FleetSettings {
    /// The peers.
    pub peers: Vec<PeerAddress>,
    /// Certificates that they may have, beside those of the system where there is none.
    pub ca_certs: Vec<PathBuf>,
    /// Time in which a peer that answers tells its state.
    pub probe_time: Duration,
    /// Time for a part of an answer, of a peer that tells its state meanwhile.
    pub part_time: Duration,
    /// Time for all parts of an answer.
    pub question_time: Duration,
}

/// Peers whose rows are shown as one session.
pub(crate) struct Fleet {
    id: String,
    created: SystemTime,
    peers: Vec<Arc<Peer>>,
    /// Of the hashes of values: nobody can write a log whose values collide.
    seed: u64,
    settings: FleetSettings,
    /// One question at a time has the memory for parts of answers.
    turn: Semaphore,
    /// Rises with each change of what peers tell of themselves.
    changed: watch::Sender<u64>,
    report: tokio::sync::Mutex<Option<shown::LatestReport>>,
}

impl FleetSettings {
    /// Settings for these peers.
    #[must_use]
    pub fn new(peers: Vec<PeerAddress>, ca_certs: Vec<PathBuf>) -> Self {
        let (probe_time, part_time, question_time) = (PEER_PROBE_TIME, PEER_PART_TIME, PEER_QUESTION_TIME);
        Self { peers, ca_certs, probe_time, part_time, question_time }
    }
}

impl Fleet {
    pub(crate) fn new(settings: FleetSettings) -> Result<Self, String> {
        let client = direct_client(&settings.ca_certs, PEER_CONNECT_TIME).map_err(|error| error.to_string())?;
        let peer = |address: &PeerAddress| Peer::new(address.clone(), client.clone()).map(Arc::new);
        let peers = settings.peers.iter().map(peer).collect::<Result<_, _>>()?;
        let mut seed = [0; 8];
        getrandom::fill(&mut seed).map_err(|error| error.to_string())?;
        Ok(Self {
            id: random_text(ID_BYTES).map_err(|error| error.to_string())?,
            created: SystemTime::now(),
            peers,
            seed: u64::from_le_bytes(seed),
            settings,
            turn: Semaphore::new(1),
            changed: watch::Sender::new(0),
            report: tokio::sync::Mutex::default(),
        })
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Asks the peers for their state again and again, so that one that no longer answers is known
    /// before anybody asks.
    pub(crate) async fn keep_probing(self: Arc<Self>) {
        let mut every = tokio::time::interval(PEER_PROBE_EVERY);
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            every.tick().await;
            self.roll().await;
        }
    }
}
