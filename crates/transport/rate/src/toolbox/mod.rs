//! Components shared by several controllers.
//!
//! - [`Flight`]: record of sent packets that are received, lost, or in flight.
//! - [`Rto`]: retransmission timeout of RFC 6298.
//! - [`Silence`]: detection of a silent path, and of packets whose round trip includes a silence.
//! - [`Pacer`]: drift-free pacing by a rate or a gap.
//!
//! For means of round-trip times see `RoundTripEstimate` of headway-units.

mod flight;
mod missing_reports;
mod outstanding;
mod pacer;
mod rto;
mod silence;

pub use flight::{Flight, PacketOutcome, PacketUpdate};
pub(crate) use missing_reports::MissingReports;
pub(crate) use outstanding::Outstanding;
pub(crate) use pacer::Fine;
pub use pacer::Pacer;
pub use rto::{Rto, RtoRules};
pub use silence::Silence;
pub(crate) use silence::{
    HEALTHY_LOSS, LATE_PROBE_INTERVAL, MIN_PACKETS_BETWEEN, MIN_REPORTS_BETWEEN, MIN_SILENCE, MIN_UNACKNOWLEDGED,
    PROBE_INTERVAL,
};
