//! What has to be read in order: a pipe, a compressed file, records that no newline ends, an object of a store.

use super::external;
use super::opener::RecordOpener;
use super::stretches::fits;
use crate::limits::STREAM_BATCHES;
use bytes::Bytes;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::object_store;
use futures::stream::{BoxStream, StreamExt, unfold};
use rorqual_pipe::limits::{buffer_bytes, buffers_needed};
use rorqual_pipe::{Chunk, Control, Error, Input, Kind, Plan, Pool, Stage, run, run_records};
use rorqual_rows::{Decode, Decoded};
use std::io::{self, Read};
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// The rows of a whole input: one reader cuts it, as many workers as there are threads decode it, and they come in order.
pub(super) fn read(opener: &RecordOpener, input: Input) -> Result<BoxStream<'static, Result<RecordBatch>>> {
    let (sender, receiver) = channel(STREAM_BATCHES);
    let stop = StopOnDrop(Control::default());
    let running = Running { opener: opener.clone(), control: stop.0.clone(), sender };
    tokio::task::spawn_blocking(move || running.run(input));
    let receive = |(mut receiver, stop): (Receiver<_>, StopOnDrop)| async move {
        receiver.recv().await.map(|batch| (batch, (receiver, stop)))
    };
    Ok(unfold((receiver, stop), receive).boxed())
}

/// Who drops the stream wants no more of it.
struct StopOnDrop(Control);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

struct Running {
    opener: RecordOpener,
    control: Control,
    sender: Sender<Result<RecordBatch>>,
}

impl Running {
    fn run(self, input: Input) {
        let shares = self.opener.context.shares;
        let framing = self.opener.format.framing(shares.record_bytes_max);
        let plan = Plan { framing, zstd_window_log_max: shares.zstd_window_log_max };
        let pool = Pool::new(buffer_bytes(shares.record_bytes_max), buffers_needed(shares.threads));
        let name = Arc::<str>::from(input.name());
        let stage = || Decoding { decoder: self.opener.decoder(), opener: self.opener.clone(), name: Arc::clone(&name) };
        let stages = (0..shares.threads).map(|_| stage()).collect();
        let start = |_: &[u8]| Some(stages);
        let sink = |decoded| self.send(decoded, &name);
        let finish = match self.opener.format.splitter() {
            None => run(input, &plan, &pool, &self.control, start, sink),
            Some(splitter) => run_records(input, splitter, &plan, &pool, &self.control, start, sink),
        };
        self.opener.context.control.decoded(self.control.decoded_bytes());
        let error = finish.error.filter(|error| error.kind() != Kind::Stopped);
        error.map(|error| self.sender.blocking_send(Err(external(error))));
    }

    /// Hands rows to the operators, waiting until they have room for them.
    fn send(&self, decoded: Decoded, name: &str) -> Result<(), Error> {
        let gone = || Error::new(Kind::Stopped, name, "nobody wants more rows");
        if let Err(misfit) = fits(name, &decoded) {
            let _ = self.sender.blocking_send(Err(misfit));
            return Err(gone());
        }
        decoded.batches.into_iter().try_for_each(|batch| self.sender.blocking_send(Ok(batch)).map_err(|_| gone()))
    }
}

struct Decoding {
    decoder: Box<dyn Decode>,
    opener: RecordOpener,
    name: Arc<str>,
}

impl Stage for Decoding {
    type Output = Decoded;

    fn chunk(&mut self, chunk: &Chunk) -> Result<Decoded, Error> {
        let decoded = Decoded::whole(&mut *self.decoder, chunk)?;
        self.opener.tally.count(&self.name, chunk, &decoded);
        Ok(decoded)
    }
}

/// Reads an object of a store, from a thread that may wait.
pub(crate) struct ObjectReader {
    stream: BoxStream<'static, object_store::Result<Bytes>>,
    runtime: Handle,
    current: Bytes,
}

impl ObjectReader {
    /// A reader of what `stream` gives, which the present runtime drives.
    pub(crate) fn new(stream: BoxStream<'static, object_store::Result<Bytes>>) -> Self {
        Self { stream, runtime: Handle::current(), current: Bytes::new() }
    }
}

impl Read for ObjectReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            match self.runtime.block_on(self.stream.next()) {
                Some(Ok(bytes)) => self.current = bytes,
                Some(Err(error)) => return Err(io::Error::other(DataFusionError::from(error))),
                None => return Ok(0),
            }
        }
        let taken = self.current.split_to(self.current.len().min(buffer.len()));
        buffer[..taken.len()].copy_from_slice(&taken);
        Ok(taken.len())
    }
}
