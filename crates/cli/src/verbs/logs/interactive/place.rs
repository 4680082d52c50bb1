//! The place that the screen shows: a span of time and a filter, and the places before it.

use rorqual_accesslog::filter::{Filter, TextTest, TextValue};
use rorqual_accesslog::schema::{NumberColumn, Schema, TextColumn};
use rorqual_crossfilter::View;

/// Bytes of a value from which on it may have been cut.
const CUT_BYTES_MIN: usize = 1024;

/// Places that undo leads back to.
const PLACES_MAX: usize = 200;

/// A span and a filter, and those before.
#[derive(Debug, Default)]
pub(super) struct ExplorerPlace {
    pub(super) view: View,
    before: Vec<View>,
}

impl ExplorerPlace {
    /// Goes to another place; whether it is another.
    pub(super) fn go(&mut self, view: View) -> bool {
        if view == self.view {
            return false;
        }
        if self.before.len() >= PLACES_MAX {
            self.before.remove(0);
        }
        self.before.push(std::mem::replace(&mut self.view, view));
        true
    }

    /// Goes back; false at the first place.
    pub(super) fn undo(&mut self) -> bool {
        let before = self.before.pop();
        let is_back = before.is_some();
        self.view = before.unwrap_or_else(|| std::mem::take(&mut self.view));
        is_back
    }

    /// The place with this filter in place of its own.
    pub(super) fn filtered(&self, filter: Filter) -> View {
        View { filter, ..self.view.clone() }
    }

    /// The place with this filter beside its own.
    pub(super) fn narrowed(&self, more: &Filter) -> View {
        let mut parts = conditions(&self.view.filter);
        conditions(more).into_iter().for_each(|part| {
            if !parts.contains(&part) {
                parts.push(part);
            }
        });
        self.filtered(joined(parts))
    }

    /// The place with a span in Unix seconds, within its own.
    pub(super) fn zoomed(&self, (from, to): (i64, i64)) -> View {
        let (from_us, to_us) = (from.saturating_mul(1_000_000), to.saturating_mul(1_000_000));
        let from_us = self.view.from_us.map_or(from_us, |own| own.max(from_us));
        let to_us = self.view.to_us.map_or(to_us, |own| own.min(to_us));
        View { from_us: Some(from_us), to_us: Some(to_us), filter: self.view.filter.clone() }
    }

    /// The place where a field has this value alone; of one that it has already, where it has any.
    pub(super) fn chosen(&self, schema: &Schema, field: &str, value: &str) -> Option<View> {
        let condition = value_filter(schema, field, value)?;
        let mut parts = conditions(&self.view.filter);
        let was = parts.len();
        parts.retain(|part| *part != condition);
        if parts.len() == was {
            parts.retain(|part| !chooses(part, schema, field));
            parts.push(condition);
        }
        Some(self.filtered(joined(parts)))
    }

    /// The place where a field does not have this value; of one that is left out already, where it
    /// may have it.
    pub(super) fn excluded(&self, schema: &Schema, field: &str, value: &str) -> Option<View> {
        let condition = value_filter(schema, field, value)?;
        let without = Filter::Not(Box::new(condition.clone()));
        let mut parts = conditions(&self.view.filter);
        let was = parts.len();
        parts.retain(|part| *part != without);
        if parts.len() == was {
            parts.retain(|part| *part != condition);
            parts.push(without);
        }
        Some(self.filtered(joined(parts)))
    }
}

/// Conditions that a filter joins by `and`.
fn conditions(filter: &Filter) -> Vec<Filter> {
    match filter {
        Filter::All(parts) => parts.iter().flat_map(conditions).collect(),
        other => vec![other.clone()],
    }
}

fn joined(mut parts: Vec<Filter>) -> Filter {
    if parts.len() == 1 { parts.remove(0) } else { Filter::All(parts) }
}

/// The filter of a field's value, as a panel lists it.
pub(super) fn value_filter(schema: &Schema, field: &str, value: &str) -> Option<Filter> {
    let Some(column) = schema.text(field) else {
        schema.number(field)?;
        let name = serde_json::to_string(field).ok()?;
        return schema.filter(&format!("{name} = {value}")).ok();
    };
    let cut = value.strip_suffix('…').filter(|start| start.len() >= CUT_BYTES_MIN);
    Some(Filter::Text(
        column,
        match cut {
            Some(start) => TextTest::Contains(start.to_owned()),
            None => TextTest::OneOf(vec![TextValue::Text(value.to_owned())]),
        },
    ))
}

/// True if a condition chooses values of a field.
fn chooses(condition: &Filter, schema: &Schema, field: &str) -> bool {
    let (text, number): (Option<TextColumn>, Option<NumberColumn>) = (schema.text(field), schema.number(field));
    match condition {
        Filter::Text(column, TextTest::OneOf(_) | TextTest::Contains(_)) => text == Some(*column),
        Filter::Number(column, _) => number == Some(*column),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(text: &str) -> Filter {
        Filter::parse(text).expect("a filter")
    }

    fn at(text: &str) -> ExplorerPlace {
        ExplorerPlace { view: View { filter: filter(text), ..View::default() }, before: Vec::new() }
    }

    fn written(view: Option<View>) -> String {
        Schema::access_log().written(&view.expect("a place").filter)
    }

    #[test]
    fn a_value_replaces_another_of_its_field_and_goes_when_chosen_again() {
        let schema = Schema::access_log();
        for (before, field, value, after) in [
            ("", "status", "404", "status = 404"),
            ("status = 404 and bot", "status", "500", "bot and status = 500"),
            ("status = 404 and bot", "status", "404", "bot"),
            ("path = /a", "client", "10.0.0.1", "path = /a and client = 10.0.0.1"),
            ("path != /a", "path", "/b c", "path != /a and path = \"/b c\""),
            ("path = /a or bot", "path", "/b", "(path = /a or bot) and path = /b"),
        ] {
            assert_eq!(written(at(before).chosen(schema, field, value)), after, "{before} {field} {value}");
        }
    }

    #[test]
    fn a_value_is_left_out_once() {
        let schema = Schema::access_log();
        for (before, after) in [("", "path != /a"), ("path = /a", "path != /a"), ("bot and path != /a", "bot")] {
            assert_eq!(written(at(before).excluded(schema, "path", "/a")), after, "{before}");
        }
    }

    #[test]
    fn a_cut_value_is_looked_for_by_its_start() {
        let start = "/".repeat(1_024);
        let filter = value_filter(Schema::access_log(), "path", &format!("{start}…"));
        assert_eq!(filter, Some(Filter::Text(TextColumn::PATH, TextTest::Contains(start))));
    }

    #[test]
    fn undo_leads_back_and_spans_only_narrow() {
        let mut place = at("");
        assert!(!place.undo());
        assert!(place.go(place.zoomed((100, 200))));
        assert!(place.go(place.zoomed((50, 150))));
        assert_eq!((place.view.from_us, place.view.to_us), (Some(100_000_000), Some(150_000_000)));
        assert!(!place.go(place.view.clone()), "the same place");
        assert!(place.undo() && place.undo() && !place.undo());
        assert_eq!(place.view, View::default());
    }
}
