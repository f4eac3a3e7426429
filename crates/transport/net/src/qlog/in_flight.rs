//! Packets in flight, and which of them the peer reports as lost.

use super::packet::Acknowledgement;
use headway_dccp::{PacketType, reported_packets};
use headway_media::{Outstanding, ReportedFate};
use headway_units::Seq48;

/// Packets sent of which the peer has not reported whether they arrived.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    /// Number of the first packet sent. Packets are counted from it, since sequence numbers wrap.
    first: Option<Seq48>,
    packets: Outstanding<Sent>,
    /// Number of those with a datagram, and size of these datagrams in bytes.
    datagrams: u64,
    bytes: u64,
    /// Whether the peer sends Ack Vectors.
    has_vectors: bool,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    kind: PacketType,
    number: Seq48,
    /// Size of the datagram, in bytes, if there is one.
    datagram: Option<usize>,
}

impl InFlight {
    /// Adds a packet. `datagram`: size of its datagram, in bytes, if there is one.
    pub(super) fn sent(&mut self, number: Seq48, kind: PacketType, datagram: Option<usize>) {
        let first = *self.first.get_or_insert(number);
        self.datagrams += u64::from(datagram.is_some());
        self.bytes += datagram.unwrap_or_default() as u64;
        let forgotten = self.packets.push(number.distance_from(first), Sent { kind, number, datagram });
        forgotten.into_iter().for_each(|sent| self.subtract(sent.datagram));
    }

    fn subtract(&mut self, datagram: Option<usize>) {
        self.datagrams -= u64::from(datagram.is_some());
        self.bytes -= datagram.unwrap_or_default() as u64;
    }

    /// Removes the packets that an acknowledgement reports. Calls `lost` for each lost one. Without Ack Vectors the state
    /// of packets before the acknowledged one is unknown; they no longer count as in flight.
    pub(super) fn acknowledge(&mut self, report: &Acknowledgement, mut lost: impl FnMut(PacketType, Seq48)) {
        let Some(first) = self.first.filter(|first| !report.newest.is_before(*first)) else { return };
        self.has_vectors |= report.is_vector;
        let waits = self.has_vectors && !report.is_vector;
        let reported = reported_packets(report.newest.distance_from(first), &report.runs);
        let mut settled = Vec::new();
        self.packets.settle(reported, |_| waits, &mut |sent: Sent, fate| settled.push((sent, fate)));
        for (Sent { kind, number, datagram }, fate) in settled {
            self.subtract(datagram);
            if fate == ReportedFate::Lost {
                lost(kind, number);
            }
        }
    }

