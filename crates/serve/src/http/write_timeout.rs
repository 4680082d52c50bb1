//! Peers that are not there any longer, or take nothing of their answer.

use crate::limits::{KEEPALIVE_PROBES, KEEPALIVE_TIMES, STALL_TIME_MAX};
use socket2::{SockRef, TcpKeepalive};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// Sets a socket up: small answers do not wait for more, and a peer that vanished without a word is
/// noticed. An option that the system does not take only costs that.
pub(crate) fn set_up(stream: &TcpStream) {
    let (idle, every) = KEEPALIVE_TIMES;
    let keepalive = TcpKeepalive::new().with_time(idle).with_interval(every).with_retries(KEEPALIVE_PROBES);
    let _ = stream.set_nodelay(true);
    let _ = SockRef::from(stream).set_tcp_keepalive(&keepalive);
}

/// A connection that breaks when its peer takes no bytes for [`STALL_TIME_MAX`].
pub(crate) struct WriteTimeout<S> {
    inner: S,
    /// Time at which the peer is taken for gone; set while it takes nothing.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    pub(crate) fn new(inner: S) -> Self {
        Self { inner, deadline: None }
    }

    /// The result of a write, with an end to the waiting.
    fn watch<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            // The HTTP layer looks for a next request when it has answered, but not if it waited
            // for the client's bytes before: it may have them by now, and nothing else would wake
            // it.
            if self.deadline.take().is_some() {
                context.waker().wake_by_ref();
            }
            return written;
        }
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep(STALL_TIME_MAX)));
        match deadline.as_mut().poll(context) {
            Poll::Ready(()) => {
                // Whoever asks again waits again.
                deadline.as_mut().reset(Instant::now() + STALL_TIME_MAX);
                metrics::counter!("rorqual_http_stalled_total").increment(1);
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.watch(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, pieces);
        self.watch(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(context);
        self.watch(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.inner).poll_shutdown(context);
        self.watch(context, shut)
    }
}

#[cfg(test)]
mod tests {
    use super::WriteTimeout;
    use crate::limits::STALL_TIME_MAX;
    use std::io::ErrorKind;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::{Instant, advance, timeout};

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_takes_nothing_is_dropped_and_a_slow_one_is_not() {
        let (near, mut far) = duplex(10);
        let mut near = WriteTimeout::new(near);
        let writer = tokio::spawn(async move {
            near.write_all(&[7; 100]).await.expect("it is taken, if slowly");
            let stalled_at = Instant::now();
            let error = near.write_all(&[7; 100]).await.expect_err("nobody takes it");
            (error.kind(), stalled_at.elapsed())
        });
        // Ten bytes, each time just before its patience ends.
        for _ in 0..10 {
            advance(STALL_TIME_MAX - Duration::from_secs(1)).await;
            far.read_exact(&mut [0; 10]).await.expect("it comes");
        }
        let (kind, after) = timeout(STALL_TIME_MAX * 2, writer).await.expect("it ends").expect("no panic");
        assert_eq!(kind, ErrorKind::TimedOut);
        assert!(after >= STALL_TIME_MAX && after < STALL_TIME_MAX * 2, "{after:?}");
    }
}
