//! Corrections for frames (section 4.4 of the draft, and the pacing of large frames in Ericsson's sender).

use super::rules::Rules;
use crate::contract::Next;
use headway_units::{Duration, Instant};
use std::collections::VecDeque;

const FIRST_PERIOD_S: f64 = 0.02;
/// Weight of the newest period.
const PERIOD_G: f64 = 0.9;
const MAX_ADJUST: f64 = 0.5;
/// Waiting time that changes nothing, in frame periods.
const ADJUST_TARGET: f64 = 0.5;
/// Average frame from which large frames are paced faster, in bytes.
const MIN_PACED_FRAME: f64 = 500.0;
/// Maximum number of frames recorded.
const MAX_FRAMES: usize = 64;

/// Record of frames in the send queue.
#[derive(Clone, Debug)]
pub(super) struct Frames {
    adjust_gain: f64,
    max_pacing: f64,
    /// Whether the next packet is the first of a frame.
    begins: bool,
    written: Option<Instant>,
    period_s: f64,
    /// Times at which frames were written and sent completely, for those that were not sent when the newest one was
    /// written; oldest first.
    sent: VecDeque<(Instant, Instant)>,
    /// `rate_adjust_factor`.
    adjust: f64,
    pacing: f64,
}

impl Frames {
    pub(super) const fn new(rules: &Rules) -> Self {
        Self {
            adjust_gain: rules.rate_adjust_gain,
            max_pacing: rules.max_frame_pacing,
            begins: true,
            written: None,
            period_s: FIRST_PERIOD_S,
            sent: VecDeque::new(),
            adjust: 0.0,
            pacing: 1.0,
        }
    }

    /// Returns the factor by which the target rate is divided.
    pub(super) const fn divisor(&self) -> f64 {
        1.0 + self.adjust
    }

    /// Returns the factor of the pacing rate.
    pub(super) const fn pacing(&self) -> f64 {
        self.pacing
    }

    /// Handles the packet `next`, which is sent now. Returns whether it is the first of a frame.
    pub(super) fn on_send(&mut self, now: Instant, next: &Next, target_bps: f64) -> bool {
        let begins = std::mem::replace(&mut self.begins, next.ends_frame);
        let written = now.checked_sub(next.age).unwrap_or(Instant::ZERO);
        if begins {
            self.begin(written, next, target_bps);
        }
        if next.ends_frame
            && let Some(written) = self.written
        {
            if self.sent.len() >= MAX_FRAMES {
                self.sent.pop_front();
            }
            self.sent.push_back((written, now));
        }
        begins
    }

    fn begin(&mut self, written: Instant, next: &Next, target_bps: f64) {
        if let Some(last) = self.written.filter(|last| *last < written) {
            self.period_s += PERIOD_G * (written.since(last).as_secs_f64() - self.period_s);
        }
        self.written = Some(written);
        while self.sent.pop_front_if(|(_, sent)| *sent <= written).is_some() {}
        let waiting = self.sent.front().map_or(Duration::ZERO, |(oldest, _)| written.since(*oldest));
        let excess = waiting.as_secs_f64() / self.period_s - ADJUST_TARGET;
        self.adjust = (self.adjust + self.adjust_gain * excess).clamp(0.0, MAX_ADJUST);
        let average = target_bps * self.period_s / 8.0;
        let size = next.waiting.count() as f64;
        self.pacing = if average > MIN_PACED_FRAME { (size / average).clamp(1.0, self.max_pacing) } else { 1.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::Scream2Version;
    use super::*;
    use headway_units::Bytes;

    fn frames() -> Frames {
        Frames::new(&Rules::of(Scream2Version::Ericsson202607))
    }

    fn next(age_ms: u64, waiting: u64, ends_frame: bool) -> Next {
        let mut next = Next::new(Bytes::new(1000));
        (next.age, next.waiting, next.ends_frame) = (Duration::from_millis(age_ms), Bytes::new(waiting), ends_frame);
        next
    }

    /// Frames of one packet each 20 ms that wait for 0 and for 25 ms. In the second case, the frame before is still in
    /// the queue when the next one is written, so that its delay is one period: 0.025 * (1 - 1/2) per frame, up to 0.5.
    #[test]
    fn a_queue_of_frames_lowers_the_rate() {
        for (age, divisors) in [(0, [1.0, 1.0, 1.0]), (25, [1.0, 1.0125, 1.025])] {
            let mut frames = frames();
            for (k, expected) in divisors.into_iter().enumerate() {
                let at = Instant::from_millis(100 + 20 * k as u64 + age);
                assert!(frames.on_send(at, &next(age, 1000, true), 1e6));
                assert!((frames.divisor() - expected).abs() < 1e-12, "{age}, {k}: {}", frames.divisor());
            }
            for k in 3..60 {
                frames.on_send(Instant::from_millis(100 + 20 * k + age), &next(age, 1000, true), 1e6);
            }
            assert_eq!(frames.divisor(), if age == 0 { 1.0 } else { 1.5 });
        }
    }

    /// 1 Mb/s and 20 ms are 2500 B a frame. A frame of 3000 B is paced 1.2 times as fast, one of 5000 B 1.5 times.
    #[test]
    fn large_frames_are_paced_faster() {
        for (size, expected) in [(2000, 1.0), (3000, 1.2), (5000, 1.5)] {
            let mut frames = frames();
            assert!(frames.on_send(Instant::from_secs(1), &next(0, size, false), 1e6));
            assert!(!frames.on_send(Instant::from_secs(1), &next(0, size - 1000, true), 1e6));
            assert!((frames.pacing() - expected).abs() < 1e-12, "{size}: {}", frames.pacing());
        }
    }
}
