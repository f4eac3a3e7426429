//! How the gap changes from report to report (the paper's Figure 4 and section 2.2).

use super::options::{Damping, Shorten, SpacingOptions};
use std::collections::VecDeque;

/// Decisions remembered: a round trip has few reports, and older decisions are in nobody's way.
const DECISIONS: usize = 64;

/// What was done to the gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// It was doubled.
    Longer,
    /// It was shortened on purpose.
    Shorter,
    /// It was restored.
    Back,
    /// It stayed.
    Kept,
}

#[derive(Clone, Copy, Debug)]
struct Decision {
    /// The number of the first packet that goes by it.
    first: u64,
    /// The gap before it, in s.
    before_s: f64,
    what: What,
}

/// A report, as the rule sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// Fewer came than were sent.
    pub(super) congested: bool,
    /// The number in the middle of those that it tells of.
    pub(super) middle: u64,
    /// The number of the next packet to go.
    pub(super) next: u64,
    /// The gap may become shorter if nothing was lost.
    pub(super) may_shorten: bool,
    /// R in s.
    pub(super) rtt_s: f64,
    /// How long a packet takes on the sender's line, in s.
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
    /// The gap that a report without a loss restores.
    restored_s: Option<f64>,
    /// The newest last.
    decisions: VecDeque<Decision>,
}

impl Rule {
    /// The paper's sender begins without a gap.
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

    /// ps in s: from the end of a packet to the start of the next.
    pub(super) const fn gap_s(&self) -> f64 {
        self.gap_s
    }

    pub(super) fn on_report(&mut self, told: &Told) {
        let blamed = match self.damping {
            Damping::None => None,
            Damping::Newest => self.decisions.back().copied(),
            Damping::InForce => {
                let reacted = |what| matches!(what, What::Longer | What::Back);
                let reaction = self.decisions.iter().rev().find(|decision| reacted(decision.what));
                if reaction.is_some_and(|reaction| told.middle < reaction.first) {
                    return;
                }
                // Those before the one in force will not be blamed any more.
                while self.decisions.get(1).is_some_and(|later| later.first <= told.middle) {
                    self.decisions.pop_front();
                }
                self.decisions.front().copied().filter(|decision| decision.first <= told.middle)
            }
        };
        let before_s = self.gap_s;
        let restored_s = self.restored_s.take();
        let what = match blamed {
            Some(Decision { what: What::Shorter, before_s, .. }) if told.congested => {
                self.gap_s = before_s;
                What::Back
            }
            _ if told.congested => {
                self.gap_s = self.longer(told.rtt_s);
                What::Longer
            }
            _ if told.may_shorten && before_s > 0.0 => {
                self.gap_s = self.shorter(told).max(0.0).min(restored_s.unwrap_or(f64::INFINITY));
                What::Shorter
            }
            _ => What::Kept,
        };
        self.remember(told.next, before_s, what);
    }

    /// Nothing has been heard for long.
    pub(super) fn on_silence(&mut self, next: u64, rtt_s: f64) {
        let before_s = self.gap_s;
        self.gap_s = self.longer(rtt_s);
        self.remember(next, before_s, What::Longer);
    }

    /// The sender has had nothing to send for long: what it may try again is not further apart than this.
    pub(super) fn on_idle(&mut self, next: u64, most_s: f64) {
        if self.gap_s > most_s {
            let before_s = std::mem::replace(&mut self.gap_s, most_s);
            self.remember(next, before_s, What::Shorter);
        }
    }

    /// A silence is over, which is one loss. The next report without a loss restores `before_s`.
    pub(super) fn on_end_of_silence(&mut self, next: u64, before_s: f64, rtt_s: f64, remembers: bool) {
        let doubled_s = if before_s > 0.0 { 2.0 * before_s } else { self.first_s };
        self.on_idle(next, doubled_s.min(rtt_s));
        self.restored_s = remembers.then_some(before_s);
    }

    /// At least one packet goes in a round trip.
    fn longer(&self, rtt_s: f64) -> f64 {
        let longer = if self.gap_s > 0.0 { 2.0 * self.gap_s } else { self.first_s };
        longer.min(rtt_s)
    }

    fn shorter(&self, told: &Told) -> f64 {
        match self.shorten {
            Shorten::Rate => told.rtt_s / (told.rtt_s / (told.tx_s + self.gap_s) + self.packets) - told.tx_s,
            Shorten::Step => self.gap_s - self.step_s,
            Shorten::Factor => self.gap_s * self.factor,
        }
    }

    fn remember(&mut self, first: u64, before_s: f64, what: What) {
        if self.decisions.len() == DECISIONS {
            self.decisions.pop_front();
        }
        self.decisions.push_back(Decision { first, before_s, what });
    }
}
