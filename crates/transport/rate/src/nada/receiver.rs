//! Receiver half of `nada` (RFC 8698 sections 4.2 and 5.1).

use super::options::NadaOptions;
use super::{DELTA, NadaReport};
use crate::contract::{Need, Received, ReceiverContext, ReceiverHalf, Timing};
use crate::one_way::FloorLine;
use crate::report::{Report, ReportForm};
use crate::tfrc::TfrcOptions;
use crate::tfrc::average::{Average, Interval};
use headway_units::{Dialect, Duration, Ecn, Instant, Options, Rate};
use std::collections::VecDeque;

const LOGWIN: Duration = Duration::from_millis(500);
const QEPS_S: f64 = 0.01;
const QTH_S: f64 = 0.05;
const LAMBDA: f64 = 0.5;
const MULTILOSS: f64 = 7.0;
const DLOSS_S: f64 = 0.01;
const DMARK_S: f64 = 0.002;
const PLRREF: f64 = 0.01;
const PMRREF: f64 = 0.01;
const ALPHA: f64 = 0.1;
/// Samples of the minimum filter of the queue delay.
const FILTERED: usize = 15;
/// Time after which a delay no longer counts for the base ("tens of minutes", section 5.1.1).
const BASE_MEMORY: Duration = Duration::from_secs(20 * 60);
/// Maximum skew that is removed. The line takes a queue that never empties for a skew: with this limit, the base then
/// rises by 6 ms per minute.
const MAX_SKEW: f64 = 100e-6;
/// Closed loss intervals of an average (RFC 5348 section 5.4).
const INTERVALS: usize = 8;
/// Maximum number of packets in the log.
const CAPACITY: usize = 1 << 14;

#[derive(Clone, Copy, Debug)]
struct Arrived {
    at: Instant,
    number: u64,
    bytes: u64,
    qdelay_s: f64,
    marked: bool,
}

/// Receiver half of the controller `nada` (RFC 8698), which reports the congestion signal.
#[derive(Debug)]
pub struct NadaReceiver {
    /// Line below the one-way delays. The height of a delay above it is the queue delay.
    floor: FloorLine,
    /// Packets of the latest `LOGWIN`, in order of numbers. A packet out of order counts as lost.
    log: VecDeque<Arrived>,
    /// Number of the newest packet before the log.
    before_log: Option<u64>,
    last_loss: Option<Instant>,
    /// Packets between losses, the newest first, after the open interval since the last loss. Its start is the number
    /// of its first packet.
    intervals: VecDeque<Interval>,
    average: Average,
    loss_ratio: f64,
    mark_ratio: f64,
    due: Option<Instant>,
    ready: bool,
}

impl NadaReceiver {
    pub(crate) fn new(_: &NadaOptions, _: ReceiverContext) -> Self {
        let without_discounting = TfrcOptions { discounting: false, ..TfrcOptions::preset(Dialect::Rfc) };
        Self {
            floor: FloorLine::over(BASE_MEMORY, MAX_SKEW),
            log: VecDeque::new(),
            before_log: None,
            last_loss: None,
            intervals: VecDeque::new(),
            average: Average::new(&without_discounting),
            loss_ratio: 0.0,
            mark_ratio: 0.0,
            due: None,
            ready: false,
        }
    }

    /// Closes the open loss interval before packet `first`, the first one of a run of lost packets.
    fn on_loss(&mut self, now: Instant, first: u64) {
        self.last_loss = Some(now);
        if let Some(open) = self.intervals.front_mut() {
            open.length = (first - open.start) as f64;
        }
        self.intervals.push_front(Interval { start: first, length: 0.0 });
        self.intervals.truncate(INTERVALS + 1);
    }

    /// Returns the queue delay, warped if the last loss is recent (equation 1).
    fn warped_s(&mut self, qdelay_s: f64) -> f64 {
        let intervals = self.intervals.make_contiguous();
        let loss_rate = self.average.loss_event_rate(intervals, false);
        let Some(open) = intervals.first().filter(|_| loss_rate > 0.0) else { return qdelay_s };
        // From 1 up to `loss_exp` packets after a loss to 0 at `loss_int` packets later.
        let share = (MULTILOSS + 1.0 - open.length * loss_rate).clamp(0.0, 1.0);
        share * warp_s(qdelay_s) + (1.0 - share) * qdelay_s
    }

