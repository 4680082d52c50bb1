//! Tests of a connection: the bytes of a transport are counted and dropped, all else is as in an
//! upload.

use crate::admission::{Admission, PermitGuard, PermitKind, PermitPool};
use crate::http::error::ApiError;
use crate::http::routes::RouteTable;
use crate::ingest::socket;
use crate::ingest::transport::Interruption;
use crate::ingest::transport::{BodyTransport, TransferEnd, TransferProgress, Transport};
use crate::ingest::upload::interrupted;
use crate::limits::{DISCARDS_MAX, UPLOAD_IDLE_MAX};
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::{Json, Router};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tokio::time::timeout;

/// Seconds after which a client that was refused should try again.
const RETRY_AFTER_SECONDS: u32 = 5;

/// The addresses that take tests.
pub(crate) fn routes() -> RouteTable<Arc<Tests>> {
    RouteTable::new().put("/api/discard", discard).get("/api/discard/socket", socket::discard)
}

pub(crate) fn router(admission: &Admission) -> Router {
    routes().into_router(Arc::new(Tests(admission.pool(PermitKind::Test))))
}

/// The few tests that may run at a time.
pub(crate) struct Tests(PermitPool);

impl Tests {
    /// A place for one, for as long as it is held.
    pub(crate) fn begin(&self) -> Result<PermitGuard, ApiError> {
        self.0.try_acquire().ok_or_else(|| {
            let message = format!("{DISCARDS_MAX} tests of a connection are running, which is the limit; try again later");
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "tests_full", message).retry_after(RETRY_AFTER_SECONDS)
        })
    }
}

async fn discard(State(tests): State<Arc<Tests>>, body: Body) -> Result<Json<Value>, ApiError> {
    let _place = tests.begin()?;
    DiscardedBytes::default().take(&mut BodyTransport::new(body, TransferEnd::Log)).await.map(Json)
}

/// Bytes that were dropped.
#[derive(Debug, Default)]
pub(crate) struct DiscardedBytes(AtomicU64);

impl DiscardedBytes {
    /// Takes a transport's bytes to the end; returns their number and the time.
    pub(crate) async fn take(&self, transport: &mut impl Transport) -> Result<Value, ApiError> {
        let begun = Instant::now();
        let ended = self.take_all(transport).await;
        ended.map_err(|interruption| interrupted(&interruption, self.offset()))?;
        Ok(json!({"bytes": self.offset(), "seconds": begun.elapsed().as_secs_f64()}))
    }

    async fn take_all(&self, transport: &mut impl Transport) -> Result<(), Interruption> {
        loop {
            let ready = timeout(UPLOAD_IDLE_MAX, transport.ready()).await.map_err(|_elapsed| Interruption::Idle)??;
            if ready == 0 {
                return Ok(());
            }
            transport.skip(ready);
            self.0.fetch_add(ready as u64, Ordering::Relaxed);
        }
    }
}

impl TransferProgress for DiscardedBytes {
    fn offset(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn size(&self) -> Option<u64> {
        None
    }
}
