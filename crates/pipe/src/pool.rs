//! One fixed set of page-aligned buffers; the only maker of payload memory.
//!
//! # Why page-aligned, and why mapped
//! A read into a buffer at an odd address costs a third of the copy's speed on the machines
//! measured (17 instead of 24 GB/s), and a large request to `malloc` is answered with 16 bytes past
//! a page. Anonymous maps are page-aligned and take no memory until touched.

use memmap2::MmapMut;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Instant;

/// A fixed number of buffers of one size, shared by all clones.
#[derive(Clone, Debug)]
pub struct BufferPool {
    shared: Arc<PoolShared>,
}

#[derive(Debug)]
struct PoolShared {
    buffer_bytes: usize,
    buffers_max: usize,
    state: Mutex<PoolState>,
    returned: Condvar,
    waits: AtomicU64,
    wait_nanos: AtomicU64,
}

#[derive(Debug, Default)]
struct PoolState {
    free: Vec<MmapMut>,
    made: usize,
    lent: usize,
    lent_max: usize,
    wakers: VecDeque<Waker>,
}

/// One buffer, until dropped.
#[derive(Debug)]
pub struct Lease {
    // None only inside drop.
    buffer: Option<MmapMut>,
    shared: Arc<PoolShared>,
}

impl BufferPool {
    /// A pool of `buffers_max` buffers of `buffer_bytes` each. Buffers come into being at their
    /// first lease and stay; a pool never holds more than the product.
    ///
    /// # Panics
    /// When either is 0: such a pool can never lend.
    #[must_use]
    pub fn new(buffer_bytes: usize, buffers_max: usize) -> Self {
        assert!(buffer_bytes > 0 && buffers_max > 0, "a pool needs at least one buffer of one byte");
        let shared = PoolShared {
            buffer_bytes,
            buffers_max,
            state: Mutex::default(),
            returned: Condvar::new(),
            waits: AtomicU64::new(0),
            wait_nanos: AtomicU64::new(0),
        };
        Self { shared: Arc::new(shared) }
    }

    /// A buffer, waiting until there is one.
    ///
    /// # Errors
    /// When the system has no memory for a buffer that was never lent before.
    pub fn lease(&self) -> io::Result<Lease> {
        let mut state = self.shared.lock();
        if let Some(lease) = self.take(&mut state)? {
            return Ok(lease);
        }
        let start = Instant::now();
        loop {
            state = self.shared.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
            if let Some(lease) = self.take(&mut state)? {
                self.shared.waited(start);
                return Ok(lease);
            }
        }
    }

    /// A buffer, or `None` when all are lent.
    ///
    /// # Errors
    /// As [`BufferPool::lease`].
    pub fn try_lease(&self) -> io::Result<Option<Lease>> {
        self.take(&mut self.shared.lock())
    }

    /// The same as [`BufferPool::lease`], for async code. Dropping the future gives up the wait.
    ///
    /// # Errors
    /// As [`BufferPool::lease`].
    pub async fn lease_async(&self) -> io::Result<Lease> {
        let mut waiting_since = None;
        poll_fn(move |context| {
            let mut state = self.shared.lock();
            match self.take(&mut state) {
                Ok(None) => {
                    waiting_since.get_or_insert_with(Instant::now);
                    state.wakers.push_back(context.waker().clone());
                    Poll::Pending
                }
                Ok(Some(lease)) => {
                    waiting_since.into_iter().for_each(|start| self.shared.waited(start));
                    Poll::Ready(Ok(lease))
                }
                Err(error) => Poll::Ready(Err(error)),
            }
        })
        .await
    }

    /// Gives the memory of the buffers that nobody holds back to the system; later leases make new
    /// ones.
    pub fn release_free(&self) {
        let mut state = self.shared.lock();
        state.made -= state.free.len();
        state.free.clear();
    }

    /// Size of each buffer.
    #[must_use]
    pub fn buffer_bytes(&self) -> usize {
        self.shared.buffer_bytes
    }

    /// The most buffers that there may be.
    #[must_use]
    pub fn buffers_max(&self) -> usize {
        self.shared.buffers_max
    }

    /// Buffers out on lease now; 0 when everything has come home.
    #[must_use]
    pub fn lent(&self) -> usize {
        self.shared.lock().lent
    }

    /// The most buffers that were ever out at the same time.
    #[must_use]
    pub fn lent_max(&self) -> usize {
        self.shared.lock().lent_max
    }

    /// Number of leases that had to wait, and their seconds in all.
    #[must_use]
    pub fn waits(&self) -> (u64, f64) {
        let nanos = self.shared.wait_nanos.load(Ordering::Relaxed);
        (self.shared.waits.load(Ordering::Relaxed), nanos as f64 / 1e9)
    }

    fn take(&self, state: &mut PoolState) -> io::Result<Option<Lease>> {
        let buffer = match state.free.pop() {
            Some(buffer) => buffer,
            None if state.made < self.shared.buffers_max => {
                let buffer = MmapMut::map_anon(self.shared.buffer_bytes)?;
                state.made += 1;
                buffer
            }
            None => return Ok(None),
        };
        state.lent += 1;
        state.lent_max = state.lent_max.max(state.lent);
        Ok(Some(Lease { buffer: Some(buffer), shared: Arc::clone(&self.shared) }))
    }
}

impl PoolShared {
    // A poisoned lock is taken all the same: no code that can panic runs while it is held.
    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waited(&self, start: Instant) {
        metrics::counter!("rorqual_pool_waits_total").increment(1);
        metrics::histogram!("rorqual_pool_wait_seconds").record(start.elapsed());
        self.waits.fetch_add(1, Ordering::Relaxed);
        self.wait_nanos.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.free.extend(self.buffer.take());
        state.lent -= 1;
        // All of them: a waker may belong to a future that was dropped, and must not swallow the
        // turn.
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        self.shared.returned.notify_one();
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl Deref for Lease {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.buffer.as_deref().unwrap_or_default()
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.buffer.as_deref_mut().unwrap_or_default()
    }
}

impl AsRef<[u8]> for Lease {
    fn as_ref(&self) -> &[u8] {
        self
    }
}
