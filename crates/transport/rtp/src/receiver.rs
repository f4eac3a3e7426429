//! Receiving half of a session: the streams of the peer and feedback about them.

use crate::error::Refused;
use crate::options::SessionOptions;
use crate::packet::RtpPacket;
use crate::rtcp::ReportBlock;
use crate::source::{REPORTS, Source};
use headway_rate::{CcfbBlock, CcfbPacket, NumReports};
use headway_units::{Duration, Ecn, Instant};
use std::collections::BTreeMap;

/// Maximum number of received streams.
const MAX_SOURCES: usize = 64;
/// Time after which another stream may replace a silent one.
const SILENT: Duration = Duration::from_secs(10);
/// Maximum number of packets after which feedback is due.
const MAX_PACKETS: usize = 150;
/// Longest time to feedback, in shortest intervals.
const MAX_INTERVALS: u32 = 4;
/// Ratio of received bytes to bytes of feedback, both with the headers below RTP (RFC 3550 section 6.2 allows RTCP 5 %).
const SHARE: u64 = 20;
/// Bytes of a feedback packet; of each block; and of each packet, which is in three blocks.
const FIXED_BYTES: u64 = CcfbPacket::EMPTY_BYTES as u64;
const BLOCK_BYTES: u64 = CcfbBlock::HEADER_BYTES as u64;
const PACKET_BYTES: u64 = 2 * REPORTS as u64;

/// Received streams, and when feedback about them is due.
#[derive(Debug)]
pub(crate) struct Receiver {
    sources: BTreeMap<u32, Source>,
    interval: Duration,
    /// Bytes of headers below RTP.
    header: u64,
    /// Largest datagram, in bytes.
    largest: usize,
    /// Arrival of the first packet that was not reported; number of these packets, and their bytes.
    unreported_since: Option<Instant>,
    packets: usize,
    bytes: u64,
    /// Smallest source that the next receiver report may contain.
    next_report: u32,
}

impl Receiver {
    pub(crate) fn new(options: &SessionOptions) -> Self {
        Self {
            sources: BTreeMap::new(),
            interval: options.feedback_interval,
            header: options.header.count(),
            largest: options.largest(),
            unreported_since: None,
            packets: 0,
            bytes: 0,
            next_report: 0,
        }
    }

    /// Returns the maximum number of packets in a block, so that it fits into a datagram.
    fn block_packets(&self) -> usize {
        (self.largest.saturating_sub(CcfbPacket::EMPTY_BYTES + CcfbBlock::HEADER_BYTES) / 4 * 2).max(1)
    }

    /// Records a packet of `bytes` bytes.
    pub(crate) fn on_packet(
        &mut self,
        now: Instant,
        packet: &RtpPacket<'_>,
        bytes: usize,
        ecn: Ecn,
        clock_rate: Option<u32>,
    ) -> Result<(), Refused> {
        let ssrc = packet.ssrc;
        if !self.sources.contains_key(&ssrc) {
            self.make_room(now).ok_or(Refused::TooManyStreams { ssrc })?;
        }
        let source = self.sources.entry(ssrc).or_insert_with(|| Source::new(now, ssrc, packet.sequence));
        if !source.on_packet(now, packet, ecn, clock_rate) {
            return Err(Refused::Sequence { ssrc, sequence: packet.sequence });
        }
        self.unreported_since.get_or_insert(now);
        self.packets += 1;
        self.bytes = self.bytes.saturating_add(self.header.saturating_add(bytes as u64));
        Ok(())
    }

    /// Removes the stream that was silent for the longest time if there are too many.
    fn make_room(&mut self, now: Instant) -> Option<()> {
        if self.sources.len() < MAX_SOURCES {
            return Some(());
        }
        let (oldest, source) = self.sources.iter().min_by_key(|(_, source)| source.last_heard())?;
        let oldest = (now.since(source.last_heard()) >= SILENT).then_some(*oldest)?;
        self.sources.remove(&oldest).map(drop)
    }

