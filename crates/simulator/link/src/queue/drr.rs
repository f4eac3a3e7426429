//! Deficit round robin over classes (M. Shreedhar and G. Varghese, SIGCOMM 1995). In each round a class with waiting
//! packets may send its quantum of bytes, plus the unused rest of its last rounds.
//!
//! ```text
//! turn of a class: deficit += quantum
//!                  while the packet at its head is not larger than deficit, it departs: deficit -= its size
//!                  if packets wait, the class goes to the end of the round; otherwise deficit = 0
//! ```

use super::by_class::{self, ByClass};
use super::{Arrival, Backlog, Decision, HoldingQueue, Verdict, check_limit};
use crate::pool::{Handle, Item, Pool};
use headway_units::{Bytes, Dialect, Dscp, Instant, OptionError, QueueSize, Random};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Options of a queue of `kind = "drr"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Queue limit of each class without its own `limit`, and of packets without a class; further packets are dropped.
    pub limit: QueueSize,
    /// Bytes per round of each class without its own `quantum`, and of packets without a class; 64B to 1GB.
    pub quantum: Bytes,
    /// Traffic classes, by DSCP. Packets without a class form one more class.
    pub classes: Vec<Class>,
}

/// A traffic class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// DSCPs of the class. A DSCP may be in one class only.
    pub dscp: Vec<Dscp>,
    /// Bytes per round, 64B to 1GB: waiting classes share the link in proportion to their quanta. If absent: the
    /// `quantum` of the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Bytes>,
    /// Capacity of the queue of this class. If absent: the `limit` of the whole `drr` queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<QueueSize>,
}

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        Self { limit: QueueSize::Packets(50), quantum: Bytes::new(1500), classes: Vec::new() }
    }

    fn check(&self) -> Result<(), OptionError> {
        check_limit(self.limit)?;
        check_quantum(self.quantum)?;
        for class in &self.classes {
            let limit = class.limit.map_or(Ok(()), check_limit);
            limit.and(class.quantum.map_or(Ok(()), check_quantum)).map_err(|error| error.within("classes"))?;
        }
        by_class::check(self.classes.iter().map(|class| &*class.dscp))
    }
}

fn check_quantum(quantum: Bytes) -> Result<(), OptionError> {
    if (64..=1_000_000_000).contains(&quantum.count()) {
        return Ok(());
    }
    Err(OptionError::new("quantum", "must be from 64B to 1GB"))
}

/// A running deficit round robin queue.
#[derive(Debug)]
pub struct Drr {
    classes: ByClass,
    quanta: Vec<u64>,
    deficits: Vec<u64>,
    /// Classes with waiting packets, in the order of their turns.
    active: VecDeque<usize>,
    /// Whether the first of them has received its quantum for this turn.
    has_begun: bool,
}

impl Drr {
    pub(super) fn new(options: &Options) -> Self {
        let classes = options.classes.iter().map(|class| (&*class.dscp, class.limit.unwrap_or(options.limit)));
        let quanta = options.classes.iter().map(|class| class.quantum.unwrap_or(options.quantum));
        let quanta: Vec<_> = quanta.chain([options.quantum]).map(Bytes::count).collect();
        Self {
            classes: ByClass::new(classes, options.limit),
            deficits: vec![0; quanta.len()],
            quanta,
            active: VecDeque::new(),
            has_begun: false,
        }
    }
}

impl HoldingQueue for Drr {
    fn admit(&mut self, _: Instant, backlog: &Backlog, arrival: Arrival, _: &mut Random) -> Verdict {
        self.classes.admit(backlog, arrival)
    }

    fn enqueue<T: Item>(&mut self, _: Instant, packet: Handle, pool: &mut Pool<T>, _: &mut VecDeque<Decision>) {
        let class = self.classes.push(packet, pool);
        if self.classes.queues()[class].packets() == 1 {
            self.active.push_back(class);
        }
    }

    fn dequeue<T: Item>(&mut self, _: Instant, pool: &mut Pool<T>, _: &mut VecDeque<Decision>) -> Option<Handle> {
        loop {
            let class = *self.active.front()?;
            let (queue, deficit) = (&mut self.classes.queues()[class], &mut self.deficits[class]);
            if !std::mem::replace(&mut self.has_begun, true) {
                *deficit = deficit.saturating_add(self.quanta[class]);
            }
            let (_, size) = queue.head(pool)?;
            if u64::from(size) > *deficit {
                self.active.rotate_left(1);
                self.has_begun = false;
                continue;
            }
            *deficit -= u64::from(size);
            let packet = queue.pop(pool);
            if queue.packets() == 0 {
                *deficit = 0;
                self.active.pop_front();
                self.has_begun = false;
            }
            return packet;
        }
    }

    fn waiting(&self) -> (u64, u64) {
        self.classes.waiting()
    }

    fn heads(&self) -> Vec<Handle> {
        self.classes.heads()
    }
}

#[cfg(test)]
mod tests;
