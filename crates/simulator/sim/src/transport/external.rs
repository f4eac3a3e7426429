//! Endpoints outside the simulation: programs, or the kernel's TCP. Their packets are injected, and returned when they
//! are delivered.

use super::carrier::{Carrier, Setup, WriteOutcome};
use super::ends::{Capabilities, Ends, ReceivingEnd, SendingEnd};
use crate::clocks::Meter;
use crate::observe::RoundTrip;
use crate::packet::{Body, Packet};
use headway_media::{Source, SourceOptions};
use headway_record::ns2::PacketType;
use headway_scenario::ExternalOptions;
use headway_units::{Dscp, Ecn, Instant};

/// Protocol numbers of IP.
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Size of a UDP header, in bytes (RFC 768).
const UDP_HEADER: usize = 8;

/// IP packet of an endpoint outside the simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalPacket {
    /// Index of the flow in the scenario.
    pub flow: usize,
    /// Whether the packet travels to the receiving node of the flow.
    pub forward: bool,
    /// Time at which an injected packet enters its first link, or at which a delivered packet has left its last one.
    pub at: Instant,
    /// ECN field of the packet, which links may have marked.
    pub ecn: Ecn,
    /// DSCP of the packet.
    pub dscp: Dscp,
    /// Packet with its IP header, in which the ECN field is that of the sender.
    pub bytes: Vec<u8>,
}

/// Both endpoints: the packets that have reached them.
#[derive(Debug, Default)]
pub(crate) struct External {
    delivered: Vec<ExternalPacket>,
}

impl External {
    pub(super) fn take_delivered(&mut self) -> Vec<ExternalPacket> {
        std::mem::take(&mut self.delivered)
    }

    fn keep(&mut self, now: Instant, packet: &Packet) -> u32 {
        let Body::External(bytes) = &packet.body else { return 0 };
        let &Packet { forward, ecn, dscp, .. } = packet;
        let flow = packet.flow.0 as usize;
        self.delivered.push(ExternalPacket { flow, forward, at: now, ecn, dscp, bytes: bytes.clone() });
        payload_bytes(bytes)
    }
}

impl Carrier for External {
    type Options = ExternalOptions;

    fn new(_: &Self::Options, _: &Setup<'_>) -> Self {
        Self::default()
    }

    fn ns2_types(_: &SourceOptions) -> [PacketType; 2] {
        [PacketType::Udp, PacketType::Ack]
    }
}

impl Ends for External {}

impl SendingEnd for External {
    fn take(&mut self, _: Instant, _: Instant, _: &mut Source, _: &mut Meter<'_>) -> WriteOutcome {
        WriteOutcome::Nothing
    }

    fn on_feedback(&mut self, now: Instant, _: Instant, packet: &Packet) -> Option<RoundTrip> {
        self.keep(now, packet);
        None
    }
}

impl ReceivingEnd for External {
    fn deliver(&mut self, now: Instant, _: Instant, packet: &Packet) -> u32 {
        self.keep(now, packet)
    }
}

impl Capabilities for External {}

/// Returns the bytes after the headers of IPv4 and of TCP or UDP (RFC 791 section 3.1, RFC 9293 section 3.1).
fn payload_bytes(packet: &[u8]) -> u32 {
    let Some(&first) = packet.first().filter(|first| **first >> 4 == 4) else { return 0 };
    let ip_header = usize::from(first & 0xf) * 4;
    let transport_header = match packet.get(9) {
        Some(&TCP) => packet.get(ip_header + 12).map_or(0, |offset| usize::from(offset >> 4) * 4),
        Some(&UDP) => UDP_HEADER,
        _ => 0,
    };
    packet.len().saturating_sub(ip_header + transport_header) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Headers of 20 bytes and options (RFC 791), of 20 bytes and options (RFC 9293), and of 8 bytes (RFC 768).
    #[test]
    fn the_payload_follows_the_headers() {
        let packet = |first: u8, protocol: u8, offset: u8, length: usize| {
            let mut packet = vec![0; length];
            (packet[0], packet[9]) = (first, protocol);
            packet[usize::from(first & 0xf) * 4 + 12] = offset;
            packet
        };
        assert_eq!(payload_bytes(&packet(0x45, TCP, 0x50, 1500)), 1460);
        assert_eq!(payload_bytes(&packet(0x45, TCP, 0x80, 1500)), 1448);
        assert_eq!(payload_bytes(&packet(0x46, UDP, 0, 100)), 68);
        assert_eq!(payload_bytes(&packet(0x45, 1, 0, 84)), 64);
        assert_eq!(payload_bytes(&packet(0x45, TCP, 0xf0, 40)), 0);
        for truncated in [&[][..], &[0x45], &[0x65; 40]] {
            assert_eq!(payload_bytes(truncated), 0);
        }
    }
}
