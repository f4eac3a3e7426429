//! When losses show that the flight was too high (section 5.3.3.6.2).

use crate::delivery::Lost;

const LOSS_THRESH: f64 = 0.02;

/// `IsInflightTooHigh`: more than 2 % of the flight was lost.
pub(super) fn is_inflight_too_high(lost: u64, tx_in_flight: u64) -> bool {
    lost as f64 > LOSS_THRESH * tx_in_flight as f64
}

/// `BBRInflightAtLoss` (section 5.3.3.6.2): the prefix of the flight in which 2 % were lost.
pub(super) fn inflight_at_loss(lost: &Lost) -> f64 {
    let before = lost.tx_in_flight as f64 - 1.0;
    let lost_before = lost.lost as f64 - 1.0;
    before + (LOSS_THRESH * before - lost_before) / (1.0 - LOSS_THRESH)
}

#[cfg(test)]
mod tests {
    use super::super::tests::close;
    use super::*;

    /// `BBRInflightAtLoss`, computed by hand for segments of 1000 B: with 100 in flight of which 4 were lost, the first
    /// 97.96 have exactly 2 % of losses.
    #[test]
    fn the_flight_at_a_loss_is_the_prefix_with_two_percent_lost() {
        let at =
            |tx_in_flight, lost| inflight_at_loss(&Lost { tx_in_flight, lost, app_limited: false, total_delivered: 0 });
        close(at(100, 4), 97.959_183_673);
        let prefix = at(100, 4) - 99.0;
        close((3.0 + prefix) / (99.0 + prefix), 0.02);
    }
}
