//! A connection after its upgrade, which is read no longer than the token stays that was shown for
//! it.

use crate::http::token::AccessGrant;
use std::io::{Error, ErrorKind, Result};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream whose reads fail once its pass is revoked. Last words can still be written.
pub(super) struct RevocableStream<S> {
    inner: S,
    revoked: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl<S> RevocableStream<S> {
    pub(super) fn new(inner: S, mut pass: AccessGrant) -> Self {
        Self { inner, revoked: Box::pin(async move { pass.revoked().await }) }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for RevocableStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        if self.revoked.as_mut().poll(context).is_ready() {
            // It is done: a further read is told again.
            self.revoked = Box::pin(std::future::ready(()));
            return Poll::Ready(Err(Error::new(ErrorKind::PermissionDenied, "the token was changed")));
        }
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for RevocableStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
