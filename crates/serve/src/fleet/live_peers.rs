//! The peers that answer, at one moment.

use super::Fleet;
use super::peer::{Peer, PeerFailure};
use super::wire::PeerStatus;
use crate::saved_schema::SavedSchema;
use crate::session::SessionState;
use futures_util::future::join_all;
use rorqual_accesslog::schema::{OwnColumn, Schema};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Peers that answer, and the columns of their rows.
pub(crate) struct Roll {
    pub(crate) live: Vec<LivePeer>,
    pub(crate) schema: Schema,
    /// Peers that can't answer the question, and why.
    pub(crate) left_out: Vec<(usize, String)>,
}

/// A peer that answers.
#[derive(Clone)]
pub(crate) struct LivePeer {
    /// Place among all peers.
    pub(crate) place: usize,
    pub(crate) peer: Arc<Peer>,
    pub(crate) status: Arc<PeerStatus>,
}

impl LivePeer {
    /// The reason for which it has only a part of its log, and no more will come by itself.
    pub(crate) fn partial(&self) -> Option<&'static str> {
        match self.status.state {
            SessionState::Failed => Some("has a part of its log only, which could not be read to its end"),
            SessionState::Cancelled => Some("has a part of its log only, as its analysis was stopped"),
            SessionState::Interrupted => Some("has a part of its log only, as its upload broke off"),
            SessionState::Waiting | SessionState::Receiving | SessionState::Following | SessionState::Finished => None,
        }
    }
}

impl Roll {
    /// True if all of their rows are there, or still to come.
    pub(crate) fn is_whole(&self) -> bool {
        self.live.iter().all(|peer| peer.partial().is_none())
    }

    /// Columns that the rows of a peer do not have, and others have, as far as a filter may name
    /// them.
    pub(crate) fn missing_columns(&self, peer: &LivePeer, filter: &str) -> Vec<OwnColumn> {
        let has: HashSet<&str> = peer.status.schema.own.iter().map(|own| &*own.name).collect();
        // Other names are written with escapes.
        let is_plain = |name: &str| !name.contains(['"', '\\']) && !name.contains(char::is_control);
        let may_name = |name: &str| filter.contains(name) || !is_plain(name);
        self.schema.own().iter().filter(|column| !has.contains(&*column.name) && may_name(&column.name)).cloned().collect()
    }

