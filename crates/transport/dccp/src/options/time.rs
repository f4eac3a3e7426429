//! Times in options, in units of 10 us (RFC 4340 section 13).

use headway_rate::Wrapped;
use headway_units::{Duration, Instant};

const UNIT: u64 = 10_000;

/// Value of a Timestamp option (RFC 4340 section 13.1), in units of 10 us; it wraps after 11.9 hours. Its epoch is
/// known only to its sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Timestamp(pub u32);

impl Timestamp {
    /// Returns the Timestamp of a time of the sender's clock, rounded down.
    #[must_use]
    pub const fn at(now: Instant) -> Self {
        Self((now.as_nanos() / UNIT) as u32)
    }
    /// Returns the time of the sender's clock, from an unknown epoch. It is extended across wraps to be nearest to the
    /// last one, which `clock` keeps.
    #[must_use]
    pub fn instant(self, clock: &mut Wrapped) -> Instant {
        Instant::from_nanos(clock.extend(self.0).saturating_mul(UNIT))
    }
    /// Returns the time from this Timestamp to `later` on the same clock; correct below 11.9 hours.
    /// It is up to 10 us too long, since the Timestamp is rounded down.
    #[must_use]
    pub const fn until(self, later: Instant) -> Duration {
        let turn = UNIT << 32;
        let since_zero = later.as_nanos() % turn;
        let own = self.0 as u64 * UNIT;
        Duration::from_nanos(if since_zero >= own { since_zero - own } else { since_zero + turn - own })
    }
}

/// Elapsed Time of the options Elapsed Time and Timestamp Echo (RFC 4340 sections 13.2 and 13.3), in units of 10 us: a
/// lower bound of the time since a packet was received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Elapsed(pub u32);

impl Elapsed {
    /// Any time above 42949.67294 s.
    pub const BEYOND: Self = Self(u32::MAX);

    /// Rounds `duration` down to units: endpoints must not report more than the true time.
    #[must_use]
    pub const fn from_duration(duration: Duration) -> Self {
        let units = duration.as_nanos() / UNIT;
        if units < u32::MAX as u64 { Self(units as u32) } else { Self::BEYOND }
    }
    /// Returns the time; for [`Elapsed::BEYOND`] the maximum that can be encoded.
    #[must_use]
    pub const fn duration(self) -> Duration {
        Duration::from_nanos(self.0 as u64 * UNIT)
    }

    /// Decodes 0, 2 or 4 bytes; 0 bytes mean zero.
    pub(super) fn decode(data: &[u8]) -> Option<Self> {
        match *data {
            [] => Some(Self(0)),
            [a, b] => Some(Self(u16::from_be_bytes([a, b]).into())),
            [a, b, c, d] => Some(Self(u32::from_be_bytes([a, b, c, d]))),
            _ => None,
        }
    }
    /// Returns the size of the shortest encoding: 0, 2 or 4 bytes.
    pub(super) const fn encoded_len(self) -> usize {
        match self.0 {
            0 => 0,
            1..=0xffff => 2,
            _ => 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4340 section 13.2: hundredths of milliseconds, at most 42949.67294 s.
    #[test]
    fn elapsed_time() {
        assert_eq!(Elapsed::from_duration(Duration::from_nanos(1_259_999)), Elapsed(125));
        assert_eq!(Elapsed(125).duration(), Duration::from_micros(1250));
        assert_eq!(Elapsed::from_duration(Duration::from_nanos(42_949_672_940_000)), Elapsed(u32::MAX - 1));
        assert_eq!(Elapsed::from_duration(Duration::from_nanos(42_949_672_950_000)), Elapsed::BEYOND);
        assert_eq!(Elapsed::from_duration(Duration::MAX), Elapsed::BEYOND);
    }

    #[test]
    fn smallest_form() {
        let lens = [0, 1, 0xffff, 0x1_0000, u32::MAX].map(|units| Elapsed(units).encoded_len());
        assert_eq!(lens, [0, 2, 2, 4, 4]);
    }

    /// Consecutive times remain ordered across a wrap.
    #[test]
    fn times_of_the_sender() {
        let mut clock = Wrapped::default();
        let first = Timestamp(u32::MAX).instant(&mut clock);
        assert_eq!(Timestamp(99).instant(&mut clock).since(first), Duration::from_millis(1));
        assert_eq!(first.since(Timestamp(u32::MAX - 1).instant(&mut clock)), Duration::from_micros(10));
    }

    /// RFC 4340 section 13.1: wraps after 2^32 units.
    #[test]
    fn timestamps_wrap() {
        let wrap = Instant::from_nanos(10_000 << 32);
        assert_eq!(Timestamp::at(wrap + Duration::from_micros(25)), Timestamp(2));
        let before = wrap.checked_sub(Duration::from_micros(10)).unwrap();
        assert_eq!(Timestamp::at(before), Timestamp(u32::MAX));
        assert_eq!(Timestamp::at(before).until(wrap + Duration::from_micros(25)), Duration::from_micros(35));
    }
}
