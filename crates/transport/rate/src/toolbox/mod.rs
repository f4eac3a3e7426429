//! Parts that controllers are made of, each for more than one of them.
//!
//! - [`Flight`]: which of the packets sent have come, are lost, or are still under way.
//! - [`Rto`]: the timeout of RFC 6298.
//! - [`Silence`]: whether the path is silent, and which packets measure the silence.
//! - [`Pacer`]: when the next packet may go at a rate or by a gap, without drift.
//!
//! Means of round trips are `RoundTripEstimate` of headway-units.

mod flight;
mod pacer;
mod rto;
mod silence;

pub use flight::{Flight, News, Told};
pub(crate) use pacer::Fine;
pub use pacer::Pacer;
pub use rto::{Rto, RtoRules};
pub use silence::Silence;
pub(crate) use silence::{
    HEALTHY_LOSS, PACKETS_BETWEEN, PROBE_INTERVAL, REPORTS_BETWEEN, SHORTEST_SILENCE, UNANSWERED,
};
