//! What an application sends, when, how it is cut into datagrams, and which of it goes next: sources and [send queues](SendQueue).
//!
//! A [`Source`] is polled: [`poll_timeout`](Source::poll_timeout) says when its next [`Write`] is due,
//! [`poll`](Source::poll) hands over one that is. A source for a transport that paces itself (TCP) hands over a
//! [`Backlog`] instead. A UDP transport cuts each write with [`datagrams`].
//!
//! ```
//! use headway_media::{Context, Source, SourceOptions, UdpOptions, datagrams};
//! use headway_units::{Dialect, Instant, Options, Random, Registry};
//!
//! let mut options = SourceOptions::preset("cbr", Dialect::Rfc).unwrap();
//! if let SourceOptions::Cbr(cbr) = &mut options {
//!     cbr.rate = Some("1Mbps".parse().unwrap());
//!     cbr.size = Some("1000B".parse().unwrap());
//! }
//! let context = Context { start: Instant::ZERO, stop: None, random: Random::new(1, "flow"), trace: None };
//! let mut source = Source::new(&options, context).unwrap();
//! let udp = UdpOptions::preset(Dialect::Rfc);
//!
//! let now = source.poll_timeout().unwrap();
//! while let Some(write) = source.poll(now) {
//!     for datagram in datagrams(write.size, &udp) {
//!         assert_eq!((datagram.wire.count(), datagram.payload.count()), (1000, 972));
//!     }
//! }
//! assert_eq!(source.poll_timeout(), Some(Instant::from_millis(8)));
//! ```
#![forbid(unsafe_code)]

mod datagram;
mod queue;
mod source;
mod write;

pub use datagram::{Datagram, Datagrams, UdpOptions, datagrams};
pub use queue::{Full, Late, Lost, Media, NextMedia, Order, Rules, SendQueue, SendQueueOptions, Told, Travel, Unsent};
pub use source::cbr::{Cbr, CbrOptions, Change};
pub use source::conference::{Conference, ConferenceOptions, SmallerFrames};
pub use source::exponential::ExponentialOptions;
pub use source::ftp::{Ftp, FtpOptions};
pub use source::gop::{Gop, GopOptions};
pub use source::on_off::OnOff;
pub use source::pareto::ParetoOptions;
pub use source::playback::{Playback, Streams, TraceOptions};
pub use source::telnet::{Telnet, TelnetOptions};
pub use source::trace::{Frame, Trace, TraceError, TraceProblem};
pub use source::{Backlog, Context, Source, SourceOptions};
pub use write::{LARGEST_WRITE, Sizes, Write, WriteSize};
