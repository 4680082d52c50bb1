//! Inputs that have to be read in order: a pipe, a compressed file, records that no newline ends,
//! an object of a store.

use super::context::external;
use super::opener::RecordOpener;
use super::ranges::fits;
use super::skip::Skip;
use crate::limits::STREAM_BATCHES;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use futures::stream::{BoxStream, StreamExt, unfold};
use rorqual_columnar::{Decode, DecodedRecords, ScanSettings};
use rorqual_pipe::{Chunk, Error, ErrorClass, HeldFile, Input, Stage};
use tokio::sync::mpsc::{Sender, channel};
use tokio::task::JoinHandle;

/// The rows of a whole input: one reader cuts it, workers decode it, and they come in order.
pub(super) fn read(opener: &RecordOpener, input: Input, held: Option<HeldFile>) -> BoxStream<'static, Result<RecordBatch>> {
    read_opened(opener, held, || Ok(Some(input)))
}

/// The same of an input that is opened where a thread may wait for it; `None` has no rows.
pub(super) fn read_opened(
    opener: &RecordOpener,
    held: Option<HeldFile>,
    open: impl FnOnce() -> Result<Option<Input>, Error> + Send + 'static,
) -> BoxStream<'static, Result<RecordBatch>> {
    let (sender, receiver) = channel(STREAM_BATCHES);
    let scan = opener.context.scan(opener.stream_threads);
    let stop = scopeguard::guard(scan.control.clone(), |control| control.stop());
    let running = RunningScan { opener: opener.clone(), scan, held, sender };
    let thread = Some(tokio::task::spawn_blocking(move || match open() {
        Ok(Some(input)) => running.run(input),
        Ok(None) => {}
        Err(error) => drop(running.sender.blocking_send(Err(external(error)))),
    }));
    unfold((receiver, stop, thread), |(mut receiver, stop, mut thread)| async move {
        let batch = match receiver.recv().await {
            Some(batch) => batch,
            None => Err(broken(thread.take()?).await?),
        };
        Some((batch, (receiver, stop, thread)))
    })
    .boxed()
}

/// Reason for which a thread that gives no more rows ended before its end, if it did: half an
/// answer must not look whole.
async fn broken(thread: JoinHandle<()>) -> Option<DataFusionError> {
    thread.await.err().map(|error| exec_datafusion_err!("reading the input failed inside: {error}"))
}

struct RunningScan {
    opener: RecordOpener,
    scan: ScanSettings,
    /// The file that is read, where it is one.
    held: Option<HeldFile>,
    sender: Sender<Result<RecordBatch>>,
}

impl RunningScan {
    fn run(self, input: Input) {
        let name = input.name().to_owned();
        let stage = || Decoding { decoder: self.opener.decoder(), skip: self.opener.skip(), opener: self.opener.clone() };
        let stages = (0..self.opener.stream_threads).map(|_| stage()).collect();
        let mut own = self.opener.decoder();
        let finish =
            self.scan.run(input, &self.opener.format, stages, |(decoded, chunk)| self.send(decoded, &chunk, &mut *own, &name));
        self.opener.context.control.decoded(self.scan.control.decoded_bytes());
        // Of a file that changed, any error may be one of the mixture.
        let error = self.check().err().or(finish.error).filter(|error| error.kind() != ErrorClass::Stopped);
        error.map(|error| self.sender.blocking_send(Err(external(error))));
    }

    fn check(&self) -> Result<(), Error> {
        self.held.as_ref().map_or(Ok(()), HeldFile::check)
    }

    /// Hands rows to the operators, waiting until they have room for them. The rest of a chunk that
    /// is too much to be decoded at once is decoded in its turn.
    fn send(&self, mut decoded: DecodedRecords, chunk: &Chunk, own: &mut dyn Decode, name: &str) -> Result<(), Error> {
        let gone = || Error::new(ErrorClass::Stopped, name, "nobody wants more rows");
        self.check()?;
        let mut start = 0;
        loop {
            self.opener.count(name, chunk, &decoded)?;
            if let Err(misfit) = fits(name, &decoded) {
                let _ = self.sender.blocking_send(Err(misfit));
                return Err(gone());
            }
            let batches = std::mem::take(&mut decoded.batches);
            batches.into_iter().try_for_each(|batch| self.sender.blocking_send(Ok(batch)).map_err(|_| gone()))?;
            let Some(rest) = decoded.rest else { return Ok(()) };
            start += rest;
            decoded = own.decode(&chunk.from(start))?;
        }
    }
}

struct Decoding {
    decoder: Box<dyn Decode>,
    skip: Option<Skip>,
    opener: RecordOpener,
}

impl Stage for Decoding {
    type Output = (DecodedRecords, Chunk);

    fn chunk(&mut self, chunk: &Chunk) -> Result<Self::Output, Error> {
        if let Some(skip) = &mut self.skip
            && skip.skips(chunk)?
        {
            self.opener.counts.chunks_skipped.add(1);
            return Ok((DecodedRecords::default(), chunk.clone()));
        }
        Ok((self.decoder.decode(chunk)?, chunk.clone()))
    }
}
