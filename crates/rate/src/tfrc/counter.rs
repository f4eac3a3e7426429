//! The window counter of CCVal (RFC 4342 section 8.1): how the sender counts quarters of its round trip, and what the
//! receiver learns of the round trip's length from it.

use headway_units::Instant;
use std::collections::VecDeque;

/// The sender's side.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowCounter {
    /// `last_WC`, as if it did not wrap.
    last: u64,
    /// `last_WC_time`.
    at: Option<Instant>,
}

impl WindowCounter {
    /// The counter of a data packet sent now; it stands still as long as no round trip, in s, is known.
    pub(crate) fn on_send(&mut self, now: Instant, rtt: Option<f64>) -> u64 {
        let since = self.at.map_or(0.0, |at| now.since(at).as_secs_f64());
        // A clock of whole nanoseconds reaches each quarter up to one late.
        let quarters = rtt.map_or(0.0, |rtt| ((since + 1e-9) * 4.0 / rtt).floor());
        if quarters >= 1.0 || self.at.is_none() {
            self.last = self.last.saturating_add(quarters.min(5.0) as u64);
            self.at = Some(now);
        }
        self.last
    }

    /// A packet sent with `counter` was acknowledged: those from now on carry four more at least.
    pub(crate) fn on_acknowledged(&mut self, counter: u64) {
        if self.last < counter.saturating_add(4) {
            self.last = counter.saturating_add(4);
            // The next packet is the first to carry it.
            self.at = None;
        }
    }
}

/// The receiver's estimate of the round trip, from the first arrivals with each counter.
#[derive(Clone, Debug, Default)]
pub(crate) struct CounterRtt {
    /// Counter, as if it did not wrap, and when a packet first had it: the newest last, five at most.
    firsts: VecDeque<(u64, Instant)>,
    smoothed: Option<f64>,
}

impl CounterRtt {
    /// The newest packet so far has this counter.
    pub(crate) fn on_packet(&mut self, now: Instant, counter: u64) {
        if self.firsts.back().is_some_and(|newest| newest.0 >= counter) {
            return;
        }
        self.firsts.push_back((counter, now));
        if self.firsts.len() > 5 {
            self.firsts.pop_front();
        }
        // D = 4 is preferred; with steps of five there is nothing to measure.
        let sample = [4u64, 3, 2].into_iter().find_map(|d| {
            let (_, first) = self.firsts.iter().find(|first| first.0 + d == counter)?;
            Some(now.since(*first).as_secs_f64() * 4.0 / d as f64)
        });
        if let Some(sample) = sample.filter(|sample| *sample > 0.0) {
            self.smoothed = Some(self.smoothed.map_or(sample, |old| 0.9 * old + 0.1 * sample));
        }
    }

    /// In s.
    pub(crate) fn rtt(&self) -> Option<f64> {
        self.smoothed
    }
}
