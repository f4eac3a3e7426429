//! Resets for packets without a connection (RFC 4340 section 8.3.1).

use super::event::Outgoing;
use crate::{Body, CcVal, CsCov, OptionArea, Packet, PacketType, Reset};
use headway_units::{Ecn, Seq48};

/// Returns the Reset for a packet without a connection; `None` for a Reset or a Listen, which are never answered.
///
/// The caller must limit the rate of these Resets (RFC 4340 section 8.1.3). Use
/// [`ResetCode::CONNECTION_REFUSED`](crate::ResetCode::CONNECTION_REFUSED) for a Request to a port without a listener,
/// and [`ResetCode::NO_CONNECTION`](crate::ResetCode::NO_CONNECTION) for other packets.
#[must_use]
pub fn refusal(packet: &Packet<'_>, reset: Reset) -> Option<Outgoing<'static>> {
    if matches!(packet.kind(), PacketType::Reset | PacketType::Listen) {
        return None;
    }
    let (seq, ack) = numbers(packet);
    let packet = Packet {
        source_port: packet.destination_port,
        destination_port: packet.source_port,
        ccval: CcVal::ZERO,
        cscov: CsCov::ALL,
        seq,
        body: Body::Reset { ack, reset },
        options: OptionArea::EMPTY,
        data: &[],
    };
    Some(Outgoing { packet, ecn: Ecn::NotEct, dont_fragment: false, probe: None })
}

/// Returns the sequence and acknowledgement number of such a Reset, derived from the packet.
pub(super) fn numbers(packet: &Packet<'_>) -> (Seq48, Seq48) {
    (packet.body.ack().map_or(Seq48::ZERO, |ack| ack + 1), packet.seq)
}
