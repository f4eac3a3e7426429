//! Changes of the gap from report to report (the paper's Figure 4 and section 2.2).

use super::options::{Damping, Shorten, SpacingOptions};
use std::collections::VecDeque;

/// Maximum number of recorded decisions, more than a round trip has reports.
const DECISIONS: usize = 64;

/// Change of the gap by a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// Doubled.
    Longer,
    /// Shortened deliberately.
    Shorter,
    /// Restored.
    Restored,
    /// Unchanged.
    Kept,
}

#[derive(Clone, Copy, Debug)]
struct Decision {
    /// Number of the first packet sent under the decision.
    first: u64,
    /// Gap before the decision, in s.
    before_s: f64,
    change: Change,
}

/// Report in the form used by the rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReportSummary {
    /// Whether fewer packets were received than sent.
    pub(super) congested: bool,
    /// Middle of the reported packet numbers.
    pub(super) middle: u64,
    /// Number of the next packet to be sent.
    pub(super) next: u64,
    /// Whether the gap may shorten without a loss.
    pub(super) may_shorten: bool,
    /// R in s.
    pub(super) rtt_s: f64,
    /// Transmission time of a packet on the sender's line, in s.
    pub(super) tx_s: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Rule {
    damping: Damping,
    shorten: Shorten,
    packets: f64,
    step_s: f64,
    factor: f64,
    first_s: f64,
    gap_s: f64,
    /// Gap that the next report without a loss restores, in s.
    restored_s: Option<f64>,
    /// Decisions, newest last.
    decisions: VecDeque<Decision>,
}

impl Rule {
    /// Creates a rule with a gap of zero, as in the paper.
    pub(super) fn new(options: &SpacingOptions) -> Self {
        Self {
            damping: options.damping,
            shorten: options.shorten,
            packets: options.packets,
            step_s: options.step.as_secs_f64(),
            factor: options.factor,
            first_s: options.first.as_secs_f64(),
            gap_s: 0.0,
            restored_s: None,
            decisions: VecDeque::new(),
        }
    }

    /// Returns ps in s: from the end of a packet to the start of the next.
    pub(super) const fn gap_s(&self) -> f64 {
        self.gap_s
    }

    pub(super) fn on_report(&mut self, summary: &ReportSummary) {
        let attributed = match self.damping {
            Damping::None => None,
            Damping::Newest => self.decisions.back().copied(),
            Damping::InForce => {
                let reacted = |change| matches!(change, Change::Longer | Change::Restored);
                let reaction = self.decisions.iter().rev().find(|decision| reacted(decision.change));
                if reaction.is_some_and(|reaction| summary.middle < reaction.first) {
                    return;
                }
                // Decisions before the one in force are no longer needed.
                while self.decisions.get(1).is_some_and(|later| later.first <= summary.middle) {
                    self.decisions.pop_front();
                }
                self.decisions.front().copied().filter(|decision| decision.first <= summary.middle)
            }
        };
        let before_s = self.gap_s;
        let restored_s = self.restored_s.take();
        let change = match attributed {
            Some(Decision { change: Change::Shorter, before_s, .. }) if summary.congested => {
                self.gap_s = before_s;
                Change::Restored
            }
            _ if summary.congested => {
                self.gap_s = self.longer(summary.rtt_s);
                Change::Longer
            }
            _ if summary.may_shorten && before_s > 0.0 => {
                self.gap_s = self.shorter(summary).max(0.0).min(restored_s.unwrap_or(f64::INFINITY));
                Change::Shorter
            }
            _ => Change::Kept,
        };
        self.remember(summary.next, before_s, change);
    }

    /// Doubles the gap after a long time without a report.
    pub(super) fn on_silence(&mut self, next: u64, rtt_s: f64) {
        let before_s = self.gap_s;
        self.gap_s = self.longer(rtt_s);
        self.remember(next, before_s, Change::Longer);
    }

    /// Shortens the gap to at most `max_s` after an idle period.
    pub(super) fn on_idle(&mut self, next: u64, max_s: f64) {
        if self.gap_s > max_s {
            let before_s = std::mem::replace(&mut self.gap_s, max_s);
            self.remember(next, before_s, Change::Shorter);
        }
    }

    /// Ends a silence, which counts as one loss. With `remembers` the next report without a loss restores `before_s`.
    pub(super) fn on_end_of_silence(&mut self, next: u64, before_s: f64, rtt_s: f64, remembers: bool) {
        let doubled_s = if before_s > 0.0 { 2.0 * before_s } else { self.first_s };
        self.on_idle(next, doubled_s.min(rtt_s));
        self.restored_s = remembers.then_some(before_s);
    }

    /// Returns the doubled gap, limited to one packet per round trip.
    fn longer(&self, rtt_s: f64) -> f64 {
        let longer = if self.gap_s > 0.0 { 2.0 * self.gap_s } else { self.first_s };
        longer.min(rtt_s)
    }

    fn shorter(&self, summary: &ReportSummary) -> f64 {
        match self.shorten {
            Shorten::Rate => {
                summary.rtt_s / (summary.rtt_s / (summary.tx_s + self.gap_s) + self.packets) - summary.tx_s
            }
            Shorten::Step => self.gap_s - self.step_s,
            Shorten::Factor => self.gap_s * self.factor,
        }
    }

    fn remember(&mut self, first: u64, before_s: f64, change: Change) {
        if self.decisions.len() == DECISIONS {
            self.decisions.pop_front();
        }
        self.decisions.push_back(Decision { first, before_s, change });
    }
}
