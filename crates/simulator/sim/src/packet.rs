//! Packets in the network.

use crate::spare;
use headway_dccp::{CcVal, CsCov};
use headway_media::{Fragment, Media};
use headway_rate::{Run, Stamp, TimedArrival};
use headway_record::WrittenFrame;
use headway_tcp::{SackBlocks, Segment};
use headway_units::{Dscp, Duration, Ecn, FlowId, Instant, MediaKind, Probability, Rate, Seq48};
use std::net::Ipv4Addr;

/// A packet: header fields for the network, and its body.
///
/// Fields accessed on every hop come first.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Packet {
    /// Position in the list of routes.
    pub(crate) place: u32,
    /// Size of the packet, in IP bytes.
    pub size: u32,
    /// Flow that the packet belongs to.
    pub flow: FlowId,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// DSCP of the IP header.
    pub dscp: Dscp,
    /// Whether the packet is sent from the flow's sender to its receiver; if not, in the opposite direction.
    pub forward: bool,
    /// Number of the packet in the run, from 0, in the order of sending.
    pub uid: u64,
    /// Time at which the packet was sent.
    pub sent: Instant,
    /// Contents of the packet.
    pub body: Body,
}

impl headway_link::Item for Packet {
    #[inline]
    fn size(&self) -> u32 {
        self.size
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }
    #[inline]
    fn dscp(&self) -> Dscp {
        self.dscp
    }
    /// Returns a separate number for each direction of a flow, and of each of its first 16,384 sessions. Later
    /// sessions share them, as they share ports.
    fn flow(&self) -> u64 {
        let session = match &self.body {
            Body::Tcp(tcp) => tcp.session % 16_384,
            _ => 0,
        };
        (u64::from(self.flow.0) << 15) | (u64::from(session) << 1) | u64::from(self.forward)
    }
    fn host_pair(&self) -> (usize, bool) {
        (self.flow.0 as usize, self.forward)
    }
    fn flow_id(&self) -> FlowId {
        self.flow
    }
    #[inline(always)]
    fn release(&mut self) {
        if !matches!(self.body, Body::Datagram(_) | Body::Tcp(_)) {
            self.body.release();
        }
    }
}

impl Body {
    #[cold]
    #[inline(never)]
    fn release(&mut self) {
        match std::mem::replace(self, Self::Datagram(Datagram { sequence: 0, data: Data::NONE })) {
            Self::Dccp(mut packet) => {
                packet.options = None;
                spare::keep(&spare::DCCP, packet);
            }
            Self::Numbered(datagram) => spare::keep(&spare::NUMBERED, datagram),
            _ => {}
        }
    }

    /// Returns the application data, if the packet describes it.
    #[inline]
    pub(crate) fn data(&self) -> Option<&Data> {
        match self {
            Self::Datagram(datagram) => Some(&datagram.data),
            Self::Numbered(datagram) => Some(&datagram.data),
            Self::Dccp(packet) => Some(&packet.data),
            Self::Raw(packet) => Some(&packet.data),
            Self::Tcp(_) | Self::Report(_) | Self::External(_) => None,
        }
    }

    /// Returns the number of a data packet, if its receiver uses packet numbers.
    pub(crate) fn number(&self) -> Option<u64> {
        match self {
            Self::Numbered(datagram) => Some(datagram.number),
            Self::Dccp(packet) if packet.data.payload > 0 => Some(packet.seq.value()),
            _ => None,
        }
    }
}

impl Packet {
    /// Returns the packet's sequence number in traces: the number of a TCP segment, a datagram or a DCCP packet, or the
    /// greatest number that a report acknowledges. -1 if there is none.
    #[must_use]
    pub fn trace_number(&self) -> i64 {
        match &self.body {
            Body::Datagram(datagram) => datagram.sequence as i64,
            Body::Tcp(tcp) => tcp.segment(self).ns2_number(),
            Body::Numbered(datagram) => datagram.number as i64,
            Body::Dccp(packet) => packet.seq.value() as i64,
            Body::Report(report) => report.acknowledged as i64,
            Body::Raw(_) | Body::External(_) => -1,
        }
    }

    /// Returns the kind, an index into [`KINDS`](Self::KINDS).
    pub(crate) fn kind(&self) -> u8 {
        if self.forward { self.body.data().map_or(MediaKind::Data, |data| data.kind) as u8 } else { Self::FEEDBACK }
    }

    const FEEDBACK: u8 = MediaKind::ALL.len() as u8;

    /// Kinds of packets: media kinds, then feedback.
    pub(crate) const KINDS: [&str; MediaKind::ALL.len() + 1] = {
        let mut kinds = [headway_record::FEEDBACK; MediaKind::ALL.len() + 1];
        let mut kind = 0;
        while kind < MediaKind::ALL.len() {
            kinds[kind] = MediaKind::ALL[kind].name();
            kind += 1;
        }
        kinds
    };
}

