//! The integer window of Linux 2.6.22 as used by ns-2's Agent/TCP/Linux (ns-2.35 tcp/linux/src/tcp_cong.c, with
//! `tcp_abc` 1): `tcp_slow_start`, `tcp_reno_cong_avoid`, and the counter of other growths.

use crate::growth::Window;
use crate::options::Rules;

#[derive(Clone, Debug)]
pub(crate) struct LinuxWindow {
    /// `snd_cwnd_clamp`.
    most: f64,
    /// `bytes_acked`, in segments.
    acked: u64,
    /// `snd_cwnd_cnt`: acknowledgements counted towards the next segment.
    counted: u64,
}

impl LinuxWindow {
    pub(crate) fn new(rules: &Rules) -> Self {
        Self { most: rules.segments(rules.window) as f64, acked: 0, counted: 0 }
    }

    /// Counts newly acknowledged segments, even if the window must not open.
    pub(crate) fn acknowledged(&mut self, segments: u64) {
        self.acked += segments;
    }

    /// Resets the counters after a reduction.
    pub(crate) fn reset(&mut self) {
        (self.acked, self.counted) = (0, 0);
    }

    /// Returns whether the window is in slow start: up to the threshold, inclusive.
    pub(crate) fn in_slow_start(window: &Window) -> bool {
        window.cwnd <= window.ssthresh
    }

    /// Opens the window by one segment for an acknowledgement of new data (`tcp_slow_start`).
    pub(crate) fn slow_start(&mut self, window: &mut Window) {
        if std::mem::take(&mut self.acked) > 0 {
            self.open(window);
        }
    }

    /// Opens the window by one segment per acknowledgement in slow start, then per window of segments
    /// (`tcp_reno_cong_avoid`).
    pub(crate) fn reno(&mut self, window: &mut Window) {
        if Self::in_slow_start(window) {
            self.slow_start(window);
        } else if self.acked >= window.cwnd as u64 {
            self.acked -= window.cwnd as u64;
            self.open(window);
        }
    }

    /// Counts an acknowledgement. Returns whether `per` of them were counted before; the count then restarts.
    pub(crate) fn is_full(&mut self, per: u64) -> bool {
        let full = self.counted >= per;
        self.counted = if full { 0 } else { self.counted + 1 };
        full
    }

    /// Opens the window by one segment, up to the clamp.
    pub(crate) fn open(&self, window: &mut Window) {
        if window.cwnd < self.most {
            window.cwnd += 1.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TcpOptions;
    use headway_units::{Dialect, Registry};

    /// `tcp_reno_cong_avoid` with `tcp_abc` 1: one segment per acknowledgement up to ssthresh, inclusive; then one per
    /// window of segments, at most one at a time; at most `snd_cwnd_clamp`.
    #[test]
    fn the_window_grows_with_acknowledged_segments() {
        let mut options = TcpOptions::preset("tcp-westwood", Dialect::Rfc).unwrap();
        options.rules_mut().window = "12packets".parse().unwrap();
        let mut counters = LinuxWindow::new(&options.rules);
        let mut window = Window { cwnd: 5.0, ssthresh: 6.0 };
        let mut after = |segments: &[u64]| {
            for &segments in segments {
                counters.acknowledged(segments);
                counters.reno(&mut window);
            }
            window.cwnd
        };
        assert_eq!([after(&[1]), after(&[4]), after(&[1; 6]), after(&[1])], [6.0, 7.0, 7.0, 8.0]);
        assert_eq!([after(&[20]), after(&[1]), after(&[1])], [9.0, 10.0, 10.0]);
        assert_eq!(after(&[40; 9]), 12.0);
        counters.reset();
        assert_eq!((counters.acked, counters.counted), (0, 0));
    }
}
