//! What a connection tells its driver.

use super::state::State;
use crate::{Ccid, Packet, PacketType, Reset};
use headway_units::{Duration, Ecn};
use std::collections::VecDeque;
use std::fmt;
use std::ops::ControlFlow;

/// Events of the kinds that repeat themselves that wait at most.
const MOST_EVENTS: usize = 64;

/// A packet that is to go now.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// The packet. It borrows from the connection and from the outbox.
    pub packet: Packet<'a>,
    /// What its IP header says of ECN, under UDP too (RFC 6773 section 3.5).
    pub ecn: Ecn,
    /// Whether routers may not fragment it (section 14.2).
    pub dont_fragment: bool,
    /// It is the driver's [probe](crate::Connection::probe) of this number, which may go elsewhere than others.
    pub probe: Option<u64>,
}

/// What has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A listener has made it (section 8.5 step 3): only an [`Endpoint`](crate::Endpoint) tells that. The handshake goes on.
    Accepted,
    /// Both ends know that they are connected: data goes both ways.
    Connected,
    /// The connection is over.
    Closed(Closed),
    /// The largest datagram that can be sent has changed (section 14).
    MaximumPacketSize(usize),
    /// The peer has answered the [probe](crate::Connection::probe) of this number.
    ProbeAnswered(u64),
    /// The peer's application no longer listens: no more data is sent (Drop Code 1, section 11.7.2).
    PeerNotListening,
    /// A datagram was larger than any packet can carry and has been thrown away.
    DatagramTooLarge(usize),
}

impl Event {
    /// Whether it happens to a connection once at most.
    const fn is_single(&self) -> bool {
        match self {
            Self::Accepted | Self::Connected | Self::Closed(_) | Self::PeerNotListening => true,
            Self::MaximumPacketSize(_) | Self::ProbeAnswered(_) | Self::DatagramTooLarge(_) => false,
        }
    }
}

/// Events that nobody has asked for yet: the oldest stay, and what happens once is never dropped.
#[derive(Clone, Debug, Default)]
pub(super) struct Events {
    waiting: VecDeque<Event>,
    /// Why the connection is over, whether that has been asked for or not.
    closed: Option<Closed>,
}

impl Events {
    pub(super) fn push_back(&mut self, event: Event) {
        if let Event::Closed(why) = event {
            self.closed = Some(why);
        }
        if self.waiting.len() < MOST_EVENTS || event.is_single() {
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

/// Why a connection is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// This Reset came.
    ByPeer(Reset),
    /// This Reset went: as the answer to a Close (code 1), to an error, or because the application wanted it.
    ByUs(Reset),
    /// The peer did not answer, in this state.
    NoAnswer(State),
}

/// What is to be done with a received packet's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It is for the application.
    Data,
    /// The packet is valid and carries none.
    Nothing,
    /// The packet, or its data, goes no further.
    Dropped(Ignored),
}

/// Goes on with the next step, or is done with the packet.
pub(super) type Step<T> = ControlFlow<Delivery, T>;

/// Why a packet, or its data, was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignored {
    /// Its 24-bit numbers have not been allowed (step 6).
    ShortNumbers,
    /// No connection, or one in TIMEWAIT (step 2).
    NoConnection,
    /// Only a Response or Reset is valid in REQUEST (step 4).
    NotInRequest,
    /// Its numbers are not in the windows (steps 5 and 6).
    SequenceInvalid,
    /// Its type should not come now (step 7).
    Unexpected(PacketType),
    /// The network duplicated it.
    Duplicate,
    /// One of its options reset the connection (step 8).
    OptionError,
    /// Data that the protocol does not allow here: on a second Request, before features are agreed, with too little
    /// checksum coverage (Drop Code 0).
    ProtocolConstraints,
    /// Its Data Checksum is wrong (Drop Code 3).
    Corrupt,
    /// The application has closed.
    NotListening,
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ShortNumbers => "short sequence numbers are not allowed",
            Self::NoConnection => "there is no connection",
            Self::NotInRequest => "only a Response or Reset is valid in REQUEST",
            Self::SequenceInvalid => "its numbers are outside of the windows",
            Self::Unexpected(kind) => return write!(f, "a {kind} should not come now"),
            Self::Duplicate => "it has come already",
            Self::OptionError => "an option reset the connection",
            Self::ProtocolConstraints => "the protocol does not allow data here",
            Self::Corrupt => "its Data Checksum is wrong",
            Self::NotListening => "the application has closed",
        })
    }
}

/// What a connection holds now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Status {
    /// Its state.
    pub state: State,
    /// MPS: the largest datagram that goes without fragmentation.
    pub maximum_packet_size: usize,
    /// Whether the path has been asked for more, or never will be. Until then larger datagrams may yet go, a round trip after the handshake mostly.
    pub maximum_packet_size_is_known: bool,
    /// The smoothed round trip, once something has measured it.
    pub rtt: Option<Duration>,
    /// How much the clock of this end gains on that of the peer, as a ratio, once
    /// [one-way delays](super::ConnectionOptions::one_way_delays) are measured.
    pub clock_skew: Option<f64>,
    /// The CCID of our data.
    pub send_ccid: Ccid,
    /// The CCID of the peer's data.
    pub receive_ccid: Ccid,
    /// The controller of our data; what it held last, once no more data goes.
    pub sender: Option<headway_rate::Status>,
    /// Whether the peer has said within a round trip that it cannot keep up (Slow Receiver).
    pub slow_receiver: bool,
    /// What has been counted.
    pub counters: Counters,
    /// Why it is over, if it is.
    pub closed: Option<Closed>,
}

/// Packets so far, and bytes. Packets of ours are those with this connection's numbers: a Reset that answers somebody else's is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Sent, of every type.
    pub sent_packets: u64,
    /// Bytes of them, with their headers and options, without those below DCCP.
    pub sent_bytes: u64,
    /// Of them with data.
    pub sent_data_packets: u64,
    /// Bytes of their data.
    pub sent_data: u64,
    /// Sent, and lost by what Ack Vectors say when three later ones have come, or by Loss Intervals, in whose lossy parts some may have
    /// come or been marked (RFC 4342 section 8.6.1). Numbers that were passed over are among them. A peer that sends neither but a Loss
    /// Event Rate, as Linux does, tells nothing of packets.
    pub lost_packets: u64,
    /// Sent, and marked (Congestion Experienced) by what Ack Vectors say.
    pub marked_packets: u64,
    /// Of those sent, so many up to the greatest that the peer has named as acknowledged, lost ones among them (GAR).
    pub acknowledged_packets: u64,
    /// Received and valid, of every type.
    pub received_packets: u64,
    /// Bytes of them, with their headers and options, without those below DCCP. Of a Request that an Init Cookie has kept nobody
    /// knows how many it had.
    pub received_bytes: u64,
    /// Of them marked (Congestion Experienced).
    pub received_marked_packets: u64,
    /// Numbers of the peer's packets, up to the greatest that has come, that have not, or not yet; those that it has passed over among
    /// them.
    pub missing_packets: u64,
    /// Those of `missing_packets` that may have carried data: all without those that NDP Counts name (section 7.7).
    pub missing_data_packets: u64,
    /// Of those received with data that was delivered.
    pub delivered_packets: u64,
    /// Bytes of their data.
    pub delivered_data: u64,
    /// Received and ignored, or with data that was not delivered.
    pub dropped_packets: u64,
    /// Syncs sent because of invalid packets.
    pub syncs: u64,
    /// Reports caught in a lie (RFC 4342 section 9).
    pub lies: u64,
}
