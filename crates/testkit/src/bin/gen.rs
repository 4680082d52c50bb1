//! `gen`: makes the files of the tests and the benchmark.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a development tool; printing is its interface")]

use rorqual_testkit::generate::{self, AccessLog, DistinctLog, EventLines, GeneratedSummary, IncidentLog, SiteLog, UnusualLog};
use std::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::process::ExitCode;

const USAGE: &str = "\
gen: make test data, the same every time, in constant memory

  gen access OUT BYTES [SEED]                  an access log of real lines, over and over, 90 days long
  gen distinct OUT BYTES [SEED] [--truth FILE] an access log with millions of distinct paths and clients;
                                               FILE gets what is in it, as JSON
  gen addresses OUT LINES                      an access log in which no client comes back
  gen site OUT LINES [SEED]                    an access log of a busy site, 90 days long
  gen incidents OUT LINES SEED --truth FILE    a week of the same site with more fields, in which 20 things go wrong;
                                               FILE gets what and when, as JSON
  gen unusual OUT LINES SEED NUMBER --truth FILE
                                               a log with one of 20 incidents, or from NUMBER 20 on a quiet one, with
                                               seasons, heavy tails, crawlers and jobs; FILE gets what and when, as JSON
  gen nul OUT BYTES_OF_LOG BYTES_OF_NULS       an access log with one line of NULs in the middle
  gen sparse OUT BYTES_OF_LOG HOLE_BYTES       the same with a hole, which takes no room on the disk
  gen behind OUT BYTES_OF_LOG NULS             an access log with one line of NULs that ends in zq9behind;
                                               a hole in a file, written out to stdout
  gen events OUT BYTES [SEED]                  nested JSON records of five kinds, a line each
  gen array OUT BYTES [PATH]                   the same records as one array, under PATH (a.b.items) of a document
  gen gzbomb OUT BYTES                         a gzip file that unpacks to BYTES zeros

OUT is a file, or - for stdout (not for sparse). Sizes are bytes or end in KiB, MiB, GiB.
Logs are whole lines, so they may be one line longer than BYTES.
At the end stderr has the truth: lines=NEWLINES bytes=BYTES (before compression).
";

type GenResult = Result<GeneratedSummary, Box<dyn Error>>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|first| first == "--help" || first == "-h") {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match run(&args) {
        Ok(GeneratedSummary { lines, bytes }) => {
            eprintln!("lines={lines} bytes={bytes}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("gen: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &[String]) -> GenResult {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words[..] {
        ["access", out, bytes] => access(out, size(bytes)?, generate::SEED_DEFAULT),
        ["access", out, bytes, seed] => access(out, size(bytes)?, seed.parse()?),
        ["distinct", out, bytes] => distinct(out, size(bytes)?, generate::SEED_DEFAULT, None),
        ["distinct", out, bytes, "--truth", truth] => distinct(out, size(bytes)?, generate::SEED_DEFAULT, Some(truth)),
        ["distinct", out, bytes, seed] => distinct(out, size(bytes)?, seed.parse()?, None),
        ["distinct", out, bytes, seed, "--truth", truth] => distinct(out, size(bytes)?, seed.parse()?, Some(truth)),
        ["addresses", out, lines] => Ok(generate::write_addresses_log(lines.parse()?, &mut open(out)?)?),
        ["site", out, lines] => site(out, lines.parse()?, generate::SEED_DEFAULT),
        ["site", out, lines, seed] => site(out, lines.parse()?, seed.parse()?),
        ["incidents", out, lines, seed, "--truth", truth] => incidents(out, lines.parse()?, seed.parse()?, truth),
        ["unusual", out, lines, seed, number, "--truth", truth] => {
            unusual(out, lines.parse()?, (seed.parse()?, number.parse()?), truth)
        }
        ["nul", out, log, nuls] => Ok(generate::write_nul_log(size(log)?, size(nuls)?, &mut open(out)?)?),
        ["sparse", "-", ..] => Err("a hole needs a file, stdout cannot have one".into()),
        ["sparse", out, log, hole] => Ok(generate::write_sparse_log(size(log)?, size(hole)?, &mut File::create(out)?)?),
        ["behind", "-", log, nuls] => Ok(generate::write_behind_log(size(log)?, size(nuls)?, &mut io::stdout().lock())?),
        ["behind", out, log, hole] => Ok(generate::write_sparse_behind_log(size(log)?, size(hole)?, &mut File::create(out)?)?),
        ["events", out, bytes] => events(out, size(bytes)?, generate::SEED_DEFAULT),
        ["events", out, bytes, seed] => events(out, size(bytes)?, seed.parse()?),
        ["array", out, bytes] => array(out, size(bytes)?, ""),
        ["array", out, bytes, path] => array(out, size(bytes)?, path),
        ["gzbomb", out, bytes] => Ok(generate::write_gzip_bomb(size(bytes)?, &mut open(out)?)?),
        _ => Err(format!("these arguments are none of the forms below\n\n{USAGE}").into()),
    }
}

fn access(out: &str, bytes: u64, seed: u64) -> GenResult {
    Ok(generate::write_lines(&mut AccessLog::new(bytes, seed), bytes, &mut open(out)?)?)
}

fn distinct(out: &str, bytes: u64, seed: u64, truth: Option<&str>) -> GenResult {
    let mut log = DistinctLog::new(bytes, seed);
    let written = generate::write_lines(&mut log, bytes, &mut open(out)?)?;
    if let Some(path) = truth {
        serde_json::to_writer_pretty(File::create(path)?, &log.truth())?;
    }
    Ok(written)
}

fn site(out: &str, lines: u64, seed: u64) -> GenResult {
    Ok(generate::write_count(&mut SiteLog::new(lines, seed), lines, &mut open(out)?)?)
}

fn incidents(out: &str, lines: u64, seed: u64, truth: &str) -> GenResult {
    let mut log = IncidentLog::new(lines, seed);
    let written = generate::write_count(&mut log, lines, &mut open(out)?)?;
    serde_json::to_writer_pretty(File::create(truth)?, &log.truth())?;
    Ok(written)
}

fn unusual(out: &str, lines: u64, (seed, number): (u64, usize), truth: &str) -> GenResult {
    let mut log = UnusualLog::new(lines, seed, number);
    let written = generate::write_count(&mut log, lines, &mut open(out)?)?;
    serde_json::to_writer_pretty(File::create(truth)?, &log.truth())?;
    Ok(written)
}

fn events(out: &str, bytes: u64, seed: u64) -> GenResult {
    Ok(generate::write_lines(&mut EventLines::new(seed), bytes, &mut open(out)?)?)
}

fn array(out: &str, bytes: u64, path: &str) -> GenResult {
    Ok(generate::write_array(&mut EventLines::new(generate::SEED_DEFAULT), bytes, path, &mut open(out)?)?)
}

fn open(out: &str) -> io::Result<Box<dyn Write>> {
    Ok(if out == "-" { Box::new(io::stdout().lock()) } else { Box::new(File::create(out)?) })
}

fn size(text: &str) -> Result<u64, String> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let unit = units.iter().find_map(|(name, shift)| Some((text.strip_suffix(name)?, *shift)));
    let (digits, shift) = unit.unwrap_or((text, 0));
    let number: Option<u64> = digits.parse().ok();
    number.and_then(|n| n.checked_mul(1 << shift)).ok_or_else(|| format!("\"{text}\" is not a size (123, 64KiB, 1536MiB, 20GiB)"))
}
