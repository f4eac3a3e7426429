//! Share of packets that are lost: a moving mean over the reports of the peer.

/// Number of packets over which the mean forgets.
const PACKETS: u32 = 256;

/// Mean share of lost packets: of all packets at first, then with a gain of 1/256.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossShare {
    share: f64,
    packets: u32,
}

impl LossShare {
    pub(super) fn sample(&mut self, is_lost: bool) {
        self.packets = PACKETS.min(self.packets + 1);
        self.share += (f64::from(u8::from(is_lost)) - self.share) / f64::from(self.packets);
    }

    /// Returns the share, 0 to 1; 0 before enough packets were reported.
    pub(super) fn share(&self) -> f64 {
        if self.packets < PACKETS / 8 { 0.0 } else { self.share }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_follows_the_loss() {
        let mut loss = LossShare::default();
        loss.sample(true);
        assert_eq!(loss.share(), 0.0, "one packet is no measurement");
        (0..99).for_each(|_| loss.sample(false));
        assert!((loss.share() - 0.01).abs() < 1e-12);
        (0..2000).for_each(|packet| loss.sample(packet % 20 == 0));
        assert!((loss.share() - 0.05).abs() < 0.005, "{}", loss.share());
        (0..3000).for_each(|_| loss.sample(false));
        assert!(loss.share() < 1e-5);
    }
}
