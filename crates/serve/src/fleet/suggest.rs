//! Typed texts, as the filters that peers read in them.

use super::ask::{FleetQuestion, LostPeers};
use super::peer::{read, unsound};
use super::wire::{HitsAsk, HitsPart, PartAsk, SuggestPart};
use crate::limits::{PEER_FILTER_BYTES_MAX, PEER_FILTERS_AT_ONCE, PEER_FILTERS_TEXT_BYTES_MAX};
use bytes::Bytes;
use rorqual_accesslog::filter::FilterError;
use rorqual_accesslog::suggest::{TypedReading, as_filter};
use rorqual_crossfilter::limits::{STORE_ROWS_MAX, SUGGESTIONS_EMPTY_MAX, SUGGESTIONS_MAX};
use rorqual_crossfilter::{Suggestion, Suggestions};
use serde_json::Value;
use std::cmp::Reverse;

/// Characters of a label at most.
const LABEL_CHARS_MAX: usize = 400;

/// Latest time of a span, in Unix seconds: that of JavaScript, which shows it.
const SECONDS_MAX: f64 = 8.64e12;

/// A suggestion, and its rows at each peer.
struct Candidate {
    suggestion: Suggestion,
    /// The best place that it has at a peer.
    place: usize,
    /// By the peers' places in the roll, and whether they are all rows; `None` where the peer has
    /// not counted.
    hits: Vec<Option<(u64, bool)>>,
}

impl Candidate {
    fn is(&self, other: &Suggestion) -> bool {
        let own = &self.suggestion;
        own.filter == other.filter && own.from == other.from && own.to == other.to
    }

    fn asked(&self) -> HitsAsk {
        let Suggestion { filter, from, to, .. } = &self.suggestion;
        let micros = |seconds: f64| (seconds * 1e6).round() as i64;
        HitsAsk { filter: filter.clone(), span_us: from.zip(*to).map(|(from, to)| (micros(from), micros(to))) }
    }

    /// Rows at the peers that have counted.
    fn known_hits(&self) -> u64 {
        self.hits.iter().flatten().map(|(hits, _)| hits).sum()
    }

    fn total(self) -> Suggestion {
        let hits = self.known_hits();
        let exact = self.hits.iter().all(|hits| hits.is_some_and(|(_, exact)| exact));
        Suggestion { hits, exact, ..self.suggestion }
    }
}

/// Suggestions of all peers, each once, those that come first at some peer first. `typed` is the
/// filter that the text is by the columns of all: a peer that lacks some of these has read it as
/// other things, which are left out.
fn candidates(parts: Vec<SuggestPart>, typed: Option<Suggestion>) -> Vec<Candidate> {
    let peers = parts.len();
    let is_filter = typed.as_ref().is_some_and(|typed| typed.typed);
    let mut all: Vec<Candidate> = Vec::new();
    all.extend(typed.map(|suggestion| Candidate { suggestion, place: 0, hits: vec![None; peers] }));
    for (at, part) in parts.into_iter().enumerate() {
        if is_filter && !part.rows.iter().any(|row| row.typed) {
            continue;
        }
        for (place, row) in part.rows.into_iter().enumerate() {
            let hits = Some((row.hits, row.exact));
            match all.iter_mut().find(|known| known.is(&row)) {
                Some(known) => {
                    known.hits[at] = hits;
                    known.place = known.place.min(place);
                }
                None => {
                    let mut of_peers = vec![None; peers];
                    of_peers[at] = hits;
                    all.push(Candidate { suggestion: Suggestion { typed: false, ..row }, place, hits: of_peers });
                }
            }
        }
    }
    all.sort_by_key(|candidate| (!candidate.suggestion.typed, candidate.place, Reverse(candidate.known_hits())));
    all.truncate(PEER_FILTERS_AT_ONCE);
    all
}

/// Suggestions as they are shown: those without a row only where no other has any, but for a filter
/// that was typed.
fn chosen(mut all: Vec<(usize, Suggestion)>) -> Vec<Suggestion> {
    all.sort_by_key(|(place, found)| (!found.typed, found.hits == 0, *place, Reverse(found.hits)));
    let is_found = |(_, found): &(usize, Suggestion)| found.hits > 0 || found.typed;
    if all.iter().any(is_found) {
        all.retain(is_found);
    } else {
        all.truncate(SUGGESTIONS_EMPTY_MAX);
    }
    all.into_iter().map(|(_, found)| found).collect()
}

