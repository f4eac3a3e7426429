#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod accumulate;
mod circular;
mod clock;
mod decimal;
mod dialect;
mod dscp;
mod entropy;
mod quantity;
mod random;
mod registry;
mod round_trip;
mod time;
mod words;

pub use accumulate::{Accumulator, Step};
pub use circular::{Circular, Seq24, Seq48};
pub use clock::{Clock, Drift, Offset, Skew};
pub use decimal::{ParseError, number_and_unit};
pub use dialect::{Dialect, ParseDialectError};
pub use dscp::{Dscp, ParseDscpError};
pub use entropy::Entropy;
pub use quantity::{Bytes, Probability, QueueSize, Rate, Threshold};
pub use random::Random;
pub use registry::{OptionError, Options, Registry, check_range, unused_unless};
#[cfg(feature = "schema")]
pub use registry::{SchemaRegistry, schema_of_kinds};
pub use round_trip::{RoundTripEstimate, RtoFloor, TickedRoundTripEstimate};
pub use time::{Duration, Instant};
pub use words::{DropCause, Ecn, FlowId, HostDrop, MediaKind, SendDrop, counted};

#[cfg(feature = "schema")]
#[doc(hidden)]
pub mod __private {
    pub use schemars;
    pub use serde;
    pub use serde_json;
}
