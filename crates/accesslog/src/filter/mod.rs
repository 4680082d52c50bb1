//! Filters: which rows of a log are meant.
//!
//! `status >= 500 and path ~ "/api" and not bot` is one language everywhere: on the command line,
//! in addresses, on the page. [`Schema::filter`] reads it, [`Schema::written`] writes it, and both
//! agree. A [`Matcher`] asks a filter of one line after another; who holds rows as columns asks
//! [`TextTest::meets`] and [`NumberTest::meets`] of each distinct value.
//!
//! A condition on a field that a line does not have is false, and `not` makes it true. A rejected
//! line has no field but `flaw`.

mod derive;
mod flag;
mod lex;
mod limits;
mod matcher;
mod parse;
mod schema;
mod show;
mod sql;
mod test;
mod value;

use crate::schema::{NumberColumn, Schema, TextColumn};

pub use crate::parse::address::address;
pub use crate::status_class::CLASSES;
pub use derive::{WEEKDAYS, class, hour, kind, net, request, weekday};
pub use flag::Flag;
pub use limits::{
    ANYWHERE_MAX, CONDITIONS_MAX, FILTER_BYTES_MAX, FILTER_DEPTH_MAX, PATTERN_BYTES_MAX, PATTERN_TEXT_BYTES_MAX, PATTERNS_MAX,
    REJECTED_BYTES_MAX, filter_bytes_max,
};
pub use matcher::{Matcher, Subject};
pub(crate) use parse::nearest;
pub use parse::{FilterError, nearest_name};
pub(crate) use show::written_name;
pub use sql::{is_nested, sql_microseconds, sql_moment, sql_name, sql_text};
pub use test::{FilterRegex, Network, NumberTest, TextTest, TextValue};

/// A filter of rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// Rows that all of these mean; without any, all rows.
    All(Vec<Filter>),
    /// Rows that at least one of these means.
    Any(Vec<Filter>),
    /// Rows that it does not mean.
    Not(Box<Filter>),
    /// Rows whose text passes the test.
    Text(TextColumn, TextTest),
    /// Rows whose number passes the test.
    Number(NumberColumn, NumberTest),
    /// Rows that are so.
    Is(Flag),
    /// Rows of which some text passes the test: that of a column which is in the file, the request
    /// as it was sent, or of a rejected line its beginning.
    Anywhere(TextTest),
}

impl Default for Filter {
    /// All rows.
    fn default() -> Self {
        Self::All(Vec::new())
    }
}

impl Filter {
    /// Reads a filter of access logs, as [`Schema::filter`] does.
    ///
    /// # Errors
    /// Those of it.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        Schema::access_log().filter(text)
    }

    /// True if it asks for lines that were rejected, or for flaws of lines.
    #[must_use]
    pub fn names_flaws(&self) -> bool {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().any(Self::names_flaws),
            Self::Not(inner) => inner.names_flaws(),
            Self::Text(column, _) => *column == TextColumn::FLAW,
            Self::Number(..) | Self::Anywhere(_) => false,
            Self::Is(flag) => *flag == Flag::Rejected,
        }
    }

    /// True if it asks for countries, which nobody knows without a database.
    #[must_use]
    pub fn names_countries(&self) -> bool {
        self.count(&|condition| matches!(condition, Self::Text(TextColumn::COUNTRY, _))) > 0
    }

    /// True if it asks for columns of a log's own, or for all.
    #[must_use]
    pub fn names_own(&self) -> bool {
        let is_own = |condition: &Self| match condition {
            Self::Text(column, _) => column.as_own().is_some(),
            Self::Number(column, _) => column.as_own().is_some(),
            Self::Anywhere(_) => true,
            _ => false,
        };
        self.count(&is_own) > 0
    }

    /// The same where it is asked of distinct values, as stores of rows do: what is known of an
    /// agent is kept with its text, and not by threads.
    #[must_use]
    pub fn bytes_of_values(&self, threads: usize) -> u64 {
        limits::bytes(self.text_bytes(), self.count(&is_pattern), 0, threads)
    }

    /// Memory of it and of what `threads` find out with it, in bytes, at most.
    #[must_use]
    pub fn bytes(&self, threads: usize) -> u64 {
        limits::bytes(self.text_bytes(), self.count(&is_pattern), self.count(&is_agent).min(1), threads)
    }

    /// Bytes of its text, without the names of a schema's own columns: each condition has more of
    /// them than its name.
    fn text_bytes(&self) -> usize {
        Schema::access_log().written(self).len()
    }

    /// Conditions that are of a kind.
    fn count(&self, kind: &dyn Fn(&Self) -> bool) -> usize {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().map(|part| part.count(kind)).sum(),
            Self::Not(inner) => inner.count(kind),
            leaf => usize::from(kind(leaf)),
        }
    }

    /// The same for rows that have so many of the schema's own columns of texts and of numbers, and
    /// no value in the others.
    #[must_use]
    pub fn where_absent(self, own_texts: usize, own_numbers: usize) -> Self {
        let constant = |met: bool| if met { Self::All(Vec::new()) } else { Self::Any(Vec::new()) };
        let each = |parts: Vec<Self>| parts.into_iter().map(|part| part.where_absent(own_texts, own_numbers)).collect();
        match self {
            Self::All(parts) => Self::All(each(parts)),
            Self::Any(parts) => Self::Any(each(parts)),
            Self::Not(inner) => Self::Not(Box::new(inner.where_absent(own_texts, own_numbers))),
            Self::Text(column, test) if column.as_own().is_some_and(|own| own >= own_texts) => constant(test.meets(b"")),
            Self::Number(column, test) if column.as_own().is_some_and(|own| own >= own_numbers) => constant(test.absent),
            leaf => leaf,
        }
    }

    /// True if it means all rows, whatever they are.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        matches!(self, Self::All(parts) if parts.is_empty())
    }
}

fn is_pattern(condition: &Filter) -> bool {
    matches!(condition, Filter::Text(_, TextTest::Matches(_)) | Filter::Anywhere(TextTest::Matches(_)))
}

/// True if it asks for classes of agents, which a matcher remembers.
fn is_agent(condition: &Filter) -> bool {
    matches!(condition, Filter::Is(Flag::Bot) | Filter::Text(TextColumn::BROWSER | TextColumn::OS | TextColumn::BOT, _))
}
