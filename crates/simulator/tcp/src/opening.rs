//! Window increases of kinds defined by Linux: shared steps, or the integers of Linux 2.6.22.

use crate::growth::Step;
use crate::linux_window::LinuxWindow;
use crate::options::{Pipe, Rules};

/// Method of increase.
#[derive(Clone, Debug)]
pub(crate) enum Opening {
    Step(Step),
    /// As in ns-2's Agent/TCP/Linux, with `pipe = "fack"`.
    Linux(LinuxWindow),
}

impl Opening {
    pub(crate) fn new(rules: &Rules) -> Self {
        if rules.sack.pipe == Pipe::Fack { Self::Linux(LinuxWindow::new(rules)) } else { Self::Step(Step::new(rules)) }
    }

    pub(crate) const fn is_linux(&self) -> bool {
        matches!(self, Self::Linux(_))
    }

    /// Counts newly acknowledged segments, even if the window must not open.
    pub(crate) fn acknowledged(&mut self, segments: u64) {
        if let Self::Linux(counters) = self {
            counters.acknowledged(segments);
        }
    }

    /// Returns the window after a loss: `share` of `base`, or in Linux of `cwnd`. Resets the counters.
    pub(crate) fn reduced(&mut self, share: f64, cwnd: f64, base: f64) -> f64 {
        match self {
            Self::Step(step) => {
                step.reset(false);
                base * share
            }
            Self::Linux(counters) => {
                counters.reset();
                (cwnd * share).floor().max(2.0)
            }
        }
    }

    pub(crate) fn timed_out(&mut self) {
        match self {
            Self::Step(step) => step.reset(true),
            Self::Linux(counters) => counters.reset(),
        }
    }
}