    fn report(&mut self, now: Instant) -> Option<NadaReport> {
        let start = now.checked_sub(LOGWIN).unwrap_or(Instant::ZERO);
        while self.log.len() > 1 && self.log.front().is_some_and(|oldest| oldest.at < start) {
            self.before_log = self.log.pop_front().map(|packet| packet.number);
        }
        let (oldest, newest) = (*self.log.front()?, *self.log.back()?);
        let sent = self
            .before_log
            .map_or((newest.number - oldest.number) as f64 + 1.0, |before| (newest.number - before) as f64);
        let (mut bytes, mut marked, mut longest_s) = (0.0, 0, 0.0_f64);
        for packet in &self.log {
            bytes += packet.bytes as f64;
            marked += u32::from(packet.marked);
            longest_s = longest_s.max(packet.qdelay_s);
        }
        self.loss_ratio += ALPHA * ((sent - self.log.len() as f64) / sent - self.loss_ratio);
        self.mark_ratio += ALPHA * (f64::from(marked) / sent - self.mark_ratio);
        let filtered = self.log.iter().rev().take(FILTERED).map(|packet| packet.qdelay_s).fold(f64::INFINITY, f64::min);
        let signal_s = self.warped_s(filtered)
            + DMARK_S * square(self.mark_ratio / PMRREF)
            + DLOSS_S * square(self.loss_ratio / PLRREF);
        let has_loss = self.last_loss.is_some_and(|last| last >= start);
        let receive_rate = Rate::from_bits_per_second((8.0 * bytes / LOGWIN.as_secs_f64()) as u64);
        Some(NadaReport { gradual: has_loss || longest_s >= QEPS_S, signal_s, receive_rate })
    }
}

impl ReceiverHalf for NadaReceiver {
    const REPORTS: ReportForm = ReportForm::Own;
    const NEEDS: &'static [Need] = &[Need::SenderClock];

    fn on_packet(&mut self, now: Instant, packet: &Received) {
        let Some(Timing { sent, .. }) = packet.timing.filter(|_| packet.data) else { return };
        let delay = now.as_nanos().wrapping_sub(sent.as_nanos()).cast_signed();
        let qdelay_s = self.floor.add(now, delay) / 1e9;
        let number = packet.number;
        match self.log.back() {
            None => self.intervals.push_front(Interval { start: number, length: 0.0 }),
            Some(newest) if number <= newest.number => return,
            Some(newest) if number > newest.number + 1 => self.on_loss(now, newest.number + 1),
            Some(_) => {}
        }
        if let Some(open) = self.intervals.front_mut() {
            open.length = (number - open.start) as f64 + 1.0;
        }
        let (bytes, marked) = (packet.size.count(), packet.ecn == Ecn::Ce);
        self.log.push_back(Arrived { at: now, number, bytes, qdelay_s, marked });
        if self.log.len() > CAPACITY {
            self.before_log = self.log.pop_front().map(|packet| packet.number);
        }
        self.due = self.due.or(Some(now + DELTA));
    }

    fn poll_report(&mut self, now: Instant) -> Option<Report<'_>> {
        if !std::mem::take(&mut self.ready) {
            return None;
        }
        self.report(now)?.encode().map(Report::Own)
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.due.is_some_and(|due| due <= now) {
            (self.due, self.ready) = (None, true);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }
}

fn square(ratio: f64) -> f64 {
    ratio * ratio
}

