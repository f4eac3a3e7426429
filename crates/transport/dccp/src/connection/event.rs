//! Events, status and counters that a connection reports to its driver.

use super::state::State;
use crate::{Ccid, Packet, PacketType, Reset};
use headway_units::{Duration, Ecn};
use std::collections::VecDeque;
use std::fmt;
use std::ops::ControlFlow;

const MAX_EVENTS: usize = 64;

/// Packet to be sent now.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// Packet, borrowed from the connection and the outbox.
    pub packet: Packet<'a>,
    /// ECN codepoint of the IP header, also under UDP (RFC 6773 section 3.5).
    pub ecn: Ecn,
    /// Whether routers must not fragment the packet (RFC 4340 section 14.2).
    pub dont_fragment: bool,
    /// Number of the driver's [probe](crate::Connection::probe) if the packet is the Sync of this probe. The driver may
    /// send such a packet to another address.
    pub probe: Option<u64>,
}

/// Event of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A listener has created the connection (RFC 4340 section 8.5 step 3); reported only by an
    /// [`Endpoint`](crate::Endpoint). The handshake continues.
    Accepted,
    /// Data may be sent in both directions. At a client: the server's Response has arrived (state PARTOPEN). At a
    /// server: the client's Ack has arrived (state OPEN).
    Connected,
    /// The connection is closed.
    Closed(Closed),
    /// The maximum packet size, the size of the largest datagram, has changed to this number of bytes (RFC 4340 section
    /// 14).
    MaximumPacketSize(usize),
    /// The peer has answered the [probe](crate::Connection::probe) with this number.
    ProbeAnswered(u64),
    /// The peer's application no longer listens, so that no more data is sent (Drop Code 1, RFC 4340 section 11.7.2).
    PeerNotListening,
    /// A datagram of this size, in bytes, exceeds the maximum packet size and has been discarded.
    DatagramTooLarge(usize),
}

impl Event {
    /// Returns whether the event happens at most once for a connection.
    const fn is_single(&self) -> bool {
        match self {
            Self::Accepted | Self::Connected | Self::Closed(_) | Self::PeerNotListening => true,
            Self::MaximumPacketSize(_) | Self::ProbeAnswered(_) | Self::DatagramTooLarge(_) => false,
        }
    }
}

/// Queue of events. When it is full, newer ones are discarded, except those that happen once.
#[derive(Clone, Debug, Default)]
pub(super) struct Events {
    waiting: VecDeque<Event>,
    /// Why the connection is closed, even if the event has not been polled.
    closed: Option<Closed>,
}

impl Events {
    pub(super) fn push_back(&mut self, event: Event) {
        if let Event::Closed(why) = event {
            self.closed = Some(why);
        }
        if self.waiting.len() < MAX_EVENTS || event.is_single() {
            self.waiting.push_back(event);
        }
    }
    pub(super) fn has_some(&self) -> bool {
        !self.waiting.is_empty()
    }
    pub(super) const fn closed(&self) -> Option<Closed> {
        self.closed
    }
    pub(super) fn pop_front(&mut self) -> Option<Event> {
        self.waiting.pop_front()
    }
}

/// Reason why a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// The peer sent this Reset.
    ByPeer(Reset),
    /// This endpoint sent this Reset: in answer to a Close (code 1), because of an error, or by request of the
    /// application.
    ByUs(Reset),
    /// The peer did not answer while the connection was in this state.
    NoAnswer(State),
}

/// What the driver must do with a received packet's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Deliver the packet's data to the application.
    Data,
    /// Do nothing: the packet is valid and carries no data.
    Nothing,
    /// Do nothing: the packet, or its data, was dropped for this reason.
    Dropped(Ignored),
}

/// Result of a processing step: continue with the next step, or stop with this outcome.
pub(super) type Step<T> = ControlFlow<Delivery, T>;

/// Reason why a packet, or its data, was dropped. Steps are those of RFC 4340 section 8.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignored {
    /// Short (24-bit) sequence numbers are not allowed (RFC 4340 section 8.5 step 6).
    ShortNumbers,
    /// There is no connection, or it is in TIMEWAIT (RFC 4340 section 8.5 step 2).
    NoConnection,
    /// Only a Response or Reset is valid in REQUEST (RFC 4340 section 8.5 step 4).
    NotInRequest,
    /// The sequence or acknowledgement number is outside its window (RFC 4340 section 8.5 steps 5 and 6).
    SequenceInvalid,
    /// The packet type is not valid in this state (RFC 4340 section 8.5 step 7).
    Unexpected(PacketType),
    /// A packet with this sequence number has already been received.
    Duplicate,
    /// An option of the packet reset the connection (RFC 4340 section 8.5 step 8).
    OptionError,
    /// The protocol does not allow data here: on a second Request, before features are agreed, or
    /// with too little checksum coverage (Drop Code 0).
    ProtocolConstraints,
    /// The packet's Data Checksum is wrong (Drop Code 3).
    Corrupt,
    /// The application has closed the connection.
    NotListening,
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ShortNumbers => "short sequence numbers are not allowed",
            Self::NoConnection => "no connection",
            Self::NotInRequest => "only a Response or Reset is valid in REQUEST",
            Self::SequenceInvalid => "sequence or acknowledgement number outside its window",
            Self::Unexpected(kind) => return write!(f, "unexpected packet type {kind}"),
            Self::Duplicate => "sequence number already received",
            Self::OptionError => "an option caused a Reset",
            Self::ProtocolConstraints => "data is not allowed on this packet",
            Self::Corrupt => "wrong Data Checksum",
            Self::NotListening => "the application has closed the connection",
        })
    }
}

