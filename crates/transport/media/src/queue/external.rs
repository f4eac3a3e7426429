//! Send queues implemented by the program that drives a simulation. Scenario files cannot select them.
//!
//! This crate stores the packets, enforces the limit and reports the outcome of each packet; the external queue makes
//! the decisions.

use super::waiting::Waiting;
use super::{Media, Unsent};
use headway_units::{Bytes, Duration, Instant, MediaKind, SendDrop};
use std::fmt::Debug;
use std::sync::Arc;

/// Send queue implemented by the program. For the send queue of each flow it creates an object that makes the
/// [decisions](Decisions).
pub trait ExternalQueue: Debug + Send + Sync {
    /// Creates the object that makes the decisions of the send queue of one flow.
    fn decisions(&self) -> Box<dyn Decisions>;
}

/// Decisions of an external send queue. Indices refer to the slice of [waiting packets](WaitingPacket), in the order in
/// which they were enqueued. An index out of range counts as no decision.
pub trait Decisions: Debug + Send {
    /// Returns the index of the packet to send next; `None` to send none. `travel` is the estimated path delay to the
    /// receiver. May be called at any time and repeatedly. Must return the same packet for the same time and waiting
    /// packets.
    fn choose(&self, now: Instant, waiting: &[WaitingPacket], travel: Duration) -> Option<usize>;

    /// Returns the indices of waiting packets to drop as useless. Called each time after a packet was removed from the
    /// queue to be sent; `waiting` no longer has it. `travel` is the estimated path delay to the receiver.
    fn discard(&self, now: Instant, waiting: &[WaitingPacket], travel: Duration) -> Vec<usize>;

    /// Returns the index of the packet to drop from the full queue for `newcomer`; `None` refuses `newcomer`. `travel`
    /// is the estimated path delay.
    fn victim(
        &self,
        now: Instant,
        waiting: &[WaitingPacket],
        newcomer: &WaitingPacket,
        travel: Duration,
    ) -> Option<usize>;
}

/// Packet that waits in a send queue, as the external [`Decisions`] get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingPacket {
    /// Size of the application's data, without headers.
    pub size: Bytes,
    /// Kind of media.
    pub kind: MediaKind,
    /// Priority; 0 is the most urgent.
    pub priority: u8,
    /// Time at which the application created the packet.
    pub created: Instant,
    /// Time after which the receiver cannot use the packet; `None` if there is no such time.
    pub expires: Option<Instant>,
    /// Whether the packet is the last of its frame; true if frames are not used.
    pub ends_frame: bool,
}

impl WaitingPacket {
    fn of<T>(media: &Media<T>) -> Self {
        let Media { size, kind, priority, created, expires, .. } = *media;
        Self { size, kind, priority, created, expires, ends_frame: media.ends_frame() }
    }
}

/// Factory, compared by identity.
#[derive(Clone, Debug)]
pub(super) struct Maker(pub(super) Arc<dyn ExternalQueue>);

impl PartialEq for Maker {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

#[derive(Debug)]
pub(super) struct External(pub(super) Box<dyn Decisions>);

impl External {
    /// Returns the packet to send next. An empty queue makes no call.
    pub(super) fn choose<T>(&self, waiting: &Waiting<T>, now: Instant, travel: Duration) -> Option<usize> {
        waiting.len().checked_sub(1)?;
        self.0.choose(now, &seen(waiting), travel).filter(|index| *index < waiting.len())
    }

    pub(super) fn discard<T>(
        &self,
        waiting: &mut Waiting<T>,
        now: Instant,
        travel: Duration,
        unsent: &mut impl FnMut(Unsent<T>),
    ) {
        if waiting.len() == 0 {
            return;
        }
        let mut discarded = self.0.discard(now, &seen(waiting), travel);
        discarded.sort_unstable();
        discarded.dedup();
        // From the highest index down, so that the other indices stay valid.
        for media in discarded.into_iter().rev().filter_map(|index| waiting.remove(index)) {
            let lateness = media.lateness(now, travel);
            unsent(Unsent { media, cause: SendDrop::Expired, lateness });
        }
    }

