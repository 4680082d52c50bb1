//! Builds anew when the page does: the embedding macro alone does not notice.
#![allow(clippy::print_stdout)]

fn main() {
    println!("cargo:rerun-if-changed=../../web/dist");
}
