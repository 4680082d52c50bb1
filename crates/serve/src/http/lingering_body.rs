//! The rest of a request's body that the answer did not wait for.

use crate::limits::{LINGER_BYTES_MAX, LINGER_TIME_MAX};
use bytes::{Buf, Bytes};
use http_body_util::BodyExt;
use hyper::Request;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::EXPECT;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::runtime::Handle;
use tokio::time::timeout;

/// A request's body that is read on when it is dropped before its end, within limits: many clients
/// send everything before they read, and would find their connection reset instead of the refusal
/// that was on its way.
pub(crate) struct LingeringBody {
    body: Option<Incoming>,
    /// The client sends only when asked to, and was not asked yet.
    held_back: bool,
}

impl LingeringBody {
    pub(crate) fn wrap(request: Request<Incoming>) -> Request<Self> {
        let held_back = request.headers().contains_key(EXPECT);
        request.map(|body| Self { body: Some(body), held_back })
    }
}

impl Body for LingeringBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        self.held_back = false;
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(body).poll_frame(context));
        if !matches!(frame, Some(Ok(_))) {
            self.body = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl Drop for LingeringBody {
    fn drop(&mut self) {
        let unread = self.body.take().filter(|body| !self.held_back && !body.is_end_stream());
        if let (Some(body), Ok(runtime)) = (unread, Handle::try_current()) {
            runtime.spawn(timeout(LINGER_TIME_MAX, discard(body)));
        }
    }
}

async fn discard(mut body: Incoming) {
    let mut left = LINGER_BYTES_MAX;
    while let Some(Ok(frame)) = body.frame().await {
        left = left.saturating_sub(frame.data_ref().map_or(0, Buf::remaining) as u64);
        if left == 0 {
            return;
        }
    }
}
