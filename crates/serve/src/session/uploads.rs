//! A session as uploads have it: the owner of its feed, and the offset.

use super::Session;
use super::locks::lock;
use super::new_upload::too_long;
use super::phase::{ParkedUpload, Phase};
use super::upload_run::UploadRun;
use crate::http::error::ApiError;
use crate::ingest::feed::Feed;
use crate::ingest::transport::{TransferEnd, TransferProgress};
use crate::limits::INTERRUPTED_GRACE;
use crate::state::Checkpoints;
use axum::http::StatusCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

impl Session {
    /// Bytes taken so far; where an upload goes on.
    pub(crate) fn offset(&self) -> u64 {
        if self.announced.is_file {
            self.control.stored_bytes() - self.looked[0].load(Ordering::Relaxed)
        } else {
            self.taken.load(Ordering::Relaxed)
        }
    }

    /// Bytes that may still come.
    pub(crate) fn room(&self) -> u64 {
        self.size().map_or(u64::MAX, |size| size.saturating_sub(self.offset()))
    }

    /// Bytes that may still come of the file at the offset, where the log is several.
    pub(crate) fn room_in_file(&self) -> u64 {
        let offset = self.offset();
        let end = self.file_ends().find(|end| *end > offset);
        end.map_or_else(|| self.room(), |end| end - offset)
    }

    /// Files that end at this offset or before it, without the last of all.
    pub(crate) fn files_before(&self, offset: u64) -> usize {
        self.file_ends().take_while(|end| *end <= offset).count().min(self.parts().len().saturating_sub(1))
    }

    /// Offsets at which the files end that the log is.
    fn file_ends(&self) -> impl Iterator<Item = u64> {
        self.parts().iter().scan(0_u64, |end, part| {
            *end = end.saturating_add(part.size);
            Some(*end)
        })
    }

    /// So many bytes were taken.
    pub(crate) fn took(&self, bytes: u64) {
        self.taken.fetch_add(bytes, Ordering::Relaxed);
    }

    /// So many bytes were counted as taken, and no run was given them: they come again.
    pub(crate) fn untake(&self, bytes: u64) {
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// So many bytes go to the run; how long to wait for the next, where there is a rate limit.
    pub(crate) fn stored(&self, bytes: u64) -> Duration {
        self.control.take_stored(bytes)
    }

    /// Forgets the unfinished line at the end of the taken bytes: it comes again. Blocks while the
    /// session is being kept.
    pub(crate) fn rewind(&self) {
        if let Some(UploadRun::Log(run)) = lock(&self.reading).as_mut() {
            let bytes = run.rewind();
            self.control.untake(bytes);
            self.untake(bytes);
        }
    }

    /// Sets the length of the log, once; for the owner of the claim, which brings bytes up to
    /// `end`.
    pub(crate) fn announce(&self, size: u64, end: u64) -> Result<(), ApiError> {
        if end > size {
            return Err(too_long(size, &format!("a part that ends at byte {end} was refused, and nothing of it taken")));
        }
        let mut is_news = false;
        let announced = *self.announced.size.get_or_init(|| {
            is_news = true;
            size
        });
        self.checkpoints.iter().filter(|_| is_news).for_each(Checkpoints::outdate);
        if announced == size {
            return Ok(());
        }
        Err(ApiError::bad_request(format!("the session was announced with a size of {announced} bytes, which does not change")))
    }

    /// True if the announced size has come; where there is none, the end of its transport decides.
    pub(crate) fn whole(&self, end: TransferEnd) -> bool {
        self.size().map_or(end == TransferEnd::Log, |size| self.offset() >= size)
    }

    /// Takes the feed for an upload that goes on at `offset` with a body of `length`, where that is
    /// known.
    pub(crate) fn begin_upload(self: &Arc<Self>, offset: u64, length: Option<u64>) -> Result<Feed, ApiError> {
        let mut inner = self.lock();
        if inner.phase.state().ended() {
            let message = "this session has ended; make a new one for another upload";
            return Err(ApiError::new(StatusCode::CONFLICT, "finished", message));
        }
        if self.announced.is_file {
            let message = "this session reads a file of the server; make a new one for an upload";
            return Err(ApiError::new(StatusCode::CONFLICT, "busy", message));
        }
        let expected = self.offset();
        if offset != expected && inner.phase.parked().is_some_and(|parked| parked.feed.is_some()) {
            let message = format!("the upload goes on at byte {expected}, not at {offset}");
            return Err(ApiError::new(StatusCode::CONFLICT, "offset_mismatch", message).with("offset", expected));
        }
        let end = length.map_or(offset, |length| offset.saturating_add(length));
        if let Some(size) = self.size().filter(|size| end > *size) {
            return Err(too_long(size, &format!("a body that ends at byte {end} was refused, and nothing of it taken")));
        }
        let busy = || ApiError::new(StatusCode::CONFLICT, "busy", "another upload into this session is running");
        let feed = self.change(&mut inner, Phase::begin_upload).ok_or_else(busy)?;
        self.pace.begin(expected);
        Ok(feed)
    }

    /// Gives its place for the start of a line to others, where its sender has been away for a
    /// while. On a thread that may block.
    pub(crate) fn leave_held(self: &Arc<Self>) {
        let is_away = |parked: &&mut ParkedUpload| parked.since.elapsed() >= INTERRUPTED_GRACE;
        let Some(mut feed) = self.lock().phase.parked().filter(is_away).and_then(|parked| parked.feed.take()) else { return };
        let session = Arc::clone(self);
        tokio::task::spawn_blocking(move || {
            feed.leave(&session);
            // One that was stopped meanwhile needs it no more.
            if let Some(parked) = session.lock().phase.parked() {
                parked.feed = Some(feed);
            }
        });
    }

    /// Gives the feed back when more is to come; with the error of an upload that broke off.
    pub(crate) fn pause_upload(&self, feed: Feed, error: Option<ApiError>) {
        self.step(|phase| phase.pause_upload(feed, error));
    }
}

impl TransferProgress for Session {
    fn offset(&self) -> u64 {
        Self::offset(self)
    }

    fn size(&self) -> Option<u64> {
        Self::size(self)
    }
}
