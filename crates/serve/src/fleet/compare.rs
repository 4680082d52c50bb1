//! Two views of all peers side by side.

use super::ask::{FieldRound, FleetQuestion, Generations, LostPeers};
use super::live_peers::Roll;
use super::peer::unsound;
use super::wire::PartAsk;
use crate::limits::PEER_FIELDS_AT_ONCE;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use rorqual_accesslog::schema::NumberColumn;
use rorqual_crossfilter::fleet::{FieldMerge, HashCompare, HashedValues, NumberPart, ViewSums};
use rorqual_crossfilter::{ComparedPanel, ComparedRows, ComparisonBase, Stack};

/// Two views, compared.
pub(super) struct FleetCompared {
    pub(super) sums: [ViewSums; 2],
    pub(super) exact: bool,
    pub(super) panels: Vec<ComparedPanel>,
}

/// Both views of a comparison.
pub(super) struct FleetSides<'a> {
    pub(super) a: FleetQuestion<'a>,
    pub(super) b: FleetQuestion<'a>,
    pub(super) base: ComparisonBase,
}

/// First values of a field in one view; `None` where no peer has it.
fn of_field<'r>(rounds: &'r [FieldRound], field: &str) -> Option<&'r FieldRound> {
    rounds.iter().find(|round| round.merge.names().0 == field)
}

impl FleetSides<'_> {
    fn roll(&self) -> &Roll {
        self.a.roll
    }

    pub(super) async fn compared(&self, top: usize) -> Result<FleetCompared, LostPeers> {
        let (sums_a, generations_a) = self.a.sums(1, Stack::Class).await?;
        let (sums_b, generations_b) = self.b.sums(1, Stack::Class).await?;
        let rows = ComparedRows::new([sums_a.lines().total, sums_b.lines().total], self.base);
        let rounds_a = self.a.tops(&generations_a, &[], None, 1).await?;
        let rounds_b = self.b.tops(&generations_b, &[], None, 1).await?;
        let schema = &self.roll().schema;
        let fields: Vec<String> = schema.panels().iter().map(|column| schema.text_name(*column).into_owned()).collect();
        let generations = [&generations_a, &generations_b];
        let (of_a, of_b) = (&rounds_a, &rounds_b);
        let panel = |field: String| async move {
            let rounds = [of_field(of_a, &field), of_field(of_b, &field)];
            self.field(rounds, generations, rows, top).await
        };
        let texts = stream::iter(fields).map(panel).buffered(PEER_FIELDS_AT_ONCE);
        let texts: Vec<(ComparedPanel, bool)> = texts.try_collect().await?;
        let exact = sums_a.is_exact() && sums_b.is_exact() && texts.iter().all(|(_, exact)| *exact);
        let numbers = self.numbers(generations, rows, top).await?;
        let status = sums_a.compared_status(&sums_b, rows, top);
        let measures = sums_a.compared_measures(&sums_b, rows, top);
        let texts = texts.into_iter().map(|(panel, _)| panel);
        let panels = [status].into_iter().chain(texts).chain(measures).chain(numbers);
        let panels = panels.filter(|panel| !panel.rows.is_empty()).collect();
        Ok(FleetCompared { sums: [sums_a, sums_b], exact, panels })
    }

    /// The values of a field whose shares differ most significantly, and whether no others may.
    async fn field(
        &self,
        rounds: [Option<&FieldRound>; 2],
        generations: [&Generations; 2],
        rows: ComparedRows,
        top: usize,
    ) -> Result<(ComparedPanel, bool), LostPeers> {
        let Some(known) = rounds[0].or(rounds[1]) else {
            let none = ComparedPanel { field: "".into(), title: "".into(), rows: Vec::new() };
            return Ok((none, true));
        };
        let (field, title) = known.merge.names();
        let plans = rounds.map(|round| round.map_or_else(|| FieldMerge::default().plan_all(), |round| round.merge.plan_all()));
        let parts = plans[0].parts.max(plans[1].parts);
        let mut compare = HashCompare::new(rows, top);
        for part in 0..parts {
            let a = self.a.hashes(rounds[0], generations[0], (field, plans[0].least), (part, parts)).await?;
            let b = self.b.hashes(rounds[1], generations[1], (field, plans[1].least), (part, parts)).await?;
            compare.add([&a, &b]);
        }
        let wanted = compare.candidates();
        let peers = rounds.map(|round| round.map_or(&[][..], |round| &round.peers));
        let mut rest = &wanted[..];
        while !rest.is_empty() {
            let (mut a, last_a) = self.a.next_named(peers[0], generations[0], field, rest).await?;
            let (mut b, last_b) = self.b.next_named(peers[1], generations[1], field, rest).await?;
            let last = last_a.min(last_b);
            a.iter_mut().chain(&mut b).for_each(|part| part.keep_up_to(last));
            compare.add_named([&a, &b]);
            rest = &rest[rest.partition_point(|hash| *hash <= last)..];
        }
        let is_whole = plans.iter().all(|plan| plan.sampled.is_none());
        let are_exact = rounds.iter().flatten().all(|round| round.merge.is_exact());
        let is_sure = compare.is_sure();
        let panel = ComparedPanel { field: field.to_owned().into(), title: title.to_owned().into(), rows: compare.rows() };
        Ok((panel, is_whole && are_exact && is_sure))
    }

    async fn numbers(
        &self,
        generations: [&Generations; 2],
        rows: ComparedRows,
        top: usize,
    ) -> Result<Vec<ComparedPanel>, LostPeers> {
        let (a, b) = (self.a.number_parts(generations[0]).await?, self.b.number_parts(generations[1]).await?);
        let schema = &self.roll().schema;
        let panel = |column: NumberColumn| {
            let field = schema.number_name(column);
            let of = |parts: &[NumberPart]| parts.iter().find(|part| part.field == field).cloned();
            let (a, b) = (of(&a), of(&b));
            NumberPart::compared(&field, schema.unit(column), [a.as_ref(), b.as_ref()], rows, top)
        };
        Ok((0..schema.own_numbers()).map(NumberColumn::own).map(panel).collect())
    }
}

impl FleetQuestion<'_> {
    /// One part of the values of a field.
    async fn hashes(
        &self,
        round: Option<&FieldRound>,
        generations: &Generations,
        (field, least): (&str, u64),
        (part, parts): (u64, u64),
    ) -> Result<Vec<HashedValues>, LostPeers> {
        let Some(round) = round else { return Ok(Vec::new()) };
        let seed = self.fleet.seed;
        let ask = |_| PartAsk::Hashes { field: field.to_owned(), search: None, seed, least, part, parts };
        let is_part = |hashed: &HashedValues| hashed.is_part(least, part, parts);
        let read = |answer: &Bytes| HashedValues::read(answer).filter(is_part).ok_or_else(unsound);
        self.parts(&round.peers, generations, ask, read).await
    }
}
