//! Clocks with 32 bits on the wire.

use headway_units::Instant;

/// Extension of a 32-bit counter that wraps to 64 bits, by the value nearest to the last one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wrapped(Option<u64>);

impl Wrapped {
    /// Returns the 64-bit value that ends with the 32 bits `low` and is nearest to the last value. The first value is
    /// 2^32 plus `low`, so that earlier values remain positive.
    pub fn extend(&mut self, low: u32) -> u64 {
        let whole = match self.0 {
            None => (1 << 32) | u64::from(low),
            // Within half of the range in either direction.
            Some(last) => last.saturating_add_signed(i64::from(low.wrapping_sub(last as u32).cast_signed())),
        };
        self.0 = Some(whole);
        whole
    }

    /// Returns the [extended](Self::extend) time of a clock that counts 1/65536 s, as the report timestamp of RFC 8888.
    pub fn instant(&mut self, low: u32) -> Instant {
        Instant::from_nanos((u128::from(self.extend(low)) * 1_000_000_000 / 65_536) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_extended_to_the_nearest() {
        let mut clock = Wrapped::default();
        let start = clock.extend(u32::MAX - 1);
        let mut since = |low| clock.extend(low).wrapping_sub(start).cast_signed();
        assert_eq!([since(1), since(u32::MAX), since(5), since(1 << 30)], [3, 1, 7, (1 << 30) + 2]);
        let mut clock = Wrapped::default();
        let start = clock.extend(0);
        assert_eq!(clock.extend(u32::MAX), start - 1);
    }

    /// The first value is 2^32 ticks of 1/65536 s plus 1.5 s; then the clock wraps.
    #[test]
    fn times_of_a_clock_of_1_65536_s() {
        let mut clock = Wrapped::default();
        assert_eq!(clock.instant(98_304), Instant::from_millis(65_536_000 + 1500));
        assert_eq!(clock.instant(u32::MAX - 65_535), Instant::from_millis(65_536_000 - 1000));
    }
}
