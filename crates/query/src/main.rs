//! `rorqual-query`: SQL over files where they lie.

fn main() {}
