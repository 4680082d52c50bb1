//! Health of the server, and what it counts.

pub(crate) mod measures;
pub(crate) mod observe;
pub(crate) mod vitals;
