#![doc = include_str!("../README.md")]
//!
//! # Components
//!
//! A [`Source`] is polled: [`poll_timeout`](Source::poll_timeout) returns when its next [`Write`] is due,
//! [`poll`](Source::poll) returns a due write. For a transport that paces itself (TCP), a source provides a
//! [`Backlog`]. A UDP transport splits each write with [`datagrams`]. Packets wait in a [`SendQueue`] for a rate
//! controller. [`Framing`] numbers the packets of each frame, and [`Reassembly`] reassembles frames.
#![forbid(unsafe_code)]

/// Derives for options that are tables of a scenario.
#[cfg(feature = "schema")]
mod schema {
    pub(crate) use schemars::JsonSchema;
    pub(crate) use serde::{Deserialize, Serialize};
}

mod datagram;
mod frame;
mod queue;
mod rtp;
mod source;
mod write;

pub use datagram::{Datagram, Datagrams, UdpOptions, datagrams};
pub use frame::{Fragment, Framing, HeaderError, Inserted, MediaHeader, Reassembly, ReassemblyOptions};
pub use queue::{
    Decisions, ExternalQueue, Full, KindMethods, Late, Lost, Media, NextMedia, Order, Outstanding, QueueMethod,
    ReportedFate, ReportedPackets, Rules, SendQueue, SendQueueOptions, Travel, Unsent, WaitingPacket,
};
pub use rtp::RtpHeader;
pub use source::capture::{
    Capture, CaptureError, CaptureOptions, CaptureProblem, CaptureSchedule, Cut as CaptureCut,
    Datagram as CapturedDatagram, Host, KindRule, ParseHostError,
};
pub use source::cbr::{Cbr, CbrOptions, Change};
pub use source::conference::{Conference, ConferenceOptions, SmallerFrames};
pub use source::encoder::{Encoder, EncoderCounts, EncoderOptions};
pub use source::encodings::{Encodings, EncodingsOptions};
pub use source::exponential::ExponentialOptions;
pub use source::ftp::{Ftp, FtpOptions};
pub use source::gop::{Gop, GopOptions};
pub use source::on_off::OnOff;
pub use source::pages::{ObjectCounts, PageEvent, Pages, PagesOptions, ParetoObjects};
pub use source::pareto::ParetoOptions;
pub use source::playback::{Playback, Streams, TraceOptions};
pub use source::sessions::{Arrivals, Sessions, SessionsOptions};
pub use source::sizes::{LognormalSizes, ParetoSizes, SessionSizes};
pub use source::telnet::{Telnet, TelnetOptions};
pub use source::trace::{Frame, Trace, TraceError, TraceProblem};
pub use source::{Backlog, Context, Source, SourceOptions, TransportState};
pub use write::{LARGEST_WRITE, Sizes, Write, WriteSize};
