//! Uploads on their way into a feed: turns, blocks and pauses.

use crate::admission::scheduler::WorkerGrant;
use crate::ingest::feed::{Feed, FeedItem, FillingBlock, SliceOutcome, WorkSlice};
use crate::ingest::first_bytes::{newlines, tells_for_sure, tells_format, whole_lines};
use crate::ingest::transport::{Interruption, Transport};
use crate::limits::{
    CHECKPOINT_EVERY, FEED_PATIENCE, FEED_QUEUE, FIRST_PATIENCE, HEAD_HELD_MAX, HELD_BYTES_FREE, LAP_BYTES_MAX, TURN_BYTES,
    UPLOAD_IDLE_MAX,
};
use crate::session::Session;
use rorqual_accesslog::format::{SAMPLE_LINES_MAX, WINDOW_LINES};
use rorqual_pipe::FilledBlock;
use rorqual_pipe::decode::is_encoded;
use rorqual_pipe::limits::BLOCK_BYTES;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::channel;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

/// The reason for which a slice takes no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FeedStop {
    /// The transport came to its end.
    End,
    /// Others want a turn, or nothing came for a while.
    Pause,
}

impl Feed {
    /// Takes what a transport brings to its end, or until the session has its size, counting every
    /// byte as taken. Also after an interruption all counted bytes reach the run; those by which no
    /// format can be told yet stay here until there are more, or the end.
    pub(crate) async fn take(&mut self, session: &Arc<Session>, transport: &mut impl Transport) -> Result<(), Interruption> {
        if self.formats.is_some() && self.gather(session, transport).await? == FeedStop::End {
            return Ok(());
        }
        loop {
            if self.lap.is_none() && self.head.is_empty() {
                let ready = timeout(UPLOAD_IDLE_MAX, ready(session, transport)).await.map_err(|_| Interruption::Idle)??;
                if ready == 0 {
                    return Ok(());
                }
            }
            self.begin(session, transport.waits()).await?;
            let Some(lap) = &mut self.lap else { return Err(Interruption::RunEnded) };
            let stopped = lap.fill(session, transport).await;
            let debt = std::mem::take(&mut lap.debt);
            let handed = lap.hand_on_at_pause(session).await;
            // At the end of the log the run goes on to its report.
            if !(stopped == Ok(FeedStop::End) && session.whole(transport.end())) {
                self.pause(session).await?;
            }
            handed?;
            if stopped? == FeedStop::End {
                return Ok(());
            }
            sleep(debt).await;
        }
    }

    /// Gives a place for held bytes to others, which need it while this upload is away. The held
    /// bytes come again. Blocks while the session is being kept.
    pub(crate) fn leave(&mut self, session: &Session) {
        // Given away at the end, when nothing is held any longer.
        let Some(_held) = self.held.take() else { return };
        session.untake(self.head.len() as u64);
        self.head = Vec::new();
        session.rewind();
    }

    /// Hands on the rest: the end of the log, with or without waiting for a permit. After
    /// [`Interruption::NoTurn`] it goes on.
    pub(crate) async fn finish(&mut self, session: &Arc<Session>, waits: bool) -> Result<(), Interruption> {
        // Where no format was told the run says so.
        self.begin(session, waits).await?;
        let Some(lap) = self.lap.take() else { return Ok(()) };
        lap.sender.send(FeedItem::End).await.map_err(|_| Interruption::RunEnded)?;
        let ran = lap.running.await;
        // The workers are for others while a table is read.
        drop(lap.turn);
        if matches!(ran, Ok(SliceOutcome::Uploaded)) {
            session.run_uploaded_table().await;
        }
        Ok(())
    }

    /// Takes the first bytes, until they tell the format.
    async fn gather(&mut self, session: &Arc<Session>, transport: &mut impl Transport) -> Result<FeedStop, Interruption> {
        let begun = Instant::now();
        let mut due = begun + FIRST_PATIENCE;
        let mut last = begun;
        let mut windows = 0;
        loop {
            match timeout_at(due, ready(session, transport)).await {
                Ok(ready) => {
                    let ready = ready?;
                    if ready == 0 {
                        return Ok(FeedStop::End);
                    }
                    self.put_head(session, transport, ready)?;
                    last = Instant::now();
                }
                Err(_elapsed) if last.elapsed() >= UPLOAD_IDLE_MAX => return Err(Interruption::Idle),
                Err(_elapsed) => due = Instant::now() + FIRST_PATIENCE,
            }
            let Some(formats) = &self.formats else { return Ok(FeedStop::Pause) };
            let pressed = self.head.len() > HELD_BYTES_FREE && self.held.is_none();
            let lines = newlines(&self.head);
            // Asked once a window, so that a body of single bytes is not looked through for each.
            let tells = lines / WINDOW_LINES > windows && tells_for_sure(&self.head, formats);
            windows = lines / WINDOW_LINES;
            let long = self.head.len() >= BLOCK_BYTES || lines >= SAMPLE_LINES_MAX || tells;
            let patient = begun.elapsed() < FIRST_PATIENCE && !pressed;
            if long || (!patient && tells_format(&self.head, formats)) {
                return Ok(FeedStop::Pause);
            }
            if pressed || (self.held.is_some() && begun.elapsed() > HEAD_HELD_MAX) {
                if session.may_be_table(whole_lines(&self.head)) {
                    return Ok(FeedStop::Pause);
                }
                self.forget_head(session);
                return Err(Interruption::NoPlace);
            }
        }
    }

