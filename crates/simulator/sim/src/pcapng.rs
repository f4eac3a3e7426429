//! A capture of a run, as Wireshark reads it: what each direction of each link transmits.
//!
//! Node n of the scenario has the address 10.x.y.z whose low 24 bits are n + 1. Data are zeroes and cut; sizes are those
//! of the run. A DCCP packet is what it was; of the others only what the simulation knows is written into headers: a TCP
//! numbers its segments, here counted in their bytes; bare agents' datagrams and reports are UDP datagrams.

use crate::addresses::{IP_HEADER, address, ports, session_ports};
use crate::observe::{LinkEvent, Observer};
use crate::packet::{Body, Packet, Sending, TcpPacket};
use crate::transport::bytes_a_number;
use headway_dccp::{Addresses, Network};
use headway_record::{IpAddresses, IpHeader, PcapngDirection, PcapngInterface, PcapngPacket, PcapngWriter};
use headway_scenario::Scenario;
use headway_units::Instant;
use std::net::Ipv4Addr;

/// What is kept of a packet at most: all headers with all options, and some of the data.
const KEPT: usize = 2048;
const UDP_HEADER: usize = 8;
/// IP's protocol numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;
const DCCP: u8 = 33;
/// TCP's flags (RFC 9293 section 3.1).
const SYN: u8 = 0x02;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;
/// The receiver's window in the packets of a TCP, which does not count bytes.
const WINDOW: u16 = u16::MAX;

/// Writes every packet that a link transmits.
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
    /// Bytes that a number of a TCP stands for.
    segment: u32,
}

impl PcapngTrace {
    /// A capture of a run of this scenario.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        #[expect(clippy::expect_used, reason = "memory takes whatever is written to it")]
        let mut writer = PcapngWriter::new(Vec::new()).expect("memory takes it");
        #[expect(clippy::expect_used, reason = "memory takes whatever is written to it")]
        let interface = |link: &headway_scenario::Link| writer.interface(&link.name).expect("memory takes it");
        let interfaces = scenario.links.iter().map(interface).collect();
        let ends = |flow: &headway_scenario::Flow| {
            let segment = bytes_a_number(&flow.transport);
            Ends { from: address(flow.from), to: address(flow.to), segment }
        };
        let flows = scenario.flows.iter().map(ends).collect();
        Self { writer, interfaces, flows, payload: Vec::new(), packet: Vec::new() }
    }

    /// The bytes since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(self.writer.get_mut())
    }

    /// Puts the packet's bytes, cut, into `self.packet`; returns how long it is.
    fn compose(&mut self, packet: &Packet) -> Option<u32> {
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
        self.packet.truncate(KEPT);
        Some(length)
    }
}

/// A TCP header whose checksum is not filled in: the data that it would cover are not kept.
fn tcp_header(tcp: &TcpPacket, segment: u32, ports: [u16; 2], out: &mut Vec<u8>) {
    // Number 0 is the SYN, which takes one number of TCP's; data begin behind it.
    let number = |count: u64| match count {
        0 => 0,
        data => (data as u32 - 1).wrapping_mul(segment).wrapping_add(1),
    };
    let (seq, ack) = if tcp.is_ack { (1, number(tcp.seq)) } else { (number(tcp.seq), 1) };
    let is_syn = !tcp.is_ack && tcp.seq == 0 || tcp.is_ack && tcp.seq <= 1;
    let mut flags = 0;
    let is_pushed = tcp.sending == Sending::Pushed;
    for (set, flag) in
        [(is_syn, SYN), (is_pushed, PSH), (tcp.is_ack || tcp.seq > 0, ACK), (tcp.ece, ECE), (tcp.cwr, CWR)]
    {
        flags |= if set { flag } else { 0 };
    }
    let blocks = tcp.sack.len();
    // SACK is kind 5, two numbers a block; two bytes of padding (RFC 2018).
    let options = if blocks == 0 { 0 } else { 4 + 8 * blocks };
    out.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
    out.extend(if is_syn { 0 } else { seq }.to_be_bytes());
    out.extend(if flags & ACK == 0 { 0 } else { ack }.to_be_bytes());
    out.extend([(((20 + options) / 4) << 4) as u8, flags]);
    out.extend(WINDOW.to_be_bytes());
    out.extend([0; 4]);
    if blocks > 0 {
        out.extend([1, 1, 5, (2 + 8 * blocks) as u8]);
        for block in tcp.sack.iter(tcp.seq) {
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
        // Memory takes it all; and the interface is the writer's.
        let written = self.writer.packet(&captured);
        debug_assert!(written.is_ok(), "{written:?}");
    }
}
