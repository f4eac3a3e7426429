//! UDDJ-TFRC ("uni-directional delay jitter based TFRC for wired-wireless networks"): a loss counts as congestion while
//! the bottleneck is busy, by the differences of one-way delays. For packets P(i-1), P(i) sent din and received dout
//! apart, with the queueing delay b:
//!
//! ```text
//! UDD = dout - din                                                           (2)
//! busy: UDD + b > 0                                                          (7)
//! b = b + UDD if busy, else max(0, UDD)                                      (8), Lindley's recursion
//! F = sum of dout over busy gaps / sum of din;  congestion flag: F > 1       (10), (11)
//! ```
//! The initial b is the queue that the first run of negative jitters drains. A lost packet makes a longer gap, whose
//! jitter is the sum (figure 2).

use super::{LossFilter, Seen, UddjAction, UddjOptions, UddjUpdate};
use crate::one_way::FloorLine;
use headway_units::Instant;

/// State of the congestion flag. Times in ns.
#[derive(Clone, Debug)]
pub(crate) struct Uddj {
    options: UddjOptions,
    last: Option<Seen>,
    /// Queueing delay; `None` until the first jitter that is not negative.
    queue: Option<f64>,
    draining: Draining,
    /// Sums of F since its last computation.
    busy_out: f64,
    all_in: f64,
    computed: Option<Instant>,
    flag: bool,
    early: bool,
    floor: FloorLine,
}

/// Gaps of the first run of negative jitters. All but the last were busy.
#[derive(Clone, Copy, Debug, Default)]
struct Draining {
    outs: f64,
    last_out: f64,
    ins: f64,
}

impl Uddj {
    pub(super) fn new(options: &UddjOptions) -> Self {
        Self {
            options: options.clone(),
            last: None,
            queue: None,
            draining: Draining::default(),
            busy_out: 0.0,
            all_in: 0.0,
            computed: None,
            flag: false,
            early: false,
            floor: FloorLine::default(),
        }
    }

    /// Returns the jitter, corrected for packet sizes and clock skew if the options request it.
    fn jitter(&self, last: &Seen, seen: &Seen) -> f64 {
        let mut jitter = seen.delay_ns().wrapping_sub(last.delay_ns()) as f64;
        if let Some(rate) = self.options.bottleneck {
            let bits = (seen.size as f64 - last.size as f64) * 8.0;
            jitter -= bits / rate.bits_per_second() as f64 * 1e9;
        }
        if self.options.remove_skew {
            jitter -= self.floor.slope() * seen.arrived.since(last.arrived).as_nanos() as f64;
        }
        jitter
    }

    /// Adds the gap between two packets.
    fn gap(&mut self, jitter: f64, input: f64) {
        let output = input + jitter;
        let Some(queue) = &mut self.queue else {
            if jitter < 0.0 {
                self.draining.outs += output;
                self.draining.last_out = output;
                self.draining.ins += input;
                return;
            }
            // The initial queue has drained: apply (8) to each gap of the run.
            self.busy_out += self.draining.outs - self.draining.last_out;
            self.all_in += self.draining.ins;
            self.queue = Some(0.0);
            return self.gap(jitter, input);
        };
        let sum = *queue + jitter;
        let busy = sum > 0.0 || sum == 0.0 && self.options.busy_at_zero;
        *queue = sum.max(0.0);
        self.busy_out += if busy { output } else { 0.0 };
        self.all_in += input;
    }

    /// Computes the flag from the gaps since the last computation.
    fn compute(&mut self) {
        let enough = if self.options.margin > 0.0 {
            self.all_in > 0.0 && self.busy_out >= (1.0 - self.options.margin) * self.all_in
        } else {
            self.busy_out > self.all_in
        };
        let queue = self.queue.unwrap_or(0.0);
        self.flag = enough && queue >= self.options.floor.as_nanos() as f64;
        (self.busy_out, self.all_in) = (0.0, 0.0);
    }
}

impl LossFilter for Uddj {
    fn on_packet(&mut self, seen: &Seen) {
        let above = self.options.remove_skew.then(|| self.floor.add(seen.arrived, seen.delay_ns()));
        let Some(last) = self.last.replace(*seen) else {
            self.computed = Some(seen.arrived);
            return;
        };
        let input = seen.sent.as_nanos().saturating_sub(last.sent.as_nanos()) as f64;
        self.gap(self.jitter(&last, seen), input);
        // The recursion keeps the skew accumulated before the line was fitted. Limit it to the delay above the line.
        if let (Some(queue), Some(above)) = (&mut self.queue, above) {
            *queue = queue.min(above);
        }
        let round = seen.rtt.is_some_and(|rtt| self.computed.is_none_or(|at| seen.arrived.since(at) >= rtt));
        if round {
            self.computed = Some(seen.arrived);
        }
        if round || self.options.update == UddjUpdate::Packet {
            self.compute();
            self.early = round && self.flag && self.options.action == UddjAction::FilterAndEarly;
        }
    }

    fn counts(&mut self, _: u64, _: u64) -> bool {
        if self.options.update == UddjUpdate::RoundTripAndLoss {
            self.compute();
        }
        self.flag
    }

    fn poll_early(&mut self) -> bool {
        std::mem::take(&mut self.early)
    }

    fn holds(&self) -> bool {
        self.flag && self.options.action == UddjAction::Hold
    }
}

#[cfg(test)]
mod tests;
