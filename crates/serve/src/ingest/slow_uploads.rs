//! Uploads that come so slowly that they only hold their place: they give way, but only where
//! another session waits for it.

use crate::limits::{PACE_BYTES_MIN, PACE_TIME};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Looks that are remembered of [`PACE_TIME`].
const LOOKS_MAX: usize = 32;

/// Recent speed of an upload.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    recent: Mutex<RecentPace>,
    /// Kept until the upload hears of it, which may have its turn just now.
    wanted: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct RecentPace {
    /// Times and offsets of the latest looks; the first is as old as the time that is looked back,
    /// if the upload is.
    looks: VecDeque<(Instant, u64)>,
    /// Time since which it waits for its turn, which is not its fault.
    waiting: Option<Instant>,
}

impl Pace {
    /// An upload begins; earlier looks do not count.
    pub(crate) fn begin(&self, offset: u64) {
        self.lock().looks = VecDeque::from([(Instant::now(), offset)]);
        self.wanted.send_replace(false);
    }

    /// It waits for its turn until the returned guard is dropped: that time does not count.
    pub(crate) fn wait(&self) -> WaitingUpload<'_> {
        self.lock().waiting = Some(Instant::now());
        WaitingUpload(self)
    }

    /// Remembers where it is. To be called every few seconds.
    pub(crate) fn look(&self, offset: u64) {
        let (mut recent, now) = (self.lock(), Instant::now());
        let RecentPace { looks, waiting } = &mut *recent;
        if waiting.is_some() || looks.back().is_some_and(|(at, _)| now - *at < PACE_TIME / LOOKS_MAX as u32) {
            return;
        }
        looks.push_back((now, offset));
        // The oldest that is kept is the latest from before that time.
        while looks.get(1).is_some_and(|(at, _)| now - *at >= PACE_TIME) || looks.len() > LOOKS_MAX + 1 {
            looks.pop_front();
        }
    }

    /// True if it has been slower than it may be where its place is wanted.
    pub(crate) fn is_slow(&self, offset: u64) -> bool {
        let recent = self.lock();
        let Some((at, before)) = recent.looks.front().filter(|_| recent.waiting.is_none()) else { return false };
        let time = at.elapsed();
        time >= PACE_TIME && offset.saturating_sub(*before) < bytes_min(time)
    }

    /// Interrupts the upload.
    pub(crate) fn want_place(&self) {
        self.wanted.send_replace(true);
    }

    /// Comes back when the upload is to be interrupted.
    pub(crate) async fn place_wanted(&self) {
        // Its sender lives as long as this.
        drop(self.wanted.subscribe().wait_for(|wanted| *wanted).await);
    }

    fn lock(&self) -> MutexGuard<'_, RecentPace> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An upload waits for its turn.
pub(crate) struct WaitingUpload<'a>(&'a Pace);

impl Drop for WaitingUpload<'_> {
    fn drop(&mut self) {
        let mut recent = self.0.lock();
        let Some(since) = recent.waiting.take() else { return };
        recent.looks.iter_mut().for_each(|(at, _)| *at += since.elapsed());
    }
}

/// Bytes that have to come in that time.
fn bytes_min(time: Duration) -> u64 {
    (PACE_BYTES_MIN as f64 * time.as_secs_f64()) as u64
}

#[cfg(test)]
mod tests {
    use super::Pace;
    use crate::limits::{PACE_BYTES_MIN, PACE_TIME};
    use std::time::Duration;
    use tokio::time::advance;

    const EVERY: Duration = Duration::from_secs(2);

    /// True if an upload of so many bytes a second is slow after that time.
    async fn slow_after(pace: &Pace, offset: &mut u64, bytes: u64, time: Duration) -> bool {
        for _ in 0..time.as_secs() / EVERY.as_secs() {
            advance(EVERY).await;
            *offset += bytes * EVERY.as_secs();
            pace.look(*offset);
        }
        pace.is_slow(*offset)
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_the_average_of_a_minute() {
        let (pace, mut offset) = (Pace::default(), 5_000);
        pace.begin(offset);
        assert!(!slow_after(&pace, &mut offset, 0, PACE_TIME - EVERY).await, "a minute has not passed");
        assert!(slow_after(&pace, &mut offset, 0, EVERY).await);
        // A burst counts for as long as it lies within the minute.
        offset += 60 * PACE_BYTES_MIN;
        assert!(!slow_after(&pace, &mut offset, 0, PACE_TIME - EVERY).await);
        assert!(slow_after(&pace, &mut offset, 0, EVERY * 2).await);
        assert!(!slow_after(&pace, &mut offset, PACE_BYTES_MIN, PACE_TIME * 2).await, "just fast enough");
        assert!(slow_after(&pace, &mut offset, PACE_BYTES_MIN - 1, PACE_TIME * 2).await);
        pace.begin(offset);
        assert!(!pace.is_slow(offset), "it came back");
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_in_which_it_waits_for_its_turn_does_not_count() {
        let (pace, mut offset) = (Pace::default(), 0);
        pace.begin(offset);
        assert!(!slow_after(&pace, &mut offset, 0, PACE_TIME / 2).await);
        let waiting = pace.wait();
        assert!(!slow_after(&pace, &mut offset, 0, PACE_TIME * 10).await);
        drop(waiting);
        assert!(!slow_after(&pace, &mut offset, 0, PACE_TIME / 2 - EVERY).await);
        // But the time before does.
        assert!(slow_after(&pace, &mut offset, 0, EVERY).await);
    }
}
