//! Signals to a running server.

use std::task::Poll;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Handlers of signals, registered at once: the reader of the address may send a signal.
pub(super) struct Signals {
    ends: Vec<Signal>,
    hangup: Option<Signal>,
}

impl Signals {
    /// Ctrl-C and `kill` end the server. So does a terminal that was closed, unless SIGHUP makes it
    /// read files again.
    pub(super) fn new(reloads: bool) -> Self {
        // Without a handler the signal ends the process, which is all that is asked.
        let handled = |kind| signal(kind).ok();
        let mut ends: Vec<Signal> = [SignalKind::interrupt(), SignalKind::terminate()].into_iter().filter_map(handled).collect();
        let mut hangup = handled(SignalKind::hangup());
        if !reloads {
            ends.extend(hangup.take());
        }
        Self { ends, hangup }
    }

    /// The actions at an end, and at a hangup.
    pub(super) fn split(self) -> (EndSignals, Option<Signal>) {
        (EndSignals(self.ends), self.hangup)
    }
}

/// Signals that ask the process to end.
pub(crate) struct EndSignals(Vec<Signal>);

impl EndSignals {
    pub(crate) fn new() -> Self {
        Signals::new(false).split().0
    }

    /// Done at the next of them.
    pub(crate) async fn next(&mut self) {
        std::future::poll_fn(|context| {
            let arrived = self.0.iter_mut().any(|signal| signal.poll_recv(context).is_ready());
            if arrived { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}
