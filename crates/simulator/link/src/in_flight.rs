//! A limit that counts every packet on the link: those that wait, are transmitted and propagate.
//!
//! Linux netem keeps a packet in its queue until its delay is over (`net/sched/sch_netem.c`, `netem_enqueue`: `sch->q.qlen >= sch->limit`), so its
//! `limit` bounds the packets in flight too.

use crate::queue::{QueueOptions, droptail};
use headway_units::QueueSize;

/// How many packets are on the link, and how many may be.
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

    /// Counts a packet that is offered, unless the limit is reached.
    pub(crate) fn enters(&mut self) -> bool {
        let fits = self.packets < self.limit;
        self.packets += u64::from(fits);
        fits
    }

    /// Counts off a packet that has reached the far end.
    pub(crate) fn leaves(&mut self) {
        self.packets = self.packets.saturating_sub(1);
    }
}
