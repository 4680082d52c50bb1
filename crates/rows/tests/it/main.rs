//! Rows, from the outside.
