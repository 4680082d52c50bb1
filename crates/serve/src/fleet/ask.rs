//! The rounds of a question: parts of all peers, added up.

use super::Fleet;
use super::peer::{PeerFailure, read, unsound};
use super::roll::{LivePeer, Roll};
use super::wire::{NamedPart, NumbersPart, PartAsk, PartQuestion, SumsAsk, TopsPart, VERSION};
use crate::limits::{PEER_FIELDS_AT_ONCE, PEER_NAMED_AT_ONCE, PEER_NUMBERS_MAX, PEER_TOP_MIN};
use bytes::Bytes;
use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use rorqual_accesslog::report::Panel;
use rorqual_accesslog::schema::{NumberColumn, Schema, TextColumn};
use rorqual_crossfilter::fleet::{
    BandsPart, FieldMerge, FieldTop, HashMerge, HashedValues, NamedValues, NumberPart, ValueBytes, ViewSums,
};
use rorqual_crossfilter::{NumberSummary, PanelPage, PanelWanted, Stack, View};
use std::collections::{HashMap, HashSet};

/// Series of a stacked histogram beside the rest.
const SERIES: usize = rorqual_crossfilter::limits::SERIES_MAX;

/// Peers that gave no part: by their places, and why.
pub(super) type LostPeers = Vec<(usize, PeerFailure)>;

/// A question about a view, to the peers of a roll.
pub(super) struct FleetQuestion<'a> {
    pub(super) fleet: &'a Fleet,
    pub(super) roll: &'a Roll,
    pub(super) view: View,
}

/// Parts of the same rows: generations of the peers' rows.
pub(super) type Generations = Vec<u64>;

/// A field's first values, of the peers that have it.
pub(super) struct FieldRound {
    /// Places in the roll.
    pub(super) peers: Vec<usize>,
    pub(super) merge: FieldMerge,
}

