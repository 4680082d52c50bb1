//! One file a verb.

pub(crate) mod count;
pub(crate) mod logs;
pub(crate) mod serve;
