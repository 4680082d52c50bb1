//! Measures the parser: `parse_speed FILE [FORMAT] [slow]` reads the file in blocks of 256 KiB on
//! one thread and prints what the lines were and how fast they were parsed, reading not counted.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fs::File;
use std::io::Read;
use std::time::{Duration, Instant};

use rorqual_accesslog::format::LogFormat;
use rorqual_accesslog::parse::{LineOutcome, LogParser};

const BLOCK_BYTES: usize = 256 * 1024;

#[derive(Default)]
struct Tally {
    parsed: u64,
    repaired: u64,
    rejected: u64,
    blank: u64,
    /// Folds every field in, so that the compiler can't leave one out.
    check: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: parse_speed FILE [FORMAT] [slow]")?;
    let format = LogFormat::parse(&arguments.next().unwrap_or_else(|| "combined".to_owned()))?;
    let slow = arguments.next().is_some_and(|word| word == "slow");
    let mut parser = LogParser::new(&format);
    let mut tally = Tally::default();
    let (mut bytes, mut elapsed) = (0u64, Duration::ZERO);
    let mut file = File::open(path)?;
    let mut block = vec![0; BLOCK_BYTES];
    let mut held = 0;
    loop {
        let read = file.read(&mut block[held..])?;
        let filled = held + read;
        let whole = memchr::memrchr(b'\n', &block[..filled]).map_or(0, |at| at + 1);
        let start = Instant::now();
        parse_lines(&mut parser, &block[..whole], slow, &mut tally);
        elapsed += start.elapsed();
        bytes += whole as u64;
        if read == 0 || whole == 0 {
            break;
        }
        block.copy_within(whole..filled, 0);
        held = filled - whole;
    }
    let Tally { parsed, repaired, rejected, blank, check } = tally;
    println!("parsed {parsed} repaired {repaired} rejected {rejected} blank {blank} check {check:x}");
    println!("{:.0} MB/s", bytes as f64 / 1e6 / elapsed.as_secs_f64());
    Ok(())
}

fn parse_lines(parser: &mut LogParser, block: &[u8], slow: bool, tally: &mut Tally) {
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', block) {
        let line = &block[start..end];
        start = end + 1;
        let outcome = if slow { parser.parse_slow(line) } else { parser.parse(line) };
        match outcome {
            LineOutcome::Parsed(record) => {
                tally.parsed += 1;
                let sizes = [record.client, record.path, record.query, record.referrer, record.agent, record.method];
                let size: usize = sizes.iter().map(|field| field.len()).sum();
                let numbers = record.time_us.unwrap_or(0).unsigned_abs() + u64::from(record.status) + record.bytes.unwrap_or(0);
                tally.check = tally.check.wrapping_mul(31).wrapping_add(size as u64 + numbers);
            }
            LineOutcome::Repaired(..) => tally.repaired += 1,
            LineOutcome::Rejected(_) => tally.rejected += 1,
            LineOutcome::Blank => tally.blank += 1,
        }
    }
}
