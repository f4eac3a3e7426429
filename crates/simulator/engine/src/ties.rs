//! The rule for events of the same time.

use headway_units::Dialect;

/// What decides between two events that are equal to the last bit of their [`Moment::sum_s`](crate::Moment::sum_s).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Ties {
    /// A draw for each time: no actor is favored.
    #[default]
    Drawn,
    /// The order of scheduling, as in ns-2: times are ns-2's sums of doubles, and the order is exactly ns-2's.
    Scheduled,
}

impl Ties {
    /// The rule of a dialect.
    #[must_use]
    pub const fn preset(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Headway1 | Dialect::Rfc | Dialect::Ns3 | Dialect::Linux => Self::Drawn,
            Dialect::Ns2 => Self::Scheduled,
        }
    }
}

/// Places in the order of scheduling, from 1.
#[derive(Debug, Default)]
pub struct Places(u64);

impl Places {
    /// Returns the next place.
    #[inline]
    pub const fn next(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }
}
