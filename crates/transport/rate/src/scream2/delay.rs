//! Queue delay: the one-way delay above its minimum (RFC 6817 section 3.4.2).

use headway_units::{Duration, Instant};

/// Minima of the latest ten minutes: `BASE_HISTORY` of RFC 6817 section 4.2, each of one minute.
const SLOTS: usize = 10;
const SLOT: Duration = Duration::from_secs(60);

/// Queue delay of a path whose clocks have an unknown offset.
#[derive(Clone, Debug)]
pub(super) struct QueueDelay {
    /// Minimum one-way delays in s, of the current minute first.
    minima_s: [f64; SLOTS],
    slot_end: Option<Instant>,
}

impl QueueDelay {
    pub(super) const fn new() -> Self {
        Self { minima_s: [f64::INFINITY; SLOTS], slot_end: None }
    }

    /// Adds the time from `sent` by the sender's clock to `arrived` by the receiver's. Returns the queue delay in s.
    pub(super) fn sample(&mut self, now: Instant, sent: Instant, arrived: Instant) -> f64 {
        let delay_s = (i128::from(arrived.as_nanos()) - i128::from(sent.as_nanos())) as f64 / 1e9;
        let end = *self.slot_end.get_or_insert(now + SLOT);
        if now >= end {
            // A pause of the flow is one slot.
            self.minima_s.rotate_right(1);
            self.minima_s[0] = f64::INFINITY;
            self.slot_end = Some(now + SLOT);
        }
        self.minima_s[0] = self.minima_s[0].min(delay_s);
        delay_s - self.minima_s.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The receiver's clock is 3 s behind. A minimum counts for ten minutes.
    #[test]
    fn the_minimum_of_ten_minutes_is_the_base() {
        let mut queue = QueueDelay::new();
        let mut delay = |second: u64, millis: u64| {
            let sent = Instant::from_secs(second);
            let arrived = Instant::from_millis(second * 1000 + millis - 3000);
            (1000.0 * queue.sample(sent, sent, arrived)).round() as i64
        };
        assert_eq!([delay(10, 50), delay(11, 30), delay(12, 45)], [0, 0, 15]);
        for minute in 1..10 {
            assert_eq!(delay(12 + 60 * minute, 40), 10);
        }
        assert_eq!(delay(12 + 600, 40), 0);
    }
}
