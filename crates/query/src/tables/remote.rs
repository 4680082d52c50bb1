//! Files by their address: s3://, gs://, az://, http://, https://.

use super::TableFactory;
use super::infer::SampledInput;
use super::kind::{self, TableKind};
use crate::limits::{OBJECTS_MAX, RETRIES_MAX, RETRY_FOR};
use crate::scan::{OpenMode, RecordFile, external};
use datafusion::catalog::TableProvider;
use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::object_store::path::Path as ObjectPath;
use datafusion::object_store::{ClientOptions, ObjectMeta, ObjectStore, ObjectStoreExt, RetryConfig};
use futures::TryStreamExt;
use glob::{MatchOptions, Pattern};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use rorqual_columnar::limits::PREFIX_BYTES;
use rorqual_columnar::read::check_head;
use rorqual_pipe::Input;
use std::io::Cursor;
use std::sync::Arc;
use url::{Position, Url};

impl TableFactory {
    /// The table at an address.
    pub(super) async fn remote(&self, name: &str) -> Result<Arc<dyn TableProvider>> {
        let url = Url::parse(name).map_err(|error| plan_datafusion_err!("'{name}': {error}"))?;
        let (store_url, store) = self.store(&url)?;
        let found = objects(name, &url, store.as_ref()).await?;
        let Some(first) = found.iter().find(|meta| meta.size > 0) else {
            return plan_err!("{name}: there is nothing in it to tell its columns by");
        };
        let address = |meta: &ObjectMeta| object_address(&url, meta);
        let stored = store.get_range(&first.location, 0..first.size.min(PREFIX_BYTES as u64)).await;
        let stored = stored.map_err(|error| plan_datafusion_err!("{}: {error}", address(first)))?;
        let mut ahead = Input::from_reader(address(first).to_string(), Box::new(Cursor::new(stored)));
        let head = self.context.scan(1).head(&mut ahead, PREFIX_BYTES).map_err(external)?;
        match kind::of(name, first.location.as_ref(), &head, &self.known)? {
            TableKind::Records(format) => {
                let place = |meta: &ObjectMeta| OpenMode::Object { name: address(meta).to_string() };
                let files = found.iter().map(|meta| RecordFile { meta: meta.clone(), place: place(meta) }).collect();
                self.records(format, store_url, files, SampledInput::Ahead(ahead))
            }
            columns => {
                check_head(name, &head.bytes).map_err(external)?;
                let urls = found.iter().map(|meta| ListingTableUrl::try_new(address(meta), None));
                self.columns(&columns, urls.collect::<Result<_>>()?).await
            }
        }
    }

    /// The store that an address is in; made and registered where it is new.
    fn store(&self, url: &Url) -> Result<(ObjectStoreUrl, Arc<dyn ObjectStore>)> {
        let origin = &url[..Position::BeforePath];
        let store_url = ObjectStoreUrl::parse(origin)?;
        let runtime = self.state.runtime_env();
        if let Ok(store) = runtime.object_store(&store_url) {
            return Ok((store_url, store));
        }
        let store = make_store(url)?;
        runtime.register_object_store(store_url.as_ref(), Arc::clone(&store));
        Ok((store_url, store))
    }
}

/// The address of an object beside the one at `url`; a `%`, `#` or `?` of its key stays one.
pub(crate) fn object_address(url: &Url, meta: &ObjectMeta) -> Url {
    let mut address = url.clone();
    address.set_fragment(None);
    if let Ok(mut path) = address.path_segments_mut() {
        path.clear().extend(meta.location.as_ref().split('/'));
    }
    address
}

/// The object at an address, in which no character is a wildcard.
pub(crate) async fn object(name: &str, url: &Url, store: &dyn ObjectStore) -> Result<ObjectMeta> {
    let location = ObjectPath::from_url_path(url.path()).map_err(|error| plan_datafusion_err!("'{name}': {error}"))?;
    store.head(&location).await.map_err(|error| plan_datafusion_err!("{name}: {error}"))
}

/// The objects that an address stands for, in the order of their names: one, or those that a
/// wildcard or a folder (which ends in /) has.
pub(crate) async fn objects(name: &str, url: &Url, store: &dyn ObjectStore) -> Result<Vec<ObjectMeta>> {
    let failed = |error: object_store::Error| plan_datafusion_err!("{name}: {error}");
    let path = percent_decode(url.path());
    if !path.contains(['*', '[']) && !path.ends_with('/') {
        return Ok(vec![object(name, url, store).await?]);
    }
    let pattern = if path.ends_with('/') { format!("{path}**") } else { path.clone() };
    let pattern = Pattern::new(pattern.trim_start_matches('/')).map_err(|error| plan_datafusion_err!("'{name}': {error}"))?;
    let fixed = path.split(['*', '[']).next().unwrap_or_default();
    let folder = ObjectPath::from(fixed.rsplit_once('/').map_or("", |(folder, _)| folder));
    let options = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
    let mut found = Vec::new();
    let mut listed = store.list(Some(&folder));
    while let Some(meta) = listed.try_next().await.map_err(failed)? {
        if pattern.matches_with(meta.location.as_ref(), options) {
            found.push(meta);
        }
        if found.len() > OBJECTS_MAX {
            return plan_err!("'{name}' stands for more than {OBJECTS_MAX} objects");
        }
    }
    found.sort_by(|a, b| a.location.cmp(&b.location));
    if found.is_empty() { plan_err!("'{name}': no object has such a name") } else { Ok(found) }
}

fn percent_decode(path: &str) -> String {
    ObjectPath::from_url_path(path)
        .map_or_else(|_| path.to_owned(), |decoded| format!("/{decoded}{}", if path.ends_with('/') { "/" } else { "" }))
}

/// A store, with keys and regions from the environment, as the vendors' own tools have it.
///
/// # Errors
/// When the address is of no kind of store, or the environment says too little.
pub fn make_store(url: &Url) -> Result<Arc<dyn ObjectStore>> {
    if url.query().is_some() {
        let shown = &url[..Position::AfterPath];
        return plan_err!("'{shown}?…': what follows the ? of an address is not sent; fetch it first (rorqual fetch)");
    }
    make(url).map_err(|error| plan_datafusion_err!("{url}: {error}"))
}

fn make(url: &Url) -> Result<Arc<dyn ObjectStore>, object_store::Error> {
    let bucket = url.host_str().unwrap_or_default();
    // A few tries, and then an error: a waiting user should know.
    let retry = RetryConfig { max_retries: RETRIES_MAX, retry_timeout: RETRY_FOR, ..RetryConfig::default() };
    Ok(match url.scheme() {
        "s3" => Arc::new(AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retry).build()?),
        "az" => Arc::new(MicrosoftAzureBuilder::from_env().with_container_name(bucket).with_retry(retry).build()?),
        "gs" => Arc::new(GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket).with_retry(retry).build()?),
        "http" | "https" => {
            let options = ClientOptions::new().with_allow_http(true);
            Arc::new(
                HttpBuilder::new()
                    .with_url(&url[..Position::BeforePath])
                    .with_client_options(options)
                    .with_retry(retry)
                    .build()?,
            )
        }
        scheme => {
            let source = format!("{scheme}:// is not one of s3://, gs://, az://, http://, https://").into();
            return Err(object_store::Error::Generic { store: "address", source });
        }
    })
}
