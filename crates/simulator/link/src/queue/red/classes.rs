//! Classes of traffic, told by the DSCP: what RED does with a packet of each that it would drop early.

use crate::queue::by_class;
use headway_units::{Dscp, OptionError};
use serde::{Deserialize, Serialize};

/// A class of traffic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// The DSCPs of its packets, none of them in another class.
    pub dscp: Vec<Dscp>,
    /// What becomes of a packet of it that would be dropped early.
    pub on_congestion: OnCongestion,
}

/// What becomes of a packet that would be dropped early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnCongestion {
    /// It is dropped, whatever its ECN field.
    Drop,
    /// It is let in and marked, whatever its ECN field.
    MarkTail,
    /// It is let in, and of its class the packet that leaves next and bears no mark of this queue is marked, whatever its ECN field: notice
    /// comes a queueing delay sooner. If none waits, it is marked itself.
    MarkHead,
}

/// The class of each DSCP: its number and what becomes of its packets.
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

    /// The class of packets with this DSCP, if they have one.
    #[inline]
    pub(crate) fn of(&self, dscp: Dscp) -> Option<(u8, OnCongestion)> {
        self.0[usize::from(dscp.value())]
    }
}

/// Whether a queue with these marks packets that wait.
pub(crate) fn mark_at_the_head(classes: &[Class]) -> bool {
    classes.iter().any(|class| class.on_congestion == OnCongestion::MarkHead)
}

/// No class is without DSCPs, and none shares any.
pub(super) fn check(classes: &[Class]) -> Result<(), OptionError> {
    by_class::check(classes.iter().map(|class| &*class.dscp))
}
