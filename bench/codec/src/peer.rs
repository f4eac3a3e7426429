//! smoltcp: encoding and decoding of UDP in IPv4, with both checksums. Its headers are 28 bytes; DCCP has 16, and 24
//! in UDP.

use crate::{Operation, with_buffer};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{IpAddress, IpProtocol, Ipv4Address, Ipv4Packet, Ipv4Repr, UdpPacket, UdpRepr};
use std::hint::black_box;

pub(crate) fn cases() -> Vec<(&'static str, Operation)> {
    vec![
        ("peer-0", with_buffer(|buffer| datagram(&[], buffer))),
        ("peer-1000", with_buffer(|buffer| datagram(&[7; 1000], buffer))),
        ("peer-0-udp", with_buffer(|buffer| udp_alone(&[], buffer))),
        ("peer-1000-udp", with_buffer(|buffer| udp_alone(&[7; 1000], buffer))),
    ]
}

const SOURCE: Ipv4Address = Ipv4Address::new(192, 0, 2, 1);
const DESTINATION: Ipv4Address = Ipv4Address::new(192, 0, 2, 2);
const UDP: UdpRepr = UdpRepr { src_port: 50_000, dst_port: 5004 };

fn datagram(data: &[u8], buffer: &mut [u8]) {
    let data = black_box(data);
    let checksums = ChecksumCapabilities::default();
    let ip = Ipv4Repr {
        src_addr: black_box(SOURCE),
        dst_addr: DESTINATION,
        next_header: IpProtocol::Udp,
        payload_len: 8 + data.len(),
        hop_limit: 64,
    };
    let len = 28 + data.len();
    let mut packet = Ipv4Packet::new_unchecked(&mut buffer[..len]);
    ip.emit(&mut packet, &checksums);
    write_udp(packet.payload_mut(), data);

    let packet = Ipv4Packet::new_checked(black_box(&buffer[..len])).expect("a packet");
    black_box(Ipv4Repr::parse(&packet, &checksums).expect("a packet"));
    read_udp(packet.payload());
}

fn udp_alone(data: &[u8], buffer: &mut [u8]) {
    let datagram = &mut buffer[..8 + data.len()];
    write_udp(datagram, black_box(data));
    read_udp(black_box(datagram));
}

fn write_udp(datagram: &mut [u8], data: &[u8]) {
    let mut datagram = UdpPacket::new_unchecked(datagram);
    let (source, destination) = (IpAddress::Ipv4(SOURCE), IpAddress::Ipv4(DESTINATION));
    let fill = |payload: &mut [u8]| payload.copy_from_slice(data);
    UDP.emit(&mut datagram, &source, &destination, data.len(), fill, &ChecksumCapabilities::default());
}

fn read_udp(datagram: &[u8]) {
    let datagram = UdpPacket::new_checked(datagram).expect("a datagram");
    let (source, destination) = (IpAddress::Ipv4(SOURCE), IpAddress::Ipv4(DESTINATION));
    let checksums = ChecksumCapabilities::default();
    black_box(UdpRepr::parse(&datagram, &source, &destination, &checksums).expect("a datagram"));
    black_box(datagram.payload());
}
