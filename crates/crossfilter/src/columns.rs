//! The coded columns of a segment, and where each column of a filter comes from.

use rorqual_accesslog::TEXT_FIELDS;
use rorqual_accesslog::filter::TextColumn;

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
/// The status itself; 0 is the absent one.
pub(crate) const STATUS: usize = 12;
/// The clock's offset from UTC in seconds, from [`ZONE_MIN`] on.
pub(crate) const ZONE: usize = 13;

/// Columns with a dictionary.
pub(crate) const DICTIONARIES: usize = 12;

/// All coded columns.
pub(crate) const CODED: usize = 14;

/// Columns with counted values.
pub(crate) const COUNTED: [usize; 12] =
    [CLIENT, USER, HOST, METHOD, PATH, QUERY, PROTOCOL, REFERRER, AGENT, SOURCE, FLAW, STATUS];

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
pub(crate) const NUMBERS: usize = 4;

const _: () = assert!(TEXT_FIELDS.len() == FLAW);

/// Parts in a hundred for each dictionary, of the half of their memory that is shared out.
pub(crate) const SHARES: [u64; DICTIONARIES] = [27, 3, 3, 2, 22, 14, 2, 10, 9, 2, 2, 4];

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
        CLIENT => &[TextColumn::Net, TextColumn::Country],
        PATH => &[TextColumn::Kind],
        REFERRER => &[TextColumn::Site],
        AGENT => &[TextColumn::Browser, TextColumn::Os, TextColumn::Bot],
        FLAW => &[TextColumn::Flaw],
        _ => &[],
    }
}

/// The coded column that a column of filters comes from, and itself where it is derived.
/// [`TextColumn::Url`] comes from two: here the path's.
pub(crate) fn source(column: TextColumn) -> (usize, Option<TextColumn>) {
    match column {
        TextColumn::Client => (CLIENT, None),
        TextColumn::User => (USER, None),
        TextColumn::Host => (HOST, None),
        TextColumn::Method => (METHOD, None),
        TextColumn::Path | TextColumn::Url => (PATH, None),
        TextColumn::Query => (QUERY, None),
        TextColumn::Protocol => (PROTOCOL, None),
        TextColumn::Referrer => (REFERRER, None),
        TextColumn::Agent => (AGENT, None),
        TextColumn::Source => (SOURCE, None),
        TextColumn::Flaw => (FLAW, Some(column)),
        TextColumn::Net | TextColumn::Country => (CLIENT, Some(column)),
        TextColumn::Site => (REFERRER, Some(column)),
        TextColumn::Kind => (PATH, Some(column)),
        TextColumn::Browser | TextColumn::Os | TextColumn::Bot => (AGENT, Some(column)),
    }
}
