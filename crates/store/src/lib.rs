//! Content-addressed files of bounded size, with leases that eviction honours.
//!
//! ```text
//! DIR/index.sqlite       size, age, names and leases of each entry; settings; reserved space
//! DIR/index.sqlite-wal   the log ahead of it, with its map (-shm): they belong together
//! DIR/blobs/sha256/ab/   the files, each named by its digest, read-only, never changed
//! DIR/tmp/               files that are being written, each locked by its writer
//! DIR/parts/             downloads that may go on later, for [`Store::adopt`]
//! DIR/lock               held for each change of any of this: the *exclusive lock*
//! ```
//!
//! An algorithm belongs to a store: digests of one store have one meaning, one length and unique
//! prefixes.
//!
//! # Guarantees
//! * **A row has its bytes.** A put writes to `tmp/`, syncs, and then under one exclusive lock
//!   renames the file, syncs the folder and commits the row. An eviction commits the row's end
//!   first and unlinks after it, under one lock. A kill at any point leaves at worst a file without
//!   a row, which the next [`Store::gc`] removes.
//! * **A leased or open entry stays.** Leases are rows, checked in the transaction that ends the
//!   entry. An [`EntryReader`] holds a shared `flock` of the file, in any process; an eviction must
//!   get the exclusive one first, without waiting. A lease is taken under the lock as well, so it
//!   comes before the check or finds the entry gone.
//! * **Temporary files end with their writer.** A file in `tmp/` with a free lock has lost its
//!   writer and is removed, and so is the space that was reserved for it. No age is guessed.
//! * **The bound holds.** A put reserves its bytes, 1 MiB at first free of charge, and evicts for
//!   them before it writes. So the bytes of all entries never exceed the bound, nor do those on the
//!   disk by more than that 1 MiB for each put in flight.
//! * **Clocks may jump.** The order of use is a counter. Only leases end by the wall clock, as
//!   processes and restarts share no other: one that is set back lengthens them, one that is set
//!   forward ends them early.
//!
//! # Why SQLite, and not redb?
//! redb's file belongs to one process at a time; a cache is shared by many. SQLite's journal
//! survives being killed at any point.
//!
//! # Why a lock file beside SQLite's own lock?
//! Renames and unlinks belong under the same lock as the commit, but SQLite ends its lock with the
//! commit. And a waiter for `flock` is woken, where one for SQLite polls.
//!
//! # Why `flock`?
//! It belongs to the open file, not to the process: closing another handle does not drop it,
//! threads exclude each other by it, and the kernel drops it when its holder is killed. A store
//! therefore belongs on a local file system.

mod disk;
mod entry;
mod error;
mod evict;
mod gc;
mod index;
mod key;
mod lease;
pub mod limits;
mod put;
mod read;
mod rebuild;
mod remove;
mod setting;
mod store;
mod temp;
mod verify;

pub use disk::StepHook;
pub use entry::{StoreEntry, Usage};
pub use evict::EvictionResult;
pub use gc::GcResult;
pub use key::{KeyMatch, check_name};
pub use lease::{EntryLease, LeaseTerms};
pub use put::{PutOptions, PutResult};
pub use read::EntryReader;
pub use rebuild::rebuild;
pub use remove::Removed;
pub use store::{Store, StoreClock, StoreSettings};
pub use verify::{Verdict, VerifyResult};
