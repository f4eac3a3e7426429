//! Send queues that are not of this crate: whoever drives a simulation from code may bring its own. No scenario file can name one.
//!
//! What waits, how much of it there may be, and what becomes of it is kept here as for any kind; from elsewhere come the decisions.

use super::waiting::Waiting;
use super::{Media, Unsent};
use headway_units::{Bytes, Duration, Instant, MediaKind, SendDrop};
use std::fmt::Debug;
use std::sync::Arc;

/// Makes the decisions of queues, for each flow its own.
pub trait ExternalQueue: Debug + Send + Sync {
    /// Those of one queue.
    fn decisions(&self) -> Box<dyn Decisions>;
}

/// What a queue from elsewhere is asked. Indices are those of what [waits](Waits), which lies in the order in which it came; one that is none of them
/// is as good as no answer.
pub trait Decisions: Debug + Send {
    /// Which packet would go; `None`: none of them. It may be asked at any time and more than once; who is asked again at the same instant, with the same packets
    /// waiting, must answer the same.
    fn choose(&self, now: Instant, waiting: &[Waits], travel: Duration) -> Option<usize>;

    /// A packet goes, and is no longer among these: which of them are thrown away, as of no more use.
    fn discard(&self, now: Instant, waiting: &[Waits], travel: Duration) -> Vec<usize>;

    /// There is no room for `newcomer`: which packet is thrown away for it; `None`: itself.
    fn victim(&self, now: Instant, waiting: &[Waits], newcomer: &Waits, travel: Duration) -> Option<usize>;
}

/// A packet that waits, as those see it who decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// The application's bytes in it, without headers.
    pub size: Bytes,
    /// What it is.
    pub kind: MediaKind,
    /// Which goes first where the queue may choose: 0 before 1 before 2.
    pub priority: u8,
    /// When the application handed it over.
    pub created: Instant,
    /// When it is of no more use to the receiver, if ever.
    pub expires: Option<Instant>,
    /// Whether it is the last packet of its frame.
    pub ends_frame: bool,
}

impl Waits {
    fn of<T>(media: &Media<T>) -> Self {
        let Media { size, kind, priority, created, expires, .. } = *media;
        Self { size, kind, priority, created, expires, ends_frame: media.ends_frame() }
    }
}

/// Queues from elsewhere, by who makes them.
#[derive(Clone, Debug)]
pub(super) struct Maker(pub(super) Arc<dyn ExternalQueue>);

impl PartialEq for Maker {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The decisions of one queue.
#[derive(Debug)]
pub(super) struct External(pub(super) Box<dyn Decisions>);

impl External {
    /// Where nothing waits nobody is asked.
    pub(super) fn choose<T>(&self, waiting: &Waiting<T>, now: Instant, travel: Duration) -> Option<usize> {
        waiting.len().checked_sub(1)?;
        self.0.choose(now, &seen(waiting), travel).filter(|index| *index < waiting.len())
    }

    /// Throws away what is of no more use.
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
        // From behind, so that indices stay what they were.
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
        self.0.victim(now, &seen(waiting), &Waits::of(newcomer), travel)
    }
}

fn seen<T>(waiting: &Waiting<T>) -> Vec<Waits> {
    waiting.iter().map(Waits::of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SendQueue, SendQueueOptions};
    use headway_units::{Dialect, QueueSize};

    /// The last that came goes first; what has expired is thrown away with it; the largest is pushed out, and for none that is larger.
    #[derive(Debug)]
    struct LastFirst;

    impl ExternalQueue for LastFirst {
        fn decisions(&self) -> Box<dyn Decisions> {
            Box::new(Self)
        }
    }

    impl Decisions for LastFirst {
        fn choose(&self, _: Instant, waiting: &[Waits], _: Duration) -> Option<usize> {
            assert!(!waiting.is_empty(), "nobody is asked where nothing waits");
            // One too many is as good as none.
            if waiting.len() == 1 && waiting[0].priority == 9 { Some(1) } else { waiting.len().checked_sub(1) }
        }
        fn discard(&self, now: Instant, waiting: &[Waits], _: Duration) -> Vec<usize> {
            assert!(!waiting.is_empty());
            let expired = |(index, packet): (usize, &Waits)| packet.expires.filter(|at| *at < now).map(|_| index);
            // Twice, the wrong way round, and one that is not there.
            let mut discarded: Vec<usize> = waiting.iter().enumerate().filter_map(expired).collect();
            discarded.extend(discarded.clone());
            discarded.push(1000);
            discarded
        }
        fn victim(&self, _: Instant, waiting: &[Waits], newcomer: &Waits, _: Duration) -> Option<usize> {
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
    fn what_is_decided_elsewhere_is_done() {
        let (mut queue, mut gone) = (queue(3), Vec::new());
        let at = Instant::from_millis;
        let mut unsent = |packet: Unsent<Vec<u8>>| gone.push((packet.media.payload[0], packet.cause));
        for (byte, size, expires) in [(1, 10, Some(5)), (2, 30, None), (3, 20, None), (4, 20, None), (5, 40, None)] {
            queue.enqueue(at(1), packet(byte, size, expires), &mut unsent);
        }
        assert_eq!(queue.next(at(6)).unwrap().size, Bytes::new(20));
        assert_eq!(queue.dequeue(at(6), &mut unsent).unwrap().payload[0], 4);
        assert_eq!(queue.dequeue(at(6), &mut unsent).unwrap().payload[0], 3);
        assert_eq!((queue.dequeue(at(6), &mut unsent), queue.bytes()), (None, Bytes::new(0)));
        assert_eq!(gone, [(2, SendDrop::PushedOut), (5, SendDrop::Refused), (1, SendDrop::Expired)]);
    }

    #[test]
    fn one_that_lets_nothing_go_keeps_what_waits() {
        let mut queue = queue(3);
        queue.enqueue(Instant::ZERO, Media { priority: 9, ..packet(1, 10, None) }, &mut |_| {});
        // There is something that waits, and nothing that goes.
        assert!(queue.next(Instant::ZERO).is_some());
        assert_eq!(queue.dequeue(Instant::ZERO, &mut |_| {}), None);
        assert_eq!(queue.len(), 1);
        assert_eq!(queue.drain().len(), 1);
    }
}
