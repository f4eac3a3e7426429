//! Traffic classes of RED, by DSCP, and the early action for each.

use crate::queue::by_class;
use headway_units::{Dscp, OptionError};
use serde::{Deserialize, Serialize};

/// A traffic class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// DSCPs of the class. A DSCP may be in one class only.
    pub dscp: Vec<Dscp>,
    /// What RED does when it chooses a packet of the class for an early drop.
    pub on_congestion: OnCongestion,
}

/// What RED does when it chooses an arriving packet for an early drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnCongestion {
    /// Drop the arriving packet, regardless of its ECN field.
    Drop,
    /// Enqueue the arriving packet and mark it, regardless of its ECN field.
    MarkTail,
    /// Enqueue the arriving packet. Mark the first waiting packet of its class that is not marked yet, even if it is
    /// not ECN-capable, so that the notification arrives a queueing delay earlier. If no such packet waits, mark the
    /// arriving one.
    MarkHead,
}

#[derive(Clone, Debug)]
pub(crate) struct Classes([Option<(u8, OnCongestion)>; Dscp::COUNT]);

impl Classes {
    pub(crate) fn new(classes: &[Class]) -> Self {
        let mut of = [None; Dscp::COUNT];
        for (class, number) in classes.iter().zip(0..) {
            for dscp in &class.dscp {
                of[usize::from(dscp.value())] = Some((number, class.on_congestion));
            }
        }
        Self(of)
    }

    #[inline]
    pub(crate) fn of(&self, dscp: Dscp) -> Option<(u8, OnCongestion)> {
        self.0[usize::from(dscp.value())]
    }
}

pub(crate) fn mark_at_the_head(classes: &[Class]) -> bool {
    classes.iter().any(|class| class.on_congestion == OnCongestion::MarkHead)
}

pub(super) fn check(classes: &[Class]) -> Result<(), OptionError> {
    by_class::check(classes.iter().map(|class| &*class.dscp))
}
