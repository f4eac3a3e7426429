//! What has come of late: the receive rate (RFC 5348 section 6.2, RFC 4342 section 8.3).

use headway_units::{Duration, Instant};
use std::collections::VecDeque;

/// Entries at most; beyond them the oldest two become one.
const MOST: usize = 2048;

/// Bytes by arrival time, as far back as a receive rate may ask. At high rates packets that come within 1/256 of the
/// window are one entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrivals {
    list: VecDeque<(Instant, u64)>,
    /// The next packet is an entry of its own: windows begin at reports.
    apart: bool,
    /// The window of the last packet in s, and the time within which packets are one entry.
    grain: (f64, Duration),
    bytes: u64,
    packets: u64,
}

impl Arrivals {
    /// Data has come; `window` in s is what [`rate`](Self::rate) will ask for.
    pub(crate) fn add(&mut self, now: Instant, bytes: u64, window: f64) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.packets = self.packets.saturating_add(1);
        if window != self.grain.0 {
            self.grain = (window, Duration::from_secs_f64(window / 256.0));
        }
        match self.list.back_mut() {
            Some(last) if !self.apart && now.since(last.0) < self.grain.1 => last.1 = last.1.saturating_add(bytes),
            _ => self.list.push_back((now, bytes)),
        }
        self.apart = false;
        if self.list.len() > MOST
            && let Some(oldest) = self.list.pop_front()
            && let Some(next) = self.list.front_mut()
        {
            next.1 = next.1.saturating_add(oldest.1);
        }
    }

    /// Bytes a second in the last `window` seconds.
    pub(crate) fn rate(&self, now: Instant, window: f64) -> f64 {
        let span = Duration::from_secs_f64(window);
        let since = |at: Instant| now.since(at);
        let recent = self.list.iter().rev().take_while(|entry| since(entry.0) < span);
        if window > 0.0 { recent.map(|entry| entry.1 as f64).sum::<f64>() / window } else { 0.0 }
    }

    /// A report goes now; what came before `now - window` is no longer asked for.
    pub(crate) fn on_report(&mut self, now: Instant, window: f64) {
        self.apart = true;
        let span = Duration::from_secs_f64(window);
        while self.list.front().is_some_and(|oldest| now.since(oldest.0) >= span) {
            self.list.pop_front();
        }
    }

    /// The mean size of all packets so far.
    pub(crate) fn mean_size(&self) -> Option<f64> {
        (self.bytes > 0).then(|| self.bytes as f64 / self.packets as f64)
    }
}
