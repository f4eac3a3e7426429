//! Sent stream: which packet of the carrier each RTP sequence number is.

use crate::packet::RtpPacket;
use headway_rate::CcfbBlock;
use headway_units::Instant;
use std::collections::VecDeque;

/// Packets of a stream that are recorded: as many as a block of feedback can report.
const WINDOW: usize = CcfbBlock::MAX_PACKETS;

/// Sent stream.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// Greatest sequence number sent.
    greatest: u16,
    /// Carrier's number of each packet up to the greatest, at most [`WINDOW`]; `None` if it was not sent.
    numbers: VecDeque<Option<u64>>,
    /// Packets sent, and bytes of their payloads.
    pub(crate) packets: u32,
    pub(crate) octets: u32,
    /// Last packet sent.
    pub(crate) last: Option<Sent>,
    /// Packets sent at the last report, and at the one before.
    reported: [u32; 2],
}

/// Fields of a sent packet that its stream records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    sequence: u16,
    payload_bytes: u32,
    pub(crate) timestamp: u32,
    pub(crate) payload_type: u8,
    pub(crate) created: Instant,
}

/// Packet that a sequence number in feedback refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Carrier's number.
    Number(u64),
    /// No packet with this number was sent.
    NeverSent,
    /// The packet is older than the recorded ones.
    Old,
}

impl Sent {
    pub(crate) const fn of(packet: &RtpPacket<'_>, created: Instant) -> Self {
        let RtpPacket { sequence, timestamp, payload_type, payload, .. } = *packet;
        Self { sequence, payload_bytes: payload.len() as u32, timestamp, payload_type, created }
    }
}

impl Stream {
    /// Records that a packet is sent under this number of the carrier.
    pub(crate) fn on_send(&mut self, packet: Sent, number: u64) {
        self.packets = self.packets.wrapping_add(1);
        self.octets = self.octets.wrapping_add(packet.payload_bytes);
        self.last = Some(packet);
        if self.numbers.is_empty() {
            self.greatest = packet.sequence;
            self.numbers.push_back(Some(number));
            return;
        }
        let ahead = self.ahead(packet.sequence);
        if ahead > 0 {
            self.greatest = packet.sequence;
            // Numbers of a jump are those of packets that were not sent.
            let skipped = (ahead.unsigned_abs() as usize - 1).min(WINDOW);
            self.numbers.extend(std::iter::repeat_n(None, skipped));
            self.numbers.push_back(Some(number));
            self.numbers.drain(..self.numbers.len().saturating_sub(WINDOW));
            return;
        }
        let behind = ahead.unsigned_abs() as usize;
        if behind >= WINDOW {
            // The program has restarted the stream.
            self.numbers.clear();
            self.greatest = packet.sequence;
            self.numbers.push_back(Some(number));
            return;
        }
        while self.numbers.len() <= behind {
            self.numbers.push_front(None);
        }
        let place = self.numbers.len() - 1 - behind;
        if let Some(entry) = self.numbers.get_mut(place) {
            *entry = Some(number);
        }
    }

    /// Returns the distance of a sequence number from the greatest one sent, within half of all numbers.
    fn ahead(&self, sequence: u16) -> i64 {
        sequence.wrapping_sub(self.greatest).cast_signed().into()
    }

    /// Records a report. Returns whether it is a sender report: a packet was sent since the last report but one (RFC
    /// 3550 section 6.4).
    pub(crate) const fn on_report(&mut self) -> bool {
        let [last, before] = self.reported;
        self.reported = [self.packets, last];
        self.packets != before
    }

    /// Returns the packet with this sequence number.
    pub(crate) fn find(&self, sequence: u16) -> Found {
        let ahead = self.ahead(sequence);
        if self.numbers.is_empty() || ahead > 0 {
            return Found::NeverSent;
        }
        let place = self.numbers.len().checked_sub(1 + ahead.unsigned_abs() as usize);
        match place.and_then(|place| self.numbers.get(place)) {
            Some(Some(number)) => Found::Number(*number),
            Some(None) => Found::NeverSent,
            // The first packets of a stream have no predecessors.
            None if self.numbers.len() < WINDOW => Found::NeverSent,
            None => Found::Old,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn packet(sequence: u16) -> Sent {
        Sent::of(&RtpPacket { sequence, payload: &[0; 10], ..RtpPacket::default() }, Instant::ZERO)
    }

    /// Packets 65534, 65535, 2 and then 1, which the send queue reordered. Packet 0 was not sent.
    #[test]
    fn numbers_wrap_and_gaps_were_not_sent() {
        let mut stream = Stream::default();
        assert_eq!(stream.find(65_534), Found::NeverSent);
        for (number, sequence) in [65_534, 65_535, 2, 1].into_iter().enumerate() {
            stream.on_send(packet(sequence), number as u64);
        }
        let found: Vec<Found> = [65_533, 65_534, 65_535, 0, 1, 2, 3].map(|sequence| stream.find(sequence)).into();
        let (number, never) = (Found::Number, Found::NeverSent);
        assert_eq!(found, [never, number(0), number(1), never, number(3), number(2), never]);
        assert_eq!((stream.packets, stream.octets), (4, 40));
    }

    /// A quarter of the numbers is kept. A step back by more restarts the stream.
    #[test]
    fn the_record_is_bounded() {
        let mut stream = Stream::default();
        for number in 0..40_000_u64 {
            stream.on_send(packet(number as u16), number);
        }
        assert_eq!(stream.numbers.len(), WINDOW);
        assert_eq!(stream.find((40_000 - 16_384) as u16), Found::Number(40_000 - 16_384));
        assert_eq!(stream.find((40_000 - 16_385) as u16), Found::Old);
        stream.on_send(packet(20_000), 50_000);
        assert_eq!((stream.find(20_000), stream.find(20_001)), (Found::Number(50_000), Found::NeverSent));
        assert_eq!(stream.numbers.len(), 1);
    }

    proptest! {
        /// The record agrees with a map of the extended numbers, and stays within its bound.
        #[test]
        fn a_stream_is_a_window_of_numbers(steps in prop::collection::vec(-300..20_000_i64, 1..60)) {
            let (mut stream, mut all, mut at, mut greatest) = (Stream::default(), BTreeMap::new(), 100_000_i64, 0);
            for (number, step) in steps.into_iter().enumerate() {
                at = (at + step).max(greatest - 10_000);
                stream.on_send(packet(at as u16), number as u64);
                greatest = greatest.max(at);
                all.insert(at, number as u64);
                prop_assert!(stream.numbers.len() <= WINDOW);
                for (sent, number) in &all {
                    if greatest - sent < WINDOW as i64 {
                        prop_assert_eq!(stream.find(*sent as u16), Found::Number(*number));
                    }
                }
            }
        }
    }
}
