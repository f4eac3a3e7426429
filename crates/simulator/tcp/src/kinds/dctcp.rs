//! Data Center TCP (RFC 8257): a window goes down by as much as was marked of it.
//!
//! ```text
//! once a window:   M = segments that acknowledgements with ECN-Echo covered / segments that were acknowledged
//!                  alpha <- alpha (1 - g) + g M                   1 at first (section 3.3)
//! ECN-Echo:        cwnd <- cwnd (1 - alpha / 2), once a window
//! loss:            as Reno (section 3.5)
//! ```
//!
//! The sink says of each segment whether it was marked (section 3.2). With `l4s` data goes as ECT(1): this is then a scalable sender, which an L4S
//! queue may mark often (RFC 9331). TCP Prague is more: its share does not depend on the round trip, and its segments are paced.

use crate::growth::{Acked, Growth, Window};
use crate::keys::options;
use crate::kinds::aimd::Aimd;
use crate::options::{EcnEcho, HalvedWindow, Halving, Rules};
use crate::segment::Segment;
use crate::state::Cut;
use headway_units::{Dialect, Ecn, Instant, OptionError};

/// g: the weight of a window in the estimate of how much is marked (RFC 8257 section 4.2).
const GAIN: f64 = 1.0 / 16.0;

options! {
    /// Options of `tcp-dctcp`.
    DctcpOptions {
        /// Whether data goes as ECT(1), which asks for the service of L4S (RFC 9331 section 4.1).
        Usual l4s: bool = false;
    }
}

/// Reno that knows how much is marked.
#[derive(Clone, Debug)]
pub(crate) struct Dctcp {
    reno: Aimd,
    codepoint: Ecn,
    alpha: f64,
    /// Of this window.
    acked: u64,
    marked: u64,
    /// The window ends when a number above this is waited for.
    window_end: u64,
}

impl Growth for Dctcp {
    type Options = DctcpOptions;

    fn adjust(rules: &mut Rules, _dialect: Dialect) {
        rules.ecn = true;
        rules.ecn_echo = EcnEcho::Exact;
        // What is left is a share of the window, and mostly nearly all of it: whole segments would be too coarse.
        rules.halving = Halving::Window;
        rules.halved_window = HalvedWindow::Fractional;
    }

    fn check(rules: &Rules, options: &Self::Options) -> Result<(), OptionError> {
        if options.l4s && !rules.ecn {
            return Err(OptionError::new("l4s", "without ecn = true nothing goes as ECT(1): set both"));
        }
        Ok(())
    }

    fn new(rules: &Rules, options: &Self::Options) -> Self {
        let codepoint = if options.l4s { Ecn::Ect1 } else { Ecn::Ect0 };
        Self { reno: Aimd::new(rules, &()), codepoint, alpha: 1.0, acked: 0, marked: 0, window_end: 0 }
    }

    fn observe(&mut self, _now: Instant, una: u64, max: u64, ack: &Segment) {
        // The answer to the SYN speaks of no data.
        if una == 0 || ack.seq <= una {
            return;
        }
        self.acked += ack.seq - una;
        if ack.ece {
            self.marked += ack.seq - una;
        }
        if ack.seq > self.window_end {
            let share = self.marked as f64 / self.acked as f64;
            self.alpha += GAIN * (share - self.alpha);
            (self.acked, self.marked, self.window_end) = (0, 0, max);
        }
    }

    fn grow(&mut self, window: &mut Window, acked: Acked) {
        self.reno.grow(window, acked);
    }

    fn decrease(&mut self, cut: Cut, cwnd: f64, base: f64) -> f64 {
        let half = self.reno.decrease(cut, cwnd, base);
        if cut == Cut::Ecn { base * (1.0 - self.alpha / 2.0) } else { half }
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

    /// RFC 8257 section 3.3: alpha is 1 at first, and after each window 15/16 of it and 1/16 of the share that was marked.
    #[test]
    fn alpha_is_the_share_that_is_marked() {
        let mut dctcp = dctcp();
        // The answer to the SYN speaks of no data.
        dctcp.observe(Instant::ZERO, 0, 1, &ack(1, true));
        assert_eq!(dctcp.alpha, 1.0);
        // The first acknowledgement of data ends the first window; ten segments are in flight then.
        dctcp.observe(Instant::ZERO, 1, 11, &ack(2, false));
        let mut alpha = 15.0 / 16.0;
        assert_eq!(dctcp.alpha, alpha);
        // Up to 12, the first that was sent later: ten segments, of which one is marked.
        for seq in 3..=12 {
            assert_eq!(dctcp.alpha, alpha);
            dctcp.observe(Instant::ZERO, seq - 1, 22, &ack(seq, seq == 7));
        }
        alpha = 15.0 / 16.0 * alpha + 1.0 / 160.0;
        assert!((dctcp.alpha - alpha).abs() < 1e-15);
        // Acknowledgements of two each, all marked, up to 24; a duplicate between them says nothing.
        for seq in (14..=24).step_by(2) {
            dctcp.observe(Instant::ZERO, seq - 2, 40, &ack(seq, true));
            dctcp.observe(Instant::ZERO, seq, 40, &ack(seq, false));
        }
        alpha = 15.0 / 16.0 * alpha + 1.0 / 16.0;
        assert!((dctcp.alpha - alpha).abs() < 1e-15);
    }

    #[test]
    fn a_mark_takes_half_of_alpha_and_a_loss_half() {
        let mut dctcp = dctcp();
        dctcp.alpha = 0.25;
        assert_eq!(dctcp.decrease(Cut::Ecn, 40.0, 40.0), 35.0);
        assert_eq!(dctcp.decrease(Cut::DupAcks, 40.0, 40.0), 20.0);
        assert_eq!(dctcp.decrease(Cut::Timeout, 40.0, 40.0), 20.0);
        // Never below two segments, nor above what it was.
        assert_eq!((dctcp.settle(40.0, 35.0), dctcp.settle(3.0, 1.5), dctcp.settle(1.0, 0.5)), (35.0, 2.0, 1.0));
    }
}
