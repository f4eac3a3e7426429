//! Westwood+ of Linux 2.6.22 as used by ns-2's Agent/TCP/Linux (ns-2.35 tcp/linux/src/tcp_westwood.c, and
//! `tcp_reno_cong_avoid` of tcp_cong.c): in bytes, milliseconds and integers.
//!
//! ```text
//! a sample each max(SRTT, 50 ms):  b = bytes / ms,  bw_ns_est = (7 bw_ns_est + b) >> 3,
//!            bw_est = (7 bw_est + bw_ns_est) >> 3; both start at the first sample
//! RTTmin     the least SRTT of all
//! loss       ssthresh = max(2, cwnd / 2) as Reno's, cwnd = max(2, bw_est RTTmin / mss)
//! timeout    ssthresh likewise
//! ```
//! The agent signals neither the end of a recovery (CA_EVENT_COMPLETE_CWR), at which Linux sets ssthresh from the
//! estimate, nor F-RTO, at which Linux resets RTTmin. The window grows by the bytes acknowledged (`tcp_abc` 1),
//! including those in a recovery.

use crate::growth::{Acked, Growth, Window};
use crate::linux_window::LinuxWindow;
use crate::options::Rules;
use crate::state::Cut;

/// TCP_WESTWOOD_RTT_MIN in ms: minimum sample interval.
const SHORTEST: u64 = 50;
/// TCP_WESTWOOD_INIT_RTT in ms.
const INITIAL_RTT: u64 = 20_000;

/// `struct westwood` and the counters of the socket.
#[derive(Clone, Debug)]
pub(crate) struct LinuxWestwood {
    /// `mss_cache`.
    mss: u64,
    counters: LinuxWindow,
    started: bool,
    /// Start of this sample (`rtt_win_sx`), in ms, and bytes acknowledged since (`bk`).
    since: u64,
    bytes: u64,
    first: u64,
    estimate: u64,
    /// Bytes counted by duplicates and not yet by a cumulative acknowledgement.
    accounted: u64,
    /// SRTT in ms, and its minimum.
    rtt: u64,
    min_rtt: u64,
}

impl Growth for LinuxWestwood {
    type Options = ();

    fn new(rules: &Rules, _options: &Self::Options) -> Self {
        Self {
            mss: rules.payload().count().max(1),
            counters: LinuxWindow::new(rules),
            started: false,
            since: 0,
            bytes: 0,
            first: 0,
            estimate: 0,
            accounted: 0,
            rtt: INITIAL_RTT,
            min_rtt: u64::MAX,
        }
    }

    fn acknowledged(&mut self, acked: Acked, fine: bool) {
        let now = acked.now.as_nanos() / 1_000_000;
        self.counters.acknowledged(acked.segments);
        if acked.segments > 0 {
            // `tcp_westwood_pkts_acked`.
            self.rtt = acked.srtt.as_nanos() / 1_000_000;
        }
        let mut segments = acked.segments;
        if !self.started {
            // `tcp_westwood_init` runs after the SYN-ACK is processed.
            (self.started, self.since, segments) = (true, now, 0);
        }
        self.update_window(now);
        let covered = segments * self.mss;
        self.bytes += if fine { covered } else { self.count(covered) };
        self.min_rtt = self.min_rtt.min(self.rtt);
    }

    fn grow(&mut self, window: &mut Window, _acked: Acked) {
        self.counters.reno(window);
    }

    /// `tcp_reno_ssthresh`.
    fn decrease(&mut self, _cut: Cut, cwnd: f64, _base: f64) -> f64 {
        self.counters.reset();
        (cwnd / 2.0).floor().max(2.0)
    }

    /// `tcp_westwood_bw_rttmin`.
    fn settle(&self, _cwnd: f64, _reduced: f64) -> f64 {
        let carried = self.estimate.saturating_mul(self.min_rtt) / self.mss;
        carried.max(2) as f64
    }

    fn timed_out(&mut self) {
        self.counters.reset();
    }
}

impl LinuxWestwood {
    /// `westwood_update_window` and `westwood_filter`.
    fn update_window(&mut self, now: u64) {
        let time = now.saturating_sub(self.since);
        if self.rtt == 0 || time <= self.rtt.max(SHORTEST) {
            return;
        }
        let sample = self.bytes / time;
        if (self.first, self.estimate) == (0, 0) {
            (self.first, self.estimate) = (sample, sample);
        } else {
            self.first = (7 * self.first + sample) >> 3;
            self.estimate = (7 * self.estimate + self.first) >> 3;
        }
        (self.bytes, self.since) = (0, now);
    }

