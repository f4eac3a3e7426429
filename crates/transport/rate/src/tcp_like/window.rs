//! Congestion window (RFC 4341 section 5), in whole data packets:
//!
//! ```text
//! congestion event:    cwnd := max(1, cwnd / 2),  ssthresh := max(2, cwnd)
//! timeout:             ssthresh := max(2, cwnd / 2),  cwnd := 1
//! cwnd < ssthresh:     cwnd += 1 per two data packets acknowledged, counting at most Ack Ratio per acknowledgement
//! else:                cwnd += 1 per cwnd data packets acknowledged
//! ```
//!
//! With Ack Ratio 2, slow start is that of TCP with delayed acknowledgements: a factor of 1.5 per round trip.

use super::options::{MAX_WINDOW, Restart, TcpLikeOptions, UnusedWindow, packets};
use headway_units::{Bytes, Duration, Instant};

/// Window, threshold and utilization.
#[derive(Debug)]
pub(super) struct Window {
    /// Window, 1 to [`MAX_WINDOW`].
    pub(super) cwnd: u64,
    /// Slow start threshold; [`u64::MAX`] is unlimited.
    pub(super) ssthresh: u64,
    initial: u64,
    min_ssthresh: u64,
    /// Acknowledged data packets that have not yet opened the window.
    credit: u64,
    /// Time at which the window was last full or validated.
    full: Instant,
    /// Maximum number of packets in flight since then.
    used: u64,
    /// Threshold of slow start after a silence.
    pub(super) remembered: u64,
}

impl Window {
    pub(super) fn new(options: &TcpLikeOptions, packet_size: Bytes, now: Instant) -> Self {
        let initial = options.initial_cwnd(packet_size);
        Self {
            cwnd: initial,
            ssthresh: options.initial_ssthresh.map_or(u64::MAX, |size| packets(size, packet_size)),
            initial,
            min_ssthresh: packets(options.min_ssthresh, packet_size),
            credit: 0,
            full: now,
            used: 0,
            remembered: u64::MAX,
        }
    }

    /// Halves the window after lost or marked data packets.
    pub(super) fn on_congestion(&mut self) {
        self.cwnd = (self.cwnd / 2).max(1);
        self.ssthresh = self.cwnd.max(self.min_ssthresh);
        self.credit = 0;
    }

    /// Begins a silence: records the window, or the threshold if higher, as the threshold of slow start after it.
    pub(super) fn on_silence(&mut self) {
        self.remembered = self.cwnd.max(self.ssthresh);
    }

    /// Restarts from the initial window after a silence, because the path may have changed.
    pub(super) fn restart(&mut self, options: &TcpLikeOptions, now: Instant) {
        let ssthresh = if options.remembers_rate { self.remembered } else { u64::MAX };
        (self.cwnd, self.ssthresh, self.credit) = (self.initial, ssthresh, 0);
        (self.full, self.used) = (now, 0);
    }

    /// Applies a timeout. With `first_window` the round-trip time is unknown, so that the timeout is no evidence about
    /// the window of the path.
    pub(super) fn on_timeout(&mut self, first_window: bool) {
        if !first_window {
            self.ssthresh = (self.cwnd / 2).max(self.min_ssthresh);
        }
        self.cwnd = 1;
        self.credit = 0;
    }

    /// Reduces the window by `packets` drops in the receiver's buffer (section 5.2).
    pub(super) fn on_receive_buffer_drops(&mut self, packets: u64) {
        self.cwnd = self.cwnd.saturating_sub(packets).max(1);
        self.credit = 0;
        self.leave_slow_start();
    }

    /// Ends slow start without a loss (section 5.2).
    pub(super) fn leave_slow_start(&mut self) {
        self.ssthresh = self.ssthresh.min(self.cwnd);
    }

    /// Opens the window for `acked` acknowledged data packets.
    pub(super) fn grow(&mut self, options: &TcpLikeOptions, acked: u64, ack_ratio: u64) {
        let per_packet = u64::from(options.expert.slow_start_packets.max(1));
        if self.cwnd < self.ssthresh {
            let limit = if options.expert.slow_start_rounds_up { ack_ratio.next_multiple_of(2) } else { ack_ratio };
            self.credit += acked.min(limit);
            let steps = (self.credit / per_packet).min(self.ssthresh - self.cwnd);
            self.credit -= steps * per_packet;
            self.cwnd += steps;
        } else {
            self.credit += acked;
            while self.credit >= self.cwnd {
                self.credit -= self.cwnd;
                self.cwnd += 1;
            }
        }
        self.cwnd = self.cwnd.min(MAX_WINDOW);
    }

    /// Reduces the window for the first data after `idle`, with nothing in flight (section 5.1).
    pub(super) fn on_idle(&mut self, options: &TcpLikeOptions, now: Instant, idle: Duration, rto: Duration) {
        match options.restart_after_idle {
            Restart::Keep => return,
            Restart::InitialWindow => self.cwnd = self.cwnd.min(self.initial),
            Restart::Decay => {
                self.remember();
                let times = idle.as_nanos() / rto.as_nanos().max(1);
                let least = self.cwnd.min(self.initial);
                self.cwnd = self.cwnd.checked_shr(times.try_into().unwrap_or(u32::MAX)).unwrap_or(0).max(least);
            }
        }
        self.credit = 0;
        (self.full, self.used) = (now, 0);
    }

    /// Validates the window for a packet with which `pipe` packets are in flight (RFC 2861).
    pub(super) fn on_send(&mut self, options: &TcpLikeOptions, now: Instant, pipe: u64, rto: Duration) {
        if options.unused_window != UnusedWindow::Decays {
            return;
        }
        if pipe >= self.cwnd {
            (self.full, self.used) = (now, 0);
            return;
        }
        self.used = self.used.max(pipe);
        if now.since(self.full) >= rto {
            let used = self.used.max(self.initial);
            if used < self.cwnd {
                self.remember();
                self.cwnd = (self.cwnd + used) / 2;
                // Credit for the larger window must not open the smaller one.
                self.credit = 0;
            }
            (self.full, self.used) = (now, 0);
        }
    }

    /// Raises ssthresh to three quarters of the reduced window (RFC 2861).
    fn remember(&mut self) {
        self.ssthresh = self.ssthresh.max(self.cwnd - self.cwnd / 4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::{Dialect, Options};

    /// RFC 4341 section 5.1: the window grows by one per window of acknowledged data. After 29 of 30 packets, a timeout
    /// with one packet in flight sets (30 + 3) / 2 (RFC 2861, initial window 3). A report without packets leaves that.
    #[test]
    fn credit_before_a_reduction_does_not_open_the_window() {
        let options = TcpLikeOptions {
            initial_window: headway_units::QueueSize::Packets(3),
            ..TcpLikeOptions::preset(Dialect::Linux)
        };
        let mut window = Window::new(&options, Bytes::new(1000), Instant::ZERO);
        (window.cwnd, window.ssthresh) = (30, 10);
        window.grow(&options, 29, 2);
        assert_eq!(window.cwnd, 30);
        window.on_send(&options, Instant::from_secs(10), 1, Duration::from_secs(1));
        window.grow(&options, 0, 2);
        assert_eq!((window.cwnd, window.ssthresh), (16, 23));
        window.grow(&options, 2, 2);
        assert_eq!(window.cwnd, 17);
    }
}
