//! A part of an upload that is held until its checksum is right: parsed lines can't be taken back,
//! so nothing of it may reach the run before.

use crate::admission::{PermitGuard, PermitPool};
use crate::http::error::ApiError;
use crate::ingest::transport::{BodyTransport, Interruption, TransferEnd, Transport};
use crate::limits::{CHECKED_BYTES_MAX, CHECKED_SPARE_BYTES, CHECKED_SPARE_TIME_MAX, UPLOAD_IDLE_MAX};
use crate::session::Session;
use crate::setting::SESSIONS;
use axum::http::StatusCode;
use rorqual_crossfilter::Reservation;
use rorqual_digest::{Digest, Hasher};
use rorqual_pipe::limits::BLOCK_BYTES;
use rorqual_pipe::setting::{MEMORY, TEMP_MAX};
use rorqual_pipe::{BufferPool, Lease};
use std::sync::Arc;
use tokio::time::timeout;

/// Owner of a part's memory.
enum ChecksumMemory {
    /// Of the session's rows.
    Lent { _lent: Reservation },
    /// Of all sessions, who may wait for it.
    Spare { _place: PermitGuard },
}

/// A part in blocks of its own.
pub(crate) struct ChecksummedPart {
    pool: BufferPool,
    blocks: Vec<Lease>,
    bytes: usize,
    /// Bytes that were given away.
    given: usize,
    room: ChecksumMemory,
}

/// The reason for which a part is not taken.
pub(crate) enum PartError {
    /// It has another checksum.
    Mismatch,
    /// It is too long, or there is no memory for it.
    Refused(ApiError),
    /// It did not come to its end.
    Interrupted(Interruption),
}

impl ChecksummedPart {
    /// Room for a part of `length` bytes, where that is known.
    pub(crate) async fn new(session: &Arc<Session>, length: Option<u64>) -> Result<Self, ApiError> {
        if length.is_some_and(|length| length > CHECKED_BYTES_MAX) {
            return Err(too_long(CHECKED_BYTES_MAX, ""));
        }
        let blocks = |bytes: u64| (bytes as usize).div_ceil(BLOCK_BYTES).max(1);
        let wanted = blocks(length.unwrap_or(CHECKED_BYTES_MAX));
        let store = session.rows().hold().await?.store;
        let lend = move || store.as_ref().and_then(|store| store.try_reserve((wanted * BLOCK_BYTES) as u64));
        let (blocks, room) = match tokio::task::spawn_blocking(lend).await.ok().flatten() {
            Some(lent) => (wanted, ChecksumMemory::Lent { _lent: lent }),
            None => (blocks(CHECKED_SPARE_BYTES), spare(session.spare(), length).await?),
        };
        Ok(Self { pool: BufferPool::new(BLOCK_BYTES, blocks), blocks: Vec::new(), bytes: 0, given: 0, room })
    }

    /// Takes a body to its end, and compares.
    pub(crate) async fn take(&mut self, body: &mut BodyTransport, hasher: Hasher, expected: Digest) -> Result<(), PartError> {
        match self.room {
            ChecksumMemory::Lent { .. } => self.take_all(body, hasher, expected).await,
            ChecksumMemory::Spare { .. } => {
                let taken = timeout(CHECKED_SPARE_TIME_MAX, self.take_all(body, hasher, expected));
                taken.await.unwrap_or_else(|_elapsed| Err(PartError::Refused(too_slow())))
            }
        }
    }

    async fn take_all(&mut self, body: &mut BodyTransport, mut hasher: Hasher, expected: Digest) -> Result<(), PartError> {
        loop {
            let ready = timeout(UPLOAD_IDLE_MAX, body.ready())
                .await
                .unwrap_or(Err(Interruption::Idle))
                .map_err(PartError::Interrupted)?;
            if ready == 0 {
                return if hasher.finish() == expected { Ok(()) } else { Err(PartError::Mismatch) };
            }
            self.hold(body, ready, &mut hasher)?;
        }
    }

