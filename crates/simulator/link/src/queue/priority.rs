//! Strict priority over classes: a packet departs only if no packet of an earlier class waits.
//!
//! A class that always has packets starves the later classes. Its rate has to be limited, for example by a policer.

use super::by_class::{self, ByClass};
use super::{Arrival, Backlog, Decision, HoldingQueue, Verdict, check_limit};
use crate::pool::{Handle, Item, Pool};
use headway_units::{Dialect, Dscp, Instant, OptionError, QueueSize, Random};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Options of a queue of `kind = "priority"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Queue limit of each class without its own `limit`, and of packets without a class; further packets are dropped.
    pub limit: QueueSize,
    /// Traffic classes, by DSCP, the highest priority first. Packets without a class have the lowest priority.
    pub classes: Vec<Class>,
}

/// A traffic class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// DSCPs of the class. A DSCP may be in one class only.
    pub dscp: Vec<Dscp>,
    /// Capacity of the queue of this class. If absent: the `limit` of the whole `priority` queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<QueueSize>,
}

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        Self { limit: QueueSize::Packets(50), classes: Vec::new() }
    }

    fn check(&self) -> Result<(), OptionError> {
        check_limit(self.limit)?;
        let mut limits = self.classes.iter().filter_map(|class| class.limit);
        limits.try_for_each(check_limit).map_err(|error| error.within("classes"))?;
        by_class::check(self.classes.iter().map(|class| &*class.dscp))
    }
}

/// A running strict priority queue.
#[derive(Debug)]
pub struct Priority {
    classes: ByClass,
}

impl Priority {
    pub(super) fn new(options: &Options) -> Self {
        let classes = options.classes.iter().map(|class| (&*class.dscp, class.limit.unwrap_or(options.limit)));
        Self { classes: ByClass::new(classes, options.limit) }
    }
}

impl HoldingQueue for Priority {
    fn admit(&mut self, _: Instant, backlog: &Backlog, arrival: Arrival, _: &mut Random) -> Verdict {
        self.classes.admit(backlog, arrival)
    }

    fn enqueue<T: Item>(&mut self, _: Instant, packet: Handle, pool: &mut Pool<T>, _: &mut VecDeque<Decision>) {
        self.classes.push(packet, pool);
    }

    fn dequeue<T: Item>(&mut self, _: Instant, pool: &mut Pool<T>, _: &mut VecDeque<Decision>) -> Option<Handle> {
        self.classes.queues().iter_mut().find_map(|queue| queue.pop(pool))
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
