//! `drain`: reads standard input to its end as fast as it comes, and prints how many bytes and
//! newlines there were.
//!
//! The other end of the pipe for every program with a measured output.
#![allow(clippy::print_stdout, reason = "a development tool; printing is its interface")]

use std::io::{self, Read};

/// Pipes hold 64 KiB; a larger buffer is never filled.
const READ_BYTES: usize = 64 << 10;

fn main() -> io::Result<()> {
    let mut input = io::stdin().lock();
    let mut buffer = vec![0; READ_BYTES];
    let (mut bytes, mut lines) = (0, 0);
    loop {
        match input.read(&mut buffer)? {
            0 => break,
            read => {
                bytes += read;
                lines += memchr::memchr_iter(b'\n', &buffer[..read]).count();
            }
        }
    }
    println!("{bytes} {lines}");
    Ok(())
}
