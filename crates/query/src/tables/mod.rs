//! Tables after FROM: paths, wildcards, folders, addresses.

mod columns;
mod infer;
mod kind;
mod local;
pub(crate) mod remote;
mod streamed;
mod widths;

pub(crate) use columns::ColumnsTable;
pub(crate) use kind::TableOptions;

use crate::scan::{RecordFile, RecordTable, ScanContext, external};
use async_trait::async_trait;
use datafusion::catalog::{TableProvider, UrlTableFactory};
use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::arrow::ArrowFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::execution::SessionState;
use datafusion::execution::object_store::ObjectStoreUrl;
use infer::SampledInput;
use kind::TableKind;
use rorqual_columnar::RecordFormat;
use rorqual_columnar::read::TableFile;
use rorqual_pipe::Input;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use widths::{FoundPages, Widths};

/// Makes a table of whatever the query names.
pub(crate) struct TableFactory {
    /// The session's settings and stores, as they were before it knew this.
    state: SessionState,
    context: Arc<ScanContext>,
    known: Arc<TableOptions>,
}

impl TableFactory {
    pub(crate) fn new(state: SessionState, context: &Arc<ScanContext>, known: Arc<TableOptions>) -> Self {
        Self { state, context: Arc::clone(context), known }
    }

    /// A table over `files`, with the columns of the input that is `looked` at.
    fn records(
        &self,
        format: RecordFormat,
        store: ObjectStoreUrl,
        files: Vec<RecordFile>,
        looked: SampledInput,
    ) -> Result<Arc<dyn TableProvider>> {
        let schema = infer::schema(&format, looked, &self.context, &self.known)?;
        Ok(RecordTable::new(format, schema, store, files, &self.context))
    }

    /// The format of a stream, which files of columns can't be.
    fn not_columns(&self, name: &str, kind: TableKind) -> Result<RecordFormat> {
        match kind {
            TableKind::Records(format) => Ok(format),
            TableKind::Parquet | TableKind::Arrow => {
                plan_err!(
                    "{name}: Parquet and Arrow files can't be read as a stream or compressed as a whole; put it into a file first"
                )
            }
        }
    }

    /// A table over files of columns, which the engine reads itself: Parquet, and Arrow elsewhere.
    async fn columns(&self, kind: &TableKind, urls: Vec<ListingTableUrl>) -> Result<Arc<dyn TableProvider>> {
        let format: Arc<dyn FileFormat> = match kind {
            TableKind::Arrow => Arc::new(ArrowFormat),
            // The session's option is not asked where a table is made by hand.
            _ => Arc::new(ParquetFormat::default().with_coerce_int96(Some("us".to_owned()))),
        };
        // Before the engine looks: it believes a file's metadata.
        let pages = self.check(&urls)?;
        if let Some(table) = pages.differing(self.reader_bytes())? {
            return Ok(table);
        }
        let options = ListingOptions::new(format).with_file_extension("");
        let config = ListingTableConfig::new_with_multi_paths(urls.clone()).with_listing_options(options);
        let config = config.infer_schema(&self.state).await?;
        let table = ListingTable::try_new(config)?;
        let widths = match kind {
            TableKind::Arrow => Widths::default(),
            _ => Widths::of_parquet(&self.state, &urls, &table.schema(), &pages).await?,
        };
        let page_reader = pages.reader(table.schema(), self.reader_bytes(), self.context.shares.rest_bytes() / 2);
        Ok(Arc::new(ColumnsTable::new(Arc::new(table), widths).with_page_reader(page_reader)))
    }

    /// Refuses files of this machine that would be read wrong, or whose footer takes too much, and
    /// finds their large pages.
    fn check(&self, urls: &[ListingTableUrl]) -> Result<FoundPages> {
        let mut pages = FoundPages::default();
        for url in urls {
            let Ok(path) = url.get_url().to_file_path() else { continue };
            let Some(file) = Input::open(&path).and_then(|input| input.file_again()).map_err(external)? else { continue };
            // Nothing else is held yet, and the table goes again: its footer may take more of the
            // memory than its share where rows are read.
            let table = TableFile::open(file, &name(url), 2 * self.context.shares.memory_bytes).map_err(external)?;
            match table {
                Some(table) if table.is_parquet() => {
                    pages.add((path, self.context.held.version(url.prefix())), &table, self.reader_bytes());
                }
                _ => return plan_err!("{}: is not a Parquet file{}", name(url), if urls.len() > 1 { OF_SEVERAL } else { "" }),
            }
        }
        Ok(pages)
    }
}

/// The way on with files of several formats.
const OF_SEVERAL: &str = ", as others of this table are: name them in tables of their own";

/// A file's name in messages.
fn name(url: &ListingTableUrl) -> String {
    let path = url.get_url().to_file_path();
    path.map_or_else(|()| url.get_url().to_string(), |path| path.display().to_string())
}

impl fmt::Debug for TableFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tables").finish_non_exhaustive()
    }
}

#[async_trait]
impl UrlTableFactory for TableFactory {
    async fn try_new(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if let Some((scheme, _)) = name.split_once("://") {
            return match scheme {
                "file" => {
                    let url = url::Url::parse(name).map_err(|error| plan_datafusion_err!("{name}: {error}"))?;
                    let path = url.to_file_path().map_err(|()| plan_datafusion_err!("{name}: is not the path of a file"))?;
                    self.local(&path.to_string_lossy()).await.map(Some)
                }
                _ if self.known.roots.is_some() => plan_err!("{name}: addresses are not read (--root)"),
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