    fn put_head(&mut self, session: &Arc<Session>, transport: &mut impl Transport, ready: usize) -> Result<(), Interruption> {
        let room = session.room();
        if room == 0 {
            return Err(Interruption::TooLong);
        }
        let start = self.head.len();
        if self.held.is_none() && start + ready > HELD_BYTES_FREE {
            self.held = session.turns().hold();
        }
        // The rest waits where it is.
        let most = if self.held.is_some() { BLOCK_BYTES } else { HELD_BYTES_FREE + 1 };
        let length = ready.min(most.saturating_sub(start)).min(usize::try_from(room).unwrap_or(usize::MAX));
        self.head.resize(start + length, 0);
        transport.fill(&mut self.head[start..]);
        session.took(length as u64);
        Ok(())
    }

    /// The head was counted, and is to come again.
    fn forget_head(&mut self, session: &Arc<Session>) {
        session.untake(self.head.len() as u64);
        (self.head, self.held) = (Vec::new(), None);
    }

    /// Begins a turn, where none goes on, and hands on the head.
    async fn begin(&mut self, session: &Arc<Session>, waits: bool) -> Result<(), Interruption> {
        if self.lap.is_some() {
            return Ok(());
        }
        // Of several files any may be compressed.
        let decodes = session.has_parts() || (!self.head.is_empty() && is_encoded(&self.head));
        let waiting = session.pace().wait();
        let turn = if decodes { session.own_turn(waits).await } else { Some(session.turns().acquire_shared().await) };
        drop(waiting);
        let Some(turn) = turn else {
            self.forget_head(session);
            return Err(Interruption::NoTurn);
        };
        let mut lap = WorkSlice::new(session, turn, self.headroom);
        self.formats = None;
        lap.put(session, &self.head).await?;
        lap.end_files(session).await?;
        (self.head, self.held) = (Vec::new(), None);
        self.lap = Some(lap);
        Ok(())
    }

    /// Ends a turn that is shared. A line that began in it is held, or comes again.
    async fn pause(&mut self, session: &Arc<Session>) -> Result<(), Interruption> {
        let Some(lap) = self.lap.take_if(|lap| !lap.turn.is_own()) else { return Ok(()) };
        drop(lap.sender);
        let Ok(SliceOutcome::Paused { held_bytes }) = lap.running.await else { return Err(Interruption::RunEnded) };
        if held_bytes <= HELD_BYTES_FREE {
            self.held = None;
        } else if self.held.is_none() {
            self.held = session.turns().hold();
            if self.held.is_none() {
                let session = Arc::clone(session);
                // A panic was reported where it was.
                let _ = tokio::task::spawn_blocking(move || session.rewind()).await;
                return Err(Interruption::NoPlace);
            }
        }
        Ok(())
    }
}

impl WorkSlice {
    /// Starts the run of a session on a thread of its own.
    fn new(session: &Arc<Session>, turn: WorkerGrant, headroom: usize) -> Self {
        let (sender, receiver) = channel(FEED_QUEUE);
        session.inlet().put(receiver);
        let turn = Arc::new(turn);
        let (running, its) = (Arc::clone(session), Arc::clone(&turn));
        let running = tokio::task::spawn_blocking(move || running.run_slice(&its));
        Self {
            sender,
            running,
            turn,
            headroom,
            begun: Instant::now(),
            current: None,
            taken: 0,
            debt: Duration::ZERO,
            files_ended: 0,
            begins_file: session.has_parts(),
        }
    }

