//! Questions about sessions and their rows, and the answers.

pub(crate) mod answers;
mod cached_files;
pub(crate) mod download;
pub(crate) mod export_advice;
pub(crate) mod exports;
pub(crate) mod find;
pub(crate) mod fleet_parts;
pub(crate) mod formats;
pub(crate) mod live;
pub(crate) mod path_session;
pub(crate) mod reports;
pub(crate) mod rows;
pub(crate) mod saved_views;
pub(crate) mod sessions;
pub(crate) mod sql;
pub(crate) mod suggest;
pub(crate) mod view_page;
pub(crate) mod views;
