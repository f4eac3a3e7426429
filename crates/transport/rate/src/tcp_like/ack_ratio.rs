//! Congestion control of acknowledgements (RFC 4341 section 6.1.2): one per R data packets, where R is the Ack Ratio.
//!
//! ```text
//! a window of data with a lost or marked acknowledgement:   R := 2 R
//! cwnd / (R^2 - R) successive windows without:              R := R - 1
//! always:                                                   R <= max(2, ceil(cwnd / 2)),  R >= 2 for cwnd >= 4
//! ```
//!
//! A window of data is cwnd acknowledged data packets.

use super::options::{AckRatioRule, TcpLikeOptions};

#[derive(Debug)]
pub(super) struct AckRatio {
    r: u64,
    /// Data packets acknowledged in the current window.
    acked: u64,
    /// Whether an acknowledgement was lost in the current window.
    lost: bool,
    /// Consecutive windows without loss.
    clean: u64,
}

impl AckRatio {
    /// Creates the initial Ack Ratio of 2 (RFC 4340 section 11.3).
    pub(super) fn new(options: &TcpLikeOptions, cwnd: u64) -> Self {
        let mut ratio = Self { r: 2, acked: 0, lost: false, clean: 0 };
        ratio.fit(options, cwnd);
        ratio
    }

    /// Returns the ratio, at least 1.
    pub(super) fn get(&self) -> u64 {
        self.r
    }

    /// Handles a report of `acked` data packets; `lost` is whether acknowledgements were lost.
    pub(super) fn on_report(&mut self, options: &TcpLikeOptions, cwnd: u64, acked: u64, lost: bool) {
        match options.expert.ack_ratio {
            AckRatioRule::Losses => self.follow_losses(cwnd, acked, lost),
            AckRatioRule::Count if acked > 0 => match cwnd / self.r {
                20.. => self.r *= 2,
                0..10 => self.r /= 2,
                _ => {}
            },
            AckRatioRule::Count => {}
        }
        self.fit(options, cwnd);
    }

    fn follow_losses(&mut self, cwnd: u64, acked: u64, lost: bool) {
        if lost && !self.lost {
            // A new window starts; further losses in it are the same congestion.
            *self = Self { r: self.r * 2, acked: 0, lost: true, clean: 0 };
        }
        self.acked += acked;
        if self.acked < cwnd {
            return;
        }
        self.acked = 0;
        if std::mem::take(&mut self.lost) {
            return;
        }
        self.clean += 1;
        if self.clean.saturating_mul(self.r * self.r - self.r) >= cwnd {
            self.r -= 1;
            self.clean = 0;
        }
    }

    /// Clamps the ratio to the range that the window allows.
    pub(super) fn fit(&mut self, options: &TcpLikeOptions, cwnd: u64) {
        let most = cwnd.div_ceil(2).max(if options.expert.ack_ratio_of_two { 2 } else { 1 });
        let least = if options.expert.ack_ratio == AckRatioRule::Losses && cwnd >= 4 { 2 } else { 1 };
        self.r = self.r.clamp(least, most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::{Dialect, Options};

    fn ratio(dialect: Dialect, cwnd: u64) -> (TcpLikeOptions, AckRatio) {
        let options = TcpLikeOptions::preset(dialect);
        let ratio = AckRatio::new(&options, cwnd);
        (options, ratio)
    }

    /// Section 6.1.2, second and third constraint: at most max(2, ceil(cwnd / 2)), at least 2 from cwnd 4.
    #[test]
    fn constraints() {
        let (options, mut ratio) = ratio(Dialect::Rfc, 1);
        for (cwnd, wanted, got) in [(1, 9, 2), (3, 9, 2), (5, 9, 3), (20, 99, 10), (3, 1, 1), (4, 1, 2), (20, 1, 2)] {
            ratio.r = wanted;
            ratio.fit(&options, cwnd);
            assert_eq!(ratio.get(), got, "cwnd {cwnd}, wanted {wanted}");
        }
    }

    #[test]
    fn doubled_once_for_each_window_with_a_loss() {
        let (options, mut ratio) = ratio(Dialect::Rfc, 20);
        let mut seen = vec![];
        // Four reports of five packets are a window of 20.
        for lost in [true, true, true, false, true, false, false, false] {
            ratio.on_report(&options, 20, 5, lost);
            seen.push(ratio.get());
        }
        assert_eq!(seen, [4, 4, 4, 4, 8, 8, 8, 8]);
    }

    /// Appendix A with cwnd 20: at R = 4 after 20/12 = 1.67 windows, at R = 3 after 20/6 = 3.33, at R = 2 never.
    #[test]
    fn lowered_after_windows_without_loss() {
        let (options, mut ratio) = ratio(Dialect::Rfc, 20);
        ratio.r = 4;
        let windows: Vec<_> = (0..30)
            .map(|_| {
                ratio.on_report(&options, 20, 20, false);
                ratio.get()
            })
            .collect();
        assert_eq!(windows[..7], [4, 3, 3, 3, 3, 2, 2]);
        assert_eq!(windows[29], 2);
    }

    /// With a cwnd of 3, R = 2 falls to 1 after 3/2 windows and remains, since R^2 - R is then 0.
    #[test]
    fn the_minimum_ratio_is_one() {
        let (options, mut ratio) = ratio(Dialect::Rfc, 3);
        let windows: Vec<_> = (0..4)
            .map(|_| {
                ratio.on_report(&options, 3, 3, false);
                ratio.get()
            })
            .collect();
        assert_eq!(windows, [2, 1, 1, 1]);
    }

    /// Linux, ccid2_new_ack with a Sequence Window of 100: R is 1 while 5 cwnd / R < 50, and doubles from 100.
    #[test]
    fn linux_counts_acknowledgements() {
        let (options, mut ratio) = ratio(Dialect::Linux, 3);
        for (cwnd, got) in [(5, 1), (19, 1), (20, 2), (39, 2), (40, 4), (39, 2), (5, 1)] {
            ratio.on_report(&options, cwnd, 1, true);
            assert_eq!(ratio.get(), got, "cwnd {cwnd}");
        }
    }
}
