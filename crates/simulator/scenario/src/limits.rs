//! Limits of scenarios that several modules check.

use headway_units::{Duration, Rate};

/// Maximum length of a name, in characters.
pub(crate) const MAX_NAME_CHARS: usize = 64;
/// Maximum number of nodes, of duplex links and of flows, including replicas.
pub(crate) const MAX_REPLICAS: u64 = 100_000;
/// Maximum duration of a run, 11 days. The sum of all times must fit an [`Instant`](headway_units::Instant).
pub(crate) const MAX_DURATION: Duration = Duration::from_secs(1_000_000);

/// Maximum number of runs of a scenario, 100000: combinations of varied values times seeds.
pub const MAX_RUNS: usize = 100_000;
/// Maximum rate of a link without propagation delay, at which a byte takes 1 ns. A faster link could deliver a packet
/// at the time of its arrival, and the order of events at that time would be undefined.
pub(crate) const MAX_RATE_WITHOUT_DELAY: Rate = Rate::from_bits_per_second(8_000_000_000);
/// Allowed rates of a link, a policer and a shaper, for error messages.
pub(crate) const RATE_ALLOWED: &str = "write a rate above 0bps and at most 18446744Tbps, such as \"2Mbps\"";
