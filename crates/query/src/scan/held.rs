//! Files of columns that the engine reads by itself, each range by its path: all of one state.

use async_trait::async_trait;
use bytes::Bytes;
use datafusion::object_store::path::Path as ObjectPath;
use datafusion::object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions,
    PutOptions, PutPayload, PutResult, Result,
};
use futures::stream::BoxStream;
use object_store::local::LocalFileSystem;
use rorqual_pipe::{FileGrowth, FileVersion};
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Files of this machine as the engine's store, which fails where one is not in the state any more
/// in which it was planned.
#[derive(Debug, Default)]
pub(crate) struct HeldFiles {
    files: LocalFileSystem,
    versions: Mutex<HashMap<ObjectPath, FileVersion>>,
}

impl HeldFiles {
    /// Holds a file to a state from now on.
    pub(crate) fn hold(&self, location: &ObjectPath, version: FileVersion) {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner).insert(location.clone(), version);
    }

    /// State that a file is held to.
    pub(crate) fn version(&self, location: &ObjectPath) -> Option<FileVersion> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner).get(location).cloned()
    }

    /// Fails if the file is not in its state any more.
    fn check(&self, location: &ObjectPath) -> Result<()> {
        let Some(version) = self.version(location) else { return Ok(()) };
        let path = self.files.path_to_filesystem(location)?;
        let checked = version.check_path(&path, FileGrowth::Refused);
        checked.map_err(|error| Error::Generic { store: "file", source: Box::new(error) })
    }
}

impl fmt::Display for HeldFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.files.fmt(f)
    }
}

#[async_trait]
impl ObjectStore for HeldFiles {
    async fn put_opts(&self, location: &ObjectPath, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.files.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(&self, location: &ObjectPath, options: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.files.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &ObjectPath, options: GetOptions) -> Result<GetResult> {
        let found = self.files.get_opts(location, options).await?;
        self.check(location)?;
        Ok(found)
    }

    async fn get_ranges(&self, location: &ObjectPath, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let read = self.files.get_ranges(location, ranges).await?;
        // Afterwards: what was read is of the state that the file is still in.
        self.check(location)?;
        Ok(read)
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<ObjectPath>>) -> BoxStream<'static, Result<ObjectPath>> {
        self.files.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&ObjectPath>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.files.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&ObjectPath>) -> Result<ListResult> {
        self.files.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &ObjectPath, to: &ObjectPath, options: CopyOptions) -> Result<()> {
        self.files.copy_opts(from, to, options).await
    }
}