fn warp_s(qdelay_s: f64) -> f64 {
    if qdelay_s < QTH_S { qdelay_s } else { QTH_S * libm::exp(-LAMBDA * (qdelay_s - QTH_S) / QTH_S) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Bytes;

    /// Receives packets every 10 ms, of 1000 B, with these numbers and queue delays in ms, and returns the last report.
    fn reported(packets: impl IntoIterator<Item = (u64, u64)>, ecn: Ecn) -> NadaReport {
        let context = ReceiverContext::new(Instant::ZERO, Bytes::new(1000));
        let mut receiver = NadaReceiver::new(&NadaOptions::preset(Dialect::Rfc), context);
        let (mut now, mut last) = (Instant::from_secs(10), None);
        for (number, queue_ms) in packets {
            now += Duration::from_millis(10);
            let mut packet = Received::new(number, Some(Bytes::new(1000)));
            packet.ecn = ecn;
            packet.timing = Some(Timing::new(now.checked_sub(Duration::from_millis(20 + queue_ms)).unwrap()));
            receiver.on_packet(now, &packet);
            receiver.handle_timeout(now);
            if let Some(Report::Own(own)) = receiver.poll_report(now) {
                last = NadaReport::decode(&own);
            }
        }
        last.unwrap()
    }

    fn near(found: f64, expected: f64) -> bool {
        (found - expected).abs() < 2e-4
    }

    /// Equation 1 of RFC 8698: at twice QTH the delay becomes QTH / sqrt(e).
    #[test]
    fn delays_above_the_threshold_are_warped() {
        assert_eq!(warp_s(0.049), 0.049);
        assert!((warp_s(0.05) - 0.05).abs() < 1e-12);
        assert!((warp_s(0.1) - 0.05 * libm::exp(-0.5)).abs() < 1e-12);
    }

    /// Section 4.2: ramp-up while all queue delays of LOGWIN are below QEPS (10 ms) and no packet is lost.
    #[test]
    fn modes() {
        let level = |queue_ms| (0..200).map(move |number| (number, if number == 0 { 0 } else { queue_ms }));
        assert!(!reported(level(9), Ecn::Ect0).gradual);
        assert!(reported(level(10), Ecn::Ect0).gradual);
        let spike = |at| (0..200).map(move |number| (number, if number == at { 30 } else { 0 }));
        assert!(!reported(spike(100), Ecn::Ect0).gradual, "older than LOGWIN");
        assert!(reported(spike(170), Ecn::Ect0).gradual);
        let loss = |at| (0..200).map(move |number| (number + u64::from(number >= at), 0));
        assert!(!reported(loss(100), Ecn::Ect0).gradual, "older than LOGWIN");
        assert!(reported(loss(170), Ecn::Ect0).gradual);
    }

    /// Sections 5.1.1 and 5.1.3: the signal is the minimum of 15 samples, and the rate that of LOGWIN: 800 kb/s.
    #[test]
    fn the_delay_is_the_minimum_of_15_samples() {
        let queue = |number| if number % 15 == 0 { 15 } else { 40 };
        let report = reported((0..200).map(|number| (number, if number == 0 { 0 } else { queue(number) })), Ecn::Ect0);
        assert!(near(report.signal_s, 0.015), "{report:?}");
        assert!((report.receive_rate.bits_per_second() as f64 - 8e5).abs() <= 16_000.0, "{report:?}");
    }

    /// Equation 2 and section 5.1.2: if every packet is marked or every second is lost, the ratios approach 1 and 1/2,
    /// so that the signal approaches DMARK (1/PMRREF)^2 = 20 s and DLOSS (0.5/PLRREF)^2 = 25 s, above the 3.2767 s of a
    /// report. After the first report, ALPHA of each counts: 0.2 s and 0.25 s.
    #[test]
    fn marks_and_losses() {
        assert!(near(reported((0..11).map(|number| (number, 0)), Ecn::Ce).signal_s, 0.002 * 100.0));
        let lost = reported((0..11).map(|number| (2 * number, 0)), Ecn::Ect0).signal_s;
        // 10 of 21 packets are lost.
        assert!(near(lost, 0.01 * square(0.1 * 10.0 / 21.0 / 0.01)), "{lost}");
        assert!(reported((0..2000).map(|number| (number, 0)), Ecn::Ce).signal_s > 3.27);
    }

    /// Section 4.2: the delay is warped until `loss_exp` = 7 intervals after the last loss, then interpolated for one
    /// interval. Every 100th packet is lost until 800; the queue delay is 100 ms, which is warped to 30.3 ms.
    #[test]
    fn warping_ends_eight_loss_intervals_after_a_loss() {
        let signal = |until: u64| {
            let numbers = (0..until).filter(|number| *number >= 800 || number % 100 != 99);
            reported(numbers.map(|number| (number, if number == 0 { 0 } else { 100 })), Ecn::Ect0).signal_s
        };
        for (after, share) in [(690, 1.0), (750, 0.5), (810, 0.0)] {
            let found = signal(800 + after);
            let expected = share * 0.0303 + (1.0 - share) * 0.1;
            assert!((found - expected).abs() < 0.01, "{after}: {found}, {expected}");
        }
    }

    /// A packet out of order counts as lost (section 5.1.2), and a jump of numbers does not allocate.
    #[test]
    fn disorder_and_jumps() {
        let report = reported((0..200).map(|number| (number ^ u64::from(number > 170), 0)), Ecn::Ect0);
        assert!(report.gradual && report.signal_s > 0.0, "{report:?}");
        let report = reported(
            (0..200).map(|number| (if number > 170 { u64::MAX - 200 + number } else { number }, 0)),
            Ecn::Ect0,
        );
        assert!(report.gradual && report.signal_s == 3.2767, "{report:?}");
    }
}
