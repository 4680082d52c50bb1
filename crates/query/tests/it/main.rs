//! `rorqual-query` as it is run.