    /// First and last time of all rows.
    pub(crate) fn times_us(&self) -> Option<(i64, i64)> {
        let times = self.live.iter().filter_map(|peer| peer.status.extent.times_us);
        times.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// These peers, and the columns of all.
    pub(crate) fn new(live: Vec<LivePeer>) -> Self {
        let schema = union(&live.iter().map(|peer| &peer.status.schema).collect::<Vec<_>>());
        Self { live, schema, left_out: Vec::new() }
    }

    /// The same without some of the peers.
    pub(crate) fn without(&self, places: &[usize]) -> Self {
        let live = self.live.iter().filter(|peer| !places.contains(&peer.place)).cloned().collect();
        Self { left_out: self.left_out.clone(), ..Self::new(live) }
    }

    /// Offset of the logs' clocks, where they have the same; otherwise UTC.
    pub(crate) fn zone_seconds(&self) -> i32 {
        let timed = self.live.iter().filter(|peer| peer.status.extent.times_us.is_some());
        let mut zones = timed.map(|peer| peer.status.zone_seconds);
        let first = zones.next().unwrap_or(0);
        if zones.all(|zone| zone == first) { first } else { 0 }
    }

    /// Names of the formats of the logs.
    pub(crate) fn format(&self) -> Option<String> {
        let mut formats: Vec<&str> = self.live.iter().filter_map(|peer| peer.status.format.as_deref()).collect();
        formats.sort_unstable();
        formats.dedup();
        (!formats.is_empty()).then(|| formats.join(", "))
    }

    /// True if no more rows come to any of them.
    pub(crate) fn is_ended(&self) -> bool {
        self.live.iter().all(|peer| peer.status.state.ended())
    }
}

impl Fleet {
    /// Asks all peers for their state.
    pub(crate) async fn roll(&self) -> Roll {
        let probe = |peer: &Arc<Peer>| {
            let peer = Arc::clone(peer);
            async move { peer.probe(self.seed, self.settings.probe_time).await }
        };
        let found = join_all(self.peers.iter().map(probe)).await;
        let mut live: Vec<LivePeer> = Vec::new();
        let mut is_news = false;
        for (place, (peer, found)) in self.peers.iter().zip(found).enumerate() {
            let found = found.and_then(|status| match peer.backoff().or_else(|| conflict(&live, &status)) {
                Some(why) => Err(PeerFailure::Said(why)),
                // One that has not changed is held once.
                None => Ok(peer.status().filter(|known| **known == status).unwrap_or_else(|| Arc::new(status))),
            });
            let is_changed = found.as_ref().is_ok_and(|status| peer.status().as_ref() != Some(status));
            is_news |= peer.failure().is_some() != found.is_err() || is_changed;
            peer.note(found.as_ref());
            live.extend(found.ok().map(|status| LivePeer { place, peer: Arc::clone(peer), status }));
        }
        if is_news {
            self.changed.send_modify(|change| *change += 1);
        }
        Roll::new(live)
    }
}

/// The reason for which the rows of a peer can't be added to those of others.
fn conflict(live: &[LivePeer], status: &PeerStatus) -> Option<String> {
    let schema = &status.schema;
    // Names of sessions are random: the same one is the same log, under another address.
    if let Some(same) = live.iter().find(|peer| peer.status.session == status.session) {
        return Some(format!("shows the same log as {}", same.peer.name()));
    }
    let first = &live.first()?.status;
    let kind = |is_table| if is_table { "a table" } else { "a log" };
    if first.schema.is_table != schema.is_table {
        return Some(format!("has {}, and other peers {}", kind(schema.is_table), kind(first.schema.is_table)));
    }
    // Rows of some peers would be without countries, and the others counted as if they were all.
    if first.has_countries != status.has_countries {
        let has = if status.has_countries { "has" } else { "has no" };
        return Some(format!("{has} database of countries, unlike other peers: all need it, or none"));
    }
    let known = live.iter().flat_map(|peer| &peer.status.schema.own);
    let known: HashMap<&str, _> = known.map(|own| (&*own.name, own.unit)).collect();
    let differs = |own: &&OwnColumn| known.get(&*own.name).is_some_and(|unit| *unit != own.unit);
    let own = schema.own.iter().find(differs)?;
    let name: String = own.name.chars().filter(|one| !one.is_control()).take(60).collect();
    Some(format!("has another kind of values in the column '{name}' than other peers"))
}

/// The columns that some peer has. Hours there are where all have times, and an order of time where
/// that is the same column.
fn union(schemas: &[&SavedSchema]) -> Schema {
    let Some(first) = schemas.first() else { return Schema::access_log().clone() };
    let has_times = schemas.iter().all(|schema| schema.has_times);
    let time = first.time.clone().filter(|_| schemas.iter().all(|schema| schema.time == first.time));
    let first = SavedSchema { has_times, time, ..(*first).clone() };
    schemas.iter().skip(1).fold(first.schema(), |all, schema| {
        let known: HashSet<&str> = all.own().iter().map(|own| &*own.name).collect();
        let more: Vec<OwnColumn> = schema.own.iter().filter(|own| !known.contains(&*own.name)).cloned().collect();
        if more.is_empty() { all } else { all.with_own(&more) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_and_an_order_of_time_there_are_where_all_peers_have_them() {
        let table = |time: Option<&str>| SavedSchema {
            is_table: true,
            has_times: time.is_some(),
            time: time.map(str::to_owned),
            own: ["at", "when"].map(|name| OwnColumn { name: name.to_owned(), unit: None }).into(),
            text_kinds: Vec::new(),
        };
        let (at, when, none) = (table(Some("at")), table(Some("when")), table(None));
        for (schemas, hours, time) in [
            (vec![&at, &at], true, Some("at")),
            (vec![&at, &when], true, None),
            (vec![&at, &none], false, None),
            (vec![&none, &at], false, None),
        ] {
            let all = union(&schemas);
            assert_eq!((all.number("hour").is_some(), all.time()), (hours, time));
            assert_eq!(all.filter("hour >= 12").is_ok(), hours);
        }
    }
}
