//! What pictures of a record there may be: also who draws none must know their names, to remove old ones.

/// The names of all pictures over time there may be.
pub const FIGURES: [&str; 7] = ["throughput", "allowed-rate", "queue", "cwnd", "rtt", "loss-events", "loss"];