    fn hold(&mut self, body: &mut BodyTransport, mut ready: usize, hasher: &mut Hasher) -> Result<(), PartError> {
        while ready > 0 {
            let used = self.bytes % BLOCK_BYTES;
            if used == 0 {
                let no_memory = |_| PartError::Interrupted(Interruption::NoMemory);
                let block = self.pool.try_lease().map_err(no_memory)?;
                self.blocks.push(block.ok_or_else(|| PartError::Refused(self.too_long()))?);
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

    fn too_long(&self) -> ApiError {
        match self.room {
            ChecksumMemory::Lent { .. } => too_long(CHECKED_BYTES_MAX, ""),
            ChecksumMemory::Spare { .. } => too_long_to_spare(),
        }
    }
}

/// The refusal of a part where it may have less than usual.
fn too_long_to_spare() -> ApiError {
    let why = format!(" where a session has no memory to spare beside its rows, as here ({MEMORY}, {SESSIONS})");
    too_long(CHECKED_SPARE_BYTES, &why)
}

/// Its turn, which comes in the order of those who ask; its sender waits meanwhile.
async fn spare(spare: &PermitPool, length: Option<u64>) -> Result<ChecksumMemory, ApiError> {
    if length.is_some_and(|length| length > CHECKED_SPARE_BYTES) {
        return Err(too_long_to_spare());
    }
    let place = timeout(CHECKED_SPARE_TIME_MAX, spare.acquire()).await;
    let place = place.map_err(|_elapsed| {
        let message = format!(
            "this session has no memory to spare beside its rows, and what is there for a part with a checksum all the same is in use \
             ({MEMORY}, {SESSIONS}, {TEMP_MAX})"
        );
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "no_room", message).retry_after(1)
    })?;
    Ok(ChecksumMemory::Spare { _place: place })
}

impl Transport for ChecksummedPart {
    async fn ready(&mut self) -> Result<usize, Interruption> {
        Ok((self.bytes - self.given).min(BLOCK_BYTES - self.given % BLOCK_BYTES))
    }

    fn fill(&mut self, place: &mut [u8]) {
        let (block, at) = (self.given / BLOCK_BYTES, self.given % BLOCK_BYTES);
        place.copy_from_slice(&self.blocks[block][at..at + place.len()]);
        self.given += place.len();
    }

    fn end(&self) -> TransferEnd {
        TransferEnd::Part
    }

    /// A body with a permit to the end of a log waits for the spare memory in each part, so one
    /// with the spare memory must not wait for the permit.
    fn waits(&self) -> bool {
        matches!(self.room, ChecksumMemory::Lent { .. })
    }
}

fn too_long(most: u64, why: &str) -> ApiError {
    let mib = most >> 20;
    let message =
        format!("a part with a checksum is held until that is right, so it has at most {mib} MiB{why}: send smaller parts");
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "part_too_long", message).with("size", most)
}

fn too_slow() -> ApiError {
    let seconds = CHECKED_SPARE_TIME_MAX.as_secs();
    let message = format!(
        "the part did not come within {seconds} s, and others may wait for its memory: send smaller parts, or start the server with more \
         {MEMORY} or {TEMP_MAX}"
    );
    ApiError::new(StatusCode::REQUEST_TIMEOUT, "too_slow", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault_tests::{full_session, log, report, shared};
    use crate::ingest::upload::Intake;
    use crate::limits::MANY_SESSIONS;
    use crate::session::SessionState;
    use axum::body::Body;
    use futures_util::stream::pending;
    use rorqual_digest::Algorithm;
    use rorqual_testkit::paths::gzip;
    use rorqual_testkit::process::in_time;
    use std::convert::Infallible;
    use std::pin::pin;
    use std::time::Duration;
    use tokio::runtime::{Builder, Runtime};
    use tokio::time::{Instant, sleep};

    /// Longer than anything is waited for here.
    const LONG: Duration = Duration::from_secs(600);

    fn refusal(refused: Result<ChecksummedPart, ApiError>) -> (&'static str, u64) {
        let error = refused.err().expect("it is refused");
        (error.code(), error.object()["size"].as_u64().unwrap_or_default())
    }

    async fn room(session: &Arc<Session>) -> ChecksummedPart {
        ChecksummedPart::new(session, None).await.unwrap_or_else(|error| panic!("{}", error.message()))
    }

    /// A part with a right checksum.
    async fn part(session: &Arc<Session>, part: &[u8]) -> ChecksummedPart {
        let mut checked = room(session).await;
        let mut hasher = Hasher::new(Algorithm::Sha256);
        hasher.update(part);
        let mut body = BodyTransport::new(Body::from(part.to_vec()), TransferEnd::Part);
        let taken = checked.take(&mut body, Hasher::new(Algorithm::Sha256), hasher.finish()).await;
        assert!(taken.is_ok());
        checked
    }

    async fn take(session: &Arc<Session>, checked: &mut ChecksummedPart) -> Result<(), ApiError> {
        let intake = Intake::claim(Arc::clone(session), session.offset(), None).expect("nobody else has it");
        timeout(LONG, intake.take(checked)).await.expect("it does not wait for what others have for long")
    }

    async fn send(session: &Arc<Session>, bytes: &[u8]) -> Result<(), ApiError> {
        take(session, &mut part(session, bytes).await).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_without_room_gets_on_in_small_parts() {
        let log = log(10_000);
        let session = full_session(&shared(1), log.len() as u64);
        for bytes in log.chunks(300_000) {
            let mut checked = part(&session, bytes).await;
            // Another has to wait, but not for long.
            assert_eq!(refusal(ChecksummedPart::new(&session, None).await).0, "no_room");
            take(&session, &mut checked).await.unwrap_or_else(|error| panic!("{}", error.message()));
        }
        assert_eq!(session.state(), SessionState::Finished);
        assert_eq!(report(&session).await["lines"]["parsed"], 10_000);
        let longer = Some(CHECKED_SPARE_BYTES + 1);
        assert_eq!(
            refusal(ChecksummedPart::new(&full_session(&shared(1), 1), longer).await),
            ("part_too_long", CHECKED_SPARE_BYTES)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_second_has_the_room_when_the_first_gives_it_back() {
        let (shared, begun) = (shared(2), Instant::now());
        let sessions = [full_session(&shared, 1), full_session(&shared, 1)];
        let first = room(&sessions[0]).await;
        let mut second = pin!(room(&sessions[1]));
        tokio::select! {
            biased;
            _ = &mut second => panic!("the first has it"),
            () = sleep(CHECKED_SPARE_TIME_MAX / 2) => {}
        }
        drop(first);
        drop(second.await);
        assert_eq!(begun.elapsed(), CHECKED_SPARE_TIME_MAX / 2);
    }

    #[test]
    fn compressed_logs_do_not_wait_for_a_turn_with_what_is_there_for_all() {
        // The paused clock stands still while a log has such a turn.
        in_time(Duration::from_secs(60), || paused().block_on(decode_one_after_another()));
    }

    fn paused() -> Runtime {
        Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime")
    }

    async fn decode_one_after_another() {
        let shared = shared(MANY_SESSIONS + 1);
        let log = log(60_000);
        let packed = gzip(&log);
        let session = || full_session(&shared, packed.len() as u64);
        let (decoded, waits) = (session(), session());
        let mut parts = packed.chunks(2 * BLOCK_BYTES);
        let first = parts.next().expect("a part");
        assert!(first.len() < packed.len(), "it has several");
        send(&decoded, first).await.unwrap_or_else(|error| panic!("{}", error.message()));
        assert!(decoded.has_own_turn());
        let refused = send(&waits, first).await.expect_err("there is one such turn");
        assert_eq!((refused.status(), waits.offset()), (StatusCode::SERVICE_UNAVAILABLE, 0));
        assert!(shared.turns.own_wanted() && !shared.turns.own_wanted(), "the housekeeping hears of it once");
        for part in parts {
            send(&decoded, part).await.unwrap_or_else(|error| panic!("{}", error.message()));
        }
        assert_eq!(decoded.state(), SessionState::Finished);
        for part in packed.chunks(2 * BLOCK_BYTES) {
            send(&waits, part).await.unwrap_or_else(|error| panic!("{}", error.message()));
        }
        assert_eq!(report(&waits).await["lines"]["parsed"], 60_000);
    }

    #[tokio::test(start_paused = true)]
    async fn nor_does_one_that_comes_in_a_single_part() {
        let (shared, packed) = (shared(2), gzip(&log(100)));
        let session = full_session(&shared, packed.len() as u64);
        let turns = [
            shared.turns.acquire_dedicated(shared.turns.pool(), true).await,
            shared.turns.acquire_dedicated(shared.turns.pool(), true).await,
        ];
        let refused = send(&session, &packed).await.expect_err("there are two such turns");
        assert_eq!((refused.status(), refused.object()["offset"].as_u64()), (StatusCode::SERVICE_UNAVAILABLE, Some(0)));
        assert_eq!((session.state(), session.offset()), (SessionState::Interrupted, 0));
        drop(turns);
        send(&session, &packed).await.unwrap_or_else(|error| panic!("{}", error.message()));
        assert_eq!(report(&session).await["lines"]["parsed"], 100);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_there_for_all_is_nobodys_for_long() {
        let mut checked = room(&full_session(&shared(1), 1)).await;
        let mut body = BodyTransport::new(Body::from_stream(pending::<Result<Vec<u8>, Infallible>>()), TransferEnd::Part);
        let never = Hasher::new(Algorithm::Sha256).finish();
        let taken = checked.take(&mut body, Hasher::new(Algorithm::Sha256), never).await;
        assert!(matches!(taken, Err(PartError::Refused(error)) if error.code() == "too_slow"));
    }
}
