//! Bytes as choices. After the end all bytes are zero, so that every input is valid.

pub(crate) struct Choices<'a>(&'a [u8]);

#[allow(dead_code, reason = "each check uses some of the methods")]
impl<'a> Choices<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn step(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.step().unwrap_or_default()
    }

    /// Chooses one of several values.
    pub(crate) fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::from(self.byte()) % of.len()]
    }

    /// Chooses any 64-bit number with one byte of precision: small numbers, and any power of two.
    pub(crate) fn wide(&mut self) -> u64 {
        let (value, shift) = (u64::from(self.byte()), self.byte() & 63);
        if shift == 63 { u64::MAX - value } else { value << shift }
    }

    /// Chooses a number from 0 to 1.
    pub(crate) fn part(&mut self) -> f64 {
        f64::from(self.byte()) / 255.0
    }

    pub(crate) fn bytes(&mut self, many: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(many.min(self.0.len()));
        self.0 = rest;
        taken
    }
}
