//! The log explorer's server: uploads that are analysed while they arrive, and live views of them.
//!
//! The interface is described in `docs/api.md`. Async code only moves bytes and answers; each
//! analysis is a blocking run of `rorqual-accesslog` on threads of its own, fed through pooled
//! blocks. A consumer that is behind holds the blocks, the upload then finds none free, stops
//! reading its socket, and TCP slows the sender. No upload is written to disk; what was read of it
//! as columns goes, compressed and into a file without a name, where it does not fit the memory.

mod acceptor;
mod access;
mod answers;
mod api;
mod auth;
mod body;
mod checksummed_parts;
mod connections;
mod descriptors;
mod discard;
mod disconnect_watch;
mod drain;
mod error;
mod exports;
#[cfg(test)]
mod fault_tests;
mod feed;
mod files;
mod formats;
#[cfg(any(fuzzing, test))]
#[doc(hidden)]
pub mod fuzzing;
mod limits;
mod lingering_body;
mod live;
mod measures;
mod observe;
mod oneshot;
mod pace;
mod page;
mod render;
mod reports;
mod response_permits;
mod routes;
mod rows;
mod scheduler;
mod secrets;
mod sendfile;
mod server;
mod session;
mod sessions;
mod shares;
mod socket;
mod state;
mod store;
mod tls;
mod token;
mod transport;
mod tus;
mod upload;
mod views;
mod vitals;
mod write_timeout;

#[cfg(test)]
mod corpus;

// The fuzz targets, which tests replay, name this crate from outside.
#[cfg(test)]
extern crate self as rorqual_serve;

pub use access::Access;
pub use exports::{ShownView, ViewPage};
pub use limits::{CONNECTIONS_MAX_DEFAULT, EXPORTS_MAX, STORE_ASKS_MAX};
pub use render::Rendering;
pub use routes::{Route, routes};
pub use server::{Config, Reload, Server, ServerTotals, StartError};
