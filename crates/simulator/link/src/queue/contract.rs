//! The interface of queue disciplines.

use crate::pool::{Handle, Item, Pool};
use headway_units::{Bytes, DropCause, Dscp, Ecn, Instant, OptionError, QueueSize, Random, Rate};
use std::collections::VecDeque;
use std::sync::Arc;

/// Pairs of hosts between which flows are sent, by the index that [`Item::host_pair`] returns.
pub type Hosts = Arc<[(u32, u32)]>;

/// Properties of the link that a discipline uses.
#[derive(Clone, Copy, Debug)]
pub struct LinkProperties {
    /// Rate at which packets depart at the start of the run: the smaller of the rates of link and shaper.
    pub rate: Rate,
    /// Initial propagation delay of the link.
    pub delay: headway_units::Duration,
}

/// The waiting packets when a packet arrives, without that packet and without the one in transmission.
#[derive(Clone, Copy, Debug)]
pub struct Backlog {
    /// Number of waiting packets.
    pub packets: u64,
    /// IP bytes of the waiting packets.
    pub bytes: u64,
    /// Whether the transmitter is idle.
    pub idle: bool,
    /// Time since the end of the last transmission, or since a later packet that the queue dropped while the
    /// transmitter was idle, in s; only if [`idle`](Self::idle). RED counts how many packets could have been
    /// transmitted in this time. The value is bit-identical to that of ns-2 (see [`Moment`](headway_engine::Moment)),
    /// so that rounding gives equal counts.
    pub idle_s: f64,
}

/// A packet that arrives at the queue.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Size of the packet, in IP bytes.
    pub size: Bytes,
    /// ECN field of the packet.
    pub ecn: Ecn,
    /// DSCP of the packet.
    pub dscp: Dscp,
}

/// The decision about an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Enqueue the packet.
    Admit,
    /// Enqueue the packet, marked Congestion Experienced.
    Mark,
    /// Enqueue the arriving packet, and mark the first unmarked waiting packet of its class. If there is none, mark the
    /// arriving packet.
    MarkHead {
        /// Index of the traffic class.
        class: u8,
    },
    /// Drop the packet.
    Drop(DropCause),
    /// Mark the packet, then drop it because the queue is full.
    DropMarked(DropCause),
    /// Enqueue the arriving packet (marked if `mark`), and drop the packet at position `place`.
    EnqueueAndDrop {
        /// Whether the arriving packet is marked.
        mark: bool,
        /// Position of the packet to drop: 0 is the next to depart, the arriving packet is the last.
        place: usize,
        /// Why the packet is dropped.
        cause: DropCause,
    },
}

/// A decision of a queue about a waiting packet, at a departure or an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The packet is to be marked Congestion Experienced.
    Marked(Handle),
    /// The packet is dropped; it is on no link.
    Dropped {
        /// Packet that is dropped.
        packet: Handle,
        /// Time at which the packet was enqueued.
        enqueued: Instant,
        /// Why the packet is dropped.
        cause: DropCause,
    },
}

/// A discipline that holds the waiting packets and chooses the next one at each departure. The caller reports each
/// arrival and each departure at its time. Timed updates in between are caught up on first, which is exact because the
/// queue does not change meanwhile.
pub(crate) trait HoldingQueue {
    /// Decides about a packet that arrives at `now`: enqueue, enqueue and mark, or drop.
    fn admit(&mut self, now: Instant, backlog: &Backlog, arrival: Arrival, random: &mut Random) -> Verdict;

    /// Enqueues a packet that was admitted. Its slot has its arrival time. This packet or others may be dropped.
    fn enqueue<T: Item>(
        &mut self,
        now: Instant,
        packet: Handle,
        pool: &mut Pool<T>,
        decisions: &mut VecDeque<Decision>,
    );

    /// Returns the packet that departs at `now`; `None` if no packet waits or all were dropped.
    fn dequeue<T: Item>(
        &mut self,
        now: Instant,
        pool: &mut Pool<T>,
        decisions: &mut VecDeque<Decision>,
    ) -> Option<Handle>;

    /// Returns the packets and bytes that wait.
    fn waiting(&self) -> (u64, u64);

    /// Returns the heads of the lists of packets.
    fn heads(&self) -> Vec<Handle>;
}

impl Backlog {
    /// Returns `Drop` if more than `limit` would wait. A packet that finds the transmitter idle does not wait.
    pub(super) fn within(&self, limit: QueueSize, size: Bytes) -> Verdict {
        let fits = match limit {
            QueueSize::Packets(limit) => self.packets < limit,
            QueueSize::Bytes(limit) => self.bytes.saturating_add(size.count()) <= limit.count(),
        };
        if fits || self.idle { Verdict::Admit } else { Verdict::Drop(DropCause::QueueFull) }
    }
}

/// Hashes the number of a flow to 64 bits, of which the highest are mixed best. The salt makes the hash unpredictable.
pub(super) fn mixed(number: u64, salt: u64) -> u64 {
    let mixed = (number ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

pub(super) fn check_limit(limit: QueueSize) -> Result<(), OptionError> {
    let wrong = |message| Err(OptionError::new("limit", message));
    match limit {
        QueueSize::Packets(0) => wrong("a queue of 0 packets passes nothing; expected \"1packets\" or more"),
        QueueSize::Bytes(bytes) if bytes.count() == 0 => {
            wrong("a queue of 0 bytes passes nothing; expected \"1B\" or more")
        }
        _ => Ok(()),
    }
}
