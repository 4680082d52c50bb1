//! The pool lends all that it has and no more, and waits end when a buffer comes home.

use rorqual_pipe::BufferPool;
use rorqual_testkit::process::in_time;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

const TIME_MAX: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn lends_no_more_than_it_has() {
    let pool = BufferPool::new(4096, 2);
    let first = pool.lease().unwrap();
    let second = pool.lease().unwrap();
    assert!(pool.try_lease().unwrap().is_none());
    assert_eq!((pool.lent(), pool.lent_max()), (2, 2));
    drop(first);
    let third = pool.try_lease().unwrap();
    assert!(third.is_some());
    drop((second, third));
    assert_eq!((pool.lent(), pool.lent_max()), (0, 2));
}

#[test]
fn a_wait_ends_when_a_buffer_comes_home() {
    let pool = BufferPool::new(4096, 1);
    let lease = pool.lease().unwrap();
    let waiting = pool.clone();
    let waiter = std::thread::spawn(move || drop(waiting.lease().unwrap()));
    drop(lease);
    in_time(TIME_MAX, move || waiter.join().unwrap());
    assert_eq!(pool.lent(), 0);
}

#[test]
fn many_threads_share_few_buffers() {
    let pool = BufferPool::new(4096, 3);
    let shared = pool.clone();
    in_time(TIME_MAX, move || {
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..2_000 {
                        let mut lease = shared.lease().unwrap();
                        lease[0] = 1;
                    }
                });
            }
        });
    });
    assert_eq!(pool.lent(), 0);
    assert!(pool.lent_max() <= 3);
}

#[test]
fn a_dropped_async_wait_does_not_swallow_the_turn() {
    let pool = BufferPool::new(4096, 1);
    let lease = pool.lease().unwrap();
    let (gone, here) = (Arc::new(Count::default()), Arc::new(Count::default()));
    let gone_waker = Waker::from(Arc::clone(&gone));
    let here_waker = Waker::from(Arc::clone(&here));
    {
        let abandoned = pin!(pool.lease_async());
        assert!(abandoned.poll(&mut Context::from_waker(&gone_waker)).is_pending());
    }
    let mut waiting = pin!(pool.lease_async());
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&here_waker)).is_pending());
    drop(lease);
    assert!(here.0.load(Ordering::SeqCst) > 0, "the one that still waits was woken");
    assert!(matches!(waiting.as_mut().poll(&mut Context::from_waker(&here_waker)), Poll::Ready(Ok(_))));
}

#[test]
#[should_panic(expected = "at least one buffer")]
fn a_pool_that_can_never_lend_is_refused() {
    let _ = BufferPool::new(4096, 0);
}
