//! A packet on its way.

use crate::spare;
use headway_dccp::{CcVal, CsCov};
use headway_media::{Fragment, Media};
use headway_rate::{Run, Stamp, TimedArrival};
use headway_record::WrittenFrame;
use headway_tcp::{SackBlocks, Segment};
use headway_units::{Dscp, Duration, Ecn, FlowId, Instant, MediaKind, Probability, Rate, Seq48};
use std::net::Ipv4Addr;

/// A packet: what the network needs to carry it, and what it carries.
///
/// Laid out in this order: what every hop touches comes first.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Packet {
    /// Its place in the list of routes.
    pub(crate) place: u32,
    /// IP bytes.
    pub size: u32,
    /// Whose it is.
    pub flow: FlowId,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its DSCP.
    pub dscp: Dscp,
    /// Whether it goes from the flow's sender to its sink.
    pub forward: bool,
    /// Its number in the run, from 0, in the order of sending.
    pub uid: u64,
    /// When its sender sent it.
    pub sent: Instant,
    /// What it carries.
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
    fn mark(&mut self) {
        self.ecn = Ecn::Ce;
    }
    #[inline]
    fn dscp(&self) -> Dscp {
        self.dscp
    }
    /// Each way of a flow, and of each of its sessions, which share ports once there are many.
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

    /// The application's data, where a packet says what it is.
    #[inline]
    pub(crate) fn data(&self) -> Option<&Data> {
        match self {
            Self::Datagram(datagram) => Some(&datagram.data),
            Self::Numbered(datagram) => Some(&datagram.data),
            Self::Dccp(packet) => Some(&packet.data),
            Self::Raw(packet) => Some(&packet.data),
            Self::Tcp(_) | Self::Report(_) => None,
        }
    }

    /// The number of a packet of data, where its receiver goes by numbers of packets.
    pub(crate) fn number(&self) -> Option<u64> {
        match self {
            Self::Numbered(datagram) => Some(datagram.number),
            Self::Dccp(packet) if packet.data.payload > 0 => Some(packet.seq.value()),
            _ => None,
        }
    }
}

impl Packet {
    /// The number that traces know it by: a TCP's segments, a DCCP packet's own, of a report the greatest that has come. -1: it has none.
    #[must_use]
    pub fn trace_number(&self) -> i64 {
        match &self.body {
            Body::Datagram(datagram) => datagram.sequence as i64,
            Body::Tcp(tcp) => tcp.segment(self).ns2_number(),
            Body::Numbered(datagram) => datagram.number as i64,
            Body::Dccp(packet) => packet.seq.value() as i64,
            Body::Report(report) => report.acknowledged as i64,
            Body::Raw(_) => -1,
        }
    }

    /// What it is: a place in [`KINDS`](Self::KINDS).
    pub(crate) fn kind(&self) -> u8 {
        if self.forward { self.body.data().map_or(MediaKind::Data, |data| data.kind) as u8 } else { Self::FEEDBACK }
    }

    const FEEDBACK: u8 = MediaKind::ALL.len() as u8;

    /// What packets are: media, or what answers.
    pub(crate) const KINDS: [&str; MediaKind::ALL.len() + 1] = {
        let mut kinds = ["feedback"; MediaKind::ALL.len() + 1];
        let mut kind = 0;
        while kind < MediaKind::ALL.len() {
            kinds[kind] = MediaKind::ALL[kind].name();
            kind += 1;
        }
        kinds
    };
}

/// A packet without its address.
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
    /// A segment of one of a flow's sessions.
    #[inline]
    pub(crate) fn of_session(session: u32, segment: &Segment) -> Self {
        Self { size: segment.size, ecn: segment.ecn, body: Body::Tcp(TcpPacket::new(session, segment)) }
    }
}

/// What a packet carries. A link's notes, a packet's header and the small bodies are two cache lines; larger bodies are elsewhere.
#[derive(Clone, Debug)]
pub enum Body {
    /// A UDP datagram.
    Datagram(Datagram),
    /// A TCP segment or acknowledgement.
    Tcp(TcpPacket),
    /// A datagram of a controller's bare agent.
    Numbered(Box<Numbered>),
    /// What its receiver reports.
    Report(Box<ReportBody>),
    /// A DCCP packet.
    Dccp(Box<DccpPacket>),
    /// A DCCP packet that an attacker has sent or changed, or what answers one from an address that it made up.
    Raw(Box<RawPacket>),
}

/// The application's data in a packet.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    /// Bytes of it.
    pub payload: u32,
    /// What it is.
    pub kind: MediaKind,
    /// Which packet of which frame, if it is of one.
    pub fragment: Option<Fragment>,
    /// When the application wrote it.
    pub created: Instant,
    /// When it is of no more use; far in the future: always of use.
    pub deadline: Instant,
}

impl Data {
    /// No data.
    pub const NONE: Self = Self {
        payload: 0,
        kind: MediaKind::Data,
        fragment: None,
        created: Instant::ZERO,
        deadline: Instant::FAR_FUTURE,
    };

    /// The frame, as far as this packet of it tells.
    #[inline]
    #[must_use]
    pub const fn frame(&self) -> WrittenFrame {
        WrittenFrame { kind: self.kind, created: self.created, deadline: self.deadline }
    }

