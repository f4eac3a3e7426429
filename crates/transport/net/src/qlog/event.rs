//! Events of a connection.

use crate::mailbox::Closed;
use headway_dccp::{Dropped, Fate, PacketType, Path, Reset};
use headway_units::{Duration, Probability, Rate, SendDrop};

/// End of a connection that writes the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Client,
    Server,
}

impl Role {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// First record of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Header {
    pub(super) role: Role,
    /// Identifier of the connection, equal at both ends.
    pub(super) group: String,
    /// Time of the first event since 1970, in ms.
    pub(super) reference_time: f64,
}

/// Event of a connection.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Event {
    Started(Path),
    Established,
    Closed {
        why: Closed,
        /// Whether the connection was established.
        established: bool,
    },
    Sent(PacketInfo),
    Received(PacketInfo),
    /// A received packet without effect.
    Ignored(PacketInfo, Dropped),
    Lost {
        kind: PacketType,
        number: u64,
    },
    /// A datagram with this number in events of the program left the send queue without being sent.
    DatagramDropped {
        id: u64,
        cause: Option<SendDrop>,
        lateness: Duration,
    },
    /// Metrics that have changed.
    Metrics(Metrics),
    /// This many events are missing here, because the disk was too slow.
    EventsDropped(u64),
}

impl Event {
    /// Returns the event of a datagram that the send queue dropped; `None` for other outcomes.
    pub(super) const fn dropped(id: u64, fate: Fate) -> Option<Self> {
        match fate {
            Fate::Unsent { cause, lateness } => Some(Self::DatagramDropped { id, cause: Some(cause), lateness }),
            Fate::Withdrawn => Some(Self::DatagramDropped { id, cause: None, lateness: Duration::ZERO }),
            _ => None,
        }
    }
}

/// Packet of a connection.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PacketInfo {
    pub(super) kind: PacketType,
    pub(super) number: u64,
    /// Size of the packet without lower-layer headers, in bytes.
    pub(super) length: usize,
    /// Size of the application data area, in bytes.
    pub(super) payload: usize,
    /// Ranges of acknowledged packets, each with its first and last number.
    pub(super) acknowledged: Vec<(u64, u64)>,
    pub(super) reset: Option<Reset>,
}

impl PacketInfo {
    /// Returns whether the packet carries a datagram of the application. Data and DataAck always do; it may be empty.
    pub(super) const fn has_datagram(&self) -> bool {
        match self.kind {
            PacketType::Data | PacketType::DataAck => true,
            PacketType::Request | PacketType::Response => self.payload > 0,
            _ => false,
        }
    }
}

/// Metrics of the half-connection on which this end sends. `None`: unknown, or unchanged in an event.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Metrics {
    pub(super) smoothed_rtt: Option<Duration>,
    /// Congestion window, in bytes.
    pub(super) congestion_window: Option<u64>,
    /// Slow start threshold, in bytes.
    pub(super) ssthresh: Option<u64>,
    /// Application data in flight, in bytes.
    pub(super) bytes_in_flight: Option<u64>,
    pub(super) packets_in_flight: Option<u64>,
    /// Rate at which waiting data is sent.
    pub(super) pacing_rate: Option<Rate>,
    /// Rate that the controller allows an encoder.
    pub(super) target_rate: Option<Rate>,
    /// Loss event rate p of TFRC.
    pub(super) loss_event_rate: Option<Probability>,
}

impl Metrics {
    /// Returns the metrics that differ from those `before`, if any.
    pub(super) fn changes_since(&self, before: &Self) -> Option<Self> {
        fn changed<T: Copy + PartialEq>(now: Option<T>, before: Option<T>) -> Option<T> {
            if now == before { None } else { now }
        }
        let changes = Self {
            smoothed_rtt: changed(self.smoothed_rtt, before.smoothed_rtt),
            congestion_window: changed(self.congestion_window, before.congestion_window),
            ssthresh: changed(self.ssthresh, before.ssthresh),
            bytes_in_flight: changed(self.bytes_in_flight, before.bytes_in_flight),
            packets_in_flight: changed(self.packets_in_flight, before.packets_in_flight),
            pacing_rate: changed(self.pacing_rate, before.pacing_rate),
            target_rate: changed(self.target_rate, before.target_rate),
            loss_event_rate: changed(self.loss_event_rate, before.loss_event_rate),
        };
        (changes != Self::default()).then_some(changes)
    }
}
