//! The log explorer's server: uploads that are analysed while they arrive, and live views of them.
//!
//! The interface is described in `docs/api.md`. Async code only moves bytes and answers; each
//! analysis is a blocking run of `rorqual-accesslog` on threads of its own, fed through pooled
//! blocks. A consumer that is behind holds the blocks, the upload then finds none free, stops
//! reading its socket, and TCP slows the sender. No upload is written to disk; what was read of it
//! as columns goes, compressed and into a file without a name, where it does not fit the memory.

mod admission;
mod explore;
#[cfg(test)]
mod fault_tests;
mod fleet;
#[cfg(any(fuzzing, test))]
#[doc(hidden)]
pub mod fuzzing;
mod http;
mod ingest;
mod limits;
mod monitor;
mod render;
mod saved_schema;
mod server;
mod session;
mod setting;
mod state;
mod store;

#[cfg(test)]
mod corpus;

// The fuzz targets, which tests replay, name this crate from outside.
#[cfg(test)]
extern crate self as rorqual_serve;

pub use explore::view_page::{ShownTable, ShownView, ViewPage};
pub use fleet::{FleetSettings, PeerAddress};
pub use http::access::Access;
pub use http::routes::Route;
pub use limits::{CONNECTIONS_MAX_DEFAULT, EXPORTS_MAX, LOG_FILES_MAX, STORE_ASKS_MAX};
pub use render::Rendering;
pub use server::api::routes;
pub use server::config::{Config, StartError};
pub use server::{OwnFile, OwnFileContent, Reload, Server, ServerTotals};
pub use session::{TableEnd, TableOpener, TablePoint, TableSource};
pub use state::CacheSettings;
