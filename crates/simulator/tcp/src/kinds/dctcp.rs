//! Data Center TCP (RFC 8257): the window is reduced in proportion to the share of marked segments.
//!
//! ```text
//! once a window:   M = segments acknowledged with ECN-Echo / segments acknowledged
//!                  alpha <- alpha (1 - g) + g M                   initially 1 (section 3.3)
//! ECN-Echo:        cwnd <- cwnd (1 - alpha / 2), once a window
//! loss:            as Reno (section 3.5)
//! ```
//!
//! The sink reports marks for each segment (section 3.2). With `l4s`, data is sent as ECT(1): a scalable sender, which
//! an L4S queue may mark often (RFC 9331). With accurate ECN echo (RFC 9768), M is the share of marked packets in the
//! sink's counts.

use crate::growth::{Acked, Growth, Window};
use crate::keys::options;
use crate::kinds::aimd::Aimd;
use crate::options::{EcnEcho, HalvedWindow, Halving, Increase, Rules};
use crate::segment::{EcnCounts, Segment};
use crate::state::Cut;
use headway_units::{Dialect, Ecn, Instant, OptionError};

/// g: weight of a window in the estimate of the marked share (RFC 8257 section 4.2).
const GAIN: f64 = 1.0 / 16.0;

options! {
    /// Options of `tcp-dctcp`.
    DctcpOptions {
        /// Whether the sender sends data as ECT(1) for L4S service (RFC 9331 section 4.1), instead of ECT(0). Needs
        /// `ecn = true`.
        Usual l4s: bool = false;
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Dctcp {
    reno: Aimd,
    codepoint: Ecn,
    alpha: f64,
    whole: bool,
    /// Segments acknowledged and marked in this window.
    acked: u64,
    marked: u64,
    /// The window ends when an acknowledgement exceeds this number.
    window_end: u64,
}

impl Dctcp {
    /// Updates the estimate if the acknowledgement of `seq` ends the window.
    fn end_window(&mut self, max: u64, seq: u64) {
        if seq > self.window_end && self.acked > 0 {
            let share = self.marked as f64 / self.acked as f64;
            self.alpha += GAIN * (share - self.alpha);
            (self.acked, self.marked, self.window_end) = (0, 0, max);
        }
    }
}

impl Growth for Dctcp {
    type Options = DctcpOptions;

    fn adjust(rules: &mut Rules, _dialect: Dialect) {
        rules.ecn = true;
        rules.ecn_echo = EcnEcho::Exact;
        // Reductions are often small, so whole segments would be too coarse.
        rules.halving = Halving::Window;
        rules.halved_window = HalvedWindow::Fractional;
    }

    fn check(rules: &Rules, options: &Self::Options) -> Result<(), OptionError> {
        if options.l4s && !rules.ecn {
            return Err(OptionError::new("l4s", "true requires ecn = true"));
        }
        Ok(())
    }

    fn new(rules: &Rules, options: &Self::Options) -> Self {
        let codepoint = if options.l4s { Ecn::Ect1 } else { Ecn::Ect0 };
        let whole = rules.increase == Increase::Whole;
        Self { reno: Aimd::new(rules, &()), codepoint, alpha: 1.0, whole, acked: 0, marked: 0, window_end: 0 }
    }

    fn observe(&mut self, _now: Instant, una: u64, max: u64, ack: &Segment) {
        // The SYN-ACK acknowledges no data.
        if una == 0 || ack.seq <= una {
            return;
        }
        self.acked += ack.seq - una;
        if ack.ece {
            self.marked += ack.seq - una;
        }
        self.end_window(max, ack.seq);
    }

    fn counted(&mut self, _window: &mut Window, _now: Instant, (_, max): (u64, u64), ack: &Segment, new: EcnCounts) {
        self.acked += new.total();
        self.marked += u64::from(new.ce);
        self.end_window(max, ack.seq);
    }

    fn grow(&mut self, window: &mut Window, acked: Acked) {
        self.reno.grow(window, acked);
    }

    fn decrease(&mut self, cut: Cut, cwnd: f64, base: f64) -> f64 {
        let half = self.reno.decrease(cut, cwnd, base);
        if cut != Cut::Ecn {
            return half;
        }
        let reduced = base * (1.0 - self.alpha / 2.0);
        // A whole window is reduced by whole segments, rounded down (Linux, dctcp_ssthresh).
        if self.whole { reduced.ceil() } else { reduced }
    }

    fn settle(&self, cwnd: f64, reduced: f64) -> f64 {
        reduced.max(2.0_f64.min(cwnd))
    }

    fn timed_out(&mut self) {
        self.reno.timed_out();
    }

    fn codepoint(&self) -> Ecn {
        self.codepoint
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TcpOptions, segment};
    use headway_units::Registry;

    fn ack(seq: u64, ece: bool) -> Segment {
        Segment { ece, ..segment::ack(seq, &[]) }
    }

    fn dctcp() -> Dctcp {
        let options = TcpOptions::preset("tcp-dctcp", Dialect::Rfc).unwrap();
        Dctcp::new(&options.rules, &options.own.dctcp)
    }

    /// RFC 8257 section 3.3: alpha is initially 1, then 15/16 of alpha plus 1/16 of the marked share after each window.
    #[test]
    fn alpha_follows_the_marked_share() {
        let mut dctcp = dctcp();
        // The SYN-ACK acknowledges no data.
        dctcp.observe(Instant::ZERO, 0, 1, &ack(1, true));
        assert_eq!(dctcp.alpha, 1.0);
        // The first acknowledgement of data ends the first window, with ten segments in flight.
        dctcp.observe(Instant::ZERO, 1, 11, &ack(2, false));
        let mut alpha = 15.0 / 16.0;
        assert_eq!(dctcp.alpha, alpha);
        // Up to 12, the first segment sent later: ten segments, one of them marked.
        for seq in 3..=12 {
            assert_eq!(dctcp.alpha, alpha);
            dctcp.observe(Instant::ZERO, seq - 1, 22, &ack(seq, seq == 7));
        }
        alpha = 15.0 / 16.0 * alpha + 1.0 / 160.0;
        assert!((dctcp.alpha - alpha).abs() < 1e-15);
        // Acknowledgements of two segments each, all marked, up to 24. Duplicates in between are not counted.
        for seq in (14..=24).step_by(2) {
            dctcp.observe(Instant::ZERO, seq - 2, 40, &ack(seq, true));
            dctcp.observe(Instant::ZERO, seq, 40, &ack(seq, false));
        }
        alpha = 15.0 / 16.0 * alpha + 1.0 / 16.0;
        assert!((dctcp.alpha - alpha).abs() < 1e-15);
    }

    #[test]
    fn a_mark_reduces_by_half_of_alpha_and_a_loss_by_half() {
        let mut dctcp = dctcp();
        dctcp.alpha = 0.25;
        assert_eq!(dctcp.decrease(Cut::Ecn, 40.0, 40.0), 35.0);
        assert_eq!(dctcp.decrease(Cut::DupAcks, 40.0, 40.0), 20.0);
        assert_eq!(dctcp.decrease(Cut::Timeout, 40.0, 40.0), 20.0);
        // Neither below two segments nor above the previous window.
        assert_eq!((dctcp.settle(40.0, 35.0), dctcp.settle(3.0, 1.5), dctcp.settle(1.0, 0.5)), (35.0, 2.0, 1.0));
    }
}
