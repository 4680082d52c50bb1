//! The digest of a whole input.

use crate::tree::{Tree, TreeStage};
use crate::zeros::zeros;
use crate::{Algorithm, Digest, Hasher};
use rorqual_pipe::limits::BLOCK_BYTES;
use rorqual_pipe::{BufferPool, Chunk, Control, Error, ErrorClass, Framing, Input, Operation, RunPlan, Stage, run};

/// Nothing is decoded, so that the window means nothing.
const PLAN: RunPlan = RunPlan { framing: Framing::Bytes, zstd_window_log_max: 0 };

/// The digest of a whole input, as it is stored.
///
/// With one thread, a file is read and hashed by that one in turns, which is the least work: for
/// many files at a time. With more, BLAKE3 of a file is hashed by all of them side by side; the
/// other algorithms can't be split, and a reader thread reads ahead of the hashing. A stream always
/// has its reader.
///
/// The pool's buffers must be at least [`BLOCK_BYTES`] long; with
/// [`buffers_needed`](rorqual_pipe::limits::buffers_needed) of the sum of the threads that share
/// it, nobody waits for one, and with three for each digest that is under way, every one of them
/// comes to its end.
///
/// # Errors
/// When reading fails, or [`ErrorClass::Stopped`] when `control` asked to stop: there is no digest
/// of a part.
pub fn digest(input: Input, algorithm: Algorithm, pool: &BufferPool, control: &Control, threads: usize) -> Result<Digest, Error> {
    let operation = Operation::start("hash");
    let input = input.stored();
    let (name, size_bytes) = (input.name().to_owned(), input.size_bytes());
    let large = input.size_bytes().is_some_and(|size| size > BLOCK_BYTES as u64);
    let result = match threads {
        0 | 1 => in_order(input, algorithm, pool, control),
        _ if algorithm == Algorithm::Blake3 && input.is_file() && large => tree(input, pool, control, threads),
        _ => in_order(input.sequential(), algorithm, pool, control),
    };
    // A reader that goes through a file from its start takes its end for the end, wherever that is
    // by then.
    let shrank = |bytes: u64| size_bytes.is_some_and(|size| bytes < size);
    let result = match result {
        Ok((_, bytes)) if shrank(bytes) => {
            Err(Error::new(ErrorClass::Truncated, name, "the file shrank while it was read: it now ends").at(bytes))
        }
        other => other,
    };
    match result {
        Ok((digest, bytes)) => {
            operation.bytes(bytes);
            operation.done();
            Ok(digest)
        }
        Err(error) => {
            operation.failed(error.kind().name());
            Err(error)
        }
    }
}

fn stopped(name: String) -> Error {
    Error::new(ErrorClass::Stopped, name, "stopped before its end")
}

fn in_order(input: Input, algorithm: Algorithm, pool: &BufferPool, control: &Control) -> Result<(Digest, u64), Error> {
    let name = input.name().to_owned();
    let stages = vec![SequentialHasher { hasher: Hasher::new(algorithm), control: control.clone() }];
    let mut bytes = 0;
    let sum = |length| {
        bytes += length;
        Ok(())
    };
    let finish = run(input, &PLAN, pool, control, |_| Some(stages), sum);
    if let Some(error) = finish.error {
        return Err(error);
    }
    let stage = finish.stages.into_iter().next().filter(|_| !control.stopped());
    stage.map(|stage| (stage.hasher.finish(), bytes)).ok_or_else(|| stopped(name))
}

/// Hashes one chunk after the other.
struct SequentialHasher {
    hasher: Hasher,
    control: Control,
}

impl Stage for SequentialHasher {
    type Output = u64;

    fn chunk(&mut self, chunk: &Chunk) -> Result<u64, Error> {
        self.hasher.update(&chunk.bytes);
        // A hole may have terabytes: a stop does not wait for its end.
        zeros(chunk.zeros).take_while(|_| !self.control.stopped()).for_each(|part| self.hasher.update(part));
        Ok(chunk.bytes.len() as u64 + chunk.zeros)
    }
}

fn tree(input: Input, pool: &BufferPool, control: &Control, threads: usize) -> Result<(Digest, u64), Error> {
    let name = input.name().to_owned();
    let stages = (0..threads).map(|_| TreeStage(control.clone())).collect();
    let mut tree = Tree::default();
    let add = |subtrees| {
        tree.add(subtrees);
        Ok(())
    };
    let finish = run(input, &PLAN, pool, control, |_| Some(stages), add);
    if let Some(error) = finish.error {
        return Err(error);
    }
    let bytes = tree.length();
    let root = tree.root().filter(|_| !control.stopped());
    let digest = root.and_then(|root| Digest::from_bytes(Algorithm::Blake3, root.as_bytes()));
    digest.map(|digest| (digest, bytes)).ok_or_else(|| stopped(name))
}
