//! A limit on all packets on the link: waiting, in transmission and propagating.
//!
//! Linux netem keeps a packet in its queue until its delay is over (`net/sched/sch_netem.c`, `netem_enqueue`:
//! `sch->q.qlen >= sch->limit`), so that its `limit` includes packets in flight.

use crate::queue::{QueueOptions, droptail};
use headway_units::QueueSize;

#[derive(Debug)]
pub(crate) struct InFlight {
    packets: u64,
    limit: u64,
}

impl InFlight {
    /// Returns the count of a link with this queue if its limit counts packets in flight.
    pub(crate) fn new(queue: &QueueOptions) -> Option<Self> {
        match queue {
            QueueOptions::DropTail(droptail::Options {
                counts: droptail::Counts::InFlight,
                limit: QueueSize::Packets(limit),
                ..
            }) => Some(Self { packets: 0, limit: *limit }),
            _ => None,
        }
    }

    /// Counts a packet that is offered. Returns whether it fits the limit.
    pub(crate) fn admit(&mut self) -> bool {
        let fits = self.packets < self.limit;
        self.packets += u64::from(fits);
        fits
    }

    pub(crate) fn departed(&mut self) {
        self.packets = self.packets.saturating_sub(1);
    }
}
