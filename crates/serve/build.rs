//! Puts the sample into the binary, compressed, and builds anew when the page changes: the
//! embedding macro alone does not notice.
#![allow(clippy::print_stdout, clippy::expect_used)]

use flate2::{Compression, write::GzEncoder};
use std::path::Path;
use std::{env, fs, io::Write};

const SAMPLE: &str = "../../samples/apache_combined.log";

fn main() {
    println!("cargo:rerun-if-changed=../../web/dist");
    println!("cargo:rerun-if-changed={SAMPLE}");
    let folder = env::var_os("OUT_DIR").expect("cargo names a folder");
    let file = fs::File::create(Path::new(&folder).join("sample.log.gz")).expect("the folder can be written");
    let mut encoder = GzEncoder::new(file, Compression::best());
    encoder.write_all(&fs::read(SAMPLE).expect("the sample is in the tree")).expect("the folder can be written");
    encoder.finish().expect("the folder can be written");
}