impl FleetQuestion<'_> {
    pub(super) fn schema(&self) -> &Schema {
        &self.roll.schema
    }

    fn question(&self, peer: &LivePeer, generation: u64, ask: PartAsk) -> PartQuestion {
        let names_own = !self.view.filter.is_everything() && self.view.filter.names_own();
        PartQuestion {
            version: VERSION.to_owned(),
            from_us: self.view.from_us,
            to_us: self.view.to_us,
            filter: self.schema().written(&self.view.filter),
            columns: if names_own { self.roll.missing_columns(peer) } else { Vec::new() },
            generation,
            ask,
        }
    }

    /// Asks some peers of the roll, each its own question.
    pub(super) async fn parts<T>(
        &self,
        peers: &[usize],
        generations: &[u64],
        ask: impl Fn(usize) -> PartAsk,
        take: impl Fn(&Bytes) -> Result<T, PeerFailure>,
    ) -> Result<Vec<T>, LostPeers> {
        let asked = peers.iter().map(|at| {
            let peer = &self.roll.live[*at];
            let question = self.question(peer, generations.get(*at).copied().unwrap_or(0), ask(*at));
            async move { (peer, peer.peer.part(&question, self.fleet.settings.part_time).await) }
        });
        let (mut parts, mut lost) = (Vec::new(), Vec::new());
        for (peer, answer) in join_all(asked).await {
            match answer.and_then(|answer| take(&answer)) {
                Ok(part) => parts.push(part),
                Err(failure) => lost.push((peer.place, failure)),
            }
        }
        if lost.is_empty() { Ok(parts) } else { Err(lost) }
    }

    pub(super) fn all(&self) -> Vec<usize> {
        (0..self.roll.live.len()).collect()
    }

    /// Totals, and rows over time in at most `buckets` buckets.
    pub(super) async fn sums(&self, buckets: usize, stack: Stack) -> Result<(ViewSums, Generations), LostPeers> {
        let series = match stack {
            Stack::Values(column) => self.series(column).await?,
            Stack::Class | Stack::Bot => Vec::new(),
        };
        let stack = match stack {
            Stack::Class => None,
            Stack::Bot => Some("bot".to_owned()),
            Stack::Values(column) => Some(self.schema().text_name(column).into_owned()),
        };
        let times_us = self.times_us();
        // Where a peer has no such column, all of its rows are without a value.
        let has = |at: usize| stack.as_deref().is_none_or(|name| name == "bot" || self.peer_has(at, name));
        let lacking = self.all().into_iter().filter(|at| !has(*at)).collect::<Vec<_>>();
        let asked = |at: usize| SumsAsk {
            buckets,
            stack: stack.clone().filter(|_| !lacking.contains(&at)),
            times_us,
            series: series.clone(),
        };
        let sound = |answer: &Bytes| {
            let sums: ViewSums = read(answer)?;
            if sums.is_sound() { Ok(sums) } else { Err(unsound()) }
        };
        let mut parts = self.parts(&self.all(), &[], |at| PartAsk::Sums(asked(at)), sound).await?;
        let names: Vec<String> = series.iter().map(|text| rorqual_accesslog::report::shown_value(text.as_bytes())).collect();
        for at in &lacking {
            parts[*at].unstack(stack.as_deref().unwrap_or_default(), &names);
        }
        let generations: Generations = parts.iter().map(|part| part.generation).collect();
        let mut sum: Option<ViewSums> = None;
        let mut lost = Vec::new();
        for (at, part) in parts.into_iter().enumerate() {
            let is_added = sum.as_mut().is_none_or(|sum| sum.take(&part));
            if !is_added {
                lost.push((self.roll.live[at].place, unsound()));
            }
            sum.get_or_insert(part);
        }
        let Some(mut sum) = sum.filter(|_| lost.is_empty()) else { return Err(lost) };
        if asked(0).is_long() {
            let (all, ask) = (self.all(), |at| PartAsk::Bands(asked(at)));
            let bands = self.parts(&all, &generations, ask, |answer| read::<BandsPart>(answer)).await?;
            let lies = bands.iter().position(|bands| !sum.take_bands(bands));
            if let Some(at) = lies {
                return Err(vec![(self.roll.live[at].place, unsound())]);
            }
        }
        Ok((sum, generations))
    }

    pub(super) fn peer_has(&self, at: usize, field: &str) -> bool {
        let known = Schema::access_log();
        let schema = &self.roll.live[at].status.schema;
        (!schema.is_table && (known.text(field).is_some() || known.number(field).is_some()))
            || schema.own.iter().any(|own| own.name == field)
            || field == "flaw"
    }

    /// First and last time of the rows, as far as the view has them.
    fn times_us(&self) -> Option<(i64, i64)> {
        let (first, last) = self.roll.times_us()?;
        let first = self.view.from_us.map_or(first, |from| first.max(from));
        let last = self.view.to_us.map_or(last, |to| last.min(to.saturating_sub(1)));
        (first <= last).then_some((first, last))
    }

    /// Values with a series of their own.
    async fn series(&self, column: TextColumn) -> Result<Vec<ValueBytes>, LostPeers> {
        // A URL stands for its path.
        let column = if column == TextColumn::URL { TextColumn::PATH } else { column };
        let field = self.schema().text_name(column).into_owned();
        let mut rounds = self.tops(&[], &[field], None, SERIES).await?;
        let Some(round) = rounds.pop() else { return Ok(Vec::new()) };
        let (_, named) = self.by_hash(&round, &[], None, SERIES).await?.unzip();
        let first = round.merge.first(named.as_deref(), SERIES);
        Ok(first.into_iter().map(|text| ValueBytes::new(&text)).collect())
    }

    /// First values of fields, or of all that have a panel.
    pub(super) async fn tops(
        &self,
        generations: &[u64],
        fields: &[String],
        search: Option<&str>,
        top: usize,
    ) -> Result<Vec<FieldRound>, LostPeers> {
        let ask = |_| PartAsk::Tops { fields: fields.to_vec(), search: search.map(str::to_owned), top: top.max(PEER_TOP_MIN) };
        let sound = |answer: &Bytes| {
            let part: TopsPart = read(answer)?;
            let are_sound = part.tops.iter().all(FieldTop::is_sound);
            let names: HashSet<&str> = part.tops.iter().map(|top| &*top.field).collect();
            let are_once = names.len() == part.tops.len();
            let are_known = part.tops.iter().all(|top| self.schema().text(&top.field).is_some());
            if are_sound && are_once && are_known { Ok(part) } else { Err(unsound()) }
        };
        let parts = self.parts(&self.all(), generations, ask, sound).await?;
        let mut fields: HashMap<String, (Vec<usize>, Vec<FieldTop>)> = HashMap::new();
        for (at, part) in parts.into_iter().enumerate() {
            for top in part.tops {
                let (peers, tops) = fields.entry(top.field.clone()).or_default();
                peers.push(at);
                tops.push(top);
            }
        }
        let round = |(peers, tops): (Vec<usize>, Vec<FieldTop>)| Some(FieldRound { peers, merge: FieldMerge::new(tops)? });
        Ok(fields.into_values().filter_map(round).collect())
    }

    /// The rounds that find the first `count` values of a field; `None` where all are listed.
    async fn by_hash(
        &self,
        FieldRound { peers, merge }: &FieldRound,
        generations: &[u64],
        search: Option<&str>,
        count: usize,
    ) -> Result<Option<(HashMerge, Vec<NamedValues>)>, LostPeers> {
        let Some(plan) = merge.plan(count) else { return Ok(None) };
        let mut hashed = merge.by_hash(plan, count);
        let (field, seed) = (merge.names().0.to_owned(), self.fleet.seed);
        let hashes = |least, part, parts| {
            let (field, search) = (field.clone(), search.map(str::to_owned));
            let ask = move |_| PartAsk::Hashes { field: field.clone(), search: search.clone(), seed, least, part, parts };
            self.parts(peers, generations, ask, |answer| HashedValues::read(answer).ok_or_else(unsound))
        };
        for part in 0..plan.parts {
            hashed.add(&hashes(plan.least, part, plan.parts).await?);
        }
        if let Some(parts) = plan.sampled {
            hashed.sample(&hashes(1, 0, parts).await?, parts);
        }
        let wanted = hashed.candidates();
        let named = self.named(peers, generations, &field, &wanted).await?;
        Ok(Some((hashed, named)))
    }

    /// The values of a field that have these hashes, which are in order, in each of some peers.
    pub(super) async fn named(
        &self,
        peers: &[usize],
        generations: &[u64],
        field: &str,
        hashes: &[u64],
    ) -> Result<Vec<NamedValues>, LostPeers> {
        let seed = self.fleet.seed;
        let mut named: Vec<NamedValues> = peers.iter().map(|_| NamedValues::new()).collect();
        for wanted in hashes.chunks(PEER_NAMED_AT_ONCE) {
            let ask = |_| PartAsk::Named { field: field.to_owned(), seed, hashes: wanted.to_vec() };
            let sound = |answer: &Bytes| {
                let part: NamedPart = read(answer)?;
                if part.is_sound(seed, wanted) { Ok(part.values) } else { Err(unsound()) }
            };
            let parts = self.parts(peers, generations, ask, sound).await?;
            named.iter_mut().zip(parts).for_each(|(named, part)| named.extend(part));
        }
        Ok(named)
    }

    pub(super) async fn page(
        &self,
        round: &FieldRound,
        generations: &[u64],
        wanted: &PanelWanted,
    ) -> Result<PanelPage, LostPeers> {
        let PanelWanted { search, offset, limit } = wanted;
        let count = offset.saturating_add(*limit);
        Ok(match self.by_hash(round, generations, search.as_deref(), count).await? {
            Some((hashed, named)) => round.merge.page_by_hash(&hashed, &named, *offset, *limit),
            None => round.merge.page(*offset, *limit),
        })
    }

    /// All panels of texts with `top` rows, in the order of the schema.
    pub(super) async fn panels(&self, generations: &[u64], top: usize) -> Result<Vec<Panel>, LostPeers> {
        let rounds = self.tops(generations, &[], None, top).await?;
        let wanted = PanelWanted { search: None, offset: 0, limit: top };
        let page = |round: FieldRound| {
            let wanted = &wanted;
            async move {
                let title = round.merge.names().1.to_owned();
                let page = self.page(&round, generations, wanted).await?;
                Ok::<_, LostPeers>(page.titled(title.into()))
            }
        };
        let pages = stream::iter(rounds).map(page).buffer_unordered(PEER_FIELDS_AT_ONCE);
        let mut panels: Vec<Panel> = pages.try_collect().await?;
        let place = |panel: &Panel| {
            let column = self.schema().text(&panel.field);
            self.schema().panels().iter().position(|shown| Some(*shown) == column)
        };
        panels.sort_by_key(place);
        Ok(panels)
    }

    /// A stretch of the values of one field.
    pub(super) async fn panel(&self, column: TextColumn, wanted: &PanelWanted) -> Result<PanelPage, LostPeers> {
        let field = self.schema().text_name(column).into_owned();
        let search = wanted.search.as_deref().filter(|search| !search.is_empty());
        let round = self.tops(&[], std::slice::from_ref(&field), search, wanted.offset + wanted.limit).await?.pop();
        let Some(round) = round else { return Ok(FieldMerge::default().page_named(&field)) };
        let page = self.page(&round, &[], wanted).await?;
        if search.is_none() {
            return Ok(page);
        }
        // The number of values is that without the search.
        let all = PanelWanted { search: None, offset: 0, limit: 0 };
        let round = self.tops(&[], &[field], None, 0).await?.pop();
        let Some(round) = round else { return Ok(page) };
        let PanelPage { distinct, .. } = self.page(&round, &[], &all).await?;
        Ok(PanelPage { distinct, ..page })
    }

    /// Numbers of own columns, as they are shown.
    pub(super) async fn numbers(&self, generations: &[u64]) -> Result<Vec<NumberSummary>, LostPeers> {
        Ok(self.summaries(&self.number_parts(generations).await?))
    }

    /// Numbers of own columns.
    pub(super) async fn number_parts(&self, generations: &[u64]) -> Result<Vec<NumberPart>, LostPeers> {
        let mut all: Vec<NumberPart> = Vec::new();
        let has_numbers = |at: &usize| self.roll.live[*at].status.schema.own.iter().any(|own| own.unit.is_some());
        let mut asked: Vec<(usize, usize)> = self.all().into_iter().filter(has_numbers).map(|at| (at, 0)).collect();
        while !asked.is_empty() {
            let peers: Vec<usize> = asked.iter().map(|(at, _)| *at).collect();
            let first = |at| asked.iter().find(|(other, _)| *other == at).map_or(0, |(_, first)| *first);
            let sound = |answer: &Bytes| {
                let part: NumbersPart = read(answer)?;
                let ends = !part.more || !part.numbers.is_empty();
                if ends && part.numbers.iter().all(NumberPart::is_sound) { Ok(part) } else { Err(unsound()) }
            };
            let parts = self.parts(&peers, generations, |at| PartAsk::Numbers { first: first(at) }, sound).await?;
            let mut next = Vec::new();
            for ((at, first), part) in asked.into_iter().zip(parts) {
                if part.more && first < PEER_NUMBERS_MAX {
                    next.push((at, first + part.numbers.len()));
                }
                for number in part.numbers {
                    match all.iter_mut().find(|own| own.field == number.field) {
                        Some(own) => own.take(&number),
                        None => all.push(number),
                    }
                }
            }
            asked = next;
        }
        Ok(all)
    }

    fn summaries(&self, all: &[NumberPart]) -> Vec<NumberSummary> {
        let schema = self.schema();
        let columns = (0..schema.own_numbers()).map(NumberColumn::own);
        let summary = |column: NumberColumn| {
            let name = schema.number_name(column);
            all.iter().find(|part| part.field == name)?.summary(schema.unit(column))
        };
        columns.filter_map(summary).collect()
    }
}
