//! The congestion window (RFC 4341 section 5), in whole data packets:
//!
//! ```text
//! congestion event:    cwnd := max(1, cwnd / 2),  ssthresh := max(2, cwnd)
//! timeout:             ssthresh := max(2, cwnd / 2),  cwnd := 1
//! cwnd < ssthresh:     cwnd += 1 for two data packets acknowledged, counting at most Ack Ratio for an acknowledgement
//! else:                cwnd += 1 for cwnd data packets acknowledged
//! ```
//!
//! With the Ack Ratio 2 slow start is that of TCP with delayed acknowledgements: half as much again in a round trip.

use super::options::{MAX_WINDOW, Restart, TcpLikeOptions, UnusedWindow, packets};
use headway_units::{Bytes, Duration, Instant};

/// cwnd, ssthresh, and how well they are used.
#[derive(Debug)]
pub(super) struct Window {
    /// 1 to [`MAX_WINDOW`].
    pub(super) cwnd: u64,
    /// [`u64::MAX`]: slow start has no end.
    pub(super) ssthresh: u64,
    initial: u64,
    min_ssthresh: u64,
    /// Data packets acknowledged that have not yet opened the window.
    credit: u64,
    /// When the window was last full, or taken for full.
    full: Instant,
    /// The most that was under way since then.
    used: u64,
    /// Where slow start after a silence ends.
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

    /// Data packets were lost or marked.
    pub(super) fn on_congestion(&mut self) {
        self.cwnd = (self.cwnd / 2).max(1);
        self.ssthresh = self.cwnd.max(self.min_ssthresh);
        self.credit = 0;
    }

    /// A silence begins: slow start after it ends at this window, or where it would have ended without the silence.
    pub(super) fn on_silence(&mut self) {
        self.remembered = self.cwnd.max(self.ssthresh);
    }

    /// A silence is over: the path may be another.
    pub(super) fn restart(&mut self, options: &TcpLikeOptions, now: Instant) {
        let ssthresh = if options.remembers_rate { self.remembered } else { u64::MAX };
        (self.cwnd, self.ssthresh, self.credit) = (self.initial, ssthresh, 0);
        (self.full, self.used) = (now, 0);
    }

    /// With `first_window`, the round trip is not known: the timeout is no evidence about the window of the path.
    pub(super) fn on_timeout(&mut self, first_window: bool) {
        if !first_window {
            self.ssthresh = (self.cwnd / 2).max(self.min_ssthresh);
        }
        self.cwnd = 1;
        self.credit = 0;
    }

    /// The receiver dropped `packets` for want of memory (section 5.2).
    pub(super) fn on_receive_buffer_drops(&mut self, packets: u64) {
        self.cwnd = self.cwnd.saturating_sub(packets).max(1);
        self.credit = 0;
        self.leave_slow_start();
    }

    /// Without any loss (section 5.2).
    pub(super) fn leave_slow_start(&mut self) {
        self.ssthresh = self.ssthresh.min(self.cwnd);
    }

    /// A report acknowledged `acked` data packets that count.
    pub(super) fn grow(&mut self, options: &TcpLikeOptions, acked: u64, ack_ratio: u64) {
        let per_packet = u64::from(options.expert.slow_start_packets.max(1));
        if self.cwnd < self.ssthresh {
            let most = if options.expert.slow_start_rounds_up { ack_ratio.next_multiple_of(2) } else { ack_ratio };
            self.credit += acked.min(most);
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

    /// Data goes for the first time after `idle`, with nothing under way (section 5.1).
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

    /// Data goes, and `pipe` packets are under way with it: validates the window (RFC 2861).
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
                // What did not open the larger window must not open the smaller one by itself.
                self.credit = 0;
            }
            (self.full, self.used) = (now, 0);
        }
    }

    /// Lets slow start find back to three quarters of the window that is given up (RFC 2861).
    fn remember(&mut self) {
        self.ssthresh = self.ssthresh.max(self.cwnd - self.cwnd / 4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::{Dialect, Options};

    /// RFC 4341 section 5.1: a window grows by one for a window of data acknowledged. 29 of 30 packets have been; a timeout with one
    /// packet under way makes (30 + 3) / 2 of it (RFC 2861, initial window 3), and a report of nothing leaves that.
    #[test]
    fn a_window_that_shrinks_does_not_grow_of_what_came_before() {
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
