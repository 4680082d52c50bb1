//! The rounds of a question: parts of all peers, added up.

use super::Fleet;
use super::live_peers::{LivePeer, Roll};
use super::peer::{PeerFailure, read, unsound};
use super::wire::{NamedPart, NumbersPart, PartAsk, PartQuestion, SumsAsk, TopsPart, VERSION};
use crate::limits::{BUCKETS, PEER_FIELDS_AT_ONCE, PEER_NAMED_AT_ONCE, PEER_NUMBER_PARTS_MAX, PEER_TOP_MIN};
use bytes::Bytes;
use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use rorqual_accesslog::report::Panel;
use rorqual_accesslog::schema::{NumberColumn, NumberUnit, Schema, TextColumn};
use rorqual_crossfilter::fleet::{
    BandsPart, FieldMerge, FieldTop, HashMerge, HashedValues, NamedMerge, NamedValues, NumberPart, SeriesText, ViewSums,
};
use rorqual_crossfilter::{NumberSummary, PanelPage, PanelWanted, Stack, View};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

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
        let filter = self.schema().written(&self.view.filter);
        let more = match &ask {
            PartAsk::Hits { of } => of.iter().map(|wanted| &*wanted.filter).collect::<Vec<_>>().join(" "),
            PartAsk::Explain { select, .. } => select.filter.clone(),
            _ => String::new(),
        };
        let named = if names_own { format!("{filter} {more}") } else { more };
        let columns = if named.is_empty() { Vec::new() } else { self.roll.missing_columns(peer, &named) };
        PartQuestion {
            version: VERSION.to_owned(),
            from_us: self.view.from_us,
            to_us: self.view.to_us,
            filter,
            columns,
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
        let (series, of) = match stack {
            Stack::Values(column) => self.series(column).await?,
            Stack::Class | Stack::Bot => (Vec::new(), Generations::new()),
        };
        let stack = match stack {
            Stack::Class => None,
            Stack::Bot => Some("bot".to_owned()),
            Stack::Values(column) => Some(self.schema().text_name(column).into_owned()),
        };
        let (mut sums, generations) = self.sums_of(buckets, stack, &series).await?;
        if !of.is_empty() && of != generations {
            sums.mark_inexact();
        }
        Ok((sums, generations))
    }

    /// Generations of the peers' rows, for the other parts of this view; none are needed where no
    /// more rows come.
    pub(super) async fn generations(&self) -> Result<Generations, LostPeers> {
        Ok(if self.roll.is_ended() { Generations::new() } else { self.sums_of(1, None, &[]).await?.1 })
    }

    /// True if no rows have come since the question began, so that all parts are of the same ones.
    pub(super) async fn is_of_one_moment(&self) -> bool {
        let growing = self.roll.live.iter().filter(|live| !live.status.state.ended());
        let is_same = |live: &LivePeer| {
            let (peer, generation) = (Arc::clone(&live.peer), live.status.extent.generation);
            let (seed, within) = (self.fleet.seed, self.fleet.settings.probe_time);
            async move { peer.probe(seed, within).await.is_ok_and(|status| status.extent.generation == generation) }
        };
        join_all(growing.map(is_same)).await.into_iter().all(|is_same| is_same)
    }

    /// Totals, and rows over time by these series.
    async fn sums_of(
        &self,
        buckets: usize,
        stack: Option<String>,
        series: &[SeriesText],
    ) -> Result<(ViewSums, Generations), LostPeers> {
        let (buckets, times_us) = (buckets.clamp(1, BUCKETS.1), self.times_us());
        // Where a peer has no such column, all of its rows are without a value.
        let has = |at: usize| stack.as_deref().is_none_or(|name| name == "bot" || self.peer_has(at, name));
        let lacking = self.all().into_iter().filter(|at| !has(*at)).collect::<Vec<_>>();
        let asked = |at: usize| SumsAsk {
            buckets,
            stack: stack.clone().filter(|_| !lacking.contains(&at)),
            times_us,
            series: series.to_vec(),
        };
        let sound = |answer: &Bytes| {
            let sums: ViewSums = read(answer)?;
            if sums.is_sound() && sums.is_over(times_us, buckets) { Ok(sums) } else { Err(unsound()) }
        };
        let mut parts = self.parts(&self.all(), &[], |at| PartAsk::Sums(asked(at)), sound).await?;
        let names: Vec<String> = series.iter().map(|text| rorqual_accesslog::report::shown_value(text.start())).collect();
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
        let is_known = || {
            let text = known.text(field).is_some_and(|column| known.text_name(column) == field);
            text || known.number(field).is_some_and(|column| known.number_name(column) == field)
        };
        (!schema.is_table && is_known()) || schema.own.iter().any(|own| own.name == field) || field == "flaw"
    }

    /// First and last time of the rows, as far as the view has them.
    fn times_us(&self) -> Option<(i64, i64)> {
        let (first, last) = self.roll.times_us()?;
        let first = self.view.from_us.map_or(first, |from| first.max(from));
        let last = self.view.to_us.map_or(last, |to| last.min(to.saturating_sub(1)));
        (first <= last).then_some((first, last))
    }

    /// Values with a series of their own, and the generations that they are of.
    async fn series(&self, column: TextColumn) -> Result<(Vec<SeriesText>, Generations), LostPeers> {
        // A URL stands for its path.
        let column = if column == TextColumn::URL { TextColumn::PATH } else { column };
        let field = self.schema().text_name(column).into_owned();
        let of = self.generations().await?;
        let mut rounds = self.tops(&of, std::slice::from_ref(&field), None, SERIES).await?;
        let Some(round) = rounds.pop() else { return Ok((Vec::new(), of)) };
        let (_, named) = self.by_hash(&round, &of, None, SERIES).await?.unzip();
        Ok((round.merge.first(named, SERIES, self.fleet.seed), of))
    }

    /// True if it is exactly the name of a field that was asked for, or of any where none was.
    fn is_asked(&self, fields: &[String], name: &str) -> bool {
        let column = self.schema().text(name);
        column.is_some_and(|column| self.schema().text_name(column) == name)
            && (fields.is_empty() || fields.iter().any(|field| field == name))
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
            let mut part: TopsPart = read(answer)?;
            let are_sound = part.tops.iter().all(FieldTop::is_sound);
            let names: HashSet<&str> = part.tops.iter().map(|top| &*top.field).collect();
            let are_once = names.len() == part.tops.len();
            if !are_sound || !are_once {
                return Err(unsound());
            }
            // A peer that grows may have got a column since it told which it has.
            part.tops.retain(|top| self.is_asked(fields, &top.field));
            Ok(part)
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
    ) -> Result<Option<(HashMerge, NamedMerge)>, LostPeers> {
        let Some(plan) = merge.plan(count) else { return Ok(None) };
        let mut hashed = merge.by_hash(plan, count);
        let (field, seed) = (merge.names().0.to_owned(), self.fleet.seed);
        let hashes = |least, part, parts| {
            let (field, search) = (field.clone(), search.map(str::to_owned));
            let ask = move |_| PartAsk::Hashes { field: field.clone(), search: search.clone(), seed, least, part, parts };
            let read = move |answer: &Bytes| {
                let hashed = HashedValues::read(answer).filter(|hashed| hashed.is_part(least, part, parts));
                hashed.ok_or_else(unsound)
            };
            self.parts(peers, generations, ask, read)
        };
        for part in 0..plan.parts {
            hashed.add(&hashes(plan.least, part, plan.parts).await?);
        }
        if let Some(parts) = plan.sampled {
            hashed.sample(&hashes(1, 0, parts).await?, parts);
        }
        let wanted = hashed.candidates();
        let named = self.named((peers, merge), generations, &wanted, count).await?;
        Ok(Some((hashed, named)))
    }

    /// The first values of a field that have these hashes, which are in order, in some peers.
    pub(super) async fn named(
        &self,
        (peers, field): (&[usize], &FieldMerge),
        generations: &[u64],
        hashes: &[u64],
        count: usize,
    ) -> Result<NamedMerge, LostPeers> {
        let mut named = NamedMerge::new(count);
        let mut rest = hashes;
        while !rest.is_empty() {
            let (parts, last) = self.next_named(peers, generations, field.names().0, rest).await?;
            named.add(field, &parts);
            rest = &rest[rest.partition_point(|hash| *hash <= last)..];
        }
        Ok(named)
    }

    /// The values of a field with the first of these hashes, in each of some peers, and the last
    /// hash up to which all of them had room; each tells one value at least.
    pub(super) async fn next_named(
        &self,
        peers: &[usize],
        generations: &[u64],
        field: &str,
        hashes: &[u64],
    ) -> Result<(Vec<NamedValues>, u64), LostPeers> {
        let (seed, wanted) = (self.fleet.seed, &hashes[..hashes.len().min(PEER_NAMED_AT_ONCE)]);
        let ask = |_| PartAsk::Named { field: field.to_owned(), seed, hashes: wanted.to_vec() };
        let sound = |answer: &Bytes| {
            let part: NamedPart = read(answer)?;
            if part.values.is_sound(seed, wanted) { Ok(part.values) } else { Err(unsound()) }
        };
        let mut parts = self.parts(peers, generations, ask, sound).await?;
        let told = parts.iter().filter_map(NamedValues::cut_after).min();
        let last = told.or_else(|| wanted.last().copied()).unwrap_or(u64::MAX);
        parts.iter_mut().for_each(|part| part.keep_up_to(last));
        Ok((parts, last))
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
            Some((hashed, named)) => round.merge.page_by_hash(&hashed, named, *offset, *limit),
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
        let of = self.generations().await?;
        let round = self.tops(&of, std::slice::from_ref(&field), search, wanted.offset + wanted.limit).await?.pop();
        let Some(round) = round else { return Ok(FieldMerge::default().page_named(&field)) };
        let page = self.page(&round, &of, wanted).await?;
        if search.is_none() {
            return Ok(page);
        }
        // The number of values is that without the search.
        let all = PanelWanted { search: None, offset: 0, limit: 0 };
        let round = self.tops(&of, &[field], None, 0).await?.pop();
        let Some(round) = round else { return Ok(page) };
        let PanelPage { distinct, .. } = self.page(&round, &of, &all).await?;
        Ok(PanelPage { distinct, ..page })
    }

    /// Numbers of own columns, as they are shown.
    pub(super) async fn numbers(&self, generations: &[u64]) -> Result<Vec<NumberSummary>, LostPeers> {
        Ok(self.summaries(&self.number_parts(generations).await?))
    }

    /// Numbers of own columns.
    pub(super) async fn number_parts(&self, generations: &[u64]) -> Result<Vec<NumberPart>, LostPeers> {
        let mut all: Vec<NumberPart> = Vec::new();
        let mut units: Vec<HashMap<&str, NumberUnit>> = self.all().into_iter().map(|at| self.number_units(at)).collect();
        let counts: Vec<usize> = units.iter().map(HashMap::len).collect();
        let mut asked: Vec<(usize, usize)> = self.all().into_iter().filter(|at| counts[*at] > 0).map(|at| (at, 0)).collect();
        for _ in 0..PEER_NUMBER_PARTS_MAX {
            if asked.is_empty() {
                break;
            }
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
                let told = first + part.numbers.len();
                if part.more && told < counts[at] {
                    next.push((at, told));
                }
                for number in part.numbers {
                    // A peer that grows may have got a column since it told which it has.
                    let Some(unit) = units[at].remove(&*number.field) else { continue };
                    if !number.is_of(unit) {
                        return Err(vec![(self.roll.live[at].place, unsound())]);
                    }
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

    /// Columns of numbers that a peer told of, each once.
    fn number_units(&self, at: usize) -> HashMap<&str, NumberUnit> {
        let own = self.roll.live[at].status.schema.own.iter();
        own.filter_map(|own| Some((&*own.name, own.unit?))).collect()
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
