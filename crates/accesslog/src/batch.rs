//! Rows as dictionary-coded columns.

use crate::dict::{Dict, Seed};
use crate::format::Field;
use crate::own::{ABSENT, OwnValues};
use crate::parse::LogRecord;

/// The fields whose values are texts, each coded by a dictionary of its own.
pub const TEXT_FIELDS: [Field; 10] = [
    Field::Client,
    Field::User,
    Field::Host,
    Field::Method,
    Field::Path,
    Field::Query,
    Field::Protocol,
    Field::Referrer,
    Field::Agent,
    Field::Source,
];

/// Rows of one chunk of a log, as columns. Codes refer to the batch's own dictionaries, which
/// outlive [`LogBatch::clear`], so that the next rows get the same codes.
#[derive(Debug)]
pub struct LogBatch {
    pub(crate) time_us: Vec<i64>,
    pub(crate) status: Vec<u16>,
    pub(crate) bytes: Vec<u64>,
    pub(crate) request_time_us: Vec<u64>,
    pub(crate) upstream_time_us: Vec<u64>,
    /// In the order of [`TEXT_FIELDS`]; `None` for fields that nobody asked for.
    pub(crate) texts: [Option<CodedColumn>; TEXT_FIELDS.len()],
    pub(crate) own: OwnBatch,
    seed: Seed,
}

/// The columns of a log's own, of which there may be more with each row.
#[derive(Debug, Default)]
pub(crate) struct OwnBatch {
    pub(crate) texts: Vec<CodedColumn>,
    pub(crate) numbers: Vec<Vec<u64>>,
}

impl OwnBatch {
    fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.numbers.is_empty()
    }
}

/// Codes of one text field, and their values.
#[derive(Debug)]
pub(crate) struct CodedColumn {
    pub(crate) codes: Vec<u32>,
    pub(crate) dict: Dict,
}

/// The time of a row that has none.
pub const NO_TIME: i64 = i64::MIN;

impl LogBatch {
    /// An empty batch with columns for `fields` (numbers always have one).
    #[must_use]
    pub fn new(fields: &[Field]) -> Self {
        Self::with_seed(fields, &Seed::default())
    }

    pub(crate) fn with_seed(fields: &[Field], seed: &Seed) -> Self {
        let column = |field| fields.contains(&field).then(|| CodedColumn { codes: Vec::new(), dict: Dict::new(seed.clone()) });
        Self {
            time_us: Vec::new(),
            status: Vec::new(),
            bytes: Vec::new(),
            request_time_us: Vec::new(),
            upstream_time_us: Vec::new(),
            texts: TEXT_FIELDS.map(column),
            own: OwnBatch::default(),
            seed: seed.clone(),
        }
    }

    /// Adds a row.
    #[inline]
    pub fn push(&mut self, record: &LogRecord<'_>) {
        self.time_us.push(record.time_us.unwrap_or(NO_TIME));
        self.status.push(record.status);
        let number = |number: Option<u64>| number.map_or(ABSENT, |number| number.min(ABSENT - 1));
        self.bytes.push(number(record.bytes));
        self.request_time_us.push(number(record.request_time_us));
        self.upstream_time_us.push(number(record.upstream_time_us));
        for (column, value) in self.texts.iter_mut().zip(record.texts()) {
            if let Some(column) = column {
                column.codes.push(column.dict.intern(value));
            }
        }
        match record.own {
            Some(values) => self.push_own(values),
            None if self.own.is_empty() => {}
            None => self.push_own(&OwnValues::default()),
        }
    }

    fn push_own(&mut self, values: &OwnValues) {
        let (texts, numbers) = values.len();
        let before = self.time_us.len() - 1;
        let seed = &self.seed;
        let column = || CodedColumn { codes: vec![0; before], dict: Dict::new(seed.clone()) };
        self.own.texts.resize_with(texts.max(self.own.texts.len()), column);
        self.own.numbers.resize_with(numbers.max(self.own.numbers.len()), || vec![ABSENT; before]);
        for (number, column) in self.own.texts.iter_mut().enumerate() {
            column.codes.push(column.dict.intern(values.text(number)));
        }
        for (number, column) in self.own.numbers.iter_mut().enumerate() {
            column.push(values.number(number).unwrap_or(ABSENT));
        }
    }

    /// Rows in the batch.
    #[must_use]
    pub fn len(&self) -> usize {
        self.time_us.len()
    }

    /// True if there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.time_us.is_empty()
    }

    /// Removes the rows; dictionaries stay.
    pub fn clear(&mut self) {
        self.time_us.clear();
        self.status.clear();
        self.bytes.clear();
        self.request_time_us.clear();
        self.upstream_time_us.clear();
        self.texts.iter_mut().flatten().chain(&mut self.own.texts).for_each(|column| column.codes.clear());
        self.own.numbers.iter_mut().for_each(Vec::clear);
    }

    /// The time of each row in Unix microseconds; [`NO_TIME`] where it has none.
    #[must_use]
    pub fn times_us(&self) -> &[i64] {
        &self.time_us
    }

    /// The status of each row; 0 where it has none.
    #[must_use]
    pub fn status(&self) -> &[u16] {
        &self.status
    }

    /// The response size of each row; [`ABSENT`] where it has none, here and below.
    #[must_use]
    pub fn bytes(&self) -> &[u64] {
        &self.bytes
    }

    /// The time that each row's request took, in microseconds.
    #[must_use]
    pub fn request_times_us(&self) -> &[u64] {
        &self.request_time_us
    }

    /// The time that each row spent with upstream servers, in microseconds.
    #[must_use]
    pub fn upstream_times_us(&self) -> &[u64] {
        &self.upstream_time_us
    }

    /// The code of each row in the text column at `index`, of
    /// [`text_columns`](LogBatch::text_columns); 0 is the absent value. `None` where nobody asked
    /// for the field.
    #[must_use]
    pub fn codes(&self, index: usize) -> Option<&[u32]> {
        self.column(index).map(|column| &column.codes[..])
    }

    /// Number of codes of that column's dictionary, the absent value's included.
    #[must_use]
    pub fn codes_len(&self, index: usize) -> usize {
        self.column(index).map_or(0, |column| column.dict.len())
    }

    /// The value that a code of that column stands for.
    #[must_use]
    pub fn value(&self, index: usize, code: u32) -> &[u8] {
        self.column(index).map_or(&[], |column| column.dict.key(code))
    }

    /// Number of text columns: those of [`TEXT_FIELDS`], and after them those of the log's own that
    /// have a value so far.
    #[must_use]
    pub fn text_columns(&self) -> usize {
        TEXT_FIELDS.len() + self.own.texts.len()
    }

    /// The columns of numbers of the log's own that have a value so far, in their steps.
    #[must_use]
    pub fn own_numbers(&self) -> &[Vec<u64>] {
        &self.own.numbers
    }

    fn column(&self, index: usize) -> Option<&CodedColumn> {
        match index.checked_sub(TEXT_FIELDS.len()) {
            None => self.texts[index].as_ref(),
            Some(own) => self.own.texts.get(own),
        }
    }
}