/// Snapshot of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Status {
    /// Current state of the connection.
    pub state: State,
    /// Maximum packet size (MPS): the size of the largest datagram that is sent without fragmentation, in bytes.
    pub maximum_packet_size: usize,
    /// Whether the search for the path MTU is disabled, or has found whether the path carries packets of the
    /// interface's MTU, which it tries first. Until then a larger maximum is likely, mostly within a round trip after
    /// the handshake. Later probes may still raise it.
    pub maximum_packet_size_is_known: bool,
    /// Smoothed round-trip time, once measured.
    pub rtt: Option<Duration>,
    /// Skew of the local clock against the peer's, as a ratio (1e-6 is 1 ppm), positive if the local clock is faster;
    /// `None` until it is measured, which needs [one-way delays](super::ConnectionOptions::one_way_delays).
    pub clock_skew: Option<f64>,
    /// CCID of the data that this endpoint sends.
    pub send_ccid: Ccid,
    /// CCID of the data that the peer sends.
    pub receive_ccid: Ccid,
    /// Controller of the data that this endpoint sends, by its name in scenarios; `None` if this endpoint has none for
    /// [`send_ccid`](Self::send_ccid).
    pub send_controller: Option<&'static str>,
    /// Controller whose receiver half this endpoint runs for the data that the peer sends, by its name in scenarios;
    /// `None` if there is none for [`receive_ccid`](Self::receive_ccid). The peer may run the sender half of another
    /// controller with the same CCID.
    pub receive_controller: Option<&'static str>,
    /// Status of the controller of this endpoint's data, or its last status once it has stopped.
    pub sender: Option<headway_rate::Status>,
    /// Whether the peer reported Slow Receiver within the last round trip.
    pub slow_receiver: bool,
    /// Packet and byte counts.
    pub counters: Counters,
    /// Reason why the connection is closed; `None` if it is not closed.
    pub closed: Option<Closed>,
}

/// Packet and byte counts. Only packets with this connection's sequence numbers count as sent: a
/// Reset in answer to an unrelated packet does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets sent, of every type.
    pub sent_packets: u64,
    /// Bytes sent, with DCCP headers and options, without lower-layer headers.
    pub sent_bytes: u64,
    /// Packets sent with data.
    pub sent_data_packets: u64,
    /// Bytes of data sent.
    pub sent_data: u64,
    /// Packets sent that the peer's reports show lost: those that an Ack Vector reports missing after three later ones
    /// arrived, or those in lossy parts of Loss Intervals, where some may have arrived or been marked (RFC 4342 section
    /// 8.6.1). Skipped sequence numbers are included. A peer that sends only a Loss Event Rate, as Linux does, does not
    /// report single packets.
    pub lost_packets: u64,
    /// Packets sent that the peer's Ack Vectors report as marked (Congestion Experienced).
    pub marked_packets: u64,
    /// Packets sent up to the greatest acknowledgement number received (GAR), including lost ones.
    pub acknowledged_packets: u64,
    /// Valid packets received, of every type.
    pub received_packets: u64,
    /// Bytes of the valid packets received, with DCCP headers and options, without lower-layer headers. A Request that
    /// the listener answered with an Init Cookie is not included, as its size is not stored.
    pub received_bytes: u64,
    /// Packets received with a mark (Congestion Experienced).
    pub received_marked_packets: u64,
    /// Sequence numbers up to the greatest received that have not arrived (yet), including those that the peer skipped.
    pub missing_packets: u64,
    /// Missing packets that may have carried data: `missing_packets` less those that NDP Counts cover (RFC 4340 section
    /// 7.7).
    pub missing_data_packets: u64,
    /// Packets received whose data was delivered to the application.
    pub delivered_packets: u64,
    /// Bytes of data delivered to the application.
    pub delivered_data: u64,
    /// Packets received that were ignored, or whose data was not delivered.
    pub dropped_packets: u64,
    /// Syncs sent in answer to invalid packets.
    pub syncs: u64,
    /// Reports of the peer that were proven false: they acknowledged a sequence number that this endpoint had skipped
    /// on purpose (RFC 4342 section 9).
    pub lies: u64,
}