    pub(crate) fn on_sender_report(&mut self, now: Instant, ssrc: u32, middle_bits: u32) {
        if let Some(source) = self.sources.get_mut(&ssrc) {
            source.on_sender_report(now, middle_bits);
        }
    }

    /// Removes a stream that has ended. Returns whether it was there.
    pub(crate) fn on_bye(&mut self, ssrc: u32) -> bool {
        self.sources.remove(&ssrc).is_some()
    }

    /// Returns when the next feedback is due.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let since = self.unreported_since?;
        // A block has the packets of this feedback and of the two before.
        if self.packets >= MAX_PACKETS.min(self.block_packets() / REPORTS) {
            return Some(since);
        }
        let blocks = BLOCK_BYTES * self.sources.len() as u64 + PACKET_BYTES * self.packets as u64;
        let feedback = self.header.saturating_add(FIXED_BYTES + blocks);
        let is_cheap = self.bytes >= feedback.saturating_mul(SHARE);
        Some(since + self.interval * u64::from(if is_cheap { 1 } else { MAX_INTERVALS }))
    }

    /// Returns the datagrams of the feedback that is due.
    pub(crate) fn feedback(&mut self, now: Instant, sender_ssrc: u32, form: NumReports) -> Vec<Vec<u8>> {
        let mut datagrams = Vec::new();
        if self.poll_timeout().is_none_or(|at| at > now) {
            return datagrams;
        }
        (self.unreported_since, self.packets, self.bytes) = (None, 0, 0);
        let most = self.block_packets();
        // The packet has the elapsed time of the session's clock, as its sender reports have.
        let report_timestamp = crate::rtcp::middle_bits(crate::rtcp::ntp(now));
        let empty = || CcfbPacket { sender_ssrc, blocks: Vec::new(), report_timestamp };
        let (mut packet, mut bytes) = (empty(), CcfbPacket::EMPTY_BYTES);
        let mut finish = |packet: CcfbPacket| {
            let mut datagram = Vec::new();
            if !packet.blocks.is_empty() && packet.encode(form, &mut datagram).is_ok() {
                datagrams.push(datagram);
            }
        };
        for source in self.sources.values_mut() {
            let Some(block) = source.feedback(now, most) else { continue };
            if bytes + block.encoded_bytes() > self.largest {
                finish(std::mem::replace(&mut packet, empty()));
                bytes = CcfbPacket::EMPTY_BYTES;
            }
            bytes += block.encoded_bytes();
            packet.blocks.push(block);
        }
        finish(packet);
        datagrams
    }

    /// Returns at most `most` blocks of a receiver report, of the sources from which packets have arrived since their
    /// last block. Sources take turns (RFC 3550 section 6.4).
    pub(crate) fn reports(&mut self, now: Instant, most: usize) -> Vec<ReportBlock> {
        let (before, after) = (self.sources.range(..self.next_report), self.sources.range(self.next_report..));
        let all = after.chain(before).filter(|(_, source)| source.has_unreported());
        let chosen: Vec<u32> = all.map(|(ssrc, _)| *ssrc).take(most).collect();
        if let Some(last) = chosen.last() {
            self.next_report = last.wrapping_add(1);
        }
        chosen.iter().filter_map(|ssrc| self.sources.get_mut(ssrc).map(|source| source.report(now))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn packet(ssrc: u32, sequence: u16) -> RtpPacket<'static> {
        RtpPacket { ssrc, sequence, ..RtpPacket::default() }
    }

    fn receiver(packet_size: u64) -> Receiver {
        let options = SessionOptions::new("none").unwrap();
        Receiver::new(&SessionOptions { packet_size: headway_units::Bytes::new(packet_size), ..options })
    }

    /// Receives a packet each `gap_ms` and returns the times of feedback, in ms.
    fn times(gap_ms: u64, bytes: usize) -> Vec<u64> {
        let mut receiver = receiver(1200);
        let mut times = vec![];
        for now in 0..1000 {
            if now % gap_ms == 0 {
                receiver.on_packet(ms(now), &packet(1, (now / gap_ms) as u16), bytes, Ecn::NotEct, None).unwrap();
            }
            times.extend(receiver.feedback(ms(now), 2, NumReports::Count).iter().map(|_| now));
        }
        times
    }

    /// RFC 8888 section 4: 50 to 200 ms. Both directions have headers of 28 B: at 822 kb/s, feedback of 48 + 6 * 6 B is
    /// less than 5 % of 6 * 1028 B.
    #[test]
    fn feedback_is_sent_each_50_ms_if_it_is_cheap() {
        assert_eq!(times(10, 1000)[..3], [50, 110, 170]);
        assert_eq!(times(20, 100)[..3], [200, 420, 640]);
        assert_eq!(times(20, 400)[..3], [60, 140, 220], "four packets of 428 B are 20 times 48 + 4 * 6 B and more");
    }

    /// 150 packets are reported at once, or a third of those that fit into a datagram: 118 in 256 B.
    #[test]
    fn a_burst_is_reported_at_once() {
        for (packet_size, packets) in [(1200, 150), (256, 39)] {
            let mut receiver = receiver(packet_size);
            for sequence in 0..packets {
                assert!(receiver.poll_timeout().is_none_or(|at| at > ms(7)));
                receiver.on_packet(ms(7), &packet(1, sequence), 1000, Ecn::Ce, None).unwrap();
            }
            assert_eq!(receiver.feedback(ms(7), 2, NumReports::Count).len(), 1);
            assert_eq!(receiver.poll_timeout(), None);
        }
    }

    /// Each packet is in feedback, also if datagrams are small.
    #[test]
    fn small_datagrams_report_each_packet() {
        let (mut receiver, mut reported) = (receiver(256), std::collections::BTreeSet::new());
        for sequence in 0..1000_u16 {
            receiver.on_packet(ms(7), &packet(1, sequence), 1000, Ecn::NotEct, None).unwrap();
            for datagram in receiver.feedback(ms(7), 2, NumReports::Count) {
                assert!(datagram.len() <= 256);
                for block in CcfbPacket::decode(&datagram, NumReports::Count).unwrap().blocks {
                    reported.extend((block.begin_seq..).take(block.arrivals.len()));
                }
            }
        }
        assert!((0..1000 - 39).all(|sequence| reported.contains(&sequence)));
    }

    /// RFC 8888 section 3.1: feedback that does not fit into a datagram is split.
    #[test]
    fn feedback_is_split_into_datagrams() {
        let mut receiver = receiver(1200);
        for ssrc in 1..=10 {
            for sequence in 0..15 {
                receiver.on_packet(ms(1), &packet(ssrc, 60 * sequence), 1000, Ecn::NotEct, None).unwrap();
            }
        }
        let datagrams = receiver.feedback(ms(60), 2, NumReports::Count);
        assert!(datagrams.iter().all(|datagram| datagram.len() <= 1200));
        let packets: Vec<_> =
            datagrams.iter().map(|bytes| CcfbPacket::decode(bytes, NumReports::Count).unwrap()).collect();
        let blocks: Vec<&CcfbBlock> = packets.iter().flat_map(|packet| &packet.blocks).collect();
        assert_eq!(blocks.len(), 10);
        assert!(blocks.iter().all(|block| block.arrivals.len() == 590 && block.begin_seq == 251));
    }

    /// Streams of an attacker with any SSRC do not grow the memory. A stream that was silent for 10 s is replaced.
    #[test]
    fn the_number_of_streams_is_limited() {
        let mut receiver = receiver(1200);
        let mut receive =
            |at: u64, ssrc| receiver.on_packet(Instant::from_secs(at), &packet(ssrc, 9), 20, Ecn::NotEct, None);
        for ssrc in 1..=64 {
            assert_eq!(receive(u64::from(ssrc), ssrc), Ok(()));
        }
        assert_eq!(receive(10, 100), Err(Refused::TooManyStreams { ssrc: 100 }));
        assert_eq!(receive(64, 100), Ok(()));
        assert_eq!(receive(64, 64), Ok(()));
        assert_eq!(receive(11, 1), Err(Refused::TooManyStreams { ssrc: 1 }));
    }
}
