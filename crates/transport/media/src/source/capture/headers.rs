//! Extracts a UDP datagram from a captured packet: link layer, IP, UDP, and the payload type of RTP.
//!
//! The length is taken from the UDP header, since Ethernet pads short frames and a snap length truncates long ones. The
//! first fragment of a datagram has the UDP header and represents the whole datagram; other fragments are ignored.

use super::file::Packet;
use crate::{LARGEST_WRITE, RtpHeader};
use headway_units::Bytes;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Contents of a packet.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Contents {
    /// A UDP datagram.
    Udp {
        /// Sender.
        from: SocketAddr,
        /// Receiver.
        to: SocketAddr,
        /// Size of the payload as sent, in bytes.
        bytes: u32,
        /// RTP payload type, if the payload looks like RTP.
        payload_type: Option<u8>,
    },
    /// A packet with less captured than the UDP header.
    Short,
    /// A packet of an unsupported link type.
    UnknownLink,
    /// Not a UDP datagram, or a fragment that is not the first.
    Other,
}

/// LINKTYPE values, from the list of tcpdump.org.
mod link_type {
    pub(super) const NULL: u16 = 0;
    pub(super) const ETHERNET: u16 = 1;
    pub(super) const RAW_BSD: u16 = 12;
    pub(super) const RAW_OPENBSD: u16 = 14;
    pub(super) const RAW: u16 = 101;
    pub(super) const LOOP: u16 = 108;
    pub(super) const LINUX_SLL: u16 = 113;
    pub(super) const IPV4: u16 = 228;
    pub(super) const IPV6: u16 = 229;
    pub(super) const LINUX_SLL2: u16 = 276;
}

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// VLAN tags: IEEE 802.1Q, 802.1ad, and the older type of stacked tags.
const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
const MAX_TAGS: usize = 3;

const UDP: u8 = 17;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
/// IPv6 extension headers whose second byte counts additional units of 8 bytes (RFC 8200 section 4, RFC 6275, RFC 7401,
/// RFC 5533).
const EXTENSIONS: [u8; 6] = [0, 43, 60, 135, 139, 140];
const UDP_HEADER: u32 = 8;

pub(super) fn contents(packet: &Packet<'_>) -> Contents {
    let data = packet.data;
    let ip = match packet.link_type {
        link_type::ETHERNET => ethernet(data),
        link_type::RAW | link_type::RAW_BSD | link_type::RAW_OPENBSD | link_type::IPV4 | link_type::IPV6 => Some(data),
        link_type::NULL | link_type::LOOP => data.get(4..),
        link_type::LINUX_SLL => tagged(u16_at(data, 14), data.get(16..)),
        link_type::LINUX_SLL2 => tagged(u16_at(data, 0), data.get(20..)),
        _ => return Contents::UnknownLink,
    };
    let missing = packet.original.saturating_sub(data.len() as u32);
    let cut = if missing > 0 { Contents::Short } else { Contents::Other };
    match ip.filter(|ip| !ip.is_empty()) {
        None => Contents::Other,
        Some(ip) => match datagram(ip) {
            None => cut,
            Some(ip) if ip.protocol != UDP || ip.is_later_fragment => Contents::Other,
            Some(ip) => udp(&ip, missing).unwrap_or(cut),
        },
    }
}

fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*data.get(at..)?.first_chunk()?))
}

/// Returns the IP packet of an Ethernet frame.
fn ethernet(frame: &[u8]) -> Option<&[u8]> {
    tagged(u16_at(frame, 12), frame.get(14..))
}

/// Returns the IP packet after an EtherType and any VLAN tags.
fn tagged(ether_type: Option<u16>, payload: Option<&[u8]>) -> Option<&[u8]> {
    let (mut ether_type, mut payload) = (ether_type?, payload?);
    for _ in 0..MAX_TAGS {
        if !TAGS.contains(&ether_type) {
            break;
        }
        (ether_type, payload) = (u16_at(payload, 2)?, payload.get(4..)?);
    }
    [ETHERTYPE_IPV4, ETHERTYPE_IPV6].contains(&ether_type).then_some(payload)
}

struct Ip<'a> {
    ends: [IpAddr; 2],
    protocol: u8,
    is_later_fragment: bool,
    payload: &'a [u8],
}

/// Returns the IP packet without its headers, or `None` if they were not captured or the packet is not IP.
fn datagram(packet: &[u8]) -> Option<Ip<'_>> {
    let mut ip = match packet.first()? >> 4 {
        4 => ipv4(packet)?,
        6 => ipv6(packet)?,
        _ => return None,
    };
    // A later fragment has no headers after the IP header.
    while !ip.is_later_fragment {
        let units = usize::from(*ip.payload.get(1).unwrap_or(&0));
        let length = match ip.protocol {
            protocol if EXTENSIONS.contains(&protocol) && ip.ends[0].is_ipv6() => 8 * (units + 1),
            AUTHENTICATION => 4 * (units + 2),
            FRAGMENT if ip.ends[0].is_ipv6() => {
                ip.is_later_fragment = u16_at(ip.payload, 2)? >> 3 > 0;
                8
            }
            _ => break,
        };
        (ip.protocol, ip.payload) = (*ip.payload.first()?, ip.payload.get(length..)?);
    }
    Some(ip)
}

/// Parses an IPv4 header (RFC 791 section 3.1).
fn ipv4(packet: &[u8]) -> Option<Ip<'_>> {
    let header = 4 * usize::from(packet.first()? & 0xf);
    let address = |at: usize| Some(IpAddr::V4(Ipv4Addr::from(*packet.get(at..)?.first_chunk::<4>()?)));
    Some(Ip {
        ends: [address(12)?, address(16)?],
        protocol: *packet.get(9)?,
        is_later_fragment: u16_at(packet, 6)? & 0x1fff > 0,
        payload: packet.get(header.max(20)..)?,
    })
}

/// Parses an IPv6 header (RFC 8200 section 3).
fn ipv6(packet: &[u8]) -> Option<Ip<'_>> {
    let address = |at: usize| Some(IpAddr::V6(Ipv6Addr::from(*packet.get(at..)?.first_chunk::<16>()?)));
    Some(Ip {
        ends: [address(8)?, address(24)?],
        protocol: *packet.get(6)?,
        is_later_fragment: false,
        payload: packet.get(40..)?,
    })
}

/// Parses a UDP header, where `missing` bytes of the packet were not captured. Returns `None` if less than the UDP
/// header was captured.
fn udp(ip: &Ip<'_>, missing: u32) -> Option<Contents> {
    let [from, to] = [u16_at(ip.payload, 0)?, u16_at(ip.payload, 2)?];
    let start = ip.payload.get(UDP_HEADER as usize..)?;
    let bytes = match u32::from(u16_at(ip.payload, 4)?) {
        // A jumbogram (RFC 2675 section 4), or a datagram that the interface segments.
        0 => (start.len() as u32).saturating_add(missing),
        length if length < UDP_HEADER => return Some(Contents::Other),
        length => length - UDP_HEADER,
    };
    if Bytes::new(bytes.into()) > LARGEST_WRITE {
        return Some(Contents::Other);
    }
    let payload_type = match RtpHeader::of(start, bytes as usize) {
        Some(RtpHeader::Rtp { payload_type }) => Some(payload_type),
        Some(RtpHeader::Rtcp) | None => None,
    };
    let [from, to] = [SocketAddr::new(ip.ends[0], from), SocketAddr::new(ip.ends[1], to)];
    Some(Contents::Udp { from, to, bytes, payload_type })
}
