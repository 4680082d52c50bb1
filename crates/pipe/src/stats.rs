//! Resources that the process has used, as the kernel saw it.

/// Peak resident size of this process (VmHWM), in bytes; `None` where the system does not tell.
#[must_use]
pub fn peak_bytes() -> Option<u64> {
    status_field("VmHWM:")
}

/// Resident size of this process now, in bytes; `None` where the system does not tell.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    status_field("VmRSS:")
}

/// Memory that this process may write to, touched or not (VmData), in bytes; `None` where the
/// system does not tell.
#[must_use]
pub fn data_bytes() -> Option<u64> {
    status_field("VmData:")
}

/// Descriptors that this process has open; `None` where the system does not tell.
#[must_use]
pub fn open_files() -> Option<u64> {
    // One of them is that of the folder itself.
    std::fs::read_dir("/proc/self/fd").ok().map(|entries| (entries.count() as u64).saturating_sub(1))
}

/// Threads of this process; `None` where the system does not tell.
#[must_use]
pub fn threads() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("Threads:"))?.trim().parse().ok()
}

fn status_field(field: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(field))?;
    let kibibytes: u64 = line[field.len()..].trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kibibytes << 10)
}
