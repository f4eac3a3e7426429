//! Parts that controllers are made of, each for more than one of them.
//!
//! - [`Flight`]: which of the packets sent have come, are lost, or are still under way.
//! - [`Rto`]: the timeout of RFC 6298.
//! - [`Pacer`]: when the next packet may go at a rate or by a gap, without drift.
//!
//! Means of round trips are `RoundTripEstimate` of headway-units.

mod flight;
mod pacer;
mod rto;

pub use flight::{Flight, News, Told};
pub(crate) use pacer::Fine;
pub use pacer::Pacer;
pub use rto::{Rto, RtoRules};