    /// The frame that begins with it, if one does.
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

/// A DCCP packet as bytes.
#[derive(Clone, Debug)]
pub struct RawPacket {
    /// What its IP header says of where it comes from.
    pub source: Ipv4Addr,
    /// And of where it goes.
    pub destination: Ipv4Addr,
    /// The packet.
    pub bytes: Vec<u8>,
    /// Who gets it.
    pub(crate) to: RawEnd,
    /// Whose it is: the attacker's number.
    pub(crate) attacker: u32,
    /// What its data was, if it is a packet of the flow's that was changed.
    pub data: Data,
}

/// Who gets a packet of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RawEnd {
    Server,
    Client,
    /// An address that an attacker has made up.
    Nobody,
}

/// Whether a segment is sent for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    /// It is, without PSH.
    First,
    /// It is, with PSH ([`Segment::push`]).
    Pushed,
    /// It was sent before ([`Segment::retransmission`]).
    Again,
}

/// A TCP packet: of a [`Segment`] what its [`Packet`] does not say.
#[derive(Clone, Copy, Debug)]
pub struct TcpPacket {
    /// [`Segment::seq`].
    pub seq: u64,
    /// [`Segment::echo`].
    pub echo: Instant,
    /// [`Segment::sack`].
    pub sack: SackBlocks,
    /// [`Segment::is_ack`].
    pub is_ack: bool,
    /// [`Segment::ece`].
    pub ece: bool,
    /// [`Segment::cwr`].
    pub cwr: bool,
    /// Whether it is sent for the first time.
    pub sending: Sending,
    /// Which of the flow's sessions it is of, from 1; 0 where the flow is one connection.
    pub session: u32,
}

impl TcpPacket {
    #[inline]
    pub(crate) fn new(session: u32, segment: &Segment) -> Self {
        let Segment { seq, echo, sack, is_ack, ece, cwr, push, retransmission, .. } = *segment;
        let sending = match (retransmission, push) {
            (true, _) => Sending::Again,
            (false, true) => Sending::Pushed,
            (false, false) => Sending::First,
        };
        Self { seq, echo, sack, is_ack, ece, cwr, sending, session }
    }

    /// The whole segment, in true time: this is what `packet` carries.
    #[must_use]
    #[inline]
    pub fn segment(&self, packet: &Packet) -> Segment {
        self.stamped(packet, packet.sent)
    }

    /// The same, when its sender's clock showed `sent`.
    #[inline]
    pub(crate) fn stamped(&self, packet: &Packet, sent: Instant) -> Segment {
        let Self { seq, echo, sack, is_ack, ece, cwr, sending, session: _ } = *self;
        let (push, retransmission) = (sending == Sending::Pushed, sending == Sending::Again);
        Segment { seq, sent, echo, sack, size: packet.size, ecn: packet.ecn, is_ack, ece, cwr, push, retransmission }
    }
}

/// A UDP datagram.
#[derive(Clone, Copy, Debug)]
pub struct Datagram {
    /// Counted from 0 in its flow.
    pub sequence: u64,
    /// What it carries.
    pub data: Data,
}

/// A datagram of a controller's bare agent. It says when it was sent, too: [`Packet::sent`].
#[derive(Clone, Copy, Debug)]
pub struct Numbered {
    /// Counted from 0 in its flow.
    pub number: u64,
    /// What it carries.
    pub data: Data,
    /// What the controller wrote on it.
    pub stamp: Stamp,
    /// For how many datagrams the sender wants an acknowledgement; 0: the receiver's controller knows by itself.
    pub ack_ratio: u16,
}

/// A report between bare agents.
#[derive(Clone, Debug)]
pub struct ReportBody {
    /// Counted from 0 in its flow.
    pub number: u64,
    /// The greatest number that has come.
    pub acknowledged: u64,
    /// When that datagram was sent, by its sender's clock.
    pub echo: Instant,
    /// How long ago it came.
    pub held: Duration,
    /// What it says.
    pub numbers: ReportNumbers,
}

/// What a report says.
#[derive(Clone, Debug)]
pub enum ReportNumbers {
    /// Of each datagram whether it has come, from [`ReportBody::acknowledged`] down.
    Arrivals(Box<[Run]>),
    /// TFRC's own numbers.
    Tfrc(TfrcNumbers),
    /// Of each datagram whether it has come and when, and the receiver's clock.
    Timed(Instant, Box<[TimedArrival]>),
    /// What the controller's file has coded.
    Own(headway_rate::Own),
}

/// What TFRC's receiver reports.
#[derive(Clone, Copy, Debug)]
pub struct TfrcNumbers {
    /// What has come, in data bytes a second.
    pub x_recv: Rate,
    /// The loss event rate.
    pub p: Probability,
    /// Whether a loss event began since the report before.
    pub new_loss_event: bool,
}

/// A DCCP packet. Its data are zeroes.
#[derive(Clone, Debug)]
pub struct DccpPacket {
    /// Its sequence number.
    pub seq: Seq48,
    /// Its type, and what that type carries.
    pub body: headway_dccp::Body,
    /// CCVal.
    pub ccval: CcVal,
    /// What its checksum covers.
    pub cscov: CsCov,
    /// What it carries: [`Data::NONE`] but in packets that have data.
    pub data: Data,
    /// The bytes of its options, padded.
    pub options: Option<Box<[u8]>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beside a link's notes of 48 bytes: two cache lines.
    #[test]
    fn a_packet_fits_beside_the_notes_of_a_link() {
        assert!(size_of::<Packet>() <= 80, "{}", size_of::<Packet>());
    }
}
