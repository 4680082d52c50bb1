//! Disks that are small enough to be filled.
//!
//! They are tmpfs in a mount namespace of the calling process, so that they go with it however it
//! ends. That takes the right to mount: where it is missing there are none, and the caller has to
//! say so.
#![allow(clippy::expect_used, reason = "a test without a folder has failed")]

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

const BALLAST: &str = "ballast";

/// Gives this thread, and those that it starts from now on, mounts of their own; whether that was
/// allowed.
#[must_use]
pub fn own_mounts() -> bool {
    unshare(CloneFlags::CLONE_NEWNS).is_ok()
        && mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>).is_ok()
}

/// A folder on a file system of its own.
#[derive(Debug)]
pub struct TestDisk(PathBuf);

impl TestDisk {
    /// Mounts one of so many bytes at `folder`, which is made; `None` where that is not allowed.
    /// Behind [`own_mounts`] only.
    ///
    /// # Panics
    /// When the folder can't be made.
    #[must_use]
    pub fn mount(folder: &Path, bytes: u64) -> Option<Self> {
        std::fs::create_dir_all(folder).expect("a folder of the test");
        let size = format!("size={bytes}");
        mount(Some("none"), folder, Some("tmpfs"), MsFlags::empty(), Some(size.as_str())).ok()?;
        Some(Self(folder.to_owned()))
    }

    /// Takes all the room that is left.
    ///
    /// # Panics
    /// When there can be no file.
    pub fn fill(&self) {
        let mut file = File::create(self.0.join(BALLAST)).expect("a file of the test");
        for block in [vec![0; 64 << 10], vec![0; 1 << 10]] {
            while file.write_all(&block).is_ok() {}
        }
    }

    /// Gives it back.
    pub fn clear(&self) {
        let _ = std::fs::remove_file(self.0.join(BALLAST));
    }
}
