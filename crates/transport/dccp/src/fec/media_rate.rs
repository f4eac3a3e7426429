//! Rate of the datagrams sent, without repair packets.

use headway_units::{Duration, Instant, Rate};

/// Shortest time over which the rate is measured.
const WINDOW: Duration = Duration::from_millis(500);

/// Mean rate of the data in the last complete window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MediaRate {
    since: Option<Instant>,
    bytes: u64,
    rate: Option<Rate>,
}

impl MediaRate {
    /// Adds a datagram of this size, in bytes.
    pub(super) fn sent(&mut self, now: Instant, size: usize) {
        let since = *self.since.get_or_insert(now);
        let elapsed = now.since(since);
        if elapsed >= WINDOW {
            let bits_per_second = 8.0 * self.bytes as f64 / elapsed.as_secs_f64();
            (self.since, self.bytes) = (Some(now), 0);
            self.rate = Some(Rate::from_bits_per_second(bits_per_second as u64));
        }
        self.bytes += size as u64;
    }

    /// Returns whether this rate leaves room for the media and `share` times as much repair data, and half of both.
    /// `None` is no limit.
    pub(super) fn fits(&self, allowed: Option<Rate>, share: f64) -> bool {
        let Some(allowed) = allowed else { return true };
        let needed = |rate: Rate| 1.5 * (1.0 + share) * rate.bits_per_second() as f64;
        self.rate.is_some_and(|rate| needed(rate) <= allowed.bits_per_second() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 125 B each millisecond are 1 Mb/s. With a tenth as much repair data the allowed rate must be 1.65 Mb/s.
    #[test]
    fn repair_data_needs_room() {
        let mut media = MediaRate::default();
        let allowed = |kbps: u64| Some(Rate::from_bits_per_second(1000 * kbps));
        (0..500).for_each(|millis| media.sent(Instant::from_millis(millis), 125));
        assert!(!media.fits(allowed(100_000), 0.1), "the rate is not known yet");
        assert!(media.fits(None, 0.1));
        media.sent(Instant::from_millis(500), 125);
        assert!(media.fits(allowed(1651), 0.1) && !media.fits(allowed(1649), 0.1));
        (501..1501).for_each(|millis| media.sent(Instant::from_millis(millis), 1250));
        assert!(!media.fits(allowed(16_000), 0.1), "ten times as much now");
    }
}
