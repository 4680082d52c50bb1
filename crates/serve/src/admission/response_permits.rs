//! Tickets: permits for requests that hold more than a little memory.
//!
//! A connection's buffers are in the sum for each connection. A request may hold ten times as much
//! beside them (an answer that its client takes slowly, a long body of JSON), so only a few may at
//! a time; the others wait in the order of their coming. A connection has at most one ticket for an
//! answer: one whose client reads nothing holds it until it is dropped for that.

use super::{Admission, PermitGuard, PermitKind, PermitPool};
use crate::limits::TICKET_FREE_BYTES;
use bytes::Bytes;

/// One connection, which may have some of them.
#[derive(Clone)]
pub(crate) struct PermitOwner {
    answers: PermitPool,
    bodies: PermitPool,
    own: PermitPool,
}

/// A ticket for an answer, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Ticket {
    own: PermitGuard,
    shared: PermitGuard,
}

impl PermitOwner {
    /// For a connection that was just made.
    pub(crate) fn new(admission: &Admission) -> Self {
        let own = PermitPool::new(PermitKind::ConnectionAnswer, 1);
        Self { answers: admission.pool(PermitKind::Answer), bodies: admission.pool(PermitKind::Body), own }
    }

    /// Waits for an answer's ticket: until this connection's last one is back, and then for one of
    /// the server's.
    pub(crate) async fn ticket(&self) -> Ticket {
        self.own_answer().await.ticket().await
    }

    /// Waits for this connection's previous answer only; [`OwnAnswer::ticket`] takes one of the
    /// server's tickets when the answer is ready.
    pub(crate) async fn own_answer(&self) -> OwnAnswer {
        OwnAnswer { own: self.own.acquire().await, answers: self.answers.clone() }
    }

    /// Waits for the permit of a body that has so many bytes, where that is known; few need none.
    pub(crate) async fn body_permit(&self, bytes: Option<u64>) -> Option<PermitGuard> {
        let few = bytes.is_some_and(|bytes| bytes <= TICKET_FREE_BYTES as u64);
        if few { None } else { Some(self.bodies.acquire().await) }
    }
}

/// A connection without an answer on its way.
pub(crate) struct OwnAnswer {
    own: PermitGuard,
    answers: PermitPool,
}

impl OwnAnswer {
    /// Waits for one of the server's tickets.
    pub(crate) async fn ticket(self) -> Ticket {
        Ticket { own: self.own, shared: self.answers.acquire().await }
    }
}

impl Ticket {
    /// Bytes that hold the ticket until the last of them was handed to the socket; few need none.
    pub(crate) fn on(self, bytes: Bytes) -> Bytes {
        if bytes.len() <= TICKET_FREE_BYTES {
            return bytes;
        }
        // They leave with the connection, whatever its next request waits for.
        let ticket = Self { own: self.own.detach(), shared: self.shared.detach() };
        Bytes::from_owner(HeldPermits { bytes, _ticket: ticket })
    }
}

struct HeldPermits {
    bytes: Bytes,
    _ticket: Ticket,
}

impl AsRef<[u8]> for HeldPermits {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::PermitOwner;
    use crate::admission::{Admission, AdmissionCounts, PermitKind};
    use crate::limits::{ANSWERS_MAX, BODIES_MAX, TICKET_FREE_BYTES};
    use bytes::Bytes;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn is_pending(future: impl Future) -> bool {
        matches!(pin!(future).poll(&mut Context::from_waker(Waker::noop())), Poll::Pending)
    }

    #[tokio::test]
    async fn a_ticket_goes_with_the_last_of_its_bytes() {
        let tickets = Admission::new(&AdmissionCounts::default());
        let holder = PermitOwner::new(&tickets);
        let few = holder.ticket().await.on(Bytes::from(vec![7; TICKET_FREE_BYTES]));
        assert_eq!((few.len(), tickets.pool(PermitKind::Answer).taken()), (TICKET_FREE_BYTES, 0));
        let mut many = holder.ticket().await.on(Bytes::from(vec![7; TICKET_FREE_BYTES + 1]));
        let (sent, rest) = (many.split_to(TICKET_FREE_BYTES), many);
        drop(sent);
        assert_eq!(tickets.pool(PermitKind::Answer).taken(), 1);
        assert!(is_pending(holder.ticket()), "a connection has one");
        drop(rest);
        assert_eq!(tickets.pool(PermitKind::Answer).taken(), 0);
        assert!(!is_pending(holder.ticket()));
    }

    #[tokio::test]
    async fn who_waits_for_a_ticket_and_leaves_takes_none() {
        let tickets = Admission::new(&AdmissionCounts::default());
        let mut held = Vec::new();
        for _ in 0..ANSWERS_MAX {
            held.push(PermitOwner::new(&tickets).ticket().await);
        }
        let (first, second) = (PermitOwner::new(&tickets), PermitOwner::new(&tickets));
        let mut context = Context::from_waker(Waker::noop());
        {
            let mut waiting = pin!(first.ticket());
            assert!(waiting.as_mut().poll(&mut context).is_pending());
            let mut next = pin!(second.ticket());
            assert!(next.as_mut().poll(&mut context).is_pending());
            held.pop();
            // It was the first one's, which is still there.
            assert!(next.as_mut().poll(&mut context).is_pending());
            assert!(waiting.as_mut().poll(&mut context).is_ready());
        }
        assert_eq!(tickets.pool(PermitKind::Answer).taken(), ANSWERS_MAX - 1);
        held.clear();
        assert_eq!(tickets.pool(PermitKind::Answer).taken(), 0);
    }

    #[tokio::test]
    async fn a_long_body_has_a_ticket_and_a_short_one_needs_none() {
        let tickets = Admission::new(&AdmissionCounts::default());
        let holder = PermitOwner::new(&tickets);
        let mut held = Vec::new();
        for length in [None, Some(TICKET_FREE_BYTES as u64 + 1)].into_iter().cycle().take(BODIES_MAX) {
            held.push(holder.body_permit(length).await);
        }
        assert_eq!(tickets.pool(PermitKind::Body).taken(), BODIES_MAX);
        assert!(is_pending(holder.body_permit(None)));
        assert!(!is_pending(holder.body_permit(Some(TICKET_FREE_BYTES as u64))));
        held.pop();
        assert!(!is_pending(holder.body_permit(None)));
    }
}
