//! Unpredictable random numbers for initial sequence numbers and cookies (RFC 4340 section 18).

use headway_units::Entropy;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::io;

/// ChaCha20 with a 256-bit key from the system.
#[derive(Debug)]
pub(crate) struct SystemEntropy(ChaCha20Rng);

impl SystemEntropy {
    /// Creates a generator.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub(crate) fn new() -> io::Result<Self> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(io::Error::from)?;
        Ok(Self(ChaCha20Rng::from_seed(seed)))
    }
}

impl Entropy for SystemEntropy {
    fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }
    fn stream(&mut self, _: &str) -> Box<dyn Entropy> {
        let mut seed = [0; 32];
        self.0.fill_bytes(&mut seed);
        Box::new(Self(ChaCha20Rng::from_seed(seed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sources differ, and so do a source and its stream.
    #[test]
    fn sources_and_streams_differ() {
        let mut drawn = Vec::new();
        for _ in 0..4 {
            let mut source = SystemEntropy::new().unwrap();
            let mut part = source.stream("part");
            drawn.extend((0..64).flat_map(|_| [source.bits(), part.bits()]));
        }
        let all = drawn.len();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), all);
    }
}
