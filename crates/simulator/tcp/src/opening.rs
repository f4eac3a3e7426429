//! How acknowledgements open the window of a kind that Linux defines: by the project's own steps, or in the integers of Linux 2.6.22.

use crate::growth::Step;
use crate::linux_window::LinuxWindow;
use crate::options::{Pipe, Rules};

/// One of the two ways.
#[derive(Clone, Debug)]
pub(crate) enum Opening {
    Step(Step),
    /// With `pipe = "fack"`, as ns-2's Agent/TCP/Linux counts.
    Linux(LinuxWindow),
}

impl Opening {
    pub(crate) fn new(rules: &Rules) -> Self {
        if rules.sack.pipe == Pipe::Fack { Self::Linux(LinuxWindow::new(rules)) } else { Self::Step(Step::new(rules)) }
    }

    pub(crate) const fn is_linux(&self) -> bool {
        matches!(self, Self::Linux(_))
    }

    /// Counts what an acknowledgement newly covers, whether the window may open or not.
    pub(crate) fn acknowledged(&mut self, segments: u64) {
        if let Self::Linux(counters) = self {
            counters.acknowledged(segments);
        }
    }

    /// Returns the window that a loss leaves: this share of `base`, or in Linux of `cwnd`. Counting starts again.
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
