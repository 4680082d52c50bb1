//! Lines that match, in any input, whatever the lines are like.
//!
//! * A [`SearchPattern`] has the patterns; it compiles to one matcher for lines that are in
//!   memory ([`grep_regex`], which ripgrep searches with) and one for lines that are not (`long`:
//!   an automaton that keeps its state over blocks).
//! * A [`Searcher`] is the stage of a worker: it finds the selected lines of a chunk.
//! * A [`SearchReport`] takes the hits of all workers, in the order of the input; it counts lines,
//!   joins over-long ones, adds the lines around and hands the lines to show to a [`LineSink`].
//!
//! # Matches over several lines
//! A pattern that can match a newline is searched for in a text that is held whole, by
//! [`search_text`]. Other patterns match within lines, whatever was asked for.
//!
//! # Lines without a maximum
//! A worker searches whole lines. Of a line that does not fit a buffer, the worker that owns its
//! start passes the head on, and the workers that own the blocks after it pass those on;
//! [`SearchReport`] sees them in order and feeds them to the automaton, in constant memory. Whether
//! the line is selected is so always exact.

mod context_buffer;
mod cost;
mod hits;
pub mod limits;
mod long;
mod matches;
mod multiline;
mod pattern;
mod report;
mod searcher;

pub use cost::PatternCost;
pub use hits::{ChunkHits, HitRange};
pub use matches::{LongMatches, each_match};
pub use multiline::{BlockMatches, MatchedBlock, search_text};
pub use pattern::{CaseMatching, Expression, LineEnd, PatternError, SearchPattern};
pub use report::{LineSink, LongPiece, ReportSettings, RereadInput, SearchReport, ShownLines, Summary};
pub use searcher::{SearchMode, Searcher, count_lines};
