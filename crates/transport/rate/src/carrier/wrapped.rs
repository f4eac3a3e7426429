//! Clocks that have 32 bits on the wire.

/// A count of which each value has come as its lowest 32 bits: it is taken for the one nearest to the last.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wrapped(Option<u64>);

impl Wrapped {
    /// The whole count. The first value stands far enough from zero for those before it.
    pub fn extend(&mut self, low: u32) -> u64 {
        let whole = match self.0 {
            None => (1 << 32) | u64::from(low),
            // Within half of the range, either way.
            Some(last) => last.saturating_add_signed(i64::from(low.wrapping_sub(last as u32).cast_signed())),
        };
        self.0 = Some(whole);
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_value_is_meant() {
        let mut clock = Wrapped::default();
        let start = clock.extend(u32::MAX - 1);
        let mut since = |low| clock.extend(low).wrapping_sub(start).cast_signed();
        assert_eq!([since(1), since(u32::MAX), since(5), since(1 << 30)], [3, 1, 7, (1 << 30) + 2]);
        let mut clock = Wrapped::default();
        let start = clock.extend(0);
        assert_eq!(clock.extend(u32::MAX), start - 1);
    }
}
