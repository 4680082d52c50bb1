//! Files and objects that the processes of a cluster may read.
//!
//! A plan names its files, and everyone with the key can send one. So an executor reads no file of
//! its machine but below the folders that it was given, and writes nothing anywhere: every store
//! that a plan reaches is a [`ReadStore`]. Keys of object stores never travel; each process has its
//! own, from its environment.

use async_trait::async_trait;
use datafusion::common::{Result, exec_err};
use datafusion::execution::object_store::ObjectStoreRegistry;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions,
    PutOptions, PutPayload, PutResult,
};
use rorqual_pipe::escaped_path;
use rorqual_shell::roots::Roots;
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use url::{Position, Url};

/// Files of a machine that scans may open.
#[derive(Debug, Clone)]
pub(crate) enum ClusterFiles {
    /// None is opened here: the process plans, or deals out tasks.
    Unopened,
    /// All files below these folders.
    Below(Option<Roots>),
}

impl ClusterFiles {
    /// The file that a scan may open, with links resolved.
    ///
    /// # Errors
    /// A sentence for people.
    pub(crate) fn checked(&self, path: &Path) -> Result<PathBuf> {
        let name = escaped_path(path);
        match self {
            Self::Unopened => Ok(path.to_owned()),
            Self::Below(None) => exec_err!("{name}: an executor reads no files of its machine; its --files FOLDER allows it"),
            Self::Below(Some(roots)) => match path.canonicalize() {
                // Looked at as it will be opened: a link could be turned meanwhile.
                Ok(file) if roots.folders().iter().any(|folder| file.starts_with(folder)) => Ok(file),
                // Of what is elsewhere nothing is told, not even whether it is there.
                Err(cause) if roots.may_have(path) => exec_err!("{name}: {}", rorqual_pipe::reason(&cause)),
                _ => exec_err!("{name}: is not below {} (--files of an executor)", roots.named()),
            },
        }
    }
}

/// Stores, made when a plan first names them, by this process's own environment.
#[derive(Debug)]
pub(crate) struct ClusterStores {
    files: ClusterFiles,
    known: Mutex<HashMap<String, Arc<dyn ObjectStore>>>,
}

impl ClusterStores {
    pub(crate) fn new(files: ClusterFiles) -> Self {
        Self { files, known: Mutex::default() }
    }

    fn make(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        let (inner, files): (Arc<dyn ObjectStore>, _) = match url.scheme() {
            "file" => (Arc::new(LocalFileSystem::new()), Some(self.files.clone())),
            _ => (rorqual_query::make_store(url)?, None),
        };
        Ok(Arc::new(ReadStore { inner, files }))
    }
}

impl ObjectStoreRegistry for ClusterStores {
    fn register_store(&self, _: &Url, _: Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        None
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let origin = &url[..Position::BeforePath];
        if let Some(store) = known.get(origin) {
            return Ok(Arc::clone(store));
        }
        let store = self.make(url)?;
        known.insert(origin.to_owned(), Arc::clone(&store));
        Ok(store)
    }
}

/// A store that is read; of files, those that the process may open.
#[derive(Debug)]
struct ReadStore {
    inner: Arc<dyn ObjectStore>,
    files: Option<ClusterFiles>,
}

impl fmt::Display for ReadStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.inner)
    }
}

fn refused(path: &ObjectPath, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::PermissionDenied { path: path.to_string(), source: source.into() }
}

fn unwritten(path: &ObjectPath) -> Error {
    refused(path, "nothing is written by a plan")
}

impl ReadStore {
    /// The path of a file that may be opened: not the one that was asked for, of which a link could
    /// be turned meanwhile.
    fn checked(&self, location: &ObjectPath) -> Result<ObjectPath, Error> {
        let Some(files) = &self.files else { return Ok(location.clone()) };
        let path = PathBuf::from("/").join(location.as_ref());
        let path = files.checked(&path).map_err(|error| refused(location, error.message().into_owned()))?;
        ObjectPath::from_absolute_path(path).map_err(|error| refused(location, error))
    }
}

#[async_trait]
impl ObjectStore for ReadStore {
    async fn put_opts(&self, location: &ObjectPath, _: PutPayload, _: PutOptions) -> Result<PutResult, Error> {
        Err(unwritten(location))
    }

    async fn put_multipart_opts(&self, location: &ObjectPath, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>, Error> {
        Err(unwritten(location))
    }

    async fn get_opts(&self, location: &ObjectPath, options: GetOptions) -> Result<GetResult, Error> {
        self.inner.get_opts(&self.checked(location)?, options).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<ObjectPath, Error>>,
    ) -> BoxStream<'static, Result<ObjectPath, Error>> {
        locations.map(|location| Err(unwritten(&location?))).boxed()
    }

    fn list(&self, prefix: Option<&ObjectPath>) -> BoxStream<'static, Result<ObjectMeta, Error>> {
        let error = refused(prefix.unwrap_or(&ObjectPath::default()), "a plan names its files");
        stream::iter([Err(error)]).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&ObjectPath>) -> Result<ListResult, Error> {
        Err(refused(prefix.unwrap_or(&ObjectPath::default()), "a plan names its files"))
    }

    async fn copy_opts(&self, _: &ObjectPath, to: &ObjectPath, _: CopyOptions) -> Result<(), Error> {
        Err(unwritten(to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::executor::block_on;
    use object_store::ObjectStoreExt;
    use object_store::memory::InMemory;

    #[test]
    fn a_store_is_read_and_nothing_else() {
        let inner: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let path = ObjectPath::from("a/b");
        block_on(inner.put(&path, "bytes".into())).expect("a store in memory takes bytes");
        let store = ReadStore { inner: Arc::clone(&inner), files: None };
        let read = block_on(async { store.get(&path).await?.bytes().await }).expect("it is there");
        assert_eq!(&read[..], b"bytes");
        let is_refused = |result: Result<(), Error>| matches!(result, Err(Error::PermissionDenied { .. }));
        assert!(is_refused(block_on(store.put(&path, "other".into())).map(drop)));
        assert!(is_refused(block_on(store.put_multipart(&path)).map(drop)));
        assert!(is_refused(block_on(store.delete(&path))));
        assert!(is_refused(block_on(store.copy(&path, &ObjectPath::from("c")))));
        assert!(is_refused(block_on(store.rename(&path, &ObjectPath::from("c")))));
        assert!(is_refused(block_on(store.list(None).next()).expect("an error").map(drop)));
        assert!(is_refused(block_on(store.list_with_delimiter(None)).map(drop)));
        let kept = block_on(async { inner.get(&path).await?.bytes().await }).expect("it is there");
        assert_eq!(&kept[..], b"bytes");
    }
}
