//! `doom ITERATIONS [WRITE_BYTES]`: 14 lines of DOOM an iteration, copied together and written, by
//! a bare loop. No template engine that writes as much at a time can be faster.
#![allow(clippy::print_stderr, reason = "a development tool; printing is its interface")]

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

const LINE: &[u8] = b"DOOM DOOM DOOM DOOM\n";
const LINES: usize = 14;
/// Writes as rorqual does.
const WRITE_BYTES: usize = 256 << 10;
const PIPE_BYTES: usize = 1 << 20;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("doom: {error}\nusage: doom ITERATIONS [WRITE_BYTES]");
            ExitCode::from(2)
        }
    }
}

fn run(args: &[String]) -> Result<(), Box<dyn Error>> {
    let iterations: u64 = args.first().ok_or("too few arguments")?.parse()?;
    let write_bytes = args.get(1).map_or(Ok(WRITE_BYTES), |text| text.parse())?;
    let piece = LINE.repeat(LINES);
    let mut out = io::stdout().lock();
    // The same as in rorqual; an output that is no pipe keeps its size.
    let _ = rustix::pipe::fcntl_setpipe_size(&out, PIPE_BYTES);
    let mut buffer = vec![0; write_bytes.max(piece.len())];
    let mut used = 0;
    for _ in 0..iterations {
        if buffer.len() - used < piece.len() {
            out.write_all(&buffer[..used])?;
            used = 0;
        }
        buffer[used..used + piece.len()].copy_from_slice(&piece);
        used += piece.len();
    }
    out.write_all(&buffer[..used])?;
    Ok(())
}
