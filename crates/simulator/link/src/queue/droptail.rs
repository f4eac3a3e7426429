//! DropTail: first in, first out; packets that do not fit are dropped.

use super::{Arrival, Backlog, Verdict, check_limit};
use headway_units::{Bytes, Dialect, DropCause, Instant, OptionError, QueueSize, Random};
use serde::{Deserialize, Serialize};

/// Options of a queue of `kind = "droptail"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Capacity of the queue, in packets or bytes; `counts` selects the packets that count.
    pub limit: QueueSize,
    /// Which packets count toward the limit.
    pub counts: Counts,
    /// Which packet is dropped when the queue is full.
    pub drop: Victim,
}

/// Which packets count toward the limit of a DropTail queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Counts {
    /// Waiting packets count toward `limit`, without the one in transmission (Linux pfifo, bfifo).
    Waiting,
    /// Waiting packets and the one in transmission count toward `limit`. The latter counts as 1 B if the limit is in
    /// bytes.
    WithTransmission,
    /// All packets on the link count toward `limit`: those that wait, are transmitted and propagate (Linux netem).
    InFlight,
    /// Waiting packets count toward `limit`, but only `limit - 1` may wait (ns-2.35 queue/drop-tail.cc: `length + 1 >=
    /// limit_`).
    BelowLimit,
}

/// The packet that a full DropTail queue drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Victim {
    /// A full queue drops the arriving packet.
    Tail,
    /// A full queue drops the packet that has waited longest (ns-2 `drop_front_`).
    Front,
}

impl headway_units::Options for Options {
    fn preset(dialect: Dialect) -> Self {
        Self {
            // ns-3's `FifoQueueDisc`.
            limit: QueueSize::Packets(if dialect == Dialect::Ns3 { 1000 } else { 50 }),
            counts: if dialect == Dialect::Ns2 { Counts::BelowLimit } else { Counts::Waiting },
            drop: Victim::Tail,
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        check_limit(self.limit)?;
        if self.counts == Counts::InFlight {
            if matches!(self.limit, QueueSize::Bytes(_)) {
                let message = "counts packets with counts = \"in-flight\"; expected a value such as \"1000packets\"";
                return Err(OptionError::new("limit", message));
            }
            if self.drop == Victim::Front {
                let message = "has no effect with counts = \"in-flight\", which drops the arriving packet; remove drop";
                return Err(OptionError::new("drop", message));
            }
        }
        Ok(())
    }
}

impl Options {
    /// Returns how many packets may wait, if arriving packets are dropped and packets are counted.
    pub(crate) fn tail_drop_capacity(&self) -> Option<u32> {
        let QueueSize::Packets(limit) = self.limit else { return None };
        let capacity = match self.counts {
            Counts::Waiting => limit,
            Counts::WithTransmission | Counts::BelowLimit => limit.saturating_sub(1),
            Counts::InFlight => return None,
        };
        (self.drop == Victim::Tail).then_some(u32::try_from(capacity).unwrap_or(u32::MAX))
    }
}

/// A running DropTail queue.
#[derive(Debug)]
pub struct DropTail {
    limit: QueueSize,
    counts: Counts,
    drop: Victim,
}

impl DropTail {
    pub(super) fn new(options: &Options) -> Self {
        Self { limit: options.limit, counts: options.counts, drop: options.drop }
    }

    #[inline]
    pub(super) fn admit(&mut self, _: Instant, backlog: &Backlog, arrival: Arrival, _: &mut Random) -> Verdict {
        // A packet that finds the transmitter idle never waits, so that no limit applies to it.
        if backlog.idle && self.counts != Counts::BelowLimit
            || self.fits((backlog.packets, backlog.bytes), arrival.size)
        {
            return Verdict::Admit;
        }
        match self.drop {
            Victim::Tail => Verdict::Drop(DropCause::QueueFull),
            Victim::Front => Verdict::EnqueueAndDrop { mark: false, place: 0, cause: DropCause::QueueFull },
        }
    }

    #[inline]
    pub(super) fn fits(&self, (packets, bytes): (u64, u64), size: Bytes) -> bool {
        let (waiting, more, limit) = match self.limit {
            QueueSize::Packets(limit) => (packets, 1, limit),
            QueueSize::Bytes(limit) => (bytes, size.count(), limit.count()),
        };
        let with_it = waiting.saturating_add(more);
        match self.counts {
            Counts::Waiting => with_it <= limit,
            // In bytes, the size of the packet in transmission is not known here: one byte is counted for it.
            Counts::WithTransmission => with_it < limit,
            Counts::BelowLimit => with_it < limit,
            // The link drops a packet before it is offered to the queue.
            Counts::InFlight => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::testing::check_bounds;
    use headway_units::{Dscp, Ecn};

    fn fits(counts: Counts, limit: &str, packets: u64, bytes: u64, busy: bool) -> bool {
        let mut queue = DropTail { limit: limit.parse().unwrap(), counts, drop: Victim::Tail };
        let backlog = Backlog { packets, bytes, idle: !busy, idle_s: 1.0 };
        let arrival = Arrival { size: Bytes::new(1000), ecn: Ecn::NotEct, dscp: Dscp::CS0 };
        queue.admit(Instant::ZERO, &backlog, arrival, &mut Random::new(0, "")) == Verdict::Admit
    }

    /// ns-2.35, measured: limit 50 gives the first drop with 49 waiting; limit 5 keeps 4 waiting.
    #[test]
    fn ns2_holds_one_less_than_its_limit() {
        assert!(fits(Counts::BelowLimit, "50packets", 48, 48_000, true));
        assert!(!fits(Counts::BelowLimit, "50packets", 49, 49_000, true));
        assert!(!fits(Counts::BelowLimit, "1packets", 0, 0, false), "ns-2 with limit 1 passes nothing");
    }

    #[test]
    fn a_plain_queue_holds_its_limit() {
        assert!(fits(Counts::Waiting, "5packets", 4, 4000, true));
        assert!(!fits(Counts::Waiting, "5packets", 5, 5000, true));
        assert!(fits(Counts::Waiting, "5kB", 4, 4000, true));
        assert!(!fits(Counts::Waiting, "5kB", 5, 4001, true));
    }

    #[test]
    fn netem_counts_the_packet_in_transmission() {
        assert!(fits(Counts::WithTransmission, "50packets", 48, 48_000, true));
        assert!(!fits(Counts::WithTransmission, "50packets", 49, 49_000, true));
        assert!(fits(Counts::WithTransmission, "1packets", 0, 0, false));
    }

    #[test]
    fn each_bound_of_the_options_holds_on_both_sides() {
        check_bounds::<Options>(
            &[
                |options| options.limit = QueueSize::Packets(1),
                |options| options.limit = QueueSize::Bytes(Bytes::new(1)),
                |options| options.counts = Counts::InFlight,
                |options| options.drop = Victim::Front,
            ],
            &[
                ("limit", |options| options.limit = QueueSize::Packets(0)),
                ("limit", |options| options.limit = QueueSize::Bytes(Bytes::new(0))),
                ("limit", |o| (o.counts, o.limit) = (Counts::InFlight, QueueSize::Bytes(Bytes::new(1500)))),
                ("drop", |options| (options.counts, options.drop) = (Counts::InFlight, Victim::Front)),
            ],
        );
    }
}
