//! Receiver half of `nada` (RFC 8698 sections 4.2 and 5.1).

use super::options::NadaOptions;
use super::{DELTA, NadaReport};
use crate::contract::{Need, Received, ReceiverContext, ReceiverHalf, Timing};
use crate::one_way::QueueDelay;
use crate::report::{Report, ReportForm};
use headway_units::{Duration, Ecn, Instant, Rate};
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
/// Weights of the latest loss intervals (RFC 5348 section 5.4).
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

#[derive(Clone, Copy, Debug)]
struct Arrived {
    at: Instant,
    number: u64,
    bytes: u64,
    qdelay_s: f64,
    marked: bool,
}

/// Receiver half of `nada`.
#[derive(Debug)]
pub struct NadaReceiver {
    queue_delay: QueueDelay,
    /// Packets of the latest `LOGWIN`, in order of numbers. A packet out of order counts as lost.
    log: VecDeque<Arrived>,
    /// Time until which the log has a loss.
    lost_until: Option<Instant>,
    /// Numbers of packets between loss events, newest first, and the first number after the last event.
    intervals: VecDeque<f64>,
    since_loss: Option<u64>,
    loss_ratio: f64,
    mark_ratio: f64,
    due: Option<Instant>,
    ready: bool,
}

impl NadaReceiver {
    pub(crate) fn new(_: &NadaOptions, _: ReceiverContext) -> Self {
        Self {
            queue_delay: QueueDelay::new(),
            log: VecDeque::new(),
            lost_until: None,
            intervals: VecDeque::new(),
            since_loss: None,
            loss_ratio: 0.0,
            mark_ratio: 0.0,
            due: None,
            ready: false,
        }
    }

    /// Adds a loss event before packet `number`, the first one that arrived after it.
    fn on_loss(&mut self, now: Instant, number: u64) {
        if let Some(since) = self.since_loss {
            self.intervals.push_front((number - since).max(1) as f64);
            self.intervals.truncate(WEIGHTS.len());
        }
        (self.since_loss, self.lost_until) = (Some(number), Some(now + LOGWIN));
    }

    /// Returns the average loss interval `loss_int` in packets, the open interval included if that is longer (RFC 5348
    /// section 5.4). `None` before the first loss.
    fn loss_interval(&self, newest: u64) -> Option<f64> {
        let open = (newest - self.since_loss?) as f64;
        let mean = |first: Option<f64>| {
            let intervals = first.into_iter().chain(self.intervals.iter().copied());
            let (sum, weight) = intervals
                .zip(WEIGHTS)
                .fold((0.0, 0.0), |(sum, weight), (interval, of)| (sum + interval * of, weight + of));
            if weight > 0.0 { sum / weight } else { 0.0 }
        };
        Some(mean(Some(open)).max(mean(None)).max(1.0))
    }

    /// Returns the queue delay, warped by the time since the last loss (equation 1).
    fn warped_s(&self, qdelay_s: f64, newest: u64) -> f64 {
        let (Some(since), Some(interval)) = (self.since_loss, self.loss_interval(newest)) else { return qdelay_s };
        // From 1 up to `loss_exp` packets after a loss to 0 at `loss_int` packets later.
        let share = ((MULTILOSS + 1.0) - (newest - since) as f64 / interval).clamp(0.0, 1.0);
        share * warp_s(qdelay_s) + (1.0 - share) * qdelay_s
    }

    fn report(&mut self, now: Instant) -> Option<NadaReport> {
        let start = now.checked_sub(LOGWIN).unwrap_or(Instant::ZERO);
        while self.log.len() > 1 && self.log.front().is_some_and(|oldest| oldest.at < start) {
            self.log.pop_front();
        }
        let (oldest, newest) = (*self.log.front()?, *self.log.back()?);
        let sent = (newest.number - oldest.number + 1) as f64;
        let (mut bytes, mut marked, mut longest_s) = (0, 0, 0.0_f64);
        for packet in &self.log {
            bytes += packet.bytes;
            marked += u32::from(packet.marked);
            longest_s = longest_s.max(packet.qdelay_s);
        }
        let received = self.log.len() as f64;
        self.loss_ratio += ALPHA * ((sent - received) / sent - self.loss_ratio);
        self.mark_ratio += ALPHA * (f64::from(marked) / received - self.mark_ratio);
        let filtered = self.log.iter().rev().take(FILTERED).map(|packet| packet.qdelay_s).fold(f64::INFINITY, f64::min);
        let square = |ratio: f64| ratio * ratio;
        let signal_s = self.warped_s(filtered, newest.number)
            + DMARK_S * square(self.mark_ratio / PMRREF)
            + DLOSS_S * square(self.loss_ratio / PLRREF);
        let has_loss = self.lost_until.is_some_and(|until| now < until);
        let receive_rate = Rate::from_bits_per_second((bytes * 8 * 1_000_000_000) / LOGWIN.as_nanos());
        Some(NadaReport { gradual: has_loss || longest_s >= QEPS_S, signal_s, receive_rate })
    }
}

impl ReceiverHalf for NadaReceiver {
    const REPORTS: ReportForm = ReportForm::Own;
    const NEEDS: &'static [Need] = &[Need::SenderClock];

    fn on_packet(&mut self, now: Instant, packet: &Received) {
        let Some(Timing { sent, .. }) = packet.timing.filter(|_| packet.data) else { return };
        let qdelay_s = self.queue_delay.sample(now, sent, now);
        match self.log.back() {
            Some(newest) if packet.number <= newest.number => return,
            Some(newest) if packet.number > newest.number + 1 => self.on_loss(now, packet.number),
            _ => {}
        }
        let (bytes, marked) = (packet.size.count(), packet.ecn == Ecn::Ce);
        self.log.push_back(Arrived { at: now, number: packet.number, bytes, qdelay_s, marked });
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

fn warp_s(qdelay_s: f64) -> f64 {
    if qdelay_s < QTH_S { qdelay_s } else { QTH_S * libm::exp(-LAMBDA * (qdelay_s - QTH_S) / QTH_S) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equation 1 of RFC 8698: at twice QTH the delay becomes QTH / sqrt(e).
    #[test]
    fn delays_above_the_threshold_are_warped() {
        assert_eq!(warp_s(0.049), 0.049);
        assert!((warp_s(0.05) - 0.05).abs() < 1e-12);
        assert!((warp_s(0.1) - 0.05 * (-0.5_f64).exp()).abs() < 1e-12);
    }
}
