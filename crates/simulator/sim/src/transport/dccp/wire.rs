//! Conversion of a connection's packets to and from simulated packets. Simulated packets contain exactly the
//! information on the wire, so encoding and decoding changes nothing.

use crate::addresses::IP_HEADER;
use crate::packet::{Body, Data, DccpPacket, Envelope, RawPacket};
use crate::spare;
use headway_dccp::{Addresses, Decoded, Delivery, Network, OptionArea, Outgoing, Packet};
use std::net::Ipv4Addr;

/// Contents of all data.
static ZEROES: [u8; 1 << 16] = [0; 1 << 16];

pub(super) fn zeroes(len: u32) -> &'static [u8] {
    ZEROES.get(..len as usize).unwrap_or(&ZEROES)
}

/// Returns the source and destination port.
pub(super) const fn ends(packet: &Decoded<'_>) -> [u16; 2] {
    match packet {
        Decoded::Long(packet) => [packet.source_port, packet.destination_port],
        Decoded::Short(packet) => [packet.source_port, packet.destination_port],
    }
}

impl RawPacket {
    pub(super) fn decode(&self) -> Option<Decoded<'_>> {
        let (source, destination) = (self.source, self.destination);
        Packet::decode(&self.bytes, Network::Ip(Addresses::V4 { source, destination })).ok()
    }
}

/// Creates a simulated packet from an outgoing packet of a connection.
pub(super) fn envelope(outgoing: &Outgoing<'_>) -> Envelope {
    let Packet { ccval, cscov, seq, body, options, data, .. } = outgoing.packet;
    let options = options.as_bytes();
    let packet = DccpPacket {
        seq,
        body,
        ccval,
        cscov,
        data: Data { payload: data.len() as u32, ..Data::NONE },
        options: (!options.is_empty()).then(|| options.into()),
    };
    let size = IP_HEADER + outgoing.packet.encoded_len();
    Envelope { size: size as u32, ecn: outgoing.ecn, body: Body::Dccp(spare::boxed(&spare::DCCP, packet)) }
}

impl DccpPacket {
    /// Returns the packet as on the wire, with these source and destination ports.
    #[must_use]
    pub fn on_wire(&self, [source_port, destination_port]: [u16; 2]) -> Packet<'_> {
        Packet {
            source_port,
            destination_port,
            ccval: self.ccval,
            cscov: self.cscov,
            seq: self.seq,
            body: self.body,
            options: self.options.as_deref().and_then(OptionArea::new).unwrap_or(OptionArea::EMPTY),
            data: zeroes(self.data.payload),
        }
    }

    /// Passes the packet to its receiver, with `codec` after encoding and decoding it.
    pub(super) fn received(
        &self,
        ports: [u16; 2],
        codec: bool,
        handle: impl FnOnce(&Decoded<'_>) -> Delivery,
    ) -> Delivery {
        if codec { self.decode_and_handle(ports, handle) } else { handle(&Decoded::Long(self.on_wire(ports))) }
    }

    /// Encodes and decodes the packet before passing it on.
    #[cold]
    fn decode_and_handle(&self, ports: [u16; 2], handle: impl FnOnce(&Decoded<'_>) -> Delivery) -> Delivery {
        let packet = self.on_wire(ports);
        let [source, destination] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
        let network = Network::Ip(Addresses::V4 { source, destination });
        let mut bytes = vec![0; packet.encoded_len()];
        // Every packet of a connection can be encoded and decoded.
        let written = packet.encode(&mut bytes, network);
        debug_assert!(written.is_ok(), "{written:?}");
        match Packet::decode(&bytes, network) {
            Ok(decoded) => handle(&decoded),
            Err(error) => {
                debug_assert!(false, "{error}");
                Delivery::Nothing
            }
        }
    }
}
