//! Memory of reading files of columns, as far as their footers tell.

use super::columns::PageReader;
use super::name;
use super::streamed::{HeldPath, StreamedTable, merged, streamed_table};
use crate::limits::PAGE_BYTES;
use crate::scan::external;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::common::{Result, plan_err};
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::datasource::physical_plan::parquet::metadata::DFParquetMetadata;
use datafusion::execution::SessionState;
use datafusion::object_store::ObjectStoreExt;
use datafusion::parquet::arrow::parquet_to_arrow_schema;
use datafusion::parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use rorqual_columnar::read::{LargePages, TableFile, check_footer};
use std::collections::HashMap;
use std::sync::Arc;

/// Memory of the columns of some files.
#[derive(Debug, Default)]
pub(crate) struct Widths {
    /// By the places of the columns.
    columns: Vec<Width>,
    /// Bytes read at once whatever the columns: a batch of an Arrow file.
    whole_bytes: u64,
}

/// Memory of a column, by the largest of all row groups.
#[derive(Debug, Default, Clone, Copy)]
struct Width {
    /// A row of it, decoded.
    row_bytes: u64,
    /// Bytes read of a row group at once, and a page and a dictionary decompressed.
    group_bytes: u64,
}

impl Widths {
    /// Memory of a row of these columns, or of all.
    pub(crate) fn row_bytes(&self, columns: Option<&Vec<usize>>) -> u64 {
        self.sum(columns, |width| width.row_bytes)
    }

    /// Bytes of these columns that each thread reads at once.
    pub(crate) fn group_bytes(&self, columns: Option<&Vec<usize>>) -> u64 {
        self.whole_bytes + self.sum(columns, |width| width.group_bytes)
    }

    fn sum(&self, columns: Option<&Vec<usize>>, of: impl Fn(&Width) -> u64) -> u64 {
        match columns {
            None => self.columns.iter().map(of).sum(),
            Some(columns) => columns.iter().filter_map(|column| self.columns.get(*column)).map(of).sum(),
        }
    }

    /// By the footers of Parquet files, which the engine has read and keeps.
    pub(super) async fn of_parquet(
        state: &SessionState,
        urls: &[ListingTableUrl],
        schema: &SchemaRef,
        pages: &FoundPages,
    ) -> Result<Self> {
        let runtime = state.runtime_env();
        let mut widths: HashMap<String, Width> = HashMap::new();
        let mut first: Option<(String, Schema)> = None;
        for url in urls {
            let store = runtime.object_store(url)?;
            let meta = store.head(url.prefix()).await?;
            let cache = runtime.cache_manager.get_file_metadata_cache();
            let footer =
                DFParquetMetadata::new(store.as_ref(), &meta).with_file_metadata_cache(Some(cache)).fetch_metadata().await?;
            check_footer(&name(url), &footer).map_err(external)?;
            if pages.paths.is_empty() {
                refuse_other_columns(&mut first, name(url), &footer)?;
            }
            footer.row_groups().iter().for_each(|group| add(&mut widths, group, &pages.large));
        }
        let width = |name: &String| widths.get(name).copied().unwrap_or_default();
        Ok(Self { columns: schema.fields().iter().map(|field| width(field.name())).collect(), whole_bytes: 0 })
    }

    /// The same bytes at once, whatever the columns.
    pub(super) fn of_whole(whole_bytes: u64) -> Self {
        Self { columns: Vec::new(), whole_bytes }
    }
}

/// Refuses a file whose columns are not those of the first, by which the engine would read it.
fn refuse_other_columns(first: &mut Option<(String, Schema)>, name: String, footer: &ParquetMetaData) -> Result<()> {
    let about = footer.file_metadata();
    let own = parquet_to_arrow_schema(about.schema_descr(), about.key_value_metadata())?;
    let Some((first, schema)) = &*first else {
        *first = Some((name, own));
        return Ok(());
    };
    if same_columns(schema, &own) {
        return Ok(());
    }
    plan_err!(
        "{name}: its columns are others than those of {first}, by which it would be read: name them in tables of their own, \
         and join these by UNION ALL BY NAME"
    )
}

/// Files of columns of this machine, and their large pages.
#[derive(Debug, Default)]
pub(super) struct FoundPages {
    paths: Vec<HeldPath>,
    large: LargePages,
    /// Columns of each file.
    schemas: Vec<(String, SchemaRef)>,
    /// Memory of the largest footer.
    footer_bytes: u64,
}

