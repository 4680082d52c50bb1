//! Tickets: permits for requests that hold more than a little memory.
//!
//! A connection's buffers are in the sum for each connection. A request may hold ten times as much
//! beside them (an answer that its client takes slowly, a long body of JSON), so only a few may at
//! a time; the others wait in the order of their coming. A connection has at most one ticket for an
//! answer: one whose client reads nothing holds it until it is dropped for that.
//!
//! The waits are in one order: a body's ticket, the place as the next of a session's questions, an
//! answer's ticket, the permit for queries. The holder of that permit waits for nobody, and so no
//! ring of them can close.

use crate::limits::{ANSWERS_MAX, BODIES_MAX, TICKET_FREE_BYTES};
use bytes::Bytes;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The tickets of a server.
pub(crate) struct ResponsePermits {
    answers: Arc<Semaphore>,
    bodies: Arc<Semaphore>,
}

/// One connection, which may have some of them.
#[derive(Clone)]
pub(crate) struct PermitOwner {
    answers: Arc<Semaphore>,
    bodies: Arc<Semaphore>,
    own: Arc<Semaphore>,
}

/// A ticket for an answer, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Ticket {
    // Neither semaphore is ever closed.
    _own: Option<OwnedSemaphorePermit>,
    _shared: Option<OwnedSemaphorePermit>,
}

/// A ticket for a body, and the bytes of it.
#[derive(Debug)]
pub(crate) struct BodyTicket {
    _shared: Option<OwnedSemaphorePermit>,
}

impl ResponsePermits {
    pub(crate) fn new() -> Self {
        Self { answers: Arc::new(Semaphore::new(ANSWERS_MAX)), bodies: Arc::new(Semaphore::new(BODIES_MAX)) }
    }

    /// For a connection that was just made.
    pub(crate) fn holder(&self) -> PermitOwner {
        PermitOwner { answers: Arc::clone(&self.answers), bodies: Arc::clone(&self.bodies), own: Arc::new(Semaphore::new(1)) }
    }

    /// Tickets for answers and for bodies that are held.
    pub(crate) fn taken(&self) -> (usize, usize) {
        (ANSWERS_MAX - self.answers.available_permits(), BODIES_MAX - self.bodies.available_permits())
    }
}

impl PermitOwner {
    /// Waits for an answer's ticket: until this connection's last one is back, and then for one of
    /// the server's.
    pub(crate) async fn ticket(&self) -> Ticket {
        let own = Arc::clone(&self.own).acquire_owned().await.ok();
        Ticket { _own: own, _shared: Arc::clone(&self.answers).acquire_owned().await.ok() }
    }

    /// Waits for the ticket of a body that has so many bytes, where that is known; few need none.
    pub(crate) async fn body_ticket(&self, bytes: Option<u64>) -> BodyTicket {
        let few = bytes.is_some_and(|bytes| bytes <= TICKET_FREE_BYTES as u64);
        BodyTicket { _shared: if few { None } else { Arc::clone(&self.bodies).acquire_owned().await.ok() } }
    }
}

impl Ticket {
    /// Bytes that hold the ticket until the last of them was handed to the socket; few need none.
    pub(crate) fn on(self, bytes: Bytes) -> Bytes {
        if bytes.len() <= TICKET_FREE_BYTES { bytes } else { Bytes::from_owner(HeldPermits { bytes, _ticket: self }) }
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
    use super::ResponsePermits;
    use crate::limits::{ANSWERS_MAX, BODIES_MAX, TICKET_FREE_BYTES};
    use bytes::Bytes;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn is_pending(future: impl Future) -> bool {
        matches!(pin!(future).poll(&mut Context::from_waker(Waker::noop())), Poll::Pending)
    }

    #[tokio::test]
    async fn a_ticket_goes_with_the_last_of_its_bytes() {
        let tickets = ResponsePermits::new();
        let holder = tickets.holder();
        let few = holder.ticket().await.on(Bytes::from(vec![7; TICKET_FREE_BYTES]));
        assert_eq!((few.len(), tickets.taken().0), (TICKET_FREE_BYTES, 0));
        let mut many = holder.ticket().await.on(Bytes::from(vec![7; TICKET_FREE_BYTES + 1]));
        let (sent, rest) = (many.split_to(TICKET_FREE_BYTES), many);
        drop(sent);
        assert_eq!(tickets.taken().0, 1);
        assert!(is_pending(holder.ticket()), "a connection has one");
        drop(rest);
        assert_eq!(tickets.taken().0, 0);
        assert!(!is_pending(holder.ticket()));
    }

    #[tokio::test]
    async fn who_waits_for_a_ticket_and_leaves_takes_none() {
        let tickets = ResponsePermits::new();
        let mut held = Vec::new();
        for _ in 0..ANSWERS_MAX {
            held.push(tickets.holder().ticket().await);
        }
        let (first, second) = (tickets.holder(), tickets.holder());
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
        assert_eq!(tickets.taken().0, ANSWERS_MAX - 1);
        held.clear();
        assert_eq!(tickets.taken().0, 0);
    }

    #[tokio::test]
    async fn a_long_body_has_a_ticket_and_a_short_one_needs_none() {
        let tickets = ResponsePermits::new();
        let holder = tickets.holder();
        let mut held = Vec::new();
        for length in [None, Some(TICKET_FREE_BYTES as u64 + 1)].into_iter().cycle().take(BODIES_MAX) {
            held.push(holder.body_ticket(length).await);
        }
        assert_eq!(tickets.taken(), (0, BODIES_MAX));
        assert!(is_pending(holder.body_ticket(None)));
        assert!(!is_pending(holder.body_ticket(Some(TICKET_FREE_BYTES as u64))));
        held.pop();
        assert!(!is_pending(holder.body_ticket(None)));
    }
}