    /// Returns the bytes received, for an acknowledgement of `covered` bytes (`westwood_acked_count`).
    fn count(&mut self, covered: u64) -> u64 {
        if covered == 0 {
            self.accounted += self.mss;
            return self.mss;
        }
        if covered == self.mss {
            return covered;
        }
        if self.accounted >= covered {
            self.accounted -= covered;
            return self.mss;
        }
        covered - std::mem::take(&mut self.accounted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TcpOptions;
    use headway_units::{Dialect, Duration, Instant, Registry};

    /// Creates a sender state with 1460 B of data per segment and a window of 12.
    fn westwood() -> LinuxWestwood {
        let mut options = TcpOptions::preset("tcp-westwood", Dialect::Rfc).unwrap();
        options.rules_mut().window = "12packets".parse().unwrap();
        LinuxWestwood::new(&options.rules, &())
    }

    fn acked(millis: u64, segments: u64, srtt: u64) -> Acked {
        let srtt = Duration::from_millis(srtt);
        Acked { now: Instant::from_millis(millis), segments, una: 1, max: 1, rtt: Some(srtt), srtt }
    }

    /// `westwood_filter`: 14600 B in 110 ms are 132 B/ms; 16060 B in 110 ms are 146: (7 x 132 + 146) >> 3 = 133, (7 x
    /// 132 + 133) >> 3 = 132. `tcp_westwood_bw_rttmin`: 132 B/ms x 100 ms are 9 segments, and 5 after an SRTT of 60 ms.
    #[test]
    fn one_integer_sample_per_round_trip() {
        let mut westwood = westwood();
        let mut seen = vec![];
        for millis in (0..=220).step_by(10) {
            westwood.acknowledged(acked(millis, 1, 100), true);
            if [100, 110, 210, 220].contains(&millis) {
                seen.push((westwood.first, westwood.estimate, westwood.settle(50.0, 25.0)));
            }
        }
        assert_eq!(seen, [(0, 0, 2.0), (132, 132, 9.0), (132, 132, 9.0), (133, 132, 9.0)]);
        westwood.acknowledged(acked(230, 1, 60), true);
        westwood.acknowledged(acked(240, 1, 100), true);
        assert_eq!(westwood.settle(50.0, 25.0), 5.0);
        // A timeout resets neither (only F-RTO would).
        westwood.timed_out();
        assert_eq!(westwood.settle(50.0, 25.0), 5.0);
    }

    /// TCP_WESTWOOD_RTT_MIN: with an SRTT of 10 ms a sample spans more than 50 ms: 5 x 1460 B in 60 ms.
    #[test]
    fn samples_span_at_least_50_ms() {
        let mut westwood = westwood();
        for millis in (0..=50).step_by(10) {
            westwood.acknowledged(acked(millis, 1, 10), true);
        }
        assert_eq!(westwood.estimate, 0);
        westwood.acknowledged(acked(60, 1, 10), true);
        assert_eq!(westwood.estimate, 121);
    }

    /// `westwood_acked_count` handles problematic acknowledgements, `westwood_fast_bw` the others, without the bytes
    /// counted by duplicates.
    #[test]
    fn duplicates_are_counted_once() {
        let mut westwood = westwood();
        let mut bytes = |segments, fine| {
            let before = westwood.bytes;
            westwood.acknowledged(acked(1, segments, 100), fine);
            (westwood.bytes - before) / 1460
        };
        // The SYN-ACK acknowledges no data.
        assert_eq!(bytes(1, true), 0);
        let counted: Vec<_> = [0, 0, 0, 4, 2].map(|segments| bytes(segments, false)).into();
        assert_eq!(counted, [1, 1, 1, 1, 2]);
        let counted: Vec<_> = [0, 0, 0, 0, 0, 3].map(|segments| bytes(segments, false)).into();
        assert_eq!(counted, [1, 1, 1, 1, 1, 1]);
        assert_eq!([bytes(4, true), bytes(4, false)], [4, 2]);
    }

    /// `tcp_reno_ssthresh`: half of the window in whole segments, at least two.
    #[test]
    fn a_loss_halves_the_threshold() {
        let mut westwood = westwood();
        assert_eq!([westwood.decrease(Cut::DupAcks, 9.0, 1.0), westwood.decrease(Cut::Timeout, 3.0, 1.0)], [4.0, 2.0]);
    }
}