impl FoundPages {
    /// Adds a file, which has `reader_bytes` if it is read page by page.
    pub(super) fn add(&mut self, path: HeldPath, table: &TableFile, reader_bytes: u64) {
        self.large.merge(table.large_pages(reader_bytes));
        self.footer_bytes = self.footer_bytes.max(table.footer_bytes());
        self.schemas.push((table.name().to_owned(), SchemaRef::clone(table.schema())));
        self.paths.push(path);
    }

    /// The files as one table by the reader of every other verb, if their columns differ: the
    /// engine takes those of the first file, and changes the values of the others.
    ///
    /// # Errors
    /// When the columns do not make one table.
    pub(super) fn differing(&self, reader_bytes: u64) -> Result<Option<Arc<dyn TableProvider>>> {
        let is_same = self.schemas.windows(2).all(|pair| same_columns(&pair[0].1, &pair[1].1));
        if is_same {
            return Ok(None);
        }
        let page_bytes = self.large.reserved_bytes(|_| true, reader_bytes) as u64;
        let file_bytes = self.footer_bytes + TableFile::reading_bytes(reader_bytes, page_bytes);
        let files = StreamedTable::of_files(merged(&self.schemas)?, &self.paths, reader_bytes);
        Ok(Some(streamed_table(files, file_bytes)))
    }

    /// The reader of these files page by page, where the engine's own reader may take
    /// `engine_bytes_max` in a thread; `None` where they are elsewhere.
    pub(super) fn reader(self, schema: SchemaRef, reader_bytes: u64, engine_bytes_max: u64) -> Option<PageReader> {
        let files = StreamedTable::of_files(schema, &self.paths, reader_bytes);
        let reader = PageReader { files, large: self.large, footer_bytes: self.footer_bytes, reader_bytes, engine_bytes_max };
        (!self.paths.is_empty()).then_some(reader)
    }
}

/// True if two files have the same columns, in any order, whose values the engine takes as they
/// are.
fn same_columns(one: &Schema, other: &Schema) -> bool {
    let alike = |field: &FieldRef| other.field_with_name(field.name()).is_ok_and(|other| same_values(field, other));
    one.fields().len() == other.fields().len() && one.fields().iter().all(alike)
}

/// True if two fields have the same values, however these are stored.
fn same_values(one: &Field, other: &Field) -> bool {
    same_type(one.data_type(), other.data_type())
}

fn same_type(one: &DataType, other: &DataType) -> bool {
    match (one, other) {
        (DataType::Dictionary(_, values), other) | (other, DataType::Dictionary(_, values)) => same_type(values, other),
        (DataType::List(one) | DataType::LargeList(one), DataType::List(other) | DataType::LargeList(other))
        | (DataType::Map(one, _), DataType::Map(other, _)) => same_values(one, other),
        (DataType::Struct(ours), DataType::Struct(theirs)) => {
            let same = |(one, other): (&FieldRef, &FieldRef)| one.name() == other.name() && same_values(one, other);
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(same)
        }
        _ => one == other || (one.is_string() && other.is_string()) || (one.is_binary() && other.is_binary()),
    }
}

/// Adds the memory of the columns of a row group, each with all that is below it.
fn add(widths: &mut HashMap<String, Width>, group: &RowGroupMetaData, large: &LargePages) {
    let bytes = |bytes: i64| u64::try_from(bytes).unwrap_or(0);
    let rows = bytes(group.num_rows()).max(1);
    let mut own: HashMap<&str, Width> = HashMap::new();
    for column in group.columns() {
        let Some(name) = column.column_path().parts().first() else { continue };
        let uncompressed = bytes(column.uncompressed_size());
        let page_bytes = large.columns.get(name).map_or(PAGE_BYTES, |bytes| *bytes as u64);
        // A dictionary has a value once, however often it comes; its writer may tell the bytes of
        // all of them.
        let decoded = uncompressed.max(bytes(column.unencoded_byte_array_data_bytes().unwrap_or(0)));
        let width = own.entry(name).or_default();
        width.row_bytes += decoded.div_ceil(rows);
        width.group_bytes += bytes(column.compressed_size()) + uncompressed.min(2 * page_bytes);
    }
    for (name, width) in own {
        let most = widths.entry(name.to_owned()).or_default();
        most.row_bytes = most.row_bytes.max(width.row_bytes);
        most.group_bytes = most.group_bytes.max(width.group_bytes);
    }
}
