//! Access logs as rows.
