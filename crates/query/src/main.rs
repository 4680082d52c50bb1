//! `rorqual-query`: SQL over files where they lie. `rorqual query` runs it, as git runs its
//! subcommands.

use std::process::ExitCode;

fn main() -> ExitCode {
    rorqual_query::program()
}
