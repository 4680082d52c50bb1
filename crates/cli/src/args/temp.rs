//! Temporary folder and its limit, for rows of logs that do not fit the memory.

use clap::Args;
use rorqual_shell::args::size;
use std::path::PathBuf;

#[derive(Debug, Clone, Args)]
pub(crate) struct TempArgs {
    /// Folder for rows that do not fit the memory, in a compressed file without a name [default:
    /// the system's folder for temporary files]
    #[arg(long, value_name = "FOLDER", env = "RORQUAL_TEMP")]
    temp_dir: Option<PathBuf>,
    /// Disk limit for rows that do not fit the memory, in the file or in the folder of --state,
    /// split evenly between --sessions. 0 disables spilling; later rows are then dropped, and the
    /// answer says so
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "16GiB")]
    temp_max: u64,
}

impl TempArgs {
    /// Folder and its limit in bytes; `None` if nothing may be written to disk.
    pub(crate) fn spill(&self) -> Option<(PathBuf, u64)> {
        (self.temp_max > 0).then(|| (self.temp_dir.clone().unwrap_or_else(std::env::temp_dir), self.temp_max))
    }
}
