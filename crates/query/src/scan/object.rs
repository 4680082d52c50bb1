//! An object of a store as a stream of bytes.

use crate::limits::OBJECT_PIECE_BYTES;
use bytes::Bytes;
use datafusion::error::DataFusionError;
use datafusion::object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore};
use std::io::{self, Read};
use std::sync::Arc;
use tokio::runtime::Handle;

/// Reads an object by ranges, from a thread that may wait. So no request takes long, however slow
/// either side is, and each is tried again by itself.
pub(crate) struct ObjectReader {
    store: Arc<dyn ObjectStore>,
    meta: ObjectMeta,
    runtime: Handle,
    next: u64,
    current: Bytes,
}

impl ObjectReader {
    /// A reader of an object as it was when it was looked at; the present runtime drives it.
    pub(crate) fn new(store: Arc<dyn ObjectStore>, meta: ObjectMeta) -> Self {
        Self { store, meta, runtime: Handle::current(), next: 0, current: Bytes::new() }
    }

    fn piece(&self) -> io::Result<Bytes> {
        let end = (self.next + OBJECT_PIECE_BYTES).min(self.meta.size);
        let options = GetOptions {
            range: Some(GetRange::Bounded(self.next..end)),
            // An object that was changed meanwhile is another.
            if_match: self.meta.e_tag.clone().filter(|tag| !tag.starts_with("W/")),
            ..GetOptions::default()
        };
        let bytes = self.runtime.block_on(async { self.store.get_opts(&self.meta.location, options).await?.bytes().await });
        bytes.map_err(|error| io::Error::other(DataFusionError::from(error)))
    }
}

impl Read for ObjectReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.current.is_empty() && self.next < self.meta.size {
            self.current = self.piece()?;
            self.next += self.current.len() as u64;
            if self.current.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let taken = self.current.split_to(self.current.len().min(buffer.len()));
        buffer[..taken.len()].copy_from_slice(&taken);
        Ok(taken.len())
    }
}
