//! Receiving half of a session: the streams of the peer and feedback about them.

use crate::error::Refused;
use crate::packet::RtpPacket;
use crate::rtcp::ReportBlock;
use crate::source::Source;
use headway_rate::{CcfbBlock, CcfbPacket, NumReports};
use headway_units::{Duration, Ecn, Instant};
use std::collections::BTreeMap;

/// Maximum number of received streams.
const MAX_SOURCES: usize = 64;
/// Time after which another stream may replace a silent one.
const SILENT: Duration = Duration::from_secs(10);
/// Number of packets after which feedback is due, so that a feedback packet with three times as many fits into a datagram.
const PACKETS: u64 = 150;
/// Longest time to feedback, in shortest intervals.
const LONGEST_INTERVAL: u32 = 4;
/// Ratio of received bytes to bytes of feedback (RFC 3550 section 6.2 allows RTCP 5 %).
const SHARE: u64 = 20;
/// Bytes of IP, UDP and the feedback packet; of each block; and of each packet, which is in three blocks.
const FIXED_BYTES: u64 = 40 + CcfbPacket::EMPTY_BYTES as u64;
const BLOCK_BYTES: u64 = CcfbBlock::HEADER_BYTES as u64;
const PACKET_BYTES: u64 = 6;

/// Received streams, and when feedback about them is due.
#[derive(Debug)]
pub(crate) struct Receiver {
    sources: BTreeMap<u32, Source>,
    interval: Duration,
    /// Arrival of the first packet that was not reported; number of these packets, and their bytes.
    unreported_since: Option<Instant>,
    packets: u64,
    bytes: u64,
}

impl Receiver {
    pub(crate) const fn new(interval: Duration) -> Self {
        Self { sources: BTreeMap::new(), interval, unreported_since: None, packets: 0, bytes: 0 }
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
        self.bytes = self.bytes.saturating_add(bytes as u64);
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
        if self.packets >= PACKETS {
            return Some(since);
        }
        let feedback = FIXED_BYTES + BLOCK_BYTES * self.sources.len() as u64 + PACKET_BYTES * self.packets;
        let is_cheap = self.bytes >= SHARE * feedback;
        Some(since + self.interval * u64::from(if is_cheap { 1 } else { LONGEST_INTERVAL }))
    }

    /// Appends the feedback that is due to `datagrams`, each at most `largest` bytes.
    pub(crate) fn feedback(
        &mut self,
        now: Instant,
        sender_ssrc: u32,
        form: NumReports,
        largest: usize,
        datagrams: &mut Vec<Vec<u8>>,
    ) {
        if self.poll_timeout().is_none_or(|at| at > now) {
            return;
        }
        (self.unreported_since, self.packets, self.bytes) = (None, 0, 0);
        let most = largest.saturating_sub(CcfbPacket::EMPTY_BYTES + CcfbBlock::HEADER_BYTES) / 4 * 2;
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
            let Some(block) = source.feedback(now, most.max(1)) else { continue };
            if bytes + block.encoded_bytes() > largest {
                finish(std::mem::replace(&mut packet, empty()));
                bytes = CcfbPacket::EMPTY_BYTES;
            }
            bytes += block.encoded_bytes();
            packet.blocks.push(block);
        }
        finish(packet);
    }

    /// Returns the blocks of a receiver report.
    pub(crate) fn reports(&mut self, now: Instant) -> Vec<ReportBlock> {
        self.sources.values_mut().take(crate::rtcp::MAX_BLOCKS).map(|source| source.report(now)).collect()
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

    /// Receives a packet each `gap_ms` and returns the times of feedback, in ms.
    fn times(gap_ms: u64, bytes: usize) -> Vec<u64> {
        let mut receiver = Receiver::new(Duration::from_millis(50));
        let mut times = vec![];
        for now in 0..1000 {
            if now % gap_ms == 0 {
                receiver.on_packet(ms(now), &packet(1, (now / gap_ms) as u16), bytes, Ecn::NotEct, None).unwrap();
            }
            let mut datagrams = vec![];
            receiver.feedback(ms(now), 2, NumReports::Count, 1200, &mut datagrams);
            times.extend(datagrams.iter().map(|_| now));
        }
        times
    }

    /// RFC 8888 section 4: 50 to 200 ms. At 800 kb/s, feedback of 60 + 6 * 6 B is less than 5 % of 6 kB.
    #[test]
    fn feedback_is_sent_each_50_ms_if_it_is_cheap() {
        assert_eq!(times(10, 1000)[..3], [50, 110, 170]);
        assert_eq!(times(20, 200)[..3], [200, 420, 640]);
        assert_eq!(times(20, 400)[..3], [80, 180, 280], "five packets of 400 B are 20 times 60 + 5 * 6 B and more");
    }

    /// 150 packets are reported at once.
    #[test]
    fn a_burst_is_reported_at_once() {
        let mut receiver = Receiver::new(Duration::from_millis(50));
        for sequence in 0..150 {
            assert!(receiver.poll_timeout().is_none_or(|at| at > ms(7)));
            receiver.on_packet(ms(7), &packet(1, sequence), 1000, Ecn::Ce, None).unwrap();
        }
        let mut datagrams = vec![];
        receiver.feedback(ms(7), 2, NumReports::Count, 1200, &mut datagrams);
        assert_eq!(datagrams.len(), 1);
        assert_eq!(receiver.poll_timeout(), None);
    }

    /// RFC 8888 section 3.1: feedback that does not fit into a datagram is split.
    #[test]
    fn feedback_is_split_into_datagrams() {
        let mut receiver = Receiver::new(Duration::from_millis(50));
        for ssrc in 1..=10 {
            for sequence in 0..15 {
                receiver.on_packet(ms(1), &packet(ssrc, 60 * sequence), 1000, Ecn::NotEct, None).unwrap();
            }
        }
        let mut datagrams = vec![];
        receiver.feedback(ms(60), 2, NumReports::Count, 1200, &mut datagrams);
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
        let mut receiver = Receiver::new(Duration::from_millis(50));
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
