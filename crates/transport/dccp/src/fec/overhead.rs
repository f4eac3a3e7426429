//! Number of repair packets of a block.

/// Probability with which a datagram may be lost for good.
pub(super) const RESIDUAL: f64 = 0.001;

/// Returns the smallest number of repair packets with which a datagram is lost for good with a probability of at most
/// 0.1 %, if each packet is lost independently with probability `loss`; at most half of the datagrams, rounded up. A
/// datagram is lost for good if its packet is lost and, of the other packets of the block, as many as there are repair
/// packets.
pub(super) fn repairs(datagrams: usize, loss: f64) -> usize {
    let (most, loss) = (datagrams.div_ceil(2), loss.min(0.99));
    (0..most).find(|repairs| loss * at_least(*repairs, datagrams + repairs - 1, loss) <= RESIDUAL).unwrap_or(most)
}

/// Returns the probability of at least `least` losses among `packets`.
fn at_least(least: usize, packets: usize, loss: f64) -> f64 {
    // The probability of exactly k losses, from that of k - 1.
    let mut exactly = (0..packets).fold(1.0, |all, _| all * (1.0 - loss));
    let mut fewer = 0.0;
    for losses in 0..least {
        fewer += exactly;
        exactly *= (packets - losses) as f64 / (losses + 1) as f64 * loss / (1.0 - loss);
    }
    (1.0 - fewer).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 1 - 0.99^10 = 0.0956, so one repair packet for ten datagrams leaves 0.096 %. For 32, one leaves 0.275 %
    /// and two leave 0.043 %.
    #[test]
    fn as_few_as_the_residual_loss_permits() {
        assert_eq!(repairs(10, 0.0), 0);
        assert_eq!(repairs(10, 0.0009), 0, "the loss itself is acceptable");
        assert_eq!(repairs(10, 0.01), 1);
        assert_eq!(repairs(32, 0.01), 2);
        assert_eq!(repairs(1, 0.01), 1);
        assert!((at_least(1, 10, 0.01) - 0.095_618).abs() < 1e-6);
        assert!((at_least(2, 33, 0.01) - 0.043_0).abs() < 1e-4);
    }

    /// At most half of the datagrams: more loss than that is congestion or an outage.
    #[test]
    fn the_overhead_is_limited() {
        assert_eq!(repairs(32, 0.5), 16);
        assert_eq!(repairs(3, 1.0), 2);
        for datagrams in 1..=32 {
            let all: Vec<_> = (0..=100).map(|percent| repairs(datagrams, f64::from(percent) / 100.0)).collect();
            assert!(all.is_sorted(), "{datagrams}: {all:?}");
        }
    }
}