/// A packet before it is addressed to a route.
#[derive(Debug)]
pub(crate) struct Envelope {
    pub(crate) size: u32,
    pub(crate) ecn: Ecn,
    pub(crate) body: Body,
}

impl From<Segment> for Envelope {
    #[inline]
    fn from(segment: Segment) -> Self {
        Self::of_session(0, &segment)
    }
}

impl Envelope {
    #[inline]
    pub(crate) fn of_session(session: u32, segment: &Segment) -> Self {
        Self { size: segment.size, ecn: segment.ecn, body: Body::Tcp(TcpPacket::new(session, segment)) }
    }
}

/// Contents of a packet. With a link's state and the header, small bodies fit two cache lines; others are boxed.
#[derive(Clone, Debug)]
pub enum Body {
    /// A UDP datagram.
    Datagram(Datagram),
    /// A TCP segment or acknowledgement.
    Tcp(TcpPacket),
    /// A data packet of a rate-controlled transport without a handshake, as of ns-2's agents.
    Numbered(Box<Numbered>),
    /// A receiver's report of a rate-controlled transport without a handshake, as of ns-2's agents.
    Report(Box<ReportBody>),
    /// A DCCP packet.
    Dccp(Box<DccpPacket>),
    /// A DCCP packet that an attacker sent or changed, or a reply to a spoofed address.
    Raw(Box<RawPacket>),
    /// The IP packet of a program or of the kernel, with its header.
    External(Vec<u8>),
}

/// Application data of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    /// Size of the application data, in bytes.
    pub payload: u32,
    /// Kind of media of the data.
    pub kind: MediaKind,
    /// Number of the media frame and position in it; `None` if the data belongs to no frame.
    pub fragment: Option<Fragment>,
    /// Time at which the application wrote the data.
    pub created: Instant,
    /// Latest time of a useful arrival; `FAR_FUTURE` for none.
    pub deadline: Instant,
}

impl Data {
    /// Data of a packet without application data.
    pub const NONE: Self = Self {
        payload: 0,
        kind: MediaKind::Data,
        fragment: None,
        created: Instant::ZERO,
        deadline: Instant::FAR_FUTURE,
    };

    /// Returns the frame of media to which this data belongs.
    #[inline]
    #[must_use]
    pub const fn frame(&self) -> WrittenFrame {
        WrittenFrame { kind: self.kind, created: self.created, deadline: self.deadline }
    }

    /// Returns the media frame that this data begins: if this is the data of the frame's first packet.
    #[inline]
    #[must_use]
    pub fn begins(&self) -> Option<WrittenFrame> {
        self.fragment.is_some_and(|fragment| fragment.index == 0).then_some(self.frame())
    }
}

impl From<&Media> for Data {
    #[inline]
    fn from(media: &Media) -> Self {
        Self {
            payload: media.size.count() as u32,
            kind: media.kind,
            fragment: media.fragment,
            created: media.created,
            deadline: media.expires.unwrap_or(Instant::FAR_FUTURE),
        }
    }
}

/// An encoded DCCP packet.
#[derive(Clone, Debug)]
pub struct RawPacket {
    /// Source address in the IP header.
    pub source: Ipv4Addr,
    /// Destination address in the IP header.
    pub destination: Ipv4Addr,
    /// DCCP packet with header.
    pub bytes: Vec<u8>,
    /// Receiver of the packet.
    pub(crate) to: RawEnd,
    /// Number of the attacker.
    pub(crate) attacker: u32,
    /// Application data of the original packet, if an attacker changed a packet of the flow; [`Data::NONE`] for other
    /// packets.
    pub data: Data,
}

/// Receiver of an encoded packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RawEnd {
    Server,
    Client,
    /// A spoofed address.
    Spoofed,
}

/// Kind of transmission of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    /// First transmission, without PSH.
    First,
    /// First transmission, with PSH ([`Segment::push`]).
    Pushed,
    /// Retransmission ([`Segment::retransmission`]).
    Retransmission,
}

/// A TCP packet: the fields of a [`Segment`] that its [`Packet`] does not contain.
#[derive(Clone, Copy, Debug)]
pub struct TcpPacket {
    /// Number of the segment, or the next expected number in an acknowledgement ([`Segment::seq`]).
    pub seq: u64,
    /// Send time of the packet that the peer responds to ([`Segment::echo`]).
    pub echo: Instant,
    /// SACK blocks and ECN counters of an acknowledgement ([`Segment::sack`]).
    pub sack: SackBlocks,
    /// Whether this is an acknowledgement ([`Segment::is_ack`]).
    pub is_ack: bool,
    /// ECN-Echo flag ([`Segment::ece`]).
    pub ece: bool,
    /// Congestion Window Reduced flag ([`Segment::cwr`]).
    pub cwr: bool,
    /// Whether the segment is sent for the first time, with or without PSH, or is a retransmission.
    pub sending: Sending,
    /// Session of the flow, from 1; 0 if the flow is one connection.
    pub session: u32,
}

