//! Display of a flow's video at the receiver, and its freezes.
//!
//! A video frame is displayed when it is complete. It is not displayed if it completes after its deadline, or if a
//! frame that was written later has already been displayed. A frame without a deadline is never late. There is no
//! playout buffer. A gap between two displayed frames is a freeze if it is at least max(3 m, m + 150 ms), where m is
//! the mean of the last 30 gaps (`freezeCount` of the W3C's WebRTC statistics). The gap after the last displayed frame
//! ends when the last frame was written.

use super::frames::WrittenFrame;
use super::measured::Measured;
use headway_units::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// Number of gaps in the mean.
const GAPS: usize = 30;
/// Length of a freeze above the mean gap.
const MIN_EXCESS: Duration = Duration::from_millis(150);

/// Display of a flow's video frames at the receiver in the measured interval. A gap between displayed frames belongs to
/// the interval in which it ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DisplaySummary {
    /// Number of displayed video frames.
    pub displayed_frames: u64,
    /// Number of freezes: gaps between displayed frames of at least max(3 m, m + 150 ms), where m is the mean of the
    /// last 30 gaps. `None` without a gap that has another before it.
    pub freezes: Option<u64>,
    /// Duration of all freezes, in s, without their parts before the measured interval; `None` if `freezes` is `None`.
    pub frozen_s: Option<f64>,
    /// Longest time between two consecutively displayed frames, in s; `None` without such a gap.
    pub longest_gap_s: Option<f64>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct DisplayMeter {
    /// Displayed frame with the latest creation: times of its creation and of its display.
    last: Option<[Instant; 2]>,
    last_written: Instant,
    /// Last gaps in ns, cyclically, and the number of all gaps.
    gaps: [u64; GAPS],
    count: usize,
    displayed: u64,
    /// Number of freezes and their time in ns; `None` before the first gap that is compared with a mean.
    freezes: Option<(u64, u64)>,
    longest: Option<Duration>,
}

impl DisplayMeter {
    /// Records that the application wrote a video frame.
    pub(crate) fn written(&mut self, frame: &WrittenFrame) {
        self.last_written = self.last_written.max(frame.created);
    }

    /// Records that a video frame was complete at `now`.
    pub(crate) fn complete(&mut self, now: Instant, measured: &Measured, frame: &WrittenFrame) {
        let is_late = frame.deadline().is_some_and(|deadline| now > deadline);
        if is_late || self.last.is_some_and(|[created, _]| frame.created < created) {
            return;
        }
        self.displayed += u64::from(measured.contains(now));
        if let Some([_, before]) = self.last {
            self.gap(before, now, measured);
            self.gaps[self.count % GAPS] = now.since(before).as_nanos();
            self.count += 1;
        }
        self.last = Some([frame.created, now]);
    }

    fn gap(&mut self, from: Instant, to: Instant, measured: &Measured) {
        if measured.contains(to) {
            let gap = to.since(from);
            self.longest = self.longest.max(Some(gap));
            if self.count == 0 {
                return;
            }
            let (freezes, frozen_ns) = self.freezes.get_or_insert_default();
            if is_freeze(&self.gaps[..self.count.min(GAPS)], gap) {
                *freezes += 1;
                *frozen_ns += measured.overlap(from, to);
            }
        }
    }

    pub(crate) fn summary(&self, measured: &Measured) -> DisplaySummary {
        let mut all = self.clone();
        if let Some([_, before]) = self.last
            && self.last_written > before
        {
            all.gap(before, self.last_written, measured);
        }
        DisplaySummary {
            displayed_frames: all.displayed,
            freezes: all.freezes.map(|(freezes, _)| freezes),
            frozen_s: all.freezes.map(|(_, frozen_ns)| frozen_ns as f64 / 1e9),
            longest_gap_s: all.longest.map(Duration::as_secs_f64),
        }
    }
}

