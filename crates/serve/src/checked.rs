//! A part of an upload that is held until its checksum is right: what was parsed can't be taken back, so nothing of it may reach the run
//! before.

use crate::error::ApiError;
use crate::feed::{Interruption, idle_max};
use crate::limits::CHECKED_BYTES_MAX;
use crate::session::Session;
use crate::transport::{BodyTransport, End, Transport};
use axum::http::StatusCode;
use rorqual_digest::{Digest, Hasher};
use rorqual_pipe::limits::BLOCK_BYTES;
use rorqual_pipe::{Lease, Pool};
use rorqual_view::Lent;
use std::sync::Arc;
use tokio::time::timeout;

/// A part in blocks of its own, whose memory is lent by the session's rows.
pub(crate) struct Checked {
    pool: Pool,
    blocks: Vec<Lease>,
    bytes: usize,
    /// Bytes that were given away.
    given: usize,
    _lent: Lent,
}

/// Why a part is not taken.
pub(crate) enum Failed {
    /// It is not what its checksum says.
    Mismatch,
    /// It is too long, or there is no memory for it.
    Refused(ApiError),
    /// It did not come to its end.
    Interrupted(Interruption),
}

impl Checked {
    /// Room for a part of `length` bytes.
    pub(crate) async fn new(session: &Arc<Session>, length: Option<u64>) -> Result<Self, ApiError> {
        let length = length.unwrap_or(CHECKED_BYTES_MAX);
        if length > CHECKED_BYTES_MAX {
            return Err(too_long());
        }
        let blocks = (length as usize).div_ceil(BLOCK_BYTES).max(1);
        let store = session.rows().hold().await?.store;
        let lend = move || store.as_ref().and_then(|store| store.lend((blocks * BLOCK_BYTES) as u64));
        let lent = tokio::task::spawn_blocking(lend).await.ok().flatten().ok_or_else(|| {
            let message =
                format!("this session has no room beside its rows to hold {length} bytes until their checksum is right");
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "no_room", message).retry_after(1)
        })?;
        Ok(Self { pool: Pool::new(BLOCK_BYTES, blocks), blocks: Vec::new(), bytes: 0, given: 0, _lent: lent })
    }

    /// Takes a body to its end, and compares.
    pub(crate) async fn take(&mut self, body: &mut BodyTransport, mut hasher: Hasher, expected: Digest) -> Result<(), Failed> {
        loop {
            let ready =
                timeout(idle_max(), body.ready()).await.unwrap_or(Err(Interruption::Idle)).map_err(Failed::Interrupted)?;
            if ready == 0 {
                return if hasher.finish() == expected { Ok(()) } else { Err(Failed::Mismatch) };
            }
            self.hold(body, ready, &mut hasher)?;
        }
    }

    fn hold(&mut self, body: &mut BodyTransport, mut ready: usize, hasher: &mut Hasher) -> Result<(), Failed> {
        while ready > 0 {
            let used = self.bytes % BLOCK_BYTES;
            if used == 0 {
                let no_memory = |_| Failed::Interrupted(Interruption::NoMemory);
                let block = self.pool.try_lease().map_err(no_memory)?;
                self.blocks.push(block.ok_or_else(|| Failed::Refused(too_long()))?);
            }
            let Some(block) = self.blocks.last_mut() else { return Ok(()) };
            let length = ready.min(BLOCK_BYTES - used);
            let place = &mut block[used..used + length];
            body.fill(place);
            hasher.update(place);
            self.bytes += length;
            ready -= length;
        }
        Ok(())
    }
}

impl Transport for Checked {
    async fn ready(&mut self) -> Result<usize, Interruption> {
        Ok((self.bytes - self.given).min(BLOCK_BYTES - self.given % BLOCK_BYTES))
    }

    fn fill(&mut self, place: &mut [u8]) {
        let (block, at) = (self.given / BLOCK_BYTES, self.given % BLOCK_BYTES);
        place.copy_from_slice(&self.blocks[block][at..at + place.len()]);
        self.given += place.len();
    }

    fn end(&self) -> End {
        End::Part
    }
}

fn too_long() -> ApiError {
    let mib = CHECKED_BYTES_MAX >> 20;
    let message = format!("a part with a checksum is held until that is right, so it has at most {mib} MiB: send smaller parts");
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "part_too_long", message).with("size", CHECKED_BYTES_MAX)
}
