#![doc = include_str!("../README.md")]
//!
//! # The wire
//!
//! - [`Packet`]: all types of RFC 4340 and the Listen of RFC 5596, decoded by [`Packet::decode`] and encoded by
//!   [`Packet::encode`]. Invalid packets cause a [`PacketError`] and are always ignored.
//! - [`OptionArea`]: options of a packet. [`OptionArea::process`] applies the rules of RFC 4340 section 5.8, including
//!   Mandatory, and returns the reaction to each invalid option; [`OptionWriter`] encodes them.
//! - [`CcidOption`]: options of CCID 3 and 4, whose numbers depend on the CCID.
//! - [`AckVectorBuffer`] and [`arrivals`]: received packets, as stored by a receiver of data and read by its sender.
//! - [`UdpPorts`]: DCCP inside UDP (RFC 6773).
//!
//! # Connections
//!
//! [`Connection`] is one endpoint of a connection, [`Listener`] a listening port. Their driver, a simulator or a
//! socket, runs a loop: handle received packets, poll packets and events, wait for the next deadline. Data is read from
//! an [`Outbox`]: an application's own, or a [`MediaOutbox`] with priority and expiry.
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
//! // The Request creates the server's connection, which handles further packets of the client.
//! let mut outbox = NoData;
//! let request = client.poll_transmit(now, &mut outbox).map(|out| Decoded::Long(out.packet));
//! let Some(Outcome::Accepted(mut server, _)) =
//!     request.map(|packet| listener.handle(now, to_client, Ecn::NotEct, &packet))
//! else {
//!     return;
//! };
//! // Exchange packets until there are none. A driver then waits until poll_timeout().
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
//! [`Endpoint`] is for programs with sockets: it holds all connections and listeners by the addresses ([`Path`]) and
//! ports of their packets, with an [`Outbox`] each. Datagrams are passed as bytes, and received data is returned
//! without a copy. Its driver runs the same loop; `examples/udp.rs` is a complete one.
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
mod fec;
mod half_connection;
mod in_order;
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
pub use fec::{Fec, RepairCounters, Restorer};
pub use half_connection::HalfConnection;
pub use in_order::InOrder;
pub use media_outbox::{Fate, GivenUp, MediaOutbox, Position, Pushed, next_of, reported_packets};
pub use number::SequenceNumber;
pub use options::{
    AckRun, AckState, AckVector, CcidOption, DataDropped, DccpOption, DeliveryOrder, DropCode, DropRun, DroppedPackets,
    Elapsed, LossInterval, LossIntervals, OptionArea, OptionError, OptionFault, OptionWriter, ProcessedOption,
    RawOption, Reaction, Repair, Timestamp,
};
pub use packet::{Body, CcVal, Decoded, Packet};
pub use packet_type::PacketType;
pub use path::{Path, Ports};
pub use reset::{Reset, ResetCode};
pub use service_code::ServiceCode;
pub use udp::{UDP_HEADER_LEN, UDP_PORT, UdpPorts};
