//! Recent arrivals, for the receive rate (RFC 5348 section 6.2, RFC 4342 section 8.3).

use headway_units::{Duration, Instant};
use std::collections::VecDeque;

/// Maximum number of entries; beyond it the two oldest are merged.
const MAX_ENTRIES: usize = 2048;

/// Bytes by arrival time, for the longest window of a receive rate. At high rates, packets within 1/256 of the window
/// share an entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrivals {
    list: VecDeque<(Instant, u64)>,
    /// Whether the next packet starts a new entry, because windows begin at reports.
    apart: bool,
    /// Window of the last packet in s, and the time within which packets share an entry.
    grain: (f64, Duration),
    bytes: u64,
    packets: u64,
}

impl Arrivals {
    /// Adds received data; `window` is the window of [`rate`](Self::rate) in s.
    #[inline]
    pub(crate) fn add(&mut self, now: Instant, bytes: u64, window: f64) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.packets = self.packets.saturating_add(1);
        if window != self.grain.0 {
            self.grain = (window, Duration::from_secs_f64(window / 256.0));
        }
        match self.list.back_mut() {
            Some(last) if !self.apart && now.since(last.0) < self.grain.1 => last.1 = last.1.saturating_add(bytes),
            _ => self.push(now, bytes),
        }
        self.apart = false;
    }

    /// Adds an entry. Joins the two oldest ones if there are too many.
    fn push(&mut self, now: Instant, bytes: u64) {
        self.list.push_back((now, bytes));
        if self.list.len() > MAX_ENTRIES
            && let Some(oldest) = self.list.pop_front()
            && let Some(next) = self.list.front_mut()
        {
            next.1 = next.1.saturating_add(oldest.1);
        }
    }

    /// Returns the bytes per second in the last `window` seconds.
    pub(crate) fn rate(&self, now: Instant, window: f64) -> f64 {
        let span = Duration::from_secs_f64(window);
        let since = |at: Instant| now.since(at);
        let recent = self.list.iter().rev().take_while(|entry| since(entry.0) < span);
        if window > 0.0 { recent.map(|entry| entry.1 as f64).sum::<f64>() / window } else { 0.0 }
    }

    /// Handles a report: removes arrivals before `now - window`.
    pub(crate) fn on_report(&mut self, now: Instant, window: f64) {
        self.apart = true;
        let span = Duration::from_secs_f64(window);
        while self.list.front().is_some_and(|oldest| now.since(oldest.0) >= span) {
            self.list.pop_front();
        }
    }

    /// Returns the mean size of all packets so far.
    pub(crate) fn mean_size(&self) -> Option<f64> {
        (self.bytes > 0).then(|| self.bytes as f64 / self.packets as f64)
    }
}
