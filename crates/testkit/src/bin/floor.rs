//! `floor THREADS BLOCK_BYTES FILE…`: reads every byte and does nothing with it. No counter can be
//! faster.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a development tool; printing is its interface")]

use std::error::Error;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::process::ExitCode;
use std::thread;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(bytes) => {
            println!("{bytes}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("floor: {error}\nusage: floor THREADS BLOCK_BYTES FILE...");
            ExitCode::from(2)
        }
    }
}

fn run(args: &[String]) -> Result<u64, Box<dyn Error>> {
    let [threads, block_bytes, files @ ..] = args else {
        return Err("too few arguments".into());
    };
    let (threads, block_bytes) = (threads.parse::<usize>()?, block_bytes.parse::<usize>()?);
    if threads == 0 || block_bytes == 0 {
        return Err("THREADS and BLOCK_BYTES start at 1".into());
    }
    let mut buffers = vec![vec![0; block_bytes + PAGE_BYTES - 1]; threads];
    files.iter().try_fold(0, |sum, path| Ok(sum + read_file(&File::open(path)?, &mut buffers)?))
}

const PAGE_BYTES: usize = 4096;

/// One thread a buffer, each with its own contiguous part of the file.
fn read_file(file: &File, buffers: &mut [Vec<u8>]) -> io::Result<u64> {
    let part_bytes = file.metadata()?.len().div_ceil(buffers.len() as u64);
    thread::scope(|scope| {
        let parts = (0u64..).map(|index| index * part_bytes);
        let readers: Vec<_> = parts
            .zip(buffers)
            .map(|(start, buffer)| scope.spawn(move || read_part(file, start, start + part_bytes, buffer)))
            .collect();
        readers.into_iter().map(|reader| reader.join().map_err(|_| io::Error::other("a reader panicked"))?).sum()
    })
}

fn read_part(file: &File, start: u64, end: u64, buffer: &mut [u8]) -> io::Result<u64> {
    // To a page's start: to an odd address the same read is a third slower, and would be no floor.
    let odd = buffer.as_ptr().align_offset(PAGE_BYTES);
    let buffer = &mut buffer[odd..];
    let mut at = start;
    while at < end {
        let want = (end - at).min((buffer.len() / PAGE_BYTES * PAGE_BYTES) as u64) as usize;
        match file.read_at(&mut buffer[..want], at)? {
            0 => break,
            got => at += got as u64,
        }
    }
    Ok(at - start)
}