/// A peer's suggestions as they may be shown; `None` where they are none of this program.
fn sound(mut part: SuggestPart) -> Option<SuggestPart> {
    let is_span = |from: f64, to: f64| -SECONDS_MAX <= from && from < to && to <= SECONDS_MAX;
    let is_sound = |row: &Suggestion| {
        let has_span = row.from.is_none() == row.to.is_none() && row.from.zip(row.to).is_none_or(|(from, to)| is_span(from, to));
        has_span && row.hits <= STORE_ROWS_MAX
    };
    if part.rows.len() > SUGGESTIONS_MAX || !part.rows.iter().all(is_sound) {
        return None;
    }
    let shown = |text: &mut String| *text = text.chars().filter(|one| !one.is_control()).take(LABEL_CHARS_MAX).collect();
    for row in &mut part.rows {
        shown(&mut row.label);
        row.meant.iter_mut().for_each(shown);
    }
    Some(part)
}

impl FleetQuestion<'_> {
    /// Filters that each peer reads in a text, with the rows of all peers.
    pub(super) async fn suggestions(&self, text: &str, zone_seconds: i32) -> Result<Suggestions, LostPeers> {
        let ask = |_| PartAsk::Suggest { text: text.to_owned(), zone_seconds };
        let parts = self.parts(&self.all(), &[], ask, |answer| sound(read(answer)?).ok_or_else(unsound)).await?;
        let (typed, error) = self.typed_filter(text);
        let mut complete = parts.iter().all(|part| part.complete);
        let mut found = candidates(parts, typed);
        let told = found.len();
        self.retain_readable(&mut found);
        complete &= found.len() == told;
        complete &= self.count(&mut found).await?;
        let rows = chosen(found.into_iter().map(|candidate| (candidate.place, candidate.total())).collect());
        Ok(Suggestions { rows, complete, error })
    }

    /// The filter that a text is by the columns of all peers, not counted; or why it is none, where
    /// it looks like one.
    fn typed_filter(&self, text: &str) -> (Option<Suggestion>, Option<FilterError>) {
        let (reading, error) = as_filter(text.trim(), self.schema());
        let suggestion = |TypedReading { label, filter, meant, .. }| {
            let (filter, typed) = (self.schema().written(&filter), meant.is_none());
            Suggestion { label, filter, from: None, to: None, hits: 0, exact: false, meant, typed }
        };
        (reading.map(suggestion), error)
    }

    /// Leaves the suggestions that are filters by the columns of all peers, and whose texts have
    /// room in one question. A peer that lacks columns of a filter may have counted what else it
    /// means there, so it counts again.
    fn retain_readable(&self, found: &mut Vec<Candidate>) {
        let mut room = PEER_FILTERS_TEXT_BYTES_MAX;
        found.retain_mut(|candidate| {
            let text = &candidate.suggestion.filter;
            let Some(rest) = room.checked_sub(Value::from(&**text).to_string().len()) else { return false };
            let Ok(filter) = self.schema().filter(text) else { return false };
            if filter.bytes_of_values(0) > PEER_FILTER_BYTES_MAX {
                return false;
            }
            room = rest;
            if filter.names_own() {
                for (at, hits) in candidate.hits.iter_mut().enumerate() {
                    if !self.roll.missing_columns(&self.roll.live[at], text).is_empty() {
                        *hits = None;
                    }
                }
            }
            true
        });
    }

    /// Counts the rows of suggestions at the peers that have not; true if all could be counted.
    async fn count(&self, found: &mut [Candidate]) -> Result<bool, LostPeers> {
        let lacks = |at: &usize| found.iter().any(|candidate| candidate.hits[*at].is_none());
        let peers: Vec<usize> = self.all().into_iter().filter(lacks).collect();
        let of = |at: usize| found.iter().filter(move |candidate| candidate.hits[at].is_none());
        let ask = |at: usize| PartAsk::Hits { of: of(at).map(Candidate::asked).collect() };
        let sound = |answer: &Bytes| {
            let part: HitsPart = read(answer)?;
            let are_rows = part.hits.iter().flatten().all(|(hits, _)| *hits <= STORE_ROWS_MAX);
            if are_rows { Ok(part) } else { Err(unsound()) }
        };
        let parts = self.parts(&peers, &[], ask, sound).await?;
        let mut complete = true;
        for (at, part) in peers.into_iter().zip(parts) {
            let lacking: Vec<&mut Candidate> = found.iter_mut().filter(|candidate| candidate.hits[at].is_none()).collect();
            if lacking.len() != part.hits.len() {
                return Err(vec![(self.roll.live[at].place, unsound())]);
            }
            complete &= part.complete;
            lacking.into_iter().zip(part.hits).for_each(|(candidate, hits)| candidate.hits[at] = hits);
        }
        Ok(complete)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggested(filter: &str, hits: u64, typed: bool) -> Suggestion {
        let (label, filter) = (format!("label of {filter}"), filter.to_owned());
        Suggestion { label, filter, from: None, to: None, hits, exact: true, meant: None, typed }
    }

    fn part(rows: &[(&str, u64)]) -> SuggestPart {
        SuggestPart { rows: rows.iter().map(|(filter, hits)| suggested(filter, *hits, false)).collect(), complete: true }
    }

    #[test]
    fn rows_of_all_peers_are_added_and_one_that_did_not_count_makes_a_bound() {
        let found = candidates(vec![part(&[("a", 1), ("b", 5)]), part(&[("b", 7)])], None);
        let lacks: Vec<_> = found.iter().map(|one| one.hits.iter().map(Option::is_some).collect::<Vec<_>>()).collect();
        assert_eq!(lacks, [vec![true, true], vec![true, false]]);
        let rows = chosen(found.into_iter().map(|one| (one.place, one.total())).collect());
        let told: Vec<_> = rows.iter().map(|row| (&*row.filter, row.hits, row.exact)).collect();
        assert_eq!(told, [("b", 12, true), ("a", 1, false)]);
    }

    #[test]
    fn a_peer_that_can_not_read_a_filter_suggests_nothing_in_its_place() {
        let mut knows = part(&[("a = 1", 4), ("other", 3)]);
        knows.rows[0].typed = true;
        let found = candidates(vec![part(&[("words", 9)]), knows], Some(suggested("a = 1", 0, true)));
        let told: Vec<_> = found.iter().map(|one| (&*one.suggestion.filter, one.hits[0], one.hits[1])).collect();
        assert_eq!(told, [("a = 1", None, Some((4, true))), ("other", None, Some((3, true)))]);
        // That a text is a filter is not for a peer to say.
        let mut lies = part(&[("a = 1", 0)]);
        lies.rows[0].typed = true;
        assert!(candidates(vec![lies], None).iter().all(|one| !one.suggestion.typed));
    }

    #[test]
    fn without_any_row_two_are_told_and_a_typed_filter_comes_first() {
        let found = |typed| vec![(0, suggested("a", 0, false)), (1, suggested("b", 0, typed)), (2, suggested("c", 0, false))];
        let told = |found| chosen(found).into_iter().map(|row| row.filter).collect::<Vec<_>>();
        assert_eq!(told(found(false)), ["a", "b"]);
        assert_eq!(told(found(true)), ["b"]);
        assert_eq!(told(vec![(0, suggested("a", 0, false)), (1, suggested("b", 3, false))]), ["b"]);
    }

    #[test]
    fn foreign_suggestions_are_cut_or_refused() {
        let mut long = part(&[("a", 1)]);
        long.rows[0].label = "x\n\u{1b}".repeat(1_000);
        assert_eq!(sound(long).expect("a label is cut").rows[0].label, "x".repeat(LABEL_CHARS_MAX));
        for spoil in [
            (|row: &mut Suggestion| row.from = Some(1.0)) as fn(&mut Suggestion),
            |row: &mut Suggestion| (row.from, row.to) = (Some(2.0), Some(1.0)),
            |row: &mut Suggestion| (row.from, row.to) = (Some(f64::NAN), Some(1.0)),
            |row: &mut Suggestion| (row.from, row.to) = (Some(1.0), Some(1e300)),
            |row: &mut Suggestion| row.hits = STORE_ROWS_MAX + 1,
        ] {
            let mut part = part(&[("a", 1)]);
            spoil(&mut part.rows[0]);
            assert!(sound(part).is_none());
        }
        let many: Vec<(&str, u64)> = vec![("a", 1); SUGGESTIONS_MAX + 1];
        assert!(sound(part(&many)).is_none());
    }
}
