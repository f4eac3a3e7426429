//! The choice of a rule for simultaneous events. [`Moment`](crate::Moment) implements the order.

use headway_units::Dialect;

/// Rule for the order of two events with bit-identical [`Moment::sum_s`](crate::Moment::sum_s).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Ties {
    /// Simultaneous events are handled in a random order, drawn separately for each time, so that no flow or link is
    /// favored.
    #[default]
    Drawn,
    /// Simultaneous events are handled in the order in which they were scheduled, exactly as in ns-2, with times as
    /// ns-2's floating-point sums.
    Scheduled,
}

impl Ties {
    /// Returns the default rule of a dialect: [`Scheduled`](Self::Scheduled) of `ns2`, [`Drawn`](Self::Drawn) of all
    /// others.
    #[must_use]
    pub const fn preset(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Headway1 | Dialect::Rfc | Dialect::Ns3 | Dialect::Linux => Self::Drawn,
            Dialect::Ns2 => Self::Scheduled,
        }
    }
}

/// Counter of the events scheduled in a run. Its values, from 1, are their sequence numbers, by which
/// [`Ties::Scheduled`] orders simultaneous events.
#[derive(Debug, Default)]
pub struct Places(u64);

impl Places {
    /// Returns the sequence number of the next scheduled event.
    #[inline]
    pub const fn next(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }
}
