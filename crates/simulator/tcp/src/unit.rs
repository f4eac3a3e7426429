//! The units that a Linux 6.1 sender passes to the network (TSO), and the segments that carry PSH. A sink acknowledges
//! a segment with PSH immediately, and every second one of the others.
//!
//! ```text
//! unit:   new segments released by one event, at most
//!           max(2, f cwnd / srtt / 1024 s), f = 2 below ssthresh / 2, else 1.2  tcp_tso_autosize,
//!                                                                           tcp_update_pacing_rate
//!           half the window                                                  tcp_cwnd_test
//!           the rest of a buffer of 64 KiB                                   tcp_bound_to_half_wnd, tcp_xmit_size_goal
//! waits:  for the next acknowledgement: less than a unit and a third of the window, outside recovery, within 1 ms of the
//!         previous unit, if una was sent at least srtt - min(srtt / 2, 1 ms) ago      tcp_tso_should_defer
//! PSH:    the last segment of a unit of two or more                          __tcp_transmit_skb
//!         the last of a buffer, and the last written by the application      tcp_push
//! sink:   acknowledges PSH when the application has read the data            tcp_measure_rcv_mss, tcp_cleanup_rbuf
//! ```
//! Sources: net/ipv4/tcp_output.c (PSH since Linux 5.4, the 1 ms of the wait since 6.18 and 6.1.158), net/ipv4/tcp.c,
//! net/ipv4/tcp_input.c (full-sized segments since 6.6 and 6.1.57).
//!
//! The last segment of a buffer carries PSH because a sender whose socket is full waits at the end of a buffer.

use crate::growth::Window;
use headway_units::{Duration, Instant};

const LEAST: f64 = 2.0;
/// Units per second at the pacing rate (`sk_pacing_shift` 10).
const UNITS_PER_SECOND: f64 = 1024.0;
/// Bytes of data in a buffer: `GSO_LEGACY_MAX_SIZE` without `MAX_TCP_HEADER`.
pub(crate) const BUFFER: u64 = 65_215;
pub(crate) const SOON: Duration = Duration::from_millis(1);

/// Segments passed to the network together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unit {
    sent: u32,
}

impl Unit {
    pub(crate) const fn is_begun(&self) -> bool {
        self.sent > 0
    }

    /// Returns whether `seq`, now sent for the first time, carries PSH. `more`: the event releases the next segment;
    /// `written`: it is the last segment written by the application.
    pub(crate) fn ends(&mut self, seq: u64, payload: u64, largest: u32, more: bool, written: bool) -> bool {
        self.sent += 1;
        let fills_buffer = left_of_buffer(seq, payload) == 1;
        if more && self.sent < largest && !fills_buffer {
            return false;
        }
        std::mem::take(&mut self.sent) >= 2 || fills_buffer || written
    }
}

/// Returns how many segments, including `seq`, remain in its buffer.
pub(crate) fn left_of_buffer(seq: u64, payload: u64) -> u64 {
    let segments = (BUFFER / payload).max(1);
    segments - (seq - 1) % segments
}

/// Returns the maximum unit in segments, not considering half of the window.
pub(crate) fn largest(window: &Window, srtt: Duration) -> u32 {
    let factor = if window.cwnd < window.ssthresh / 2.0 { 2.0 } else { 1.2 };
    (factor * window.cwnd / srtt.as_secs_f64() / UNITS_PER_SECOND).max(LEAST) as u32
}

/// Returns whether the acknowledgement of a segment sent at `sent` is expected soon or overdue.
pub(crate) fn is_ack_near(now: Instant, sent: Instant, srtt: Duration) -> bool {
    sent + srtt <= now + SOON.min(srtt / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the flags of segments from `from` on, released in events of these sizes.
    fn flags(from: u64, events: &[u32], largest: u32) -> String {
        let (mut unit, mut seq) = (Unit::default(), from);
        let mut flags = String::new();
        for &count in events {
            for left in (0..count).rev() {
                flags.push(if unit.ends(seq, 1448, largest, left > 0, false) { 'P' } else { '.' });
                seq += 1;
            }
            flags.push(' ');
        }
        flags
    }

    /// From a capture of Linux 6.1 (Reno, 3 Mb/s): an acknowledgement of two segments releases two, the second with
    /// PSH. A third one from an opening window, and a segment released by an acknowledgement of one, have no PSH. 45
    /// segments of 1448 B fill a buffer.
    #[test]
    fn push_flags_match_a_capture() {
        assert_eq!(flags(1, &[2, 2, 3, 1, 2], 2), ".P .P .P. . .P ");
        assert_eq!(flags(43, &[2, 2, 2], 2), ".P P. .P ");
        assert_eq!(flags(44, &[2, 1, 1], 2), ".P . . ");
        assert_eq!(flags(1, &[7], 3), "..P..P. ");
    }

    #[test]
    fn the_last_segment_of_a_write_carries_psh() {
        let mut unit = Unit::default();
        assert!(unit.ends(7, 1448, 2, false, true));
        assert!(!unit.ends(8, 1448, 2, false, false));
    }

    /// tcp_tso_autosize: at 10 Mb/s 1.2 * 861 segments per second / 1024 are one, raised to two; at 100 Mb/s ten.
    #[test]
    fn a_unit_is_a_millisecond_at_the_pacing_rate() {
        let window = |cwnd, ssthresh| Window { cwnd, ssthresh };
        let srtt = Duration::from_millis(60);
        assert_eq!(largest(&window(51.7, 30.0), srtt), 2);
        assert_eq!(largest(&window(517.0, 300.0), srtt), 10);
        assert_eq!(largest(&window(517.0, 2000.0), srtt), 16);
    }

    /// tcp_tso_should_defer.
    #[test]
    fn an_acknowledgement_is_near_within_a_millisecond_or_half_a_round_trip() {
        let near = |sent, srtt| {
            is_ack_near(Instant::from_micros(100_000), Instant::from_micros(sent), Duration::from_micros(srtt))
        };
        assert!(near(40_000, 61_000) && near(40_000, 50_000));
        assert!(!near(40_001, 61_000));
        assert!(near(99_500, 1_000) && !near(99_501, 1_000));
    }
}
