//! The engine, set up for the memory that there is.

use crate::aggregate::{checked_average, checked_sum};
use crate::args::Args;
use crate::arithmetic::CheckedArithmetic;
use crate::budget::QueryShares;
use crate::limits::BATCH_ROWS;
use crate::scan::{PiecesAhead, ScanContext};
use crate::tables::{TableFactory, TableOptions};
use crate::temp::TempFolder;
use crate::trunc::utc_trunc;
use datafusion::catalog::DynamicFileCatalog;
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::config::SpillCompression;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, MemoryPool, TrackConsumersPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use std::num::NonZeroUsize;
use std::sync::Arc;
use url::Url;

/// Consumers that an error about memory names.
const CONSUMERS_NAMED: usize = 3;

/// A session with the state that its scans share.
pub(crate) struct Engine {
    pub(crate) session: SessionContext,
    pub(crate) scans: Arc<ScanContext>,
}

impl Engine {
    /// # Errors
    /// When the engine refuses its settings, which would be a defect here.
    pub(crate) fn new(args: &Args, known: Arc<TableOptions>, shares: QueryShares, temp: &TempFolder) -> Result<Self> {
        let scans = ScanContext::new(shares, args.bad, PiecesAhead::default());
        let state = SessionStateBuilder::new()
            .with_config(config(&shares))
            .with_runtime_env(runtime(&shares, temp, args.temp_max).build_arc()?)
            .with_default_features()
            .with_analyzer_rule(Arc::new(CheckedArithmetic))
            .build();
        let tables = Arc::new(TableFactory::new(state.clone(), &scans, known));
        let catalogs = DynamicFileCatalog::new(Arc::clone(state.catalog_list()), tables);
        let state = SessionStateBuilder::new_from_existing(state).with_catalog_list(Arc::new(catalogs)).build();
        let session = SessionContext::new_with_state(state);
        let files = Url::parse("file:///").map_err(|error| internal_datafusion_err!("{error}"))?;
        session.register_object_store(&files, Arc::clone(&scans.held) as _);
        session.register_udf(utc_trunc());
        session.register_udaf(checked_sum());
        session.register_udaf(checked_average());
        Ok(Self { session, scans })
    }
}

fn config(shares: &QueryShares) -> SessionConfig {
    let mut config = SessionConfig::new()
        .with_target_partitions(shares.threads)
        .with_batch_size(BATCH_ROWS)
        .with_information_schema(true)
        .with_sort_spill_reservation_bytes(shares.sort_merge_bytes())
        .with_spill_compression(SpillCompression::Lz4Frame);
    let options = config.options_mut();
    // A value of a dictionary is held once for all rows that have it; otherwise a file of a few
    // bytes could take all memory.
    options.execution.parquet.schema_force_view_types = true;
    // Nanoseconds reach from 1677 to 2262 only, and Spark writes 9999-12-31.
    options.execution.parquet.coerce_int96 = Some("us".to_owned());
    options.sql_parser.collect_spans = true;
    config
}

/// Runtime of a process with these shares: its folder of rows that have no room, and its caches.
#[must_use]
pub fn runtime(shares: &QueryShares, temp: &TempFolder, temp_bytes_max: u64) -> RuntimeEnvBuilder {
    let disk = DiskManagerBuilder::default()
        .with_mode(DiskManagerMode::Directories(vec![temp.path().to_owned()]))
        .with_max_temp_directory_size(temp_bytes_max);
    let caches = (shares.memory_bytes / 64) as usize;
    RuntimeEnvBuilder::new()
        .with_memory_pool(operators_pool(shares.operators_bytes))
        .with_disk_manager_builder(disk)
        .with_metadata_cache_limit(caches)
        .with_object_list_cache_limit(caches)
        .with_file_statistics_cache_limit(caches)
}

/// Memory of so many bytes that operators share.
#[must_use]
pub fn operators_pool(bytes: u64) -> Arc<dyn MemoryPool> {
    let named = NonZeroUsize::new(CONSUMERS_NAMED).unwrap_or(NonZeroUsize::MIN);
    Arc::new(TrackConsumersPool::new(FairSpillPool::new(bytes as usize), named))
}
