//! Limits that several parts of reading a scenario keep.

/// Names stand in tables.
pub(crate) const LONGEST_NAME: usize = 64;
/// The most nodes, directed links or flows there may be, replicas counted.
pub(crate) const MOST_REPLICAS: u64 = 100_000;