impl TcpPacket {
    #[inline]
    pub(crate) fn new(session: u32, segment: &Segment) -> Self {
        let Segment { seq, echo, sack, is_ack, ece, cwr, push, retransmission, .. } = *segment;
        let sending = match (retransmission, push) {
            (true, _) => Sending::Retransmission,
            (false, true) => Sending::Pushed,
            (false, false) => Sending::First,
        };
        Self { seq, echo, sack, is_ack, ece, cwr, sending, session }
    }

    /// Returns the whole segment, with its send time by the simulation's clock instead of the node's clock. `packet`
    /// must contain this body.
    #[must_use]
    #[inline]
    pub fn segment(&self, packet: &Packet) -> Segment {
        self.stamped(packet, packet.sent)
    }

    /// Returns the segment with the send time `sent`, by the clock of its sender.
    #[inline]
    pub(crate) fn stamped(&self, packet: &Packet, sent: Instant) -> Segment {
        let Self { seq, echo, sack, is_ack, ece, cwr, sending, session: _ } = *self;
        let (push, retransmission) = (sending == Sending::Pushed, sending == Sending::Retransmission);
        Segment { seq, sent, echo, sack, size: packet.size, ecn: packet.ecn, is_ack, ece, cwr, push, retransmission }
    }
}

/// A UDP datagram.
#[derive(Clone, Copy, Debug)]
pub struct Datagram {
    /// Number of the datagram among the flow's datagrams, from 0.
    pub sequence: u64,
    /// Contents of the packet.
    pub data: Data,
}

/// A data packet of a rate-controlled transport without a handshake, as of ns-2's agents. Its send time is
/// [`Packet::sent`].
#[derive(Clone, Copy, Debug)]
pub struct Numbered {
    /// Number of the packet among the flow's data packets, from 0.
    pub number: u64,
    /// Contents of the packet.
    pub data: Data,
    /// Header fields set by the controller.
    pub stamp: Stamp,
    /// Number of datagrams per report that the sender requests; with 0, the receiver's part of the controller decides
    /// when to report.
    pub ack_ratio: u16,
}

/// A receiver's report of a rate-controlled transport without a handshake, as of ns-2's agents.
#[derive(Clone, Debug)]
pub struct ReportBody {
    /// Number of the packet among the flow's reports, from 0.
    pub number: u64,
    /// Greatest number of a received datagram.
    pub acknowledged: u64,
    /// Send time of the datagram [`acknowledged`](Self::acknowledged), by the clock of its sender.
    pub echo: Instant,
    /// Time from the arrival of the datagram [`acknowledged`](Self::acknowledged) to the sending of this report.
    pub held: Duration,
    /// Contents of the report.
    pub numbers: ReportNumbers,
}

/// Contents of a report.
#[derive(Clone, Debug)]
pub enum ReportNumbers {
    /// Received and lost datagrams, from [`ReportBody::acknowledged`] downwards.
    Arrivals(Box<[Run]>),
    /// Report of a TFRC receiver.
    Tfrc(TfrcNumbers),
    /// The receiver's clock, and received and lost datagrams with arrival times.
    Timed(Instant, Box<[TimedArrival]>),
    /// Report in a format of the controller itself.
    Own(headway_rate::Own),
}

/// Report of TFRC's receiver.
#[derive(Clone, Copy, Debug)]
pub struct TfrcNumbers {
    /// Receive rate of application data, without headers (X_recv of RFC 5348).
    pub x_recv: Rate,
    /// Loss event rate that the receiver reports (RFC 5348 section 5).
    pub p: Probability,
    /// Whether a loss event began since the previous report.
    pub new_loss_event: bool,
}

/// A DCCP packet. All data bytes are zero.
#[derive(Clone, Debug)]
pub struct DccpPacket {
    /// Sequence number of the packet.
    pub seq: Seq48,
    /// Packet type and its fields.
    pub body: headway_dccp::Body,
    /// CCVal field of the header (RFC 4340 section 5.1).
    pub ccval: CcVal,
    /// Checksum coverage (RFC 4340 section 9.2).
    pub cscov: CsCov,
    /// Application data; [`Data::NONE`] in packets without data.
    pub data: Data,
    /// Encoded options with padding.
    pub options: Option<Box<[u8]>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a link's state of 48 bytes per packet, two cache lines.
    #[test]
    fn a_packet_and_its_link_state_fit_two_cache_lines() {
        assert!(size_of::<Packet>() <= 80, "{}", size_of::<Packet>());
    }
}
