//! Limits that several parts of reading a scenario keep.

use headway_units::Duration;

/// Names stand in tables.
pub(crate) const LONGEST_NAME: usize = 64;
/// The most nodes, directed links or flows there may be, replicas counted.
pub(crate) const MOST_REPLICAS: u64 = 100_000;
/// Eleven days: longer is a slip, and the sum of all times must fit an instant.
pub(crate) const LONGEST_RUN: Duration = Duration::from_secs(1_000_000);

/// The most runs that one scenario may ask for.
pub const MOST_RUNS: usize = 100_000;
