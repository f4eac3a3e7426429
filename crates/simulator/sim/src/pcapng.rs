//! Packet capture of a run in pcapng format: the transmissions of each direction of each link.
//!
//! Node n of the scenario has the address 10.x.y.z whose low 24 bits are n + 1. Data bytes are zero and truncated;
//! sizes are those of the run. DCCP packets are complete. Headers of other packets contain the fields known to the
//! simulator: TCP segment numbers are converted to bytes; datagrams and reports of rate controllers outside of DCCP are
//! UDP datagrams.

use crate::addresses::{IP_HEADER, address, ports, session_ports};
use crate::observe::{LinkEvent, Observer};
use crate::packet::{Body, Packet, Sending, TcpPacket};
use crate::transport::bytes_per_number;
use headway_dccp::{Addresses, Network};
use headway_record::{IpAddresses, IpHeader, PcapngDirection, PcapngInterface, PcapngPacket, PcapngWriter};
use headway_scenario::Scenario;
use headway_units::Instant;
use std::net::Ipv4Addr;

/// Maximum number of bytes captured of a packet: all headers with all options, and some data.
const SNAP_LENGTH: usize = 2048;
const UDP_HEADER: usize = 8;
/// Protocol numbers of IP.
const TCP: u8 = 6;
const UDP: u8 = 17;
const DCCP: u8 = 33;
/// Flags of TCP (RFC 9293 section 3.1).
const SYN: u8 = 0x02;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;
/// Receive window in TCP headers; the simulated TCP has no window in bytes.
const WINDOW: u16 = u16::MAX;

/// Capture of every packet that a link transmits.
#[derive(Debug)]
pub struct PcapngTrace {
    writer: PcapngWriter<Vec<u8>>,
    interfaces: Vec<PcapngInterface>,
    flows: Vec<Ends>,
    payload: Vec<u8>,
    packet: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Ends {
    from: Ipv4Addr,
    to: Ipv4Addr,
    /// Bytes per TCP segment number.
    segment: u32,
}

impl PcapngTrace {
    /// Creates the capture of a run of this scenario.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        #[expect(clippy::expect_used, reason = "writing to memory does not fail")]
        let mut writer = PcapngWriter::new(Vec::new()).expect("memory write");
        #[expect(clippy::expect_used, reason = "writing to memory does not fail")]
        let interface = |link: &headway_scenario::Link| writer.interface(&link.name).expect("memory write");
        let interfaces = scenario.links.iter().map(interface).collect();
        let ends = |flow: &headway_scenario::Flow| {
            let segment = bytes_per_number(&flow.transport);
            Ends { from: address(flow.from), to: address(flow.to), segment }
        };
        let flows = scenario.flows.iter().map(ends).collect();
        Self { writer, interfaces, flows, payload: Vec::new(), packet: Vec::new() }
    }

    /// Returns the bytes of the capture since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(self.writer.get_mut())
    }

    /// Encodes the packet into `self.packet`, truncated. Returns its full length.
    fn compose(&mut self, packet: &Packet) -> Option<u32> {
        if let Body::External(bytes) = &packet.body {
            self.packet.clear();
            self.packet.extend_from_slice(bytes.get(..SNAP_LENGTH).unwrap_or(bytes));
            return Some(packet.size);
        }
        let Ends { from, to, segment } = *self.flows.get(packet.flow.0 as usize)?;
        let forward = packet.forward;
        let (source, destination) = match &packet.body {
            Body::Raw(raw) => (raw.source, raw.destination),
            _ if forward => (from, to),
            _ => (to, from),
        };
        let mut ports = match &packet.body {
            Body::Tcp(tcp) if tcp.session > 0 => session_ports(packet.flow, tcp.session),
            _ => ports(packet.flow),
        };
        if !forward {
            ports.reverse();
        }
        let length = packet.size as usize;
        self.payload.clear();
        let protocol = match &packet.body {
            Body::Dccp(dccp) => {
                let dccp = dccp.on_wire(ports);
                self.payload.resize(dccp.encoded_len(), 0);
                dccp.encode(&mut self.payload, Network::Ip(Addresses::V4 { source, destination })).ok()?;
                DCCP
            }
            Body::Raw(raw) => {
                self.payload.extend_from_slice(&raw.bytes);
                DCCP
            }
            Body::Tcp(tcp) => {
                tcp_header(tcp, segment, ports, &mut self.payload);
                self.payload.resize(length.saturating_sub(IP_HEADER).max(self.payload.len()), 0);
                TCP
            }
            Body::Datagram(_) | Body::Numbered(_) | Body::Report(_) => {
                let bytes = length.saturating_sub(IP_HEADER).clamp(UDP_HEADER, usize::from(u16::MAX) - IP_HEADER);
                self.payload.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
                self.payload.extend((bytes as u16).to_be_bytes());
                // No checksum (RFC 768).
                self.payload.resize(bytes, 0);
                UDP
            }
            Body::External(_) => return None,
        };
        let header = IpHeader {
            addresses: IpAddresses::V4 { source, destination },
            protocol,
            dscp: packet.dscp.value(),
            ecn: packet.ecn,
            hop_limit: 64,
            dont_fragment: true,
            identification: 0,
        };
        header.write(&self.payload, &mut self.packet).ok()?;
        let length = self.packet.len() as u32;
        self.packet.truncate(SNAP_LENGTH);
        Some(length)
    }
}

