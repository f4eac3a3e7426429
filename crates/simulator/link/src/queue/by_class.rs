//! A queue for each class of traffic, told by the DSCP: what disciplines share that serve classes in turns.

use super::{Arrival, Backlog, Verdict};
use crate::pool::{Handle, Item, Pool};
use crate::sublist::Sublist;
use headway_units::{Dscp, OptionError, QueueSize};

/// No class is without DSCPs, and none shares any.
pub(super) fn check<'a>(classes: impl Iterator<Item = &'a [Dscp]>) -> Result<(), OptionError> {
    let wrong = |message: String| Err(OptionError::new("classes", message));
    let mut taken = [false; Dscp::COUNT];
    for (number, class) in classes.enumerate() {
        if class.is_empty() {
            return wrong(format!("class {number} has no DSCP: write some, such as dscp = [\"af41\", \"ef\"]"));
        }
        for dscp in class {
            if std::mem::replace(&mut taken[usize::from(dscp.value())], true) {
                return wrong(format!("the DSCP {dscp} stands twice: write it in one class, once"));
            }
        }
    }
    Ok(())
}

/// The queues; the last is that of packets of no class.
#[derive(Debug)]
pub(super) struct ByClass {
    /// The class of each DSCP.
    of: [u8; Dscp::COUNT],
    queues: Vec<Sublist>,
    limits: Vec<QueueSize>,
}

impl ByClass {
    /// Of classes with these DSCPs and limits, and of one more with a limit for the rest.
    pub(super) fn new<'a>(classes: impl ExactSizeIterator<Item = (&'a [Dscp], QueueSize)>, rest: QueueSize) -> Self {
        // A class has a DSCP that no other has: there are 64 at most.
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

    /// Whether the packet's class has room.
    pub(super) fn admit(&self, backlog: &Backlog, arrival: Arrival) -> Verdict {
        let class = self.class_of(arrival.dscp);
        let (packets, bytes) = self.queues[class].waiting();
        Backlog { packets, bytes, ..*backlog }.within(self.limits[class], arrival.size)
    }

    /// The packet waits behind all of its class, whose number is returned.
    pub(super) fn push<T: Item>(&mut self, packet: Handle, pool: &mut Pool<T>) -> usize {
        let class = pool.slot(packet).map_or(0, |slot| self.class_of(slot.item.dscp()));
        self.queues[class].push(packet, pool);
        class
    }

    /// The queues, in the order of the classes.
    pub(super) fn queues(&mut self) -> &mut [Sublist] {
        &mut self.queues
    }

    /// Packets and bytes in all of them.
    pub(super) fn waiting(&self) -> (u64, u64) {
        self.queues.iter().fold((0, 0), |all, queue| (all.0 + queue.packets(), all.1 + queue.bytes()))
    }

    pub(super) fn heads(&self) -> Vec<Handle> {
        self.queues.iter().map(Sublist::first).collect()
    }
}
