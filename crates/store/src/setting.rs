//! Settings that messages of this crate name.

use rorqual_pipe::Setting;

/// Makes a new index.
pub(crate) const GC_REBUILD: Setting = Setting::of("store gc", "rebuild");
/// Name of the holder of a lease.
pub(crate) const HOLDER: Setting = Setting::new("holder");
/// Most bytes of a store.
pub(crate) const INIT_MAX_SIZE: Setting = Setting::of("store init", "max-size");
/// Time of the lease that a new entry has.
pub(crate) const LEASE: Setting = Setting::new("lease");
/// Time of a lease.
pub(crate) const TTL: Setting = Setting::new("ttl");
/// Removes damaged entries.
pub(crate) const VERIFY_REPAIR: Setting = Setting::of("store verify", "repair");
