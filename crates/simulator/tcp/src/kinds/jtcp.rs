//! JTCP (Wu and Chen, "JTCP: Jitter-Based TCP for Heterogeneous Wireless Networks", 2004), a reconstruction: a loss is
//! treated as congestion only if the queue was growing.
//!
//! ```text
//! D(i, j) = (R_j - R_i) - (S_j - S_i)           S: send time of a segment, R: send time of its acknowledgement
//! Jr = sum D / (R_n - R_1)                      over a window of acknowledgements
//! loss:  congestion, if Jr > k / cwnd and more than a round trip has passed since the last reduction: as Reno
//!        otherwise immediate recovery: ssthresh = cwnd, and cwnd is unchanged
//! ```
//! The differences of a window sum up to (R_n - R_1) - (S_n - S_1), each on one clock. Only acknowledgements of new
//! data are used: a duplicate echoes an old timestamp (RFC 7323 section 4.3).

use crate::growth::{Acked, Growth, Window};
use crate::kinds::aimd::Aimd;
use crate::options::Rules;
use crate::segment::Segment;
use crate::state::Cut;
use headway_units::{Dialect, Duration, Instant};

/// k: a loss is congestion if the jitter ratio exceeds k / cwnd.
const K: f64 = 1.0;

/// Reno with a jitter test at each loss.
#[derive(Clone, Debug)]
pub(crate) struct Jtcp {
    reno: Aimd,
    now: Instant,
    srtt: Duration,
    reduced_at: Option<Instant>,
    /// First acknowledgement of this window: R and S.
    window_start: Option<(Instant, Instant)>,
    /// The window ends when an acknowledgement exceeds this number.
    window_end: u64,
    /// Jitter ratio of the last complete window.
    jitter_ratio: f64,
}

impl Growth for Jtcp {
    type Options = ();

    fn adjust(rules: &mut Rules, _dialect: Dialect) {
        // The jitter is measured with timestamps.
        rules.timestamps = true;
    }

    fn new(rules: &Rules, _options: &Self::Options) -> Self {
        Self {
            reno: Aimd::new(rules, &()),
            now: Instant::ZERO,
            srtt: Duration::ZERO,
            reduced_at: None,
            window_start: None,
            window_end: 0,
            jitter_ratio: 0.0,
        }
    }

    fn observe(&mut self, now: Instant, una: u64, max: u64, ack: &Segment) {
        self.now = now;
        if una == 0 || ack.seq <= una || ack.seq <= self.window_end {
            return;
        }
        if let Some((received, sent)) = self.window_start {
            let (received, sent) = (ack.sent.since(received), ack.echo.since(sent));
            if !received.is_zero() {
                self.jitter_ratio = 1.0 - sent.as_secs_f64() / received.as_secs_f64();
            }
        }
        self.window_start = Some((ack.sent, ack.echo));
        self.window_end = max;
    }

    fn grow(&mut self, window: &mut Window, acked: Acked) {
        self.srtt = acked.srtt;
        self.reno.grow(window, acked);
    }

    fn hold(&mut self, acked: Acked) {
        self.srtt = acked.srtt;
    }

    fn decrease(&mut self, cut: Cut, cwnd: f64, base: f64) -> f64 {
        let settled = self.reduced_at.is_none_or(|at| self.now.since(at) > self.srtt);
        if cut == Cut::DupAcks && !(settled && self.jitter_ratio > K / cwnd) {
            return cwnd;
        }
        self.reduced_at = Some(self.now);
        self.reno.decrease(cut, cwnd, base)
    }

    fn timed_out(&mut self) {
        self.reno.timed_out();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TcpOptions;
    use crate::segment;
    use headway_units::Registry;

    fn ack(seq: u64, received: u64, sent: u64) -> Segment {
        Segment { sent: Instant::from_millis(received), echo: Instant::from_millis(sent), ..segment::ack(seq, &[]) }
    }

    /// Feeds windows of ten segments, sent 10 ms apart and received `spacing` ms apart, by a receiver clock ahead by
    /// `offset` ms.
    fn after_windows(spacing: u64, offset: u64) -> Jtcp {
        let mut jtcp = Jtcp::new(&TcpOptions::preset("tcp-jtcp", Dialect::Rfc).unwrap().rules, &());
        for n in 1..=31 {
            jtcp.observe(Instant::from_millis(500 + spacing * n), n, n + 10, &ack(n + 1, offset + spacing * n, 10 * n));
        }
        jtcp
    }

    /// Ten segments sent in 100 ms and received in 125 ms: D sums up to 25 ms, Jr = 25/125 = 0.2. With unchanged
    /// spacing Jr is 0. A clock offset cancels.
    #[test]
    fn the_jitter_ratio_is_the_share_of_queueing_time() {
        for (spacing, ratio) in [(10, 0.0), (20, 0.5)] {
            for offset in [0, 1_000_000] {
                let jtcp = after_windows(spacing, offset);
                assert!((jtcp.jitter_ratio - ratio).abs() < 1e-12, "{spacing}, {offset}: {}", jtcp.jitter_ratio);
            }
        }
        let mut jtcp = after_windows(10, 0);
        let end = jtcp.window_end;
        let (received, sent) = jtcp.window_start.unwrap();
        let last = Segment {
            sent: received + Duration::from_millis(125),
            echo: sent + Duration::from_millis(100),
            ..ack(end + 1, 0, 0)
        };
        jtcp.observe(Instant::from_secs(9), end, end + 10, &last);
        assert!((jtcp.jitter_ratio - 0.2).abs() < 1e-12);
    }

    #[test]
    fn duplicates_do_not_change_the_jitter_ratio() {
        let mut jtcp = after_windows(10, 0);
        for n in 0..40 {
            jtcp.observe(Instant::from_secs(5), 32, 42, &ack(32, 5_000 + n, 310));
        }
        assert_eq!(jtcp.jitter_ratio, 0.0);
    }

    /// Jr = 0.5 exceeds 1/cwnd from three segments on, but not at two. A loss with a lower ratio keeps the window;
    /// timeouts and marks reduce it.
    #[test]
    fn a_loss_is_congestion_if_the_queue_grew() {
        for (spacing, cwnd, left) in [(20, 10.0, 5.0), (20, 3.0, 1.5), (20, 2.0, 2.0), (10, 10.0, 10.0)] {
            let mut jtcp = after_windows(spacing, 0);
            assert_eq!(jtcp.decrease(Cut::DupAcks, cwnd, cwnd), left, "{spacing}, {cwnd}");
        }
        for cut in [Cut::Timeout, Cut::Ecn] {
            assert_eq!(after_windows(10, 0).decrease(cut, 10.0, 10.0), 5.0, "{cut:?}");
        }
    }

    /// A loss within a round trip of a reduction belongs to the same congestion event.
    #[test]
    fn losses_reduce_once_a_round_trip() {
        let mut jtcp = after_windows(20, 0);
        let acked = |now| Acked { now, segments: 1, una: 40, max: 50, rtt: None, srtt: Duration::from_millis(300) };
        jtcp.hold(acked(jtcp.now));
        assert_eq!(jtcp.decrease(Cut::DupAcks, 10.0, 10.0), 5.0);
        jtcp.now += Duration::from_millis(300);
        assert_eq!(jtcp.decrease(Cut::DupAcks, 10.0, 10.0), 10.0);
        jtcp.now += Duration::from_nanos(1);
        assert_eq!(jtcp.decrease(Cut::DupAcks, 10.0, 10.0), 5.0);
    }
}
