#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod accumulate;
mod circular;
mod clock;
mod counted;
mod decimal;
mod dialect;
mod drop_cause;
mod dscp;
mod ecn;
mod entropy;
mod flow_id;
mod media_kind;
mod quantity;
mod random;
mod registry;
mod round_trip;
mod time;

pub use accumulate::{Accumulator, Step};
pub use circular::{Circular, Seq24, Seq48};
pub use clock::{Clock, Drift, Offset, Skew};
pub use counted::counted;
pub use decimal::{ParseError, number_and_unit};
pub use dialect::{Dialect, ParseDialectError};
pub use drop_cause::{DropCause, HostDrop, SendDrop};
pub use dscp::{Dscp, ParseDscpError};
pub use ecn::Ecn;
pub use entropy::Entropy;
pub use flow_id::FlowId;
pub use media_kind::MediaKind;
pub use quantity::{Bytes, Probability, QueueSize, Rate, Threshold};
pub use random::Random;
pub use registry::{OptionError, Options, Registry, check_range, unused_unless};
#[cfg(feature = "schema")]
pub use registry::{SchemaRegistry, schema_of_kinds};
pub use round_trip::{RoundTripEstimate, RtoFloor, TickedRoundTripEstimate};
pub use time::{Duration, Instant};

#[cfg(feature = "schema")]
#[doc(hidden)]
pub mod __private {
    pub use schemars;
    pub use serde;
    pub use serde_json;
}
