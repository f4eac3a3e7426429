//! Encoding and decoding of packets.

use crate::{Direction, Endpoint, SentPacket, Target};
use headway_dccp::{Addresses, Body, CcVal, CsCov, Decoded, Network, OptionArea, Packet};
use headway_units::Seq48;

/// Returns the IPv4 addresses for the checksum of a packet between two endpoints.
pub(crate) const fn network(source: Endpoint, destination: Endpoint) -> Network {
    Network::Ip(Addresses::V4 { source: source.address, destination: destination.address })
}

/// Creates a packet with `data` zero bytes of data.
pub(crate) fn shot(
    target: &Target,
    direction: Direction,
    source: Endpoint,
    seq: Seq48,
    body: Body,
    options: OptionArea<'_>,
    data: usize,
) -> SentPacket {
    let (_, destination) = target.ends(direction);
    let data = vec![0; data];
    let packet = Packet {
        source_port: source.port,
        destination_port: destination.port,
        ccval: CcVal::ZERO,
        cscov: CsCov::ALL,
        seq,
        body,
        options,
        data: &data,
    };
    SentPacket { direction, source: source.address, bytes: encode(&packet, network(source, destination)) }
}

/// Encodes the packet; returns no bytes if it cannot be encoded.
pub(crate) fn encode(packet: &Packet<'_>, network: Network) -> Vec<u8> {
    let mut bytes = vec![0; packet.encoded_len()];
    let written = packet.encode(&mut bytes, network).unwrap_or(0);
    bytes.truncate(written);
    bytes
}

/// Decodes a packet of the connection, with 48-bit sequence numbers only.
pub(crate) fn decode<'a>(target: &Target, direction: Direction, bytes: &'a [u8]) -> Option<Packet<'a>> {
    let (source, destination) = target.ends(direction);
    match Packet::decode(bytes, network(source, destination)).ok()? {
        Decoded::Long(packet) => Some(packet),
        Decoded::Short(_) => None,
    }
}
