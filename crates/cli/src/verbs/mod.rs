//! One file a verb.

pub(crate) mod convert;
pub(crate) mod count;
pub(crate) mod fetch;
pub(crate) mod get;
pub(crate) mod grep;
pub(crate) mod hash;
pub(crate) mod head;
pub(crate) mod logs;
pub(crate) mod mcp;
pub(crate) mod query;
pub(crate) mod render;
pub(crate) mod sample;
pub(crate) mod serve;
pub(crate) mod store;
pub(crate) mod summary;
