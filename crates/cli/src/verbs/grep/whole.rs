//! Texts that are held whole, for matches over several lines.

use bytes::Bytes;
use rorqual_pipe::{BufferPool, Chunk, Control, Error, ErrorClass, Framing, Input, RunPlan, Stage, format_size};

/// The decoded text of an input, and the error that cut it off.
///
/// # Errors
/// When it is larger than `bytes_max`, or the system has no memory for it.
pub(crate) fn text(
    input: Input,
    bytes_max: u64,
    plan: &RunPlan,
    pool: &BufferPool,
    control: &Control,
) -> Result<(Bytes, Option<Error>), Error> {
    let name = input.name().to_owned();
    let stored_bytes = input.size_bytes().filter(|_| input.is_file());
    if let Some(bytes) = stored_bytes.filter(|bytes| *bytes > bytes_max) {
        return Err(too_large(name, &format!("has {}", format_size(bytes)), bytes_max));
    }
    // Memory is taken only as it is filled. So it is taken once: a text that grew would be there
    // twice while it moves.
    let mut held = Vec::new();
    let wanted = usize::try_from(stored_bytes.unwrap_or(bytes_max)).unwrap_or(usize::MAX);
    let failed = |_| {
        Error::new(
            ErrorClass::Limit,
            &name,
            format!("the system has no memory for a text of {wanted} bytes (-U; less --memory asks for less)"),
        )
    };
    held.try_reserve_exact(wanted).map_err(failed)?;
    let plan = RunPlan { framing: Framing::Bytes, ..plan.clone() };
    let mut larger = false;
    let finish = rorqual_pipe::run(
        input,
        &plan,
        pool,
        control,
        |_| Some(vec![WholeChunk]),
        |chunk: Chunk| {
            let length = held.len() + chunk.bytes.len();
            larger = length as u64 + chunk.zeros > wanted as u64;
            if larger {
                return Err(Error::new(ErrorClass::Stopped, "", "it is too large"));
            }
            held.extend_from_slice(&chunk.bytes);
            held.resize(length + chunk.zeros as usize, 0);
            Ok(())
        },
    );
    if larger {
        return Err(too_large(name, "has more", bytes_max));
    }
    Ok((held.into(), finish.error))
}

fn too_large(name: String, has: &str, bytes_max: u64) -> Error {
    let most = format_size(bytes_max);
    let message = format!(
        "{has}; -U holds a whole text, of at most half of --memory, which is {most} (a larger --memory moves the limit; lines of any \
         size are searched without -U)"
    );
    Error::new(ErrorClass::Limit, name, message)
}

/// Hands chunks on as they are.
struct WholeChunk;

impl Stage for WholeChunk {
    type Output = Chunk;

    fn chunk(&mut self, chunk: &Chunk) -> Result<Chunk, Error> {
        Ok(chunk.clone())
    }
}
