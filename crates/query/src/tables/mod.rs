//! What stands behind FROM: paths, wildcards, folders, addresses.

mod infer;
mod kind;
mod local;
mod remote;

pub(crate) use kind::Known;

use crate::scan::{RecordFile, RecordTable, ScanContext};
use async_trait::async_trait;
use datafusion::catalog::{TableProvider, UrlTableFactory};
use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::arrow::ArrowFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::execution::SessionState;
use datafusion::execution::object_store::ObjectStoreUrl;
use kind::{Kind, Sample};
use rorqual_rows::{Format, log};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Makes a table of whatever the query names.
pub(crate) struct Tables {
    /// The session's settings and stores, as they were before it knew this.
    state: SessionState,
    context: Arc<ScanContext>,
    known: Known,
}

impl Tables {
    pub(crate) fn new(state: SessionState, context: &Arc<ScanContext>, known: Known) -> Self {
        Self { state, context: Arc::clone(context), known }
    }

    /// A table over `files`, of which `sample` is the beginning of one; there may be `more` of it than was looked at.
    fn records(
        &self,
        sample: Sample<'_>,
        store: ObjectStoreUrl,
        files: Vec<RecordFile>,
        more: bool,
    ) -> Result<Arc<dyn TableProvider>> {
        let format = match kind::of(&sample, &self.known)? {
            Kind::Records(format) => format,
            Kind::Parquet | Kind::Arrow => {
                let message = "Parquet and Arrow can't be read as a stream or compressed as a whole; put it into a file first";
                return plan_err!("{}: {message}", sample.name);
            }
        };
        let schema = match &format {
            Format::Log(format) => log::schema(format),
            format => {
                let more = more || files.len() > 1;
                infer::schema(format, sample.input, &self.context.shares, self.known.infer_bytes_max(), more)?
            }
        };
        Ok(RecordTable::new(format, schema, store, files, &self.context))
    }

    /// A table over files of columns, which the engine reads itself.
    async fn columns(&self, kind: &Kind, urls: Vec<ListingTableUrl>) -> Result<Arc<dyn TableProvider>> {
        let format: Arc<dyn FileFormat> = match kind {
            Kind::Arrow => Arc::new(ArrowFormat),
            _ => Arc::new(ParquetFormat::default()),
        };
        let options = ListingOptions::new(format).with_file_extension("");
        let config = ListingTableConfig::new_with_multi_paths(urls).with_listing_options(options);
        let config = config.infer_schema(&self.state).await?;
        Ok(Arc::new(ListingTable::try_new(config)?))
    }
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tables").finish_non_exhaustive()
    }
}

#[async_trait]
impl UrlTableFactory for Tables {
    async fn try_new(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if let Some((scheme, _)) = name.split_once("://") {
            return match scheme {
                "file" => {
                    let url = url::Url::parse(name).map_err(|error| plan_datafusion_err!("{name}: {error}"))?;
                    let path = url.to_file_path().map_err(|()| plan_datafusion_err!("{name}: is no path of a file"))?;
                    self.local(&path.to_string_lossy()).await.map(Some)
                }
                _ => self.remote(name).await.map(Some),
            };
        }
        // A name that can't be a path's is a table's, or will be.
        if name != "-" && !name.contains(['/', '.', '*', '?', '[']) && !Path::new(name).exists() {
            return Ok(None);
        }
        self.local(name).await.map(Some)
    }
}
