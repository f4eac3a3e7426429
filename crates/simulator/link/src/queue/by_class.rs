//! A queue for each traffic class (by DSCP), for disciplines that schedule classes.

use super::{Arrival, Backlog, Verdict};
use crate::pool::{Handle, Item, Pool};
use crate::sublist::Sublist;
use headway_units::{Dscp, OptionError, QueueSize};

pub(super) fn check<'a>(classes: impl Iterator<Item = &'a [Dscp]>) -> Result<(), OptionError> {
    let wrong = |message: String| Err(OptionError::new("classes", message));
    let mut taken = [false; Dscp::COUNT];
    for (number, class) in classes.enumerate() {
        if class.is_empty() {
            return wrong(format!("class {number} has no DSCP; expected one, such as dscp = [\"af41\", \"ef\"]"));
        }
        for dscp in class {
            if std::mem::replace(&mut taken[usize::from(dscp.value())], true) {
                return wrong(format!("the DSCP {dscp} is listed twice; expected each DSCP in one class, once"));
            }
        }
    }
    Ok(())
}

/// The queues; the last one is for packets without a class.
#[derive(Debug)]
pub(super) struct ByClass {
    of: [u8; Dscp::COUNT],
    queues: Vec<Sublist>,
    limits: Vec<QueueSize>,
}

impl ByClass {
    /// Creates queues for classes with these DSCPs and limits, and one with the limit `rest` for other packets.
    pub(super) fn new<'a>(classes: impl ExactSizeIterator<Item = (&'a [Dscp], QueueSize)>, rest: QueueSize) -> Self {
        // Each class has at least one DSCP that no other class has, so that there are at most 64.
        let mut of = [classes.len() as u8; Dscp::COUNT];
        let mut limits = Vec::new();
        for ((dscps, limit), class) in classes.zip(0..) {
            limits.push(limit);
            dscps.iter().for_each(|dscp| of[usize::from(dscp.value())] = class);
        }
        limits.push(rest);
        Self { of, queues: limits.iter().map(|_| Sublist::default()).collect(), limits }
    }

    fn class_of(&self, dscp: Dscp) -> usize {
        usize::from(self.of[usize::from(dscp.value())])
    }

    pub(super) fn admit(&self, backlog: &Backlog, arrival: Arrival) -> Verdict {
        let class = self.class_of(arrival.dscp);
        let (packets, bytes) = self.queues[class].waiting();
        Backlog { packets, bytes, ..*backlog }.within(self.limits[class], arrival.size)
    }

    /// Appends the packet to the queue of its class. Returns the index of the class.
    pub(super) fn push<T: Item>(&mut self, packet: Handle, pool: &mut Pool<T>) -> usize {
        let class = pool.slot(packet).map_or(0, |slot| self.class_of(slot.item.dscp()));
        self.queues[class].push(packet, pool);
        class
    }

    pub(super) fn queues(&mut self) -> &mut [Sublist] {
        &mut self.queues
    }

    pub(super) fn waiting(&self) -> (u64, u64) {
        self.queues.iter().fold((0, 0), |all, queue| (all.0 + queue.packets(), all.1 + queue.bytes()))
    }

    pub(super) fn heads(&self) -> Vec<Handle> {
        self.queues.iter().map(Sublist::first).collect()
    }
}
