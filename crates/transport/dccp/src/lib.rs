#![doc = include_str!("../README.md")]
//!
//! # The wire
//!
//! - [`Packet`]: every type of RFC 4340 and the Listen of RFC 5596, taken from bytes by [`Packet::decode`] and turned into
//!   bytes by [`Packet::encode`]. What is no packet is a [`PacketError`], and always ignored.
//! - [`OptionArea`]: a packet's options. [`OptionArea::process`] applies the rules of RFC 4340 section 5.8, those of
//!   Mandatory included, and says of each bad option what is to be done; [`OptionWriter`] writes them.
//! - [`CcidOption`]: the options of CCID 3 and 4, whose numbers mean something only under those CCIDs.
//! - [`AckVectorBuffer`] and [`arrivals`]: what has come, kept by a receiver of data, and read by its sender.
//! - [`UdpPorts`]: DCCP inside UDP (RFC 6773).
//!
//! # Connections
//!
//! [`Connection`] is one end of a connection, [`Listener`] a server's port. Whoever drives them, a simulator or a socket, runs
//! the same loop: in, drain, next deadline. Data comes from an [`Outbox`]: one's own, or a [`MediaOutbox`], which knows priority and
//! expiry.
//!
//! ```
//! use headway_dccp::{Connection, ConnectionExpert, ConnectionOptions, Decoded, Listener, NoData, Outcome, Path, Ports, ServiceCode, State};
//! use headway_units::{Dialect, Ecn, Instant, Options, Random};
//!
//! let (now, service) = (Instant::ZERO, ServiceCode::from_ascii("RTPV").unwrap_or_default());
//! let options = ConnectionOptions::preset(Dialect::Rfc);
//! let ports = Ports { local: 50000, remote: 5004 };
//! let to_client = Path::Ipv4 { local: [192, 0, 2, 2].into(), remote: [192, 0, 2, 1].into() };
//! let mut client = Connection::connect(now, &options, ports, service, Random::new(1, "client"));
//! let mut listener = Listener::new(now, &options, &[service], Random::new(2, "server"));
//!
//! // The Request reaches the server; from then on the client's packets are the connection's.
//! let mut outbox = NoData;
//! let request = client.poll_transmit(now, &mut outbox).map(|out| Decoded::Long(out.packet));
//! let Some(Outcome::Accepted(mut server, _)) =
//!     request.map(|packet| listener.handle(now, to_client, Ecn::NotEct, &packet))
//! else {
//!     return;
//! };
//! // In: handle what comes. Drain: ask both for packets until there are none. Next deadline: poll_timeout().
//! while server.state() != State::Open {
//!     while let Some(out) = server.poll_transmit(now, &mut NoData) {
//!         client.handle(now, out.ecn, &Decoded::Long(out.packet));
//!     }
//!     while let Some(out) = client.poll_transmit(now, &mut NoData) {
//!         server.handle(now, out.ecn, &Decoded::Long(out.packet));
//!     }
//! }
//! ```
//!
//! # Endpoints
//!
//! [`Endpoint`] is what a program with sockets wants: all connections and listeners behind them, by the addresses ([`Path`]) and ports
//! of their packets, with an [`Outbox`] each. Datagrams go in and come out as bytes; what comes for the application is handed over
//! where it lies. It is driven by the same loop, and `examples/udp.rs` is the whole of it.
#![forbid(unsafe_code)]

mod ack_vector_buffer;
mod arrivals;
mod ccid;
mod checksum;
mod connection;
mod crc32c;
mod display;
mod endpoint;
mod error;
mod feature;
mod half_connection;
mod media_outbox;
mod number;
mod options;
mod packet;
mod packet_type;
mod path;
mod reset;
mod service_code;
mod udp;

pub use ack_vector_buffer::AckVectorBuffer;
pub use arrivals::{Arrivals, arrivals};
pub use ccid::CcidController;
pub use checksum::{Addresses, CsCov, Network};
pub use connection::{
    Closed, Connection, ConnectionExpert, ConnectionOptions, Counters, Delivery, Event, Ignored, InitCookies, Listener,
    NoData, Outbox, Outcome, Outgoing, State, Status, refusal,
};
pub use crc32c::crc32c;
pub use endpoint::{
    ConnectError, ConnectionHandle, Datagram, Dropped, Endpoint, EndpointOptions, ListenError, Transmit,
};
pub use error::{DatagramError, EncodeError, PacketError};
pub use feature::{Ccid, Feature, FeatureAction, FeatureOption, Reconciliation};
pub use half_connection::HalfConnection;
pub use media_outbox::{Fate, GivenUp, MediaOutbox, Pushed, next_of, told};
pub use number::SequenceNumber;
pub use options::{
    AckRun, AckState, AckVector, Answer, CcidOption, DataDropped, DccpOption, DropCode, DropRun, DroppedPackets,
    Elapsed, LossInterval, LossIntervals, OptionArea, OptionError, OptionFault, OptionWriter, ProcessedOption,
    RawOption, Timestamp,
};
pub use packet::{Body, CcVal, Decoded, Packet};
pub use packet_type::PacketType;
pub use path::{Path, Ports};
pub use reset::{Reset, ResetCode};
pub use service_code::ServiceCode;
pub use udp::{UDP_HEADER_LEN, UDP_PORT, UdpPorts};
