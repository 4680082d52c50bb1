//! The columns of a segment, and where each column of a filter comes from.
//!
//! The columns of access logs have fixed indices, as the code that knows them is compiled for
//! these; a schema's own come after them. A column that rows do not have is constant, and takes
//! next to nothing.

use rorqual_accesslog::TEXT_FIELDS;
use rorqual_accesslog::schema::{NumberColumn, Schema, TextColumn};

/// Index of a coded column: the text fields come first, in the order of [`TEXT_FIELDS`].
pub(crate) const CLIENT: usize = 0;
pub(crate) const USER: usize = 1;
pub(crate) const HOST: usize = 2;
pub(crate) const METHOD: usize = 3;
pub(crate) const PATH: usize = 4;
pub(crate) const QUERY: usize = 5;
pub(crate) const PROTOCOL: usize = 6;
pub(crate) const REFERRER: usize = 7;
pub(crate) const AGENT: usize = 8;
/// Host, container or file that a prefix of the line names.
pub(crate) const SOURCE: usize = 9;
/// Fault of a line: [`REJECTED`] or [`REPAIRED`], and the reason's name.
pub(crate) const FLAW: usize = 10;
/// The text of a rejected line.
pub(crate) const LINE: usize = 11;
/// Name of the file that a line is from, where the rows are those of several.
pub(crate) const FILE: usize = 12;
/// The status itself; 0 is the absent one.
pub(crate) const STATUS: usize = 13;
/// The clock's offset from UTC in seconds, from [`ZONE_MIN`] on.
pub(crate) const ZONE: usize = 14;

/// Columns with a dictionary, of these.
pub(crate) const DICTIONARIES: usize = 13;

/// Coded columns before those of a schema's own.
pub(crate) const CODED: usize = 15;

/// Columns with counted values, of these.
const COUNTED: [usize; 13] = [CLIENT, USER, HOST, METHOD, PATH, QUERY, PROTOCOL, REFERRER, AGENT, SOURCE, FLAW, FILE, STATUS];

/// First byte of a text in [`FLAW`].
pub(crate) const REJECTED: u8 = b'x';
pub(crate) const REPAIRED: u8 = b'r';

/// Codes of [`STATUS`].
pub(crate) const STATUSES: usize = 1000;

/// The least offset of a clock.
pub(crate) const ZONE_MIN: i32 = -86_400;

/// Columns of numbers.
pub(crate) const TIME: usize = 0;
pub(crate) const BYTES: usize = 1;
pub(crate) const REQUEST_TIME: usize = 2;
pub(crate) const UPSTREAM_TIME: usize = 3;
/// Columns of numbers before those of a schema's own.
pub(crate) const NUMBERS: usize = 4;

const _: () = assert!(TEXT_FIELDS.len() == FLAW);

/// Numbers of the columns of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ColumnCounts {
    /// Coded columns.
    pub(crate) coded: usize,
    /// Columns of numbers.
    pub(crate) numbers: usize,
}

impl ColumnCounts {
    pub(crate) fn of(schema: &Schema) -> Self {
        Self { coded: CODED + schema.own_texts(), numbers: NUMBERS + schema.own_numbers() }
    }

    /// All columns of a segment.
    pub(crate) fn all(self) -> usize {
        self.coded + self.numbers
    }

    /// The coded columns whose values are counted.
    pub(crate) fn counted(self) -> impl Iterator<Item = usize> {
        COUNTED.into_iter().chain(CODED..self.coded)
    }
}

/// Place of a coded column among those whose values are counted.
pub(crate) fn counted_place(index: usize) -> Option<usize> {
    if index >= CODED { Some(COUNTED.len() + index - CODED) } else { COUNTED.iter().position(|counted| *counted == index) }
}

/// True if the column's codes are those of a dictionary.
pub(crate) fn has_dictionary(index: usize) -> bool {
    !(DICTIONARIES..CODED).contains(&index)
}

/// Parts in a hundred for each dictionary, of the half of their memory that is shared out.
pub(crate) const SHARES: [u64; DICTIONARIES] = [26, 3, 3, 2, 22, 14, 2, 10, 9, 2, 2, 4, 1];

const _: () = {
    let (mut sum, mut index) = (0, 0);
    while index < DICTIONARIES {
        sum += SHARES[index];
        index += 1;
    }
    assert!(sum == 100);
};

/// Columns derived from the texts of each dictionary.
pub(crate) fn derived(index: usize) -> &'static [TextColumn] {
    match index {
        CLIENT => &[TextColumn::NET, TextColumn::COUNTRY],
        PATH => &[TextColumn::KIND],
        REFERRER => &[TextColumn::SITE],
        AGENT => &[TextColumn::BROWSER, TextColumn::OS, TextColumn::BOT],
        FLAW => &[TextColumn::FLAW],
        _ => &[],
    }
}

/// The coded column that a column of filters comes from, and itself where it is derived.
/// [`TextColumn::URL`] comes from two: here the path's.
pub(crate) fn source(column: TextColumn) -> (usize, Option<TextColumn>) {
    match column {
        TextColumn::CLIENT => (CLIENT, None),
        TextColumn::USER => (USER, None),
        TextColumn::HOST => (HOST, None),
        TextColumn::METHOD => (METHOD, None),
        TextColumn::PATH | TextColumn::URL => (PATH, None),
        TextColumn::QUERY => (QUERY, None),
        TextColumn::PROTOCOL => (PROTOCOL, None),
        TextColumn::REFERRER => (REFERRER, None),
        TextColumn::AGENT => (AGENT, None),
        TextColumn::SOURCE => (SOURCE, None),
        TextColumn::FILE => (FILE, None),
        TextColumn::FLAW => (FLAW, Some(column)),
        TextColumn::NET | TextColumn::COUNTRY => (CLIENT, Some(column)),
        TextColumn::SITE => (REFERRER, Some(column)),
        TextColumn::KIND => (PATH, Some(column)),
        TextColumn::BROWSER | TextColumn::OS | TextColumn::BOT => (AGENT, Some(column)),
        own => (CODED + own.as_own().unwrap_or_default(), None),
    }
}

/// The column of numbers that a column of filters is, where it is one.
pub(crate) fn number_source(column: NumberColumn) -> Option<usize> {
    match column {
        NumberColumn::BYTES => Some(BYTES),
        NumberColumn::REQUEST_TIME => Some(REQUEST_TIME),
        NumberColumn::UPSTREAM_TIME => Some(UPSTREAM_TIME),
        other => other.as_own().map(|own| NUMBERS + own),
    }
}
