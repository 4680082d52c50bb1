//! Cache for rows of files that `rorqual serve` opens.

use clap::Args;
use rorqual_shell::args::size;
use std::path::PathBuf;

#[derive(Debug, Clone, Args)]
pub(crate) struct CacheArgs {
    /// Folder for the rows of FILEs that are logs, in compressed form: the next time that one is
    /// opened, only the bytes that it got since are read [default: the folder `files` in --state,
    /// $XDG_CACHE_HOME/rorqual/files, or ~/.cache/rorqual/files]
    #[arg(long, value_name = "DIR", env = "RORQUAL_CACHE")]
    cache_dir: Option<PathBuf>,
    /// Disk limit for the cache; the files that were opened longest ago are removed from it first
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "8GiB")]
    cache_max: u64,
    /// Neither take rows from the cache nor keep them there
    #[arg(long)]
    no_cache: bool,
}

impl CacheArgs {
    /// Folder and its limit in bytes; `None` where there is to be no cache.
    pub(crate) fn folder(&self, state: Option<&PathBuf>) -> Option<(PathBuf, u64)> {
        if self.no_cache || self.cache_max == 0 {
            return None;
        }
        // The specification has relative paths ignored.
        let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let of_user = || absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
        let given = self.cache_dir.clone().filter(|folder| !folder.as_os_str().is_empty());
        let folder = given.or_else(|| state.map(|state| state.join("files")));
        let folder = folder.or_else(|| of_user().map(|cache| cache.join("rorqual/files")));
        folder.map(|folder| (folder, self.cache_max))
    }
}
