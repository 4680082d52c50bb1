//! Connections and what they carry: accepting, TLS, tokens, bodies, answers that are errors.

pub(crate) mod acceptor;
pub(crate) mod access;
pub(crate) mod auth;
pub(crate) mod body;
pub(crate) mod connections;
pub(crate) mod disconnect_watch;
pub(crate) mod drain;
pub(crate) mod error;
pub(crate) mod extract;
pub(crate) mod lingering_body;
pub(crate) mod page;
pub(crate) mod routes;
pub(crate) mod secrets;
pub(crate) mod sendfile;
pub(crate) mod tls;
pub(crate) mod token;
pub(crate) mod write_timeout;
