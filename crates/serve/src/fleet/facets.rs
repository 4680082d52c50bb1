//! Facets of a view: each is a view under the other conditions.

use super::ask::{FleetQuestion, LostPeers};
use rorqual_accesslog::report::{Panel, ReportRow};
use rorqual_accesslog::schema::TextColumn;
use rorqual_crossfilter::fleet::value_hash;
use rorqual_crossfilter::{Facet, FacetField, FacetQuestion, NumberSummary, PanelWanted, Stack};

/// Facets of texts and of the status, and those of numbers.
pub(super) type Facets = (Vec<Facet>, Vec<NumberSummary>);

/// Statuses that there can be.
const STATUSES_MAX: usize = 1_000;

impl FleetQuestion<'_> {
    /// The facets of its view, with `top` rows each, of fields that these panels show.
    pub(super) async fn facets(&self, panels: &[Panel], top: usize) -> Result<Facets, LostPeers> {
        let (mut facets, mut numbers): (Vec<Facet>, Vec<NumberSummary>) = (Vec::new(), Vec::new());
        for asked in FacetQuestion::all(&self.view, self.schema()) {
            let question = FleetQuestion { fleet: self.fleet, roll: self.roll, view: asked.others.clone() };
            match asked.field {
                FacetField::Text(column) => {
                    let name = self.schema().text_name(column);
                    if panels.iter().any(|panel| panel.field == name) {
                        facets.extend(question.text_facet(column, &asked, top).await?);
                    }
                }
                FacetField::Status if !panels.is_empty() => facets.push(question.status_facet(&asked, top).await?),
                FacetField::Status => {}
                FacetField::Number(column) => {
                    let name = self.schema().number_name(column);
                    numbers.extend(question.numbers(&[]).await?.into_iter().filter(|number| number.field == name));
                }
            }
        }
        // Each was counted by itself.
        if !facets.is_empty() && !self.is_of_one_moment().await {
            facets.iter_mut().for_each(|facet| facet.panel.exact = false);
        }
        Ok((facets, numbers))
    }

    async fn text_facet(&self, column: TextColumn, asked: &FacetQuestion, top: usize) -> Result<Option<Facet>, LostPeers> {
        let field = self.schema().text_name(column).into_owned();
        let of = self.generations().await?;
        let Some(round) = self.tops(&of, std::slice::from_ref(&field), None, top).await?.pop() else { return Ok(None) };
        let page = self.page(&round, &of, &PanelWanted { search: None, offset: 0, limit: top }).await?;
        let mut lists: Vec<Vec<ReportRow>> = Vec::new();
        for texts in [&asked.chosen, &asked.excluded] {
            let mut hashes: Vec<u64> = texts.iter().map(|text| value_hash(self.fleet.seed, text.as_bytes())).collect();
            hashes.sort_unstable();
            hashes.dedup();
            let named = self.named((&round.peers, &round.merge), &of, &hashes, top).await?;
            lists.push(round.merge.rows_named(named, top));
        }
        let title = round.merge.names().1.to_owned();
        let (excluded, chosen) = (lists.pop().unwrap_or_default(), lists.pop().unwrap_or_default());
        Ok(Some(Facet { panel: page.titled(title.into()), chosen, excluded }))
    }

    async fn status_facet(&self, asked: &FacetQuestion, top: usize) -> Result<Facet, LostPeers> {
        let (sums, _) = self.sums(1, Stack::Class).await?;
        let page = |limit| sums.status_page(&PanelWanted { search: None, offset: 0, limit });
        let all = page(STATUSES_MAX).rows;
        let named = |texts: &[String]| all.iter().filter(|row| texts.contains(&row.value)).take(top).cloned().collect();
        let panel = page(top).titled(rorqual_crossfilter::STATUS_TITLE.into());
        Ok(Facet { panel, chosen: named(&asked.chosen), excluded: named(&asked.excluded) })
    }
}