/// Returns whether a gap is a freeze after these gaps, of which there is at least one.
fn is_freeze(gaps: &[u64], gap: Duration) -> bool {
    // Both limits are at least this: most gaps need no mean.
    if gap < MIN_EXCESS {
        return false;
    }
    let mean = gaps.iter().sum::<u64>() / gaps.len().max(1) as u64;
    gap.as_nanos() >= (3 * mean).max(mean + MIN_EXCESS.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::MediaKind;

    fn frame(created_ms: u64, lifetime_ms: Option<u64>) -> WrittenFrame {
        let created = Instant::from_millis(created_ms);
        let deadline = lifetime_ms.map_or(Instant::FAR_FUTURE, |lifetime| created + Duration::from_millis(lifetime));
        WrittenFrame { kind: MediaKind::Video, created, deadline }
    }

    /// Returns the display of frames with these times of writing and completion in ms.
    fn display(measured_ms: [u64; 2], lifetime_ms: Option<u64>, frames: &[(u64, Option<u64>)]) -> DisplaySummary {
        let [from, until] = measured_ms.map(Instant::from_millis);
        let (measured, mut meter) = (*Measured::between(from, until), DisplayMeter::default());
        for (created, complete) in frames {
            let frame = frame(*created, lifetime_ms);
            meter.written(&frame);
            if let Some(complete) = complete {
                meter.complete(Instant::from_millis(*complete), &measured, &frame);
            }
        }
        meter.summary(&measured)
    }

    fn even(count: u64) -> Vec<(u64, Option<u64>)> {
        (0..count).map(|number| (number * 40, Some(number * 40 + 10))).collect()
    }

    /// With gaps of 40 ms, m + 150 ms = 190 ms is above 3 m = 120 ms.
    #[test]
    fn a_gap_of_the_mean_and_150_ms_is_a_freeze() {
        for (gap, freezes) in [(189, 0), (190, 1), (400, 1)] {
            let mut frames = even(11);
            frames.push((410, Some(410 + gap)));
            let display = display([0, 10_000], None, &frames);
            let expected = if freezes > 0 { gap as f64 / 1e3 } else { 0.0 };
            assert_eq!(
                (display.displayed_frames, display.freezes, display.frozen_s),
                (12, Some(freezes), Some(expected))
            );
            assert_eq!(display.longest_gap_s, Some(gap as f64 / 1e3));
        }
    }

    /// With gaps of 100 ms, 3 m = 300 ms is above m + 150 ms = 250 ms. The mean is that of the last 30 gaps only.
    #[test]
    fn a_gap_of_three_times_the_mean_is_a_freeze() {
        for (gap, freezes) in [(299, 0), (300, 1)] {
            let slow = (0..31).map(|number| (2000 + number * 100, Some(2000 + number * 100)));
            let mut frames: Vec<_> = even(50).into_iter().chain(slow).collect();
            frames.push((5000, Some(5000 + gap)));
            assert_eq!(display([0, 10_000], None, &frames).freezes, Some(freezes));
        }
    }

    /// A frame that is late, or older than a displayed frame, is not displayed.
    #[test]
    fn late_and_overtaken_frames_are_not_displayed() {
        let frames =
            [(0, Some(10)), (40, Some(50)), (120, Some(130)), (80, Some(140)), (160, Some(361)), (200, Some(400))];
        let display = display([0, 10_000], Some(200), &frames);
        assert_eq!((display.displayed_frames, display.longest_gap_s), (4, Some(0.27)));
        assert_eq!((display.freezes, display.frozen_s), (Some(1), Some(0.27)), "m = 60 ms");
    }

    /// A video that never returns freezes until its last frame is written. One that ends does not.
    #[test]
    fn the_gap_at_the_end_lasts_while_frames_are_written() {
        let mut frames = even(10);
        assert_eq!(display([0, 10_000], None, &frames).freezes, Some(0));
        frames.extend((10..100).map(|number| (number * 40, None)));
        let display = display([0, 10_000], None, &frames);
        assert_eq!((display.freezes, display.frozen_s), (Some(1), Some(3.59)));
    }

    /// A gap that begins before the measured interval counts with the part within it; one that ends before, not at all.
    #[test]
    fn freezes_belong_to_the_measured_interval() {
        let frames =
            [(0, Some(0)), (40, Some(40)), (80, Some(80)), (500, Some(500)), (540, Some(540)), (2000, Some(2000))];
        let display = display([1000, 3000], None, &frames);
        assert_eq!((display.displayed_frames, display.freezes, display.frozen_s), (1, Some(1), Some(1.0)));
    }

    /// Without a displayed frame there is no gap, and the first gap has no mean to be compared with.
    #[test]
    fn too_few_frames_have_no_freezes() {
        for (displayed, freezes, longest) in [(0, None, None), (1, None, Some(4.99)), (2, Some(1), Some(4.95))] {
            let frames: Vec<_> = (0..126).map(|n| (40 * n, Some(40 * n + 10).filter(|_| n < displayed))).collect();
            let display = display([0, 10_000], None, &frames);
            assert_eq!(
                (display.displayed_frames, display.freezes, display.longest_gap_s),
                (displayed, freezes, longest)
            );
        }
    }
}
