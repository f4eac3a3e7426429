//! Fingerprint of a run's event order.

use headway_engine::{Actor, Class};
use headway_units::Instant;

/// Hash (64 bits) of the times and the order of a run's events, without ends of transmissions, which only some links
/// schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }
}

impl Fingerprint {
    #[inline(always)]
    pub(crate) fn add(&mut self, at: Instant, actor: Actor) {
        if actor.class() == Class::Departure {
            return;
        }
        // Two rounds of multiply and rotate (the mixing step of MurmurHash3's 64-bit variant).
        for word in [at.as_nanos(), u64::from(actor.code())] {
            let word = word.wrapping_mul(0x87c3_7b91_1142_53d5).rotate_left(31).wrapping_mul(0x4cf5_ad43_2745_937f);
            self.0 = (self.0 ^ word).rotate_left(27).wrapping_mul(5).wrapping_add(0x52dc_e729);
        }
    }

    /// Returns the fingerprint as a 64-bit number.
    #[must_use]
    pub fn value(self) -> u64 {
        self.0
    }
}