    pub(super) fn victim<T>(
        &self,
        waiting: &Waiting<T>,
        newcomer: &Media<T>,
        now: Instant,
        travel: Duration,
    ) -> Option<usize> {
        self.0.victim(now, &seen(waiting), &WaitingPacket::of(newcomer), travel)
    }
}

fn seen<T>(waiting: &Waiting<T>) -> Vec<WaitingPacket> {
    waiting.iter().map(WaitingPacket::of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SendQueue, SendQueueOptions};
    use headway_units::{Dialect, QueueSize};

    /// Sends the last packet first. Drops expired packets after each sending. A full queue drops the largest packet
    /// unless the newcomer is larger.
    #[derive(Debug)]
    struct LastFirst;

    impl ExternalQueue for LastFirst {
        fn decisions(&self) -> Box<dyn Decisions> {
            Box::new(Self)
        }
    }

    impl Decisions for LastFirst {
        fn choose(&self, _: Instant, waiting: &[WaitingPacket], _: Duration) -> Option<usize> {
            assert!(!waiting.is_empty(), "an empty queue makes no call");
            // An index out of range counts as no decision.
            if waiting.len() == 1 && waiting[0].priority == 9 { Some(1) } else { waiting.len().checked_sub(1) }
        }
        fn discard(&self, now: Instant, waiting: &[WaitingPacket], _: Duration) -> Vec<usize> {
            assert!(!waiting.is_empty());
            let expired =
                |(index, packet): (usize, &WaitingPacket)| packet.expires.filter(|at| *at < now).map(|_| index);
            // Duplicates, unsorted, and an index out of range.
            let mut discarded: Vec<usize> = waiting.iter().enumerate().filter_map(expired).collect();
            discarded.extend(discarded.clone());
            discarded.push(1000);
            discarded
        }
        fn victim(
            &self,
            _: Instant,
            waiting: &[WaitingPacket],
            newcomer: &WaitingPacket,
            _: Duration,
        ) -> Option<usize> {
            let largest = waiting.iter().enumerate().max_by_key(|(_, packet)| packet.size)?;
            (largest.1.size >= newcomer.size).then_some(largest.0)
        }
    }

    fn queue(limit: u64) -> SendQueue<Vec<u8>> {
        let mut options = SendQueueOptions::fifo(Dialect::Rfc);
        options.rules.limit = QueueSize::Packets(limit);
        SendQueue::new(&options.with_external(Arc::new(LastFirst)))
    }

    fn packet(byte: u8, size: usize, expires: Option<u64>) -> Media<Vec<u8>> {
        Media { expires: expires.map(Instant::from_millis), ..Media::new(Instant::ZERO, vec![byte; size]) }
    }

    #[test]
    fn external_decisions_are_executed() {
        let (mut queue, mut dropped) = (queue(3), Vec::new());
        let at = Instant::from_millis;
        let mut unsent = |packet: Unsent<Vec<u8>>| dropped.push((packet.media.payload[0], packet.cause));
        for (byte, size, expires) in [(1, 10, Some(5)), (2, 30, None), (3, 20, None), (4, 20, None), (5, 40, None)] {
            queue.enqueue(at(1), packet(byte, size, expires), &mut unsent);
        }
        assert_eq!(queue.next(at(6)).unwrap().size, Bytes::new(20));
        assert_eq!(queue.dequeue(at(6), &mut unsent).unwrap().payload[0], 4);
        assert_eq!(queue.dequeue(at(6), &mut unsent).unwrap().payload[0], 3);
        assert_eq!((queue.dequeue(at(6), &mut unsent), queue.bytes()), (None, Bytes::new(0)));
        assert_eq!(dropped, [(2, SendDrop::PushedOut), (5, SendDrop::Refused), (1, SendDrop::Expired)]);
    }

    #[test]
    fn without_a_choice_packets_stay_queued() {
        let mut queue = queue(3);
        queue.enqueue(Instant::ZERO, Media { priority: 9, ..packet(1, 10, None) }, &mut |_| {});
        // A packet waits, but none is sent.
        assert!(queue.next(Instant::ZERO).is_some());
        assert_eq!(queue.dequeue(Instant::ZERO, &mut |_| {}), None);
        assert_eq!(queue.len(), 1);
        assert_eq!(queue.drain().len(), 1);
    }
}
