//! Frames in flight, for a window that counts frames.

use std::collections::VecDeque;

/// Maximum number of frames in flight that are recorded.
const CAPACITY: usize = 256;
/// Minimum window in frames (`MIN_FRAME_WIN` of udp_prague).
const MIN_WINDOW: u64 = 2;

#[derive(Clone, Debug)]
pub(super) struct Frames {
    interval_us: u64,
    budget_us: u64,
    /// Numbers of the last packets of frames in flight.
    ends: VecDeque<u64>,
    /// Whether a part of a frame has been sent.
    begun: bool,
}

impl Frames {
    pub(super) fn new(interval_us: u64, budget_us: u64) -> Self {
        Self {
            interval_us: interval_us.max(1),
            budget_us: budget_us.clamp(1, interval_us.max(1)),
            ends: VecDeque::new(),
            begun: false,
        }
    }

    pub(super) const fn interval_us(&self) -> u64 {
        self.interval_us
    }

    /// Returns the size of a frame at this rate in B/s.
    pub(super) const fn size(&self, rate: u64) -> u64 {
        (rate as u128 * self.budget_us as u128 / 1_000_000) as u64
    }

    /// Returns the mean rate of frames that are sent at this rate.
    pub(super) fn mean_rate(&self, rate: u64) -> u64 {
        (u128::from(rate) * u128::from(self.budget_us) / u128::from(self.interval_us)) as u64
    }

    /// Returns the rate at which frames are sent if their mean rate is this.
    pub(super) fn sending_rate(&self, mean: u64) -> u64 {
        u64::try_from(u128::from(mean) * u128::from(self.interval_us) / u128::from(self.budget_us)).unwrap_or(u64::MAX)
    }

    /// Returns whether the next packet may be sent with a window of `window` bytes at this rate.
    pub(super) fn may_send(&self, window: u64, rate: u64) -> bool {
        self.begun || self.ends.len() as u64 <= (window / self.size(rate).max(1)).max(MIN_WINDOW)
    }

    pub(super) fn on_send(&mut self, number: u64, ends_frame: bool) {
        self.begun = !ends_frame;
        if ends_frame {
            if self.ends.len() == CAPACITY {
                self.ends.pop_front();
            }
            self.ends.push_back(number);
        }
    }

    pub(super) fn acknowledge(&mut self, acknowledged: u64) {
        while self.ends.pop_front_if(|end| *end <= acknowledged).is_some() {}
    }

    pub(super) fn clear(&mut self) {
        self.ends.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At 150 kB/s, frames of 10 ms have 1500 B. A window of 4000 B is two frames: a fourth frame does not begin.
    #[test]
    fn a_frame_begins_within_the_window_and_is_completed() {
        let mut frames = Frames::new(33_333, 10_000);
        assert_eq!((frames.size(150_000), frames.mean_rate(150_000)), (1500, 45_000));
        assert_eq!(frames.sending_rate(45_000), 149_998);
        for number in 1..=3 {
            assert!(frames.may_send(4000, 150_000), "{number}");
            frames.on_send(2 * number - 1, false);
            assert!(frames.may_send(0, 150_000), "{number} is completed");
            frames.on_send(2 * number, true);
        }
        assert!(!frames.may_send(4000, 150_000));
        frames.acknowledge(1);
        assert!(!frames.may_send(4000, 150_000));
        frames.acknowledge(2);
        assert!(frames.may_send(4000, 150_000));
    }
}