    /// Fills blocks with a transport's bytes, until the slice should end.
    async fn fill(&mut self, session: &Session, transport: &mut impl Transport) -> Result<FeedStop, Interruption> {
        let patience = if self.turn.is_own() { UPLOAD_IDLE_MAX } else { FEED_PATIENCE };
        let mut last = Instant::now();
        loop {
            let silent = last + patience;
            let due = self.current.as_ref().map_or(silent, |filling| filling.due.min(silent));
            let ready = tokio::select! {
                biased;
                ready = ready(session, transport) => Some(ready?),
                () = sleep_until(due) => None,
                () = self.turn.wanted() => return Ok(FeedStop::Pause),
            };
            match ready {
                Some(0) => return Ok(FeedStop::End),
                Some(ready) => {
                    self.take(session, transport, ready).await?;
                    last = Instant::now();
                }
                None if !self.turn.is_own() => return Ok(FeedStop::Pause),
                None if last.elapsed() >= UPLOAD_IDLE_MAX => return Err(Interruption::Idle),
                None => self.hand_on_at_pause(session).await?,
            }
            let owing = !self.debt.is_zero();
            let checkpoint = session.is_kept() && self.begun.elapsed() >= CHECKPOINT_EVERY;
            let long = !self.turn.is_own() && (checkpoint || self.taken >= LAP_BYTES_MAX);
            if owing || long || (self.taken >= TURN_BYTES && self.turn.better_ended()) {
                return Ok(FeedStop::Pause);
            }
        }
    }

    /// Moves the bytes at hand into blocks.
    async fn take(&mut self, session: &Session, transport: &mut impl Transport, mut ready: usize) -> Result<(), Interruption> {
        while ready > 0 {
            let room = usize::try_from(session.room_in_file()).unwrap_or(usize::MAX);
            if room == 0 {
                return Err(Interruption::TooLong);
            }
            let place = self.place().await?;
            let length = ready.min(place.len()).min(room);
            transport.fill(&mut place[..length]);
            ready -= length;
            session.took(length as u64);
            self.filled(session, length).await?;
            self.end_files(session).await?;
        }
        Ok(())
    }

    /// Hands on the ends of the files that have come, but for the last of them all, which is the
    /// log's.
    async fn end_files(&mut self, session: &Session) -> Result<(), Interruption> {
        while self.files_ended < session.files_before(session.offset()) {
            self.hand_on(session).await?;
            self.sender.send(FeedItem::FileEnd).await.map_err(|_| Interruption::RunEnded)?;
            self.files_ended += 1;
            self.begins_file = true;
        }
        Ok(())
    }

    /// Hands on what there is, where nothing more has come for a while or its upload went away. The
    /// first block of one of several files waits for more: by it alone the format is told.
    async fn hand_on_at_pause(&mut self, session: &Session) -> Result<(), Interruption> {
        if let Some(filling) = self.current.as_mut().filter(|_| self.begins_file && session.room() > 0) {
            filling.due = Instant::now() + FEED_PATIENCE;
            return Ok(());
        }
        self.hand_on(session).await
    }

    /// Hands on bytes that were counted before.
    async fn put(&mut self, session: &Session, mut bytes: &[u8]) -> Result<(), Interruption> {
        while !bytes.is_empty() {
            let place = self.place().await?;
            let (now, later) = bytes.split_at(place.len().min(bytes.len()));
            place[..now.len()].copy_from_slice(now);
            bytes = later;
            self.filled(session, now.len()).await?;
        }
        self.hand_on(session).await
    }

    /// Room in the block that is being filled, at least a byte.
    async fn place(&mut self) -> Result<&mut [u8], Interruption> {
        if self.current.is_none() {
            let lease = self.turn.pool.lease_async().await.map_err(|_| Interruption::NoMemory)?;
            self.current = Some(FillingBlock { lease, used: 0, due: Instant::now() + FEED_PATIENCE });
        }
        let Some(FillingBlock { lease, used, .. }) = &mut self.current else { return Err(Interruption::NoMemory) };
        Ok(&mut lease[self.headroom + *used..self.headroom + BLOCK_BYTES])
    }

    async fn filled(&mut self, session: &Session, length: usize) -> Result<(), Interruption> {
        self.taken += length as u64;
        let Some(filling) = &mut self.current else { return Ok(()) };
        filling.used += length;
        if filling.used == BLOCK_BYTES { self.hand_on(session).await } else { Ok(()) }
    }

    async fn hand_on(&mut self, session: &Session) -> Result<(), Interruption> {
        let Some(FillingBlock { lease, used, .. }) = self.current.take() else { return Ok(()) };
        self.begins_file = false;
        self.debt = session.stored(used as u64);
        let range = self.headroom..self.headroom + used;
        self.sender.send(FeedItem::Block(FilledBlock { lease, range })).await.map_err(|_| Interruption::RunEnded)
    }
}

/// Waits until bytes are at hand, or until its place is wanted that it hardly uses.
async fn ready(session: &Session, transport: &mut impl Transport) -> Result<usize, Interruption> {
    tokio::select! {
        biased;
        ready = transport.ready() => ready,
        () = session.pace().place_wanted() => Err(Interruption::Slow),
    }
}
