//! Arguments of `rorqual store`.

use clap::{Args, Subcommand, ValueEnum};
use rorqual_shell::args::size;
use std::path::PathBuf;
use std::time::Duration;

const KEYS: &str = "\
KEY is a digest (hexadecimal, base32 or base64), a name, or the start of exactly one digest (4 hexadecimal digits or more), in this order.
TTL is a number with s, m, h or d: 90s, 15m, 2h, 7d.

Exit codes:
  0    done
  1    there is no such entry or lease; rm was refused; verify found damage
  2    wrong usage, no room, or an error
  130  Ctrl-C";

/// Keep files by their content, within a size
///
/// A file is stored once, under its digest, and never changed. When the store is full, the entry
/// that was used longest ago is evicted first. An entry with a running lease, or one that is being
/// read, stays. Many processes may use a store at the same time; files of a killed one are removed
/// by the next gc. The store is to be on a local file system.
#[derive(Debug, Clone, Args)]
#[command(after_help = KEYS)]
pub(crate) struct StoreArgs {
    /// Folder of the store [default: $XDG_CACHE_HOME/rorqual/store, or ~/.cache/rorqual/store]
    #[arg(long = "store", value_name = "DIR", global = true, env = "RORQUAL_STORE")]
    pub(crate) dir: Option<PathBuf>,
    /// Do not wait for the disk: faster, and still safe if the process is killed; after a power cut
    /// run `verify --repair`
    #[arg(long, global = true)]
    pub(crate) no_fsync: bool,
    /// Print JSON: one object with a schema
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: StoreCommand,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum StoreCommand {
    /// Make a store, or set the bound of one; a put makes one with the defaults as well
    Init {
        /// Algorithm of the digests; fixed from then on [default: sha256]
        #[arg(long, value_name = "ALGORITHM")]
        algorithm: Option<Addressing>,
        /// Size limit for all entries together [default: 10GiB]
        #[arg(long, value_name = "SIZE", value_parser = bound)]
        max_size: Option<u64>,
    },
    /// Store a file and print its digest; with --lease also the lease's id, after a tab
    Put {
        /// The file; `-` is standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Name of the entry. If the name is in use, it moves to this entry; the earlier entry
        /// keeps its digest and other names
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        #[command(flatten)]
        lease: LeaseArgs,
    },
    /// Print an entry's bytes, or write them to a file
    Get {
        /// A digest, a name, or the start of one digest: 4 digits or more
        key: String,
        /// Write to this file, which appears whole or not at all; `-` is standard output
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Replace the file of -o where it is there already
        #[arg(long)]
        force: bool,
        /// Check all bytes against the digest before the first of them is written
        #[arg(long)]
        verify: bool,
        #[command(flatten)]
        lease: LeaseArgs,
    },
    /// Print the path of an entry's file; without a lease it may be evicted at any time. With
    /// --lease the lease's id follows after a tab
    Path {
        /// A digest, a name, or the start of one digest: 4 digits or more
        key: String,
        #[command(flatten)]
        lease: LeaseArgs,
    },
    /// List all entries by digest: digest, bytes, last use, running leases, names
    Ls,
    /// Remove entries with their names; leased entries and those being read are refused
    Rm {
        /// Digests, names, or starts of one digest: 4 digits or more
        #[arg(value_name = "KEY", required = true)]
        keys: Vec<String>,
        /// Remove leased entries as well; those being read stay
        #[arg(long)]
        force: bool,
    },
    /// Remove files of killed processes, forget expired leases, and evict down to the limit
    Gc {
        /// Rebuild a damaged index from the files; names and leases are lost
        #[arg(long)]
        rebuild: bool,
        /// Size limit of the new index [default: 10GiB, or the size of the files if that is more]
        #[arg(long, value_name = "SIZE", value_parser = bound, requires = "rebuild")]
        max_size: Option<u64>,
    },
    /// Read every entry and compare it with its digest
    Verify {
        /// Remove damaged entries, unless they are leased or being read
        #[arg(long)]
        repair: bool,
    },
    /// Print the size of the store and its entries, or all about one entry
    Stat {
        /// A digest, a name, or the start of one digest: 4 digits or more
        key: Option<String>,
    },
    /// Take, renew, list and release leases
    Lease {
        #[command(subcommand)]
        command: LeaseCommand,
    },
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum LeaseCommand {
    /// Take a lease on an entry and print its id
    Take {
        /// A digest, a name, or the start of one digest: 4 digits or more
        key: String,
        /// Duration of the lease: 90s, 15m, 2h, 7d
        #[arg(long, value_name = "TTL", value_parser = duration)]
        ttl: Duration,
        /// Label of the lease's holder
        #[arg(long, value_name = "LABEL", default_value = "")]
        holder: String,
    },
    /// Let a lease that has not expired run for this long from now
    Renew {
        /// The lease's id
        id: String,
        /// Duration of the lease from now: 90s, 15m, 2h, 7d
        #[arg(long, value_name = "TTL", value_parser = duration)]
        ttl: Duration,
    },
    /// List the running leases: id, digest, end, holder
    Ls,
    /// End leases
    Release {
        /// Ids of the leases
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,
    },
}

/// A lease taken along with something else.
#[derive(Debug, Clone, Args)]
pub(crate) struct LeaseArgs {
    /// Take a lease of this duration: 90s, 15m, 2h, 7d
    #[arg(long, value_name = "TTL", value_parser = duration)]
    pub(crate) lease: Option<Duration>,
    /// Label of the lease's holder
    #[arg(long, value_name = "LABEL", default_value = "", requires = "lease")]
    pub(crate) holder: String,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Addressing {
    Sha256,
    Blake3,
}

/// A size that the index can hold.
fn bound(text: &str) -> Result<u64, String> {
    let bytes = size(text)?;
    if bytes <= SIZE_BYTES_MAX { Ok(bytes) } else { Err(format!("at most {SIZE_BYTES_MAX} bytes (8 EiB)")) }
}

/// A number with s, m, h or d.
fn duration(text: &str) -> Result<Duration, String> {
    let units = [("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400)];
    let parsed = units.into_iter().find_map(|(unit, seconds)| {
        let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
        number.checked_mul(seconds)
    });
    parsed.map(Duration::from_secs).ok_or_else(|| "a number with s, m, h or d: 90s, 15m, 2h, 7d".to_owned())
}

/// The largest number that SQLite keeps whole.
const SIZE_BYTES_MAX: u64 = i64::MAX as u64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_durations() {
        for (text, seconds) in [("90s", 90), ("15m", 900), ("2h", 7_200), ("7d", 604_800), ("0s", 0)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)));
        }
        for text in ["", "s", "5", "-1s", "1.5h", "1 h", "99999999999999999999s", "999999999999999999d"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
