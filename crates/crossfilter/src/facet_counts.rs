//! Fields whose values a filter chooses, and their counts under its other conditions.

use crate::columns::{STATUS, source};
use crate::number_spread::{BUCKET_BYTES, NumberSpread};
use crate::panel_counts::PanelCounts;
use rorqual_accesslog::filter::{Filter, TextTest, TextValue};
use rorqual_accesslog::schema::{NumberColumn, Schema, TextColumn};

/// Field that conditions choose values of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FacetField {
    /// A column of texts.
    Text(TextColumn),
    /// The status of access logs.
    Status,
    /// One of the schema's own.
    Number(NumberColumn),
}

/// Counts of a facet.
#[derive(Debug, Clone)]
pub(crate) struct FacetCounts {
    pub(crate) field: FacetField,
    pub(crate) counts: FieldCounts,
}

#[derive(Debug, Clone)]
pub(crate) enum FieldCounts {
    Values(PanelCounts<'static>),
    Numbers(NumberSpread),
}

impl FacetField {
    /// The field whose values a condition chooses: by naming or excluding them, or of the schema's
    /// own numbers in any way. A network, a range of statuses or a pattern is no choice of values.
    pub(crate) fn of(condition: &Filter) -> Option<Self> {
        match condition {
            Filter::Not(inner) => Self::of(inner),
            Filter::Text(column, TextTest::OneOf(values)) => {
                let are_texts = values.iter().all(|value| matches!(value, TextValue::Text(_)));
                are_texts.then_some(Self::Text(*column))
            }
            Filter::Number(NumberColumn::STATUS, test) => {
                test.ranges.iter().all(|(first, last)| first == last).then_some(Self::Status)
            }
            Filter::Number(column, _) if column.as_own().is_some() => Some(Self::Number(*column)),
            _ => None,
        }
    }

    pub(crate) fn has_panel(self, schema: &Schema) -> bool {
        match self {
            Self::Text(column) => schema.panels().contains(&column),
            Self::Status => !schema.is_table(),
            Self::Number(_) => true,
        }
    }

    /// The coded column of its values, and the one that follows from it.
    pub(crate) fn source(self) -> Option<(usize, Option<TextColumn>)> {
        match self {
            Self::Text(column) => Some(source(column)),
            Self::Status => Some((STATUS, None)),
            Self::Number(_) => None,
        }
    }
}

impl FacetCounts {
    pub(crate) fn bytes(&self) -> u64 {
        match &self.counts {
            FieldCounts::Values(counts) => counts.bytes(),
            FieldCounts::Numbers(spread) => (spread.buckets().count() * BUCKET_BYTES) as u64,
        }
    }
}
