//! Checksums of files and streams.

use super::{Kit, Mishap, Outcome, THREADS, judge, stored};
use rorqual_digest::{Algorithm, DigestForm, digest};
use rorqual_pipe::{Control, Input};
use rorqual_testkit::generate::Rng;
use std::io::Cursor;

/// In the order of the sample's truths.
const ALGORITHMS: [Algorithm; 4] = [Algorithm::Sha256, Algorithm::Sha512, Algorithm::Sha1, Algorithm::Md5];

pub(super) fn once(kit: &Kit, random: &mut Rng) -> Outcome {
    if random.below(ALGORITHMS.len() + 1) == ALGORITHMS.len() { blake3(kit, random) } else { known(kit, random) }
}

/// Compares a digest with that of `sha256sum` and its like.
fn known(kit: &Kit, random: &mut Rng) -> Outcome {
    let (sample, control) = (kit.sample(random), Control::default());
    let mishap = match Kit::mishap(random) {
        // A digest is told when all is over: there is no pipe to close.
        Mishap::Close => Mishap::None,
        other => other,
    };
    let which = random.below(ALGORITHMS.len());
    // In its stored form: a digest is never of decoded bytes.
    let input = stored(sample, mishap, &control, random);
    let result = digest(input, ALGORITHMS[which], &kit.pool, &control, 1 + random.below(THREADS));
    let right = result.as_ref().is_ok_and(|digest| digest.encode(DigestForm::Hex) == sample.digests[which]);
    judge(mishap, result.as_ref().err(), control.stopped(), right, sample)
}

/// No other program here knows BLAKE3: the tree of the file by all threads against the stream by
/// one.
fn blake3(kit: &Kit, random: &mut Rng) -> Outcome {
    let (sample, control) = (kit.sample(random), Control::default());
    let file = Input::open_stored(&sample.path).expect("it is there");
    let stream = Input::from_reader("soak", Box::new(Cursor::new(sample.bytes.clone())));
    let tree = digest(file, Algorithm::Blake3, &kit.pool, &control, THREADS);
    let line = digest(stream, Algorithm::Blake3, &kit.pool, &control, 1);
    match (tree, line) {
        (Ok(tree), Ok(line)) if tree.as_bytes() == line.as_bytes() => Outcome::Done,
        (tree, line) => Outcome::wrong(format!("BLAKE3: {tree:?} of the file, {line:?} of the stream"), sample),
    }
}