/// Writes a TCP header with a checksum of zero, because the capture does not contain all data.
fn tcp_header(tcp: &TcpPacket, segment: u32, ports: [u16; 2], out: &mut Vec<u8>) {
    // Number 0 is the SYN, which uses one sequence number; data follow.
    let number = |count: u64| match count {
        0 => 0,
        data => (data as u32 - 1).wrapping_mul(segment).wrapping_add(1),
    };
    let (seq, ack) = if tcp.is_ack { (1, number(tcp.seq)) } else { (number(tcp.seq), 1) };
    let is_syn = !tcp.is_ack && tcp.seq == 0 || tcp.is_ack && tcp.seq <= 1;
    let mut flags = 0;
    let is_pushed = tcp.sending == Sending::Pushed;
    let mut sack = tcp.sack;
    // The last three bits of the CE counter (RFC 9768 section 3.2.2.2).
    let counts = sack.take_counts();
    let ace = counts.map_or(0, |counts| counts.ce);
    let (ece, cwr) = if counts.is_some() { (ace & 1 != 0, ace & 2 != 0) } else { (tcp.ece, tcp.cwr) };
    for (set, flag) in [(is_syn, SYN), (is_pushed, PSH), (tcp.is_ack || tcp.seq > 0, ACK), (ece, ECE), (cwr, CWR)] {
        flags |= if set { flag } else { 0 };
    }
    let blocks = sack.len();
    // SACK is kind 5, with two sequence numbers per block and two bytes of padding (RFC 2018).
    let options = if blocks == 0 { 0 } else { 4 + 8 * blocks };
    out.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
    out.extend(if is_syn { 0 } else { seq }.to_be_bytes());
    out.extend(if flags & ACK == 0 { 0 } else { ack }.to_be_bytes());
    out.extend([(((20 + options) / 4) << 4) as u8 | (ace >> 2 & 1) as u8, flags]);
    out.extend(WINDOW.to_be_bytes());
    out.extend([0; 4]);
    if blocks > 0 {
        out.extend([1, 1, 5, (2 + 8 * blocks) as u8]);
        for block in sack.iter(tcp.seq) {
            out.extend(number(block.start).to_be_bytes());
            out.extend(number(block.end).to_be_bytes());
        }
    }
}

impl Observer for PcapngTrace {
    const WATCHES: bool = true;

    fn link_event(&mut self, now: Instant, event: LinkEvent, link: usize, packet: &Packet) {
        if event != LinkEvent::Dequeue {
            return;
        }
        let (Some(length), Some(interface)) = (self.compose(packet), self.interfaces.get(link)) else { return };
        let captured = PcapngPacket {
            interface: *interface,
            at: now,
            direction: PcapngDirection::Outbound,
            bytes: &self.packet,
            length,
            comment: "",
        };
        // Writing to memory does not fail, and the interface belongs to this writer.
        let written = self.writer.packet(&captured);
        debug_assert!(written.is_ok(), "{written:?}");
    }
}
