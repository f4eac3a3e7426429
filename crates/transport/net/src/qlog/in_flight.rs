//! Packets in flight, and the losses that the peer's Ack Vectors report.

use super::packet::Acknowledgement;
use headway_dccp::PacketType;
use headway_units::Seq48;
use std::collections::BTreeMap;
use std::ops::Range;

/// Number of later packets that must have arrived before a missing one counts as lost (RFC 4340 section 11.4, RFC 5348
/// section 5.1).
const NUMDUPACK: u64 = 3;

/// Maximum number of packets that are kept; if there are more, the oldest are forgotten. A Sequence Window has 65,536
/// packets under DTLS.
const MAX_PACKETS: usize = 1 << 16;

/// Packets sent of which the peer has not reported whether they arrived.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    /// Number of the first packet sent. Packets are counted from it, since sequence numbers wrap.
    first: Option<Seq48>,
    packets: BTreeMap<u64, Sent>,
    /// Number of those with a datagram, and size of these datagrams in bytes.
    datagrams: u64,
    bytes: u64,
    /// Whether the peer sends Ack Vectors.
    has_vectors: bool,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    kind: PacketType,
    /// Size of the datagram, in bytes, if there is one.
    datagram: Option<usize>,
    /// Whether the peer has reported it as not received.
    is_missing: bool,
}

impl InFlight {
    /// Adds a packet. `datagram`: size of its datagram, in bytes, if there is one.
    pub(super) fn sent(&mut self, number: Seq48, kind: PacketType, datagram: Option<usize>) {
        let first = *self.first.get_or_insert(number);
        self.packets.insert(number.distance_from(first), Sent { kind, datagram, is_missing: false });
        self.datagrams += u64::from(datagram.is_some());
        self.bytes += datagram.unwrap_or_default() as u64;
        if self.packets.len() > MAX_PACKETS
            && let Some((_, oldest)) = self.packets.pop_first()
        {
            self.subtract(oldest.datagram);
        }
    }

    fn subtract(&mut self, datagram: Option<usize>) {
        self.datagrams -= u64::from(datagram.is_some());
        self.bytes -= datagram.unwrap_or_default() as u64;
    }

    /// Removes the packets that an acknowledgement reports. Calls `lost` for each lost one.
    ///
    /// The peer does not repeat a report that this end has acknowledged, so a missing packet stays until later reports
    /// prove its loss. Without Ack Vectors the state of packets before the acknowledged one is unknown; they no longer
    /// count as in flight.
    pub(super) fn acknowledge(&mut self, report: &Acknowledgement, mut lost: impl FnMut(PacketType, Seq48)) {
        let Some(first) = self.first.filter(|first| !report.newest.is_before(*first)) else { return };
        self.has_vectors |= report.is_vector;
        // Number above the packets that are not yet visited.
        let (mut end, mut later) = (report.newest.distance_from(first) + 1, 0);
        for run in &report.runs {
            let start = end.saturating_sub(run.packets);
            if run.received {
                later += run.packets;
                self.remove(start..end, |_| true);
            } else {
                self.packets.range_mut(start..end).for_each(|(_, sent)| sent.is_missing = true);
                self.remove_lost(start..end, later, first, &mut lost);
            }
            end = start;
        }
        self.remove_lost(0..end, later, first, &mut lost);
        if report.is_vector || !self.has_vectors {
            self.remove(0..end, |sent| !sent.is_missing);
        }
    }

    /// Removes the missing packets of a range if `later` packets prove their loss.
    fn remove_lost(&mut self, range: Range<u64>, later: u64, first: Seq48, lost: &mut impl FnMut(PacketType, Seq48)) {
        if later >= NUMDUPACK {
            let removed = self.remove(range, |sent| sent.is_missing);
            removed.into_iter().for_each(|(number, sent)| lost(sent.kind, first + number));
        }
    }

    /// Removes and returns the packets of a range that fulfil a condition.
    fn remove(&mut self, range: Range<u64>, condition: impl Fn(&Sent) -> bool) -> Vec<(u64, Sent)> {
        let found = self.packets.range(range).filter(|(_, sent)| condition(sent));
        let found: Vec<(u64, Sent)> = found.map(|(number, sent)| (*number, *sent)).collect();
        for (number, sent) in &found {
            self.packets.remove(number);
            self.subtract(sent.datagram);
        }
        found
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
    use super::super::packet::Run;
    use super::*;

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
        let all = runs.iter().map(|&(received, packets)| Run { received, packets }).collect();
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
        assert_eq!(acknowledge(&mut in_flight, 6, &[(true, 2)]), NONE);
        assert_eq!(acknowledge(&mut in_flight, 7, PLAIN), NONE, "other packets are reported by Ack Vectors");
        assert_eq!(in_flight.packets(), 3, "2, 8 and 9");
        assert_eq!(acknowledge(&mut in_flight, 9, &[(true, 4)]), [2]);
        assert_eq!(in_flight.packets(), 0);
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

    #[test]
    fn the_packets_kept_are_bounded() {
        let mut in_flight = sent((0..MAX_PACKETS as u64 + 5).map(Seq48::new));
        assert_eq!((in_flight.packets(), in_flight.bytes()), (1 << 16, 6_553_600));
        assert_eq!(acknowledge(&mut in_flight, MAX_PACKETS as u64 + 4, PLAIN), NONE);
        assert_eq!((in_flight.packets(), in_flight.bytes()), (0, 0));
    }
}
