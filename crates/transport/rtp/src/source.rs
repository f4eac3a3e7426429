//! Received stream: its arrivals, and the statistics of receiver reports (RFC 3550 appendix A).

use crate::packet::RtpPacket;
use crate::rtcp::ReportBlock;
use headway_rate::{CcfbBlock, CcfbLog};
use headway_units::{Duration, Ecn, Instant};

/// Number of feedback packets that contain an arrival, so that the loss of two of them costs nothing.
pub(crate) const REPORTS: usize = 3;
/// Packets of a stream whose arrival is recorded.
const WINDOW: usize = 1024;
/// Largest distance of a late packet (RFC 3550 appendix A.1, `MAX_MISORDER`), here that of recorded arrivals.
const MAX_MISORDER: i32 = WINDOW as i32;

/// Received stream.
#[derive(Debug)]
pub(crate) struct Source {
    ssrc: u32,
    log: CcfbLog,
    /// First sequence number, extended to 64 bits as in `log`.
    base: u64,
    received: u64,
    /// Packets expected and received at the last receiver report.
    expected_before: u64,
    received_before: u64,
    /// Number after that of a packet whose number does not continue the stream.
    restart: Option<u16>,
    /// Transit time of the last packet, and mean deviation, in units of the RTP timestamp.
    transit: Option<u32>,
    jitter: f64,
    last_sr: Option<(u32, Instant)>,
    last_heard: Instant,
    /// Greatest number received plus 1 at the last feedback packets, oldest first.
    reported: [u64; REPORTS],
    has_news: bool,
}

impl Source {
    pub(crate) fn new(now: Instant, ssrc: u32, sequence: u16) -> Self {
        // Earlier numbers are positive, too.
        let base = 1 << 16 | u64::from(sequence);
        Self {
            ssrc,
            log: CcfbLog::new(ssrc, WINDOW),
            base,
            received: 0,
            expected_before: 0,
            received_before: 0,
            restart: None,
            transit: None,
            jitter: 0.0,
            last_sr: None,
            last_heard: now,
            reported: [base; REPORTS],
            has_news: false,
        }
    }

    fn greatest(&self) -> u64 {
        self.log.greatest().unwrap_or(self.base)
    }

    pub(crate) const fn last_heard(&self) -> Instant {
        self.last_heard
    }

    /// Records a packet. Returns false if its sequence number is far below the greatest one. If the next packet follows
    /// that number, the stream restarts there. A step upwards of any size continues the stream, unlike in RFC 3550
    /// appendix A.1: a sender may drop many packets before it sends them, and needs feedback most of all then.
    pub(crate) fn on_packet(
        &mut self,
        now: Instant,
        packet: &RtpPacket<'_>,
        ecn: Ecn,
        clock_rate: Option<u32>,
    ) -> bool {
        let sequence = packet.sequence;
        let ahead = i32::from(sequence.wrapping_sub(self.greatest() as u16).cast_signed());
        if ahead < -MAX_MISORDER {
            if self.restart.replace(sequence.wrapping_add(1)) != Some(sequence) {
                return false;
            }
            *self = Self { last_sr: self.last_sr, ..Self::new(now, self.ssrc, sequence) };
        } else if ahead > 0 {
            self.restart = None;
        }
        self.last_heard = now;
        self.received += 1;
        self.has_news = true;
        self.log.on_packet(sequence, now, ecn);
        if let Some(clock_rate) = clock_rate {
            self.measure_jitter(now, packet.timestamp, clock_rate);
        }
        true
    }

    /// RFC 3550 appendix A.8.
    fn measure_jitter(&mut self, now: Instant, timestamp: u32, clock_rate: u32) {
        let arrived = (u128::from(now.as_nanos()) * u128::from(clock_rate) / 1_000_000_000) as u32;
        let transit = arrived.wrapping_sub(timestamp);
        if let Some(before) = self.transit.replace(transit) {
            let change = f64::from(transit.wrapping_sub(before).cast_signed().unsigned_abs());
            self.jitter += (change - self.jitter) / 16.0;
        }
    }

    pub(crate) const fn on_sender_report(&mut self, now: Instant, middle_bits: u32) {
        self.last_sr = Some((middle_bits, now));
    }

    /// Returns the block of a feedback packet, with at most `packets` packets; `None` if nothing has arrived since the
    /// last one.
    pub(crate) fn feedback(&mut self, now: Instant, packets: usize) -> Option<CcfbBlock> {
        if !std::mem::take(&mut self.has_news) {
            return None;
        }
        let (next, [oldest, ..]) = (self.greatest().saturating_add(1), self.reported);
        self.reported.rotate_left(1);
        if let Some(last) = self.reported.last_mut() {
            *last = next;
        }
        // A block of one packet at least: a late packet has no new number.
        let wanted = usize::try_from(next.saturating_sub(oldest)).unwrap_or(usize::MAX).max(1);
        self.log.block(now, wanted.min(packets))
    }

    /// Returns whether packets have arrived since the last receiver report.
    pub(crate) const fn has_unreported(&self) -> bool {
        self.received > self.received_before
    }

