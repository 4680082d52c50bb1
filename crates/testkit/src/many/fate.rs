//! Results of uploads and of views.

use super::{LoadOutcome, LoadShared, MeasuredTimes};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

/// Of one upload.
#[derive(Debug)]
pub(super) enum Fate {
    Finished {
        bytes: u64,
        seconds: f64,
    },
    /// It came to no end; why.
    Lost(String),
    /// It came to another end than its lines.
    Wrong(String),
}

/// Of one viewer.
#[derive(Debug, Default)]
pub(super) struct ViewerFate {
    pub(super) asked: usize,
    pub(super) seconds: Vec<f64>,
    pub(super) live_events: u64,
}

/// Counts of each failure.
#[derive(Debug, Default)]
pub(super) struct Errors(Mutex<BTreeMap<String, u64>>);

impl Errors {
    pub(super) fn note(&self, what: &str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(what.to_owned()).or_default() += 1;
    }
}

pub(super) fn outcome(crowd: &LoadShared<'_>, fates: Vec<Fate>, seen: Vec<ViewerFate>) -> LoadOutcome {
    let (mut lost, mut wrong, mut bytes, mut seconds) = (BTreeMap::new(), Vec::new(), 0, Vec::new());
    for fate in fates {
        match fate {
            Fate::Finished { bytes: of_it, seconds: of_its } => {
                bytes += of_it;
                seconds.push(of_its);
            }
            Fate::Lost(reason) => *lost.entry(reason).or_default() += 1,
            Fate::Wrong(what) => wrong.push(what),
        }
    }
    LoadOutcome {
        uploads: crowd.plan.uploads,
        finished: seconds.len(),
        lost,
        wrong,
        retries: crowd.retries.load(Ordering::Relaxed),
        refused: crowd.refused.load(Ordering::Relaxed),
        late: crowd.late.load(Ordering::Relaxed),
        bytes,
        seconds: crowd.start.elapsed().as_secs_f64(),
        upload_seconds: MeasuredTimes::of(seconds),
        views: seen.iter().map(|seen| seen.asked).sum(),
        live_events: seen.iter().map(|seen| seen.live_events).sum(),
        view_seconds: MeasuredTimes::of(seen.into_iter().flat_map(|seen| seen.seconds).collect()),
        errors: crowd.errors.0.lock().unwrap_or_else(PoisonError::into_inner).clone(),
    }
}
