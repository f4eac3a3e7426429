#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod breaker;
mod clock;
mod connection;
mod driver;
mod endpoint;
mod entropy;
mod lead;
mod mailbox;
mod media;
mod options;
mod outbox;
#[cfg_attr(not(feature = "qlog"), allow(dead_code, reason = "the feature reads the events"))]
mod qlog;
mod rtp_socket;
mod schemes;
mod secure;
mod socket;
mod unread;
mod wait;
mod watched;
mod wire;

pub use breaker::BreakerReason;
pub use clock::Clock;
pub use connection::{Connection, SendError};
pub use driver::{FecCounters, Refused, SocketCounters};
pub use endpoint::{Endpoint, EndpointError};
pub use headway_dccp::{DropCode, Fate, Fec, Reset, ResetCode, Status};
pub use headway_media::QueueMethod;
pub use headway_rate::{
    ControllerOptions, EncoderOptions, EncoderRate, LossFilterKind, OneWayDelay, Scale, UddjOptions, UdpmOptions,
};
pub use headway_rtp as rtp;
pub use headway_units::{Duration, MediaKind, Rate, SendDrop};
pub use mailbox::{Closed, Event};
pub use media::Media;
pub use options::Options;
pub use qlog::{Qlog, QlogError};
pub use rtp_socket::{RtpClosed, RtpEvent, RtpKind, RtpOptions, RtpSocket};
pub use schemes::Spacing;
pub use secure::{
    Dtls, DtlsCounters, DtlsOptions, DtlsVersions, Fingerprint, FingerprintError, Identity, IdentityError, Trust,
};
pub use secure::{Secure, SecureError, SecureEvent};
pub use socket::PeerError;
pub use wire::Wire;
