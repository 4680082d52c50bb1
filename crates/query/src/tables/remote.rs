//! Files by their address: s3://, gs://, http://, https://.

use super::Tables;
use super::kind::{self, Kind, Sample};
use crate::limits::HEAD_BYTES;
use crate::scan::{Place, RecordFile};
use datafusion::catalog::TableProvider;
use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::object_store::path::Path as ObjectPath;
use datafusion::object_store::{ClientOptions, ObjectStore, ObjectStoreExt};
use object_store::aws::AmazonS3Builder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use rorqual_pipe::Input;
use std::io::Cursor;
use std::sync::Arc;
use url::{Position, Url};

impl Tables {
    /// The table behind an address.
    pub(super) async fn remote(&self, name: &str) -> Result<Arc<dyn TableProvider>> {
        let url = Url::parse(name).map_err(|error| plan_datafusion_err!("'{name}': {error}"))?;
        let (store_url, store) = self.store(&url)?;
        let location = ObjectPath::from_url_path(url.path()).map_err(|error| plan_datafusion_err!("'{name}': {error}"))?;
        let meta = store.head(&location).await.map_err(|error| plan_datafusion_err!("{name}: {error}"))?;
        if meta.size == 0 {
            return plan_err!("{name}: there is nothing in it to tell its columns by");
        }
        let stored = store.get_range(&location, 0..meta.size.min(HEAD_BYTES as u64)).await?;
        let more = meta.size > HEAD_BYTES as u64;
        let window = self.context.shares.zstd_window_log_max;
        let ahead = || Input::from_reader(name, Box::new(Cursor::new(stored.clone())));
        let head = kind::head_of(ahead(), window)?;
        let sample = Sample { name: url.path(), head: &head, input: ahead() };
        match kind::of(&sample, &self.known)? {
            Kind::Records(_) => {
                let file = RecordFile { meta, place: Place::Object { name: name.to_owned() } };
                self.records(sample, store_url, vec![file], more)
            }
            columns => self.columns(&columns, vec![ListingTableUrl::try_new(url, None)?]).await,
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
        let store = make(url, origin).map_err(|error| plan_datafusion_err!("{url}: {error}"))?;
        runtime.register_object_store(store_url.as_ref(), Arc::clone(&store));
        Ok((store_url, store))
    }
}

/// A store, with what the environment says of keys and regions, as the vendors' own tools have it.
fn make(url: &Url, origin: &str) -> Result<Arc<dyn ObjectStore>, object_store::Error> {
    let bucket = url.host_str().unwrap_or_default();
    Ok(match url.scheme() {
        "s3" => Arc::new(AmazonS3Builder::from_env().with_bucket_name(bucket).build()?),
        "gs" => Arc::new(GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket).build()?),
        "http" | "https" => {
            let options = ClientOptions::new().with_allow_http(true);
            Arc::new(HttpBuilder::new().with_url(origin).with_client_options(options).build()?)
        }
        scheme => {
            let source = format!("{scheme}:// is none of s3://, gs://, http://, https://").into();
            return Err(object_store::Error::Generic { store: "address", source });
        }
    })
}
