//! A schema as bytes that are read back as they were, with all that its columns say of themselves.

use super::catch_panic::guarded;
use arrow_ipc::convert::try_schema_from_flatbuffer_bytes;
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteOptions};
use arrow_schema::{Schema, SchemaRef};
use rorqual_pipe::{Error, ErrorClass};
use std::sync::Arc;

/// The schema as a message of Arrow IPC.
#[must_use]
pub fn schema_bytes(schema: &Schema) -> Vec<u8> {
    let mut tracker = DictionaryTracker::new(false);
    let options = IpcWriteOptions::default();
    IpcDataGenerator::default().schema_to_bytes_with_dictionary_tracker(schema, &mut tracker, &options).ipc_message
}

/// The schema that [`schema_bytes`] made these of; `None` of others.
#[must_use]
pub fn schema_of_bytes(bytes: &[u8]) -> Option<SchemaRef> {
    let read = || {
        let schema = try_schema_from_flatbuffer_bytes(bytes);
        schema.map(Arc::new).map_err(|error| Error::new(ErrorClass::Corrupt, "schema", error.to_string()))
    };
    guarded("schema", read).ok()
}
