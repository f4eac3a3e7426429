//! Additive increase, multiplicative decrease (Jacobson 1988; RFC 5681 sections 3.1 and 3.2).
//!
//! ```text
//! slow start, cwnd < ssthresh:   cwnd += 1      per acknowledgement, or min(N, L) for N segments
//! congestion avoidance:          cwnd += 1/cwnd per acknowledgement, or N/cwnd
//! loss:                          ssthresh = max(base / 2, 2)
//! ```

use crate::growth::{Acked, Growth, Step, Window};
use crate::options::Rules;
use crate::state::Cut;

#[derive(Clone, Debug)]
pub(crate) struct Aimd {
    step: Step,
}

impl Growth for Aimd {
    type Options = ();

    fn new(rules: &Rules, _options: &Self::Options) -> Self {
        Self { step: Step::new(rules) }
    }
    fn grow(&mut self, window: &mut Window, acked: Acked) {
        let left = self.step.slow_start(window, acked.segments);
        if left > 0.0 {
            self.step.avoid(window, left, window.cwnd);
        }
    }
    fn decrease(&mut self, _cut: Cut, _cwnd: f64, base: f64) -> f64 {
        self.step.reset(false);
        base / 2.0
    }
    fn timed_out(&mut self) {
        self.step.reset(true);
    }
}

impl Aimd {
    pub(crate) fn slow_start(&mut self, window: &mut Window, segments: u64) {
        self.step.slow_start(window, segments);
    }
}
