//! What pictures of a record there may be: also who draws none must know their names, to remove old ones.

/// The names of all pictures of values over time that there may be.
pub const SERIES_FIGURES: [&str; 7] = ["throughput", "allowed-rate", "queue", "cwnd", "rtt", "loss-events", "loss"];

/// The names of all pictures of runs that there may be.
pub const FIGURES: [&str; 9] =
    ["throughput", "allowed-rate", "queue", "cwnd", "rtt", "loss-events", "loss", "delay-cdf", "frames"];
