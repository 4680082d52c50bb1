//! Streams that are run by stretches: whatever the pauses, the lines are those of one run, and one
//! can go on from any pause.

use crate::common::{KeepLines, Seen, Setup, split};
use proptest::prelude::*;
use rorqual_pipe::{BlockSource, BufferPool, Control, Error, FilledBlock, Input, ResumableRun, ResumePoint};

/// Brings bytes in pieces; after each that says so it pauses.
struct Pausing {
    pool: BufferPool,
    headroom: usize,
    pieces: Vec<(Vec<u8>, bool)>,
    next: usize,
    pauses: bool,
    paused: bool,
}

impl BlockSource for Pausing {
    fn next_block(&mut self) -> Result<Option<FilledBlock>, Error> {
        self.paused = std::mem::take(&mut self.pauses);
        let Some((piece, pauses)) = self.pieces.get(self.next).filter(|_| !self.paused) else { return Ok(None) };
        (self.next, self.pauses) = (self.next + 1, *pauses);
        let mut lease = self.pool.lease().expect("memory for a block");
        let range = self.headroom..self.headroom + piece.len();
        lease[range.clone()].copy_from_slice(piece);
        Ok(Some(FilledBlock { lease, range }))
    }

    fn paused(&self) -> bool {
        self.paused
    }
}

const LINE_BYTES_MAX: usize = 12;

fn course(pool: &BufferPool, setup: Setup, pieces: Vec<(Vec<u8>, bool)>) -> ResumableRun {
    let source = Pausing { pool: pool.clone(), headroom: setup.headroom(), pieces, next: 0, pauses: false, paused: false };
    let input = Input::from_source("pieces", Box::new(source)).stored();
    ResumableRun::new(input, &setup.plan(), pool, &Control::default())
}

/// Runs one stretch.
fn stretch(course: &mut ResumableRun, threads: usize) -> Vec<Seen> {
    let mut seen = Vec::new();
    let stages = |_: &[u8]| Some((0..threads).map(|_| KeepLines).collect());
    let finish = course.run(&Control::default(), stages, |lines: Vec<Seen>| {
        seen.extend(lines);
        Ok(())
    });
    assert_eq!(finish.error.map(|error| error.to_string()), None);
    seen
}

/// The pieces from `place` on.
fn from(pieces: &[(Vec<u8>, bool)], place: ResumePoint) -> Vec<(Vec<u8>, bool)> {
    let mut skip = place.offset as usize;
    let mut rest = Vec::new();
    for (piece, pauses) in pieces {
        let cut = skip.min(piece.len());
        skip -= cut;
        if cut < piece.len() {
            rest.push((piece[cut..].to_vec(), *pauses));
        }
    }
    rest
}

proptest! {
    #[test]
    fn pauses_change_no_line_and_one_can_go_on_from_each(
        pieces in proptest::collection::vec((proptest::collection::vec(prop_oneof![3 => Just(b'a'), 1 => Just(b'\n')], 1..40), any::<bool>()), 0..12),
        threads in 1..3usize,
        in_place in any::<bool>(),
        restarts in any::<u64>(),
    ) {
        let bytes: Vec<u8> = pieces.iter().flat_map(|(piece, _)| piece.clone()).collect();
        let setup = Setup::lines(LINE_BYTES_MAX, threads);
        let pool = setup.pool();
        let mut going = course(&pool, setup, pieces.clone());
        let mut seen = Vec::new();
        for turn in 0u32.. {
            going.in_place(in_place);
            seen.extend(stretch(&mut going, threads));
            prop_assert_eq!(pool.lent(), 0, "no block is held between stretches");
            if going.ended() {
                break;
            }
            prop_assert!(going.held_bytes() <= LINE_BYTES_MAX);
            let place = going.place();
            // Not for ever: the same pause may come again within the same line.
            match restarts.checked_shr(2 * turn).map_or(3, |bits| bits & 3) {
                // As after a restart: another course begins at the place.
                0 => going = course(&pool, setup, from(&pieces, place)).at(place),
                // As when an unfinished line has to come again.
                1 => {
                    going.rewind();
                    prop_assert_eq!((going.place(), going.held_bytes()), (place, 0));
                    going = course(&pool, setup, from(&pieces, place)).at(place);
                }
                _ => {}
            }
        }
        prop_assert_eq!(seen, split(&bytes, LINE_BYTES_MAX));
    }
}
