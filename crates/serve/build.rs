//! Puts the sample into the binary, compressed, and builds anew when the page changes: the
//! embedding macro alone does not notice.
#![allow(clippy::print_stdout)]

use flate2::{Compression, write::GzEncoder};
use std::io::{self, Write};
use std::path::Path;
use std::{env, fs};

const SAMPLE: &str = "../../samples/apache_combined.log";

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=../../web/dist");
    println!("cargo:rerun-if-changed={SAMPLE}");
    let folder = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    let file = fs::File::create(Path::new(&folder).join("sample.log.gz"))?;
    let mut encoder = GzEncoder::new(file, Compression::best());
    encoder.write_all(&fs::read(SAMPLE)?)?;
    encoder.finish()?;
    Ok(())
}
