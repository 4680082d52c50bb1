//! Filters: which rows of a log are meant.
//!
//! `status >= 500 and path ~ "/api" and not bot` is one language everywhere: on the command line, in addresses, on the page.
//! [`Filter::parse`] reads it, `Display` writes it, and both agree. A [`Matcher`] asks a filter of one line after another;
//! who holds rows as columns asks [`TextTest::meets`] and [`NumberTest::meets`] of each distinct value.
//!
//! A condition on a field that a line does not have is false, and `not` makes it true. A rejected line has no field
//! but `flaw`.

mod column;
mod derive;
mod lex;
mod matcher;
mod parse;
mod show;
mod test;
mod value;

pub use column::{Flag, NumberColumn, TextColumn};
pub use derive::{CLASSES, WEEKDAYS, address, class, hour, kind, net, weekday};
pub use matcher::{Matcher, Subject};
pub use parse::FilterError;
pub use test::{Network, NumberTest, Pattern, TextTest, TextValue};

/// Longest text that is read as a filter, in bytes. Its tree takes at most some fifty times as much.
pub const FILTER_BYTES_MAX: usize = 64 << 10;

/// Parentheses and `not`s within each other; each takes some hundred bytes of stack.
pub const FILTER_DEPTH_MAX: usize = 64;

/// Regular expressions of one filter; each takes up to [`PATTERN_BYTES_MAX`], and as much again for each thread.
pub const PATTERNS_MAX: usize = 8;

/// What a compiled regular expression may take, in bytes.
pub const PATTERN_BYTES_MAX: usize = 1 << 20;

/// Which rows are meant.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// Those that all of these mean; without any, all rows.
    All(Vec<Filter>),
    /// Those that at least one of these means.
    Any(Vec<Filter>),
    /// Those that it does not mean.
    Not(Box<Filter>),
    /// Those whose text passes the test.
    Text(TextColumn, TextTest),
    /// Those whose number passes the test.
    Number(NumberColumn, NumberTest),
    /// Those that are so.
    Is(Flag),
}

impl Default for Filter {
    /// All rows.
    fn default() -> Self {
        Self::All(Vec::new())
    }
}

impl Filter {
    /// Reads a filter; a blank text means all rows.
    ///
    /// # Errors
    /// When it is none, or beyond a limit; the error has the column and what was expected there.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        parse::parse(text)
    }

    /// Whether it asks for lines that were rejected, or for what is wrong with lines.
    #[must_use]
    pub fn names_flaws(&self) -> bool {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().any(Self::names_flaws),
            Self::Not(inner) => inner.names_flaws(),
            Self::Text(column, _) => *column == TextColumn::Flaw,
            Self::Number(..) => false,
            Self::Is(flag) => *flag == Flag::Rejected,
        }
    }

    /// Whether it asks for countries, which nobody knows without a database.
    #[must_use]
    pub fn names_countries(&self) -> bool {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().any(Self::names_countries),
            Self::Not(inner) => inner.names_countries(),
            Self::Text(column, _) => *column == TextColumn::Country,
            Self::Number(..) | Self::Is(_) => false,
        }
    }

    /// Whether it means all rows, whatever they are.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        matches!(self, Self::All(parts) if parts.is_empty())
    }
}
