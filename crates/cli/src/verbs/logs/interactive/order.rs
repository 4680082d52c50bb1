//! Order of the lines.

use rorqual_accesslog::report::PercentileSet;
use rorqual_accesslog::schema::Schema;
use rorqual_crossfilter::RowOrder;
use rorqual_crossfilter::limits::SORTED_ROWS_MAX;

/// Lines that an order by a column has.
pub(super) const SORTED_LINES_MAX: u64 = SORTED_ROWS_MAX as u64;

/// An order of the lines by a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineOrder {
    pub(super) field: String,
    pub(super) descending: bool,
}

impl LineOrder {
    /// The order by a column that was typed, numbers and times from the largest on; `None` where
    /// the lines have no order by it.
    pub(super) fn typed(schema: &Schema, field: &str) -> Option<Self> {
        RowOrder::named(schema, field, false)?;
        // As the schema writes it.
        let text = schema.text(field).map(|column| schema.text_name(column).into_owned());
        let number = schema.number(field).map(|column| schema.number_name(column).into_owned());
        let descending = text.is_none();
        Some(Self { field: text.or(number).unwrap_or_else(|| field.to_owned()), descending })
    }

    /// The order of rows, where they have the column.
    pub(super) fn of_rows(&self, schema: &Schema) -> Option<RowOrder> {
        RowOrder::named(schema, &self.field, self.descending)
    }

    pub(super) fn reversed(&self) -> Self {
        Self { descending: !self.descending, ..self.clone() }
    }

    /// The order after this one, of those that a key goes through: the slowest lines first, the
    /// largest, those with the highest other numbers, the latest. `None` is the order of the log.
    pub(super) fn next(current: Option<&Self>, schema: &Schema, known: Option<&PercentileSet>) -> Option<Self> {
        let fields = sorted_fields(schema, known);
        let place = current.and_then(|order| fields.iter().position(|field| *field == order.field));
        let next = match (current, place) {
            (None, _) => fields.first(),
            (Some(_), Some(place)) => fields.get(place + 1),
            (Some(_), None) => None,
        };
        next.map(|field| Self { field: field.clone(), descending: true })
    }

    /// `request_time, slowest first`
    pub(super) fn named(&self, schema: &Schema) -> String {
        let (down, up) = match &*self.field {
            "time" => ("latest", "earliest"),
            "request_time" | "upstream_time" => ("slowest", "fastest"),
            field if schema.number(field).is_some() => ("largest", "smallest"),
            _ => ("Z", "A"),
        };
        format!("{}, {} first", self.field, if self.descending { down } else { up })
    }
}

/// Columns of numbers that lines have an order by.
fn sorted_fields(schema: &Schema, known: Option<&PercentileSet>) -> Vec<String> {
    let has = |field: &str| match field {
        "request_time" => known.is_some_and(|known| known.request_time.is_some()),
        "upstream_time" => known.is_some_and(|known| known.upstream_time.is_some()),
        "bytes" => known.is_some_and(|known| known.bytes.is_some()),
        // By a key of its own.
        "status" => false,
        _ => true,
    };
    let numbers = schema.numbers().map(|column| schema.number_name(column).into_owned());
    let mut fields: Vec<String> = numbers.filter(|field| has(field) && RowOrder::named(schema, field, true).is_some()).collect();
    let rank = |field: &String| match &**field {
        "request_time" => 0,
        "upstream_time" => 1,
        "bytes" => 2,
        _ => 3,
    };
    fields.sort_by_key(rank);
    fields.push("time".to_owned());
    fields
}
