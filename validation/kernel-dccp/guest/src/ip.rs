//! IP headers around DCCP.

use headway_dccp::{Network, Path};
use headway_units::Ecn;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const DCCP: u8 = 33;

/// Returns the addresses, the ECN field and the bytes of the DCCP packet in an IP packet; `None` for other protocols.
pub(crate) fn unwrap(bytes: &[u8]) -> Option<(IpAddr, IpAddr, Ecn, &[u8])> {
    let first = *bytes.first()?;
    if first >> 4 == 4 {
        let header = usize::from(first & 15) * 4;
        let total = usize::from(u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?]));
        let address = |at| bytes.get(at..at + 4)?.first_chunk::<4>().map(|octets| IpAddr::V4(Ipv4Addr::from(*octets)));
        let fragment = u16::from_be_bytes([*bytes.get(6)?, *bytes.get(7)?]) & 0x3fff != 0;
        (*bytes.get(9)? == DCCP && !fragment && sum(bytes.get(..header)?) == 0xffff)
            .then_some(())
            .and_then(|()| Some((address(12)?, address(16)?, ecn(*bytes.get(1)?), bytes.get(header..total)?)))
    } else {
        let len = usize::from(u16::from_be_bytes([*bytes.get(4)?, *bytes.get(5)?]));
        let address =
            |at| bytes.get(at..at + 16)?.first_chunk::<16>().map(|octets| IpAddr::V6(Ipv6Addr::from(*octets)));
        let traffic_class = first << 4 | bytes.get(1)? >> 4;
        (first >> 4 == 6 && *bytes.get(6)? == DCCP)
            .then_some(())
            .and_then(|()| Some((address(8)?, address(24)?, ecn(traffic_class), bytes.get(40..40 + len)?)))
    }
}

/// Returns an IP header for `len` bytes of DCCP.
pub(crate) fn header(source: IpAddr, destination: IpAddr, field: Ecn, dont_fragment: bool, len: usize) -> Vec<u8> {
    let bits = match field {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    };
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let [high, low] = (len as u16 + 20).to_be_bytes();
            let fragments = if dont_fragment { 0x40 } else { 0 };
            let mut header = vec![0x45, bits, high, low, 0, 0, fragments, 0, 64, DCCP, 0, 0];
            header.extend(source.octets());
            header.extend(destination.octets());
            let checksum = (!sum(&header)).to_be_bytes();
            header[10..12].copy_from_slice(&checksum);
            header
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let [high, low] = (len as u16).to_be_bytes();
            let mut header = vec![0x60, bits << 4, 0, 0, high, low, DCCP, 64];
            header.extend(source.octets());
            header.extend(destination.octets());
            header
        }
        _ => Vec::new(),
    }
}

/// Returns the addresses for DCCP's checksum.
pub(crate) fn network(source: IpAddr, destination: IpAddr) -> Network {
    path(source, destination).outgoing()
}

/// Returns the path of the packets from `local` to `remote`.
pub(crate) fn path(local: IpAddr, remote: IpAddr) -> Path {
    match (local, remote) {
        (IpAddr::V4(local), IpAddr::V4(remote)) => Path::Ipv4 { local, remote },
        (local, remote) => Path::Ipv6 { local: six(local), remote: six(remote) },
    }
}

fn six(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

const fn ecn(traffic_class: u8) -> Ecn {
    match traffic_class & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// Returns the one's complement sum of 16-bit words.
fn sum(header: &[u8]) -> u16 {
    let mut sum: u32 =
        header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
