//! Limits that several parts of reading a scenario keep.

use headway_units::{Duration, Rate};

/// Names stand in tables.
pub(crate) const LONGEST_NAME: usize = 64;
/// The most nodes, directed links or flows there may be, replicas counted.
pub(crate) const MOST_REPLICAS: u64 = 100_000;
/// Eleven days: longer is a slip, and the sum of all times must fit an instant.
pub(crate) const LONGEST_RUN: Duration = Duration::from_secs(1_000_000);

/// The most runs that one scenario may ask for.
pub const MOST_RUNS: usize = 100_000;
/// A byte takes a nanosecond at this rate. A faster link without propagation delay could deliver a packet at the time at
/// which it was offered, and the order of events at that time would be undefined.
pub(crate) const FASTEST_WITHOUT_DELAY: Rate = Rate::from_bits_per_second(8_000_000_000);
/// The rates of a link, a policer or a shaper.
pub(crate) const RATE_ALLOWED: &str = "write a rate above 0bps and at most 18446744Tbps, such as \"2Mbps\"";
