//! Filters of the columns of a schema, read and written.

use super::parse::parse;
use super::show::written_filter;
use super::{Filter, FilterError, sql};
use crate::schema::{NumberUnit, OwnColumn, Schema};
use std::borrow::Cow;

impl Schema {
    /// Reads a filter of these columns; a blank text means all rows.
    ///
    /// # Errors
    /// When it is none, or beyond a limit; the error has the column and what was expected there.
    pub fn filter(&self, text: &str) -> Result<Filter, FilterError> {
        parse(text, self)
    }

    /// Reads a filter that may also name columns which are not among these, to check how it is
    /// written before they are known.
    ///
    /// # Errors
    /// As [`filter`](Self::filter).
    pub fn filter_of_any(&self, text: &str) -> Result<Filter, FilterError> {
        let mut schema = Cow::Borrowed(self);
        loop {
            let error = match schema.filter(text) {
                Err(error) => error,
                read => return read,
            };
            // A name is a text's until it is compared as numbers are.
            let mut own = schema.own().to_vec();
            match (&error.unknown, own.last_mut()) {
                (Some(name), _) => own.push(OwnColumn { name: name.clone(), unit: None }),
                (None, Some(last)) if schema.own().len() > self.own().len() && last.unit.is_none() => {
                    last.unit = Some(NumberUnit::Float);
                }
                _ => return Err(error),
            }
            schema = Cow::Owned(Self::log(own));
        }
    }

    /// The filter as a condition of SQL, for `rorqual query` of the same file, of which `has` tells
    /// the columns of access logs that it has. Lines that were rejected are no rows there.
    ///
    /// # Errors
    /// A sentence about a part that can't be written in SQL.
    pub fn sql(&self, filter: &Filter, has: &dyn Fn(&str) -> bool) -> Result<String, String> {
        sql::condition(filter, self, has)
    }

    /// The filter as [`filter`](Self::filter) reads it.
    #[must_use]
    pub fn written(&self, filter: &Filter) -> String {
        written_filter(filter, self)
    }
}