    /// Returns the size of the datagrams in flight, in bytes.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of packets with a datagram.
    pub(super) const fn packets(&self) -> u64 {
        self.datagrams
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_rate::{Arrival, Run};

    const NONE: [u64; 0] = [];
    /// Acknowledgement without an Ack Vector.
    const PLAIN: &[(bool, u64)] = &[(true, 1)];

    /// Sends packets of 100 bytes with these numbers.
    fn sent(numbers: impl IntoIterator<Item = Seq48>) -> InFlight {
        let mut in_flight = InFlight::default();
        numbers.into_iter().for_each(|number| in_flight.sent(number, PacketType::Data, Some(100)));
        in_flight
    }

    /// Returns the numbers of the lost packets.
    fn acknowledge(in_flight: &mut InFlight, newest: u64, runs: &[(bool, u64)]) -> Vec<u64> {
        let arrival = |received| if received { Arrival::Received } else { Arrival::NotReceived };
        let all = runs.iter().map(|&(received, packets)| Run { arrival: arrival(received), packets }).collect();
        let report = Acknowledgement { newest: Seq48::new(newest), runs: all, is_vector: runs != PLAIN };
        let mut lost = Vec::new();
        in_flight.acknowledge(&report, |_, number| lost.push(number.value()));
        lost
    }

    /// Example of RFC 4340 section 11.4, acknowledgement number 100: packet 99 is missing, 95 to 98 were received, 94
    /// was marked, 88 to 93 were received. One later packet does not prove a loss; three do (101 to 103).
    #[test]
    fn a_missing_packet_is_lost_after_three_later_ones() {
        let mut in_flight = sent((88..=104).map(Seq48::new));
        let vector = [(true, 1), (false, 1), (true, 4), (true, 1), (true, 6)];
        assert_eq!(acknowledge(&mut in_flight, 100, &vector), NONE);
        assert_eq!((in_flight.packets(), in_flight.bytes()), (5, 500), "99 and 101 to 104");
        assert_eq!(acknowledge(&mut in_flight, 102, &[(true, 2), (true, 1), (false, 1), (true, 11)]), [99]);
        assert_eq!((in_flight.packets(), in_flight.bytes()), (2, 200), "103 and 104");
        assert_eq!(acknowledge(&mut in_flight, 102, &[(true, 3), (false, 1)]), NONE, "each loss is reported once");
    }

    /// RFC 4340 section 11.4.2: the peer forgets reports that this end has acknowledged, also of a missing packet.
    #[test]
    fn a_missing_packet_that_is_not_reported_again_is_lost() {
        let mut in_flight = sent((1..=9).map(Seq48::new));
        assert_eq!(acknowledge(&mut in_flight, 4, &[(true, 2), (false, 1), (true, 1)]), NONE);
        assert_eq!(acknowledge(&mut in_flight, 6, PLAIN), [2], "3, 4 and 6 are later");
        assert_eq!(in_flight.packets(), 4, "7 to 9, and 5, since other packets are reported by Ack Vectors");
        assert_eq!(acknowledge(&mut in_flight, 8, &[(true, 4)]), NONE);
        assert_eq!(in_flight.packets(), 1);
    }

    /// RFC 4340 section 7.1: numbers wrap.
    #[test]
    fn numbers_wrap() {
        let mut in_flight = sent((0..6).map(|n| Seq48::MAX - 2 + n));
        assert_eq!(acknowledge(&mut in_flight, 2, &[(true, 4), (false, 1), (true, 1)]), [Seq48::MAX.value() - 1]);
        assert_eq!(in_flight.packets(), 0);
    }

    /// An acknowledgement without an Ack Vector reports that its packet arrived, and nothing about earlier ones.
    #[test]
    fn earlier_packets_are_not_in_flight_after_a_plain_acknowledgement() {
        let mut in_flight = sent((7..=9).map(Seq48::new));
        assert_eq!(acknowledge(&mut in_flight, 8, PLAIN), NONE);
        assert_eq!(in_flight.packets(), 1);
        assert_eq!(acknowledge(&mut in_flight, 6, PLAIN), NONE, "before the first packet");
        assert_eq!(acknowledge(&mut in_flight, 8, &[(true, u64::MAX), (false, 5)]), NONE, "below the first packet");
        assert_eq!(in_flight.packets(), 1);
    }

    /// Acks are followed to their loss, but only data is in flight.
    #[test]
    fn packets_without_a_datagram_are_not_in_flight() {
        let mut in_flight = InFlight::default();
        in_flight.sent(Seq48::new(1), PacketType::Ack, None);
        (2..=5).for_each(|number| in_flight.sent(Seq48::new(number), PacketType::DataAck, Some(0)));
        assert_eq!((in_flight.packets(), in_flight.bytes()), (4, 0));
        assert_eq!(acknowledge(&mut in_flight, 4, &[(true, 3), (false, 1)]), [1]);
        assert_eq!((in_flight.packets(), in_flight.bytes()), (1, 0));
    }

    /// As many as two Ack Vector options cover (RFC 4340 section 11.4).
    #[test]
    fn the_packets_kept_are_bounded() {
        let mut in_flight = sent((0..40_000).map(Seq48::new));
        assert_eq!((in_flight.packets(), in_flight.bytes()), (32_384, 3_238_400));
        assert_eq!(acknowledge(&mut in_flight, 39_999, PLAIN), NONE);
        assert_eq!((in_flight.packets(), in_flight.bytes()), (0, 0));
    }
}
