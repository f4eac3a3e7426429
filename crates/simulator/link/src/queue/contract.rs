//! What a queue discipline is given, and what it answers.

use crate::pool::{Handle, Item, Pool};
use headway_units::{Bytes, DropCause, Dscp, Ecn, Instant, OptionError, QueueSize, Random, Rate};
use std::collections::VecDeque;
use std::sync::Arc;

/// Of each flow the host that it comes from and the one that it goes to, by the number that an item's [`way`](Item::way) says.
pub type Hosts = Arc<[(u32, u32)]>;

/// What the discipline must know of its link.
#[derive(Clone, Copy, Debug)]
pub struct LinkFacts {
    /// At which its packets leave: the shaper's, if it has one that is slower.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: headway_units::Duration,
}

/// What waits when a packet arrives: without that packet, and without the one in transmission.
#[derive(Clone, Copy, Debug)]
pub struct Backlog {
    /// Waiting packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whether nothing is in transmission.
    pub idle: bool,
    /// If so, for how long, in s. Where this is a whole number of packet times, what RED makes of it hangs on its last bit,
    /// which is ns-2's: see [`Moment`](headway_engine::Moment).
    pub idle_s: f64,
}

/// A packet that asks to be let in.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// IP bytes.
    pub size: Bytes,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its DSCP.
    pub dscp: Dscp,
}

/// What becomes of the arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It waits its turn.
    Admit,
    /// It waits its turn, marked Congestion Experienced.
    Mark,
    /// It waits its turn, and of its class the packet that leaves next and was not marked yet is marked Congestion Experienced: it itself,
    /// if no other waits.
    MarkHead {
        /// The number of its class.
        class: u8,
    },
    /// It goes no further.
    Drop(DropCause),
    /// It was marked, and then there was no room for it.
    DropMarked(DropCause),
    /// It waits its turn (marked if `mark`), and another is dropped instead.
    AdmitAndEvict {
        /// Whether the newcomer is marked.
        mark: bool,
        /// Who goes: 0 is the next to leave, the newcomer is the last.
        place: usize,
        /// Why.
        cause: DropCause,
    },
}

/// What a queue has decided about a packet that waited, as it left or as another came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// To be marked Congestion Experienced.
    Marked(Handle),
    /// Dropped; it is on no link.
    Dropped {
        /// Which.
        packet: Handle,
        /// Since when it waited.
        enqueued: Instant,
        /// Why.
        cause: DropCause,
    },
}

/// A discipline that holds what waits, and decides at each departure what goes. Whoever drives it tells of each arrival and each departure at its own
/// instant; what must happen at certain instants in between is made up for then, before anything else: nothing changes a queue meanwhile.
pub(crate) trait Holds {
    /// Decides about a packet that arrives at `now`: it is admitted, admitted and marked, or dropped.
    fn admit(&mut self, now: Instant, backlog: &Backlog, arrival: Arrival, random: &mut Random) -> Verdict;

    /// Takes a packet that was admitted, and whose slot tells since when it waits. Others, or itself, may be dropped for it.
    fn hold<T: Item>(&mut self, now: Instant, packet: Handle, pool: &mut Pool<T>, told: &mut VecDeque<Decision>);

    /// The packet that leaves at `now`; `None` only if none waits, or none waits any more.
    fn dequeue<T: Item>(&mut self, now: Instant, pool: &mut Pool<T>, told: &mut VecDeque<Decision>) -> Option<Handle>;

    /// Packets and bytes that wait.
    fn waiting(&self) -> (u64, u64);

    /// Where the lists of its packets begin.
    fn heads(&self) -> Vec<Handle>;
}

impl Backlog {
    /// What a queue does that refuses what would bring more than `limit` to wait. What finds the transmitter idle does not wait.
    pub(super) fn within(&self, limit: QueueSize, size: Bytes) -> Verdict {
        let fits = match limit {
            QueueSize::Packets(limit) => self.packets < limit,
            QueueSize::Bytes(limit) => self.bytes.saturating_add(size.count()) <= limit.count(),
        };
        if fits || self.idle { Verdict::Admit } else { Verdict::Drop(DropCause::QueueFull) }
    }
}

/// Spreads the numbers of flows over 64 bits, the highest most, by a salt that nobody knows: by it they are told apart.
pub(super) fn mixed(number: u64, salt: u64) -> u64 {
    let mixed = (number ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// A queue has room for something.
pub(super) fn check_limit(limit: QueueSize) -> Result<(), OptionError> {
    let wrong = |message| Err(OptionError::new("limit", message));
    match limit {
        QueueSize::Packets(0) => wrong("a queue of 0 packets passes nothing: write at least \"1packets\""),
        QueueSize::Bytes(bytes) if bytes.count() == 0 => {
            wrong("a queue of 0 bytes passes nothing: write at least \"1B\"")
        }
        _ => Ok(()),
    }
}