    /// Returns the block of a receiver report (RFC 3550 appendix A.3).
    pub(crate) fn report(&mut self, now: Instant) -> ReportBlock {
        let greatest = self.greatest();
        let expected = greatest - self.base + 1;
        let new_expected = expected.saturating_sub(self.expected_before);
        let new_received = self.received.saturating_sub(self.received_before);
        (self.expected_before, self.received_before) = (expected, self.received);
        let new_lost = new_expected.saturating_sub(new_received);
        let fraction = (new_lost * 256).checked_div(new_expected).unwrap_or_default();
        let lost = i128::from(expected) - i128::from(self.received);
        let (last_sr, since) = self.last_sr.map_or((0, Duration::ZERO), |(sr, at)| (sr, now.since(at)));
        ReportBlock {
            ssrc: self.ssrc,
            fraction_lost: u8::try_from(fraction).unwrap_or(u8::MAX),
            cumulative_lost: lost.clamp(i32::MIN.into(), i32::MAX.into()) as i32,
            // The first number counts no wrap.
            extended_highest: greatest.wrapping_sub(1 << 16) as u32,
            jitter: self.jitter as u32,
            last_sr,
            delay_since_last_sr: (u128::from(since.as_nanos()) * 65_536 / 1_000_000_000) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn source(first: u16) -> Source {
        Source::new(ms(0), 7, first)
    }

    fn receive(source: &mut Source, at: u64, sequence: u16) -> bool {
        let packet = RtpPacket { sequence, timestamp: sequence.into(), ssrc: 7, ..RtpPacket::default() };
        source.on_packet(ms(at), &packet, Ecn::NotEct, None)
    }

    fn block(source: &mut Source, packets: usize) -> Option<(u16, usize)> {
        source.feedback(ms(100), packets).map(|block| (block.begin_seq, block.arrivals.len()))
    }

    /// An arrival is in three feedback packets, and there is none without news. Numbers wrap.
    #[test]
    fn each_arrival_is_in_three_feedback_packets() {
        let mut source = source(65_534);
        assert_eq!(block(&mut source, 100), None);
        for sequence in [65_534, 65_535, 1] {
            assert!(receive(&mut source, 1, sequence));
        }
        assert_eq!(block(&mut source, 100), Some((65_534, 4)));
        assert_eq!(block(&mut source, 100), None);
        receive(&mut source, 2, 2);
        assert_eq!(block(&mut source, 100), Some((65_534, 5)));
        receive(&mut source, 2, 0);
        assert_eq!(block(&mut source, 100), Some((65_534, 5)));
        receive(&mut source, 2, 3);
        assert_eq!(block(&mut source, 100), Some((2, 2)));
        receive(&mut source, 3, 4);
        assert_eq!(block(&mut source, 2), Some((3, 2)), "limited to the newest packets");
    }

    /// RFC 3550 appendix A.3: of 8 expected packets 2 are lost, 64/256 since the last report; then there are more
    /// duplicates than losses.
    #[test]
    fn losses_since_the_last_report() {
        let mut source = source(65_533);
        for sequence in [65_533, 65_534, 0, 2, 3, 4] {
            receive(&mut source, 1, sequence);
        }
        source.on_sender_report(ms(500), 77);
        let report = source.report(ms(2000));
        assert_eq!((report.fraction_lost, report.cumulative_lost, report.extended_highest), (64, 2, 0x1_0004));
        assert_eq!((report.last_sr, report.delay_since_last_sr), (77, 98_304));
        for sequence in [2, 2, 2, 5] {
            receive(&mut source, 1, sequence);
        }
        let report = source.report(ms(2000));
        assert_eq!((report.fraction_lost, report.cumulative_lost, report.extended_highest), (0, -1, 0x1_0005));
        assert_eq!(source.report(ms(2000)).fraction_lost, 0);
    }

    /// RFC 3550 appendix A.1: a number far below the greatest is ignored, unless the next packet continues there.
    #[test]
    fn a_stream_restarts_after_two_packets_in_sequence() {
        let mut source = source(100);
        assert!(receive(&mut source, 1, 100));
        assert!(receive(&mut source, 1, 32_867));
        assert!(!receive(&mut source, 2, 20_000));
        assert!(receive(&mut source, 2, 32_868));
        assert!(!receive(&mut source, 2, 20_001));
        assert!(!receive(&mut source, 2, 20_000));
        assert!(receive(&mut source, 3, 20_001));
        assert_eq!(block(&mut source, 100), Some((20_001, 1)));
        assert!(!receive(&mut source, 2, 20_001 - 1025));
        assert!(receive(&mut source, 2, 20_001 - 1024));
    }

    /// RFC 3550 appendix A.8: transit times that alternate by 10 ms of an 8 kHz clock approach a jitter of 80.
    #[test]
    fn jitter_is_the_smoothed_difference_of_transit_times() {
        let mut source = source(0);
        for sequence in 0..200_u16 {
            let packet = RtpPacket { sequence, timestamp: 160 * u32::from(sequence), ..RtpPacket::default() };
            let at = ms(20 * u64::from(sequence) + 10 * u64::from(sequence % 2));
            source.on_packet(at, &packet, Ecn::NotEct, Some(8000));
            if sequence == 1 {
                assert_eq!(source.jitter, 5.0);
            }
        }
        assert_eq!(source.report(ms(5000)).jitter, 79);
    }
}
