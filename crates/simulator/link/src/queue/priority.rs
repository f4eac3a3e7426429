//! Strict priority over classes: a packet leaves only if none of a class before its own waits.
//!
//! A class that never pauses starves those behind it: what it may take must be bounded elsewhere, as by a policer.

use super::by_class::{self, ByClass};
use super::{Arrival, Backlog, Decision, Holds, Verdict, check_limit};
use crate::pool::{Handle, Item, Pool};
use headway_units::{Dialect, Dscp, Instant, OptionError, QueueSize, Random};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Options of `kind = "priority"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// How much may wait of a class that names no limit, and of all packets of none; what comes beyond that is dropped.
    pub limit: QueueSize,
    /// Classes of traffic, by DSCP, the first to be served first. Packets of none come last.
    pub classes: Vec<Class>,
}

/// A class of traffic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// The DSCPs of its packets, none of them in another class.
    pub dscp: Vec<Dscp>,
    /// How much of it may wait; absent: as much as the queue says.
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

/// A running queue with strict priority.
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

impl Holds for Priority {
    fn admit(&mut self, _: Instant, backlog: &Backlog, arrival: Arrival, _: &mut Random) -> Verdict {
        self.classes.admit(backlog, arrival)
    }

    fn hold<T: Item>(&mut self, _: Instant, packet: Handle, pool: &mut Pool<T>, _: &mut VecDeque<Decision>) {
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
