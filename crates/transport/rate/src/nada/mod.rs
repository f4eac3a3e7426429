//! NADA (RFC 8698): the receiver turns queue delay, losses and ECN marks into one congestion signal in s, and the sender
//! moves its rate so that the signal approaches `PRIO * XREF * RMAX/r_ref`.
//!
//! ```text
//! receiver  d_tilde = d_queue, or warped after a recent loss:  QTH exp(-LAMBDA (d_queue - QTH)/QTH) above QTH
//!           x_curr  = d_tilde + DMARK (p_mark/PMRREF)^2 + DLOSS (p_loss/PLRREF)^2
//! sender    ramp-up: r_ref = max(r_ref, (1 + gamma) r_recv),  gamma = min(GAMMA_MAX, QBOUND/(rtt + DELTA + DFILT))
//!           else:    r_ref -= KAPPA (delta/TAU) (x_offset/TAU) r_ref + KAPPA ETA (x_diff/TAU) r_ref
//! ```
//!
//! Where the RFC is silent, or leaves a choice:
//!
//! - **The base of the queue delay** is a line below the delays of 20 minutes, so that a skew of the clocks up to
//!   100 ppm does not count as a queue.
//! - `p_loss` and `p_mark` are smoothed at each report. Each run of missing packets ends a loss interval, since the
//!   receiver does not know the round-trip time. `loss_int` is the mean of closed intervals: with the open interval (RFC
//!   5348 section 5.4), whose weight is 1/6, it would never be shorter than a seventh of the time since the last loss.
//! - Between the warped and the plain delay, the receiver interpolates over `loss_int` packets, as the RFC recommends.
//! - `delta` is at most `TAU`, so that a report after a pause counts as one of half a second.
//! - **Application-limited**: in gradual mode the rate grows to twice `r_recv` at most.
//! - **Without reports** for a retransmission timeout (RFC 6298, at least the round-trip time + 200 ms) and 100 ms while
//!   packets are not reported, the rate halves, down to `RMIN`. The sender
//!   sends one packet per 200 ms or round trip, until a report arrives.

mod options;
mod receiver;
mod sender;

pub use options::NadaOptions;
pub use receiver::NadaReceiver;
pub use sender::NadaSender;

use crate::report::Own;
use headway_units::{Duration, Rate};

/// Target interval of reports, `DELTA`.
const DELTA: Duration = Duration::from_millis(100);

/// Contents of a report (RFC 8698 section 5.3), in 6 bytes: 1 bit `rmode`, 15 bits `x_curr` in 100 us, 32 bits `r_recv`
/// in bit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
struct NadaReport {
    /// Whether the sender operates in gradual update mode (`rmode` 1), not in accelerated ramp-up (`rmode` 0).
    gradual: bool,
    /// Congestion signal `x_curr` in s.
    signal_s: f64,
    receive_rate: Rate,
}

impl NadaReport {
    const MAX_SIGNAL: u16 = 0x7fff;

    fn encode(self) -> Option<Own> {
        let signal = ((self.signal_s * 1e4).round() as u16).min(Self::MAX_SIGNAL);
        let [s0, s1] = (u16::from(self.gradual) << 15 | signal).to_be_bytes();
        let rate = u32::try_from(self.receive_rate.bits_per_second()).unwrap_or(u32::MAX);
        let [r0, r1, r2, r3] = rate.to_be_bytes();
        Own::new(&[s0, s1, r0, r1, r2, r3])
    }

    fn decode(own: &Own) -> Option<Self> {
        let [s0, s1, r0, r1, r2, r3] = *own.as_bytes() else { return None };
        let word = u16::from_be_bytes([s0, s1]);
        Some(Self {
            gradual: word > Self::MAX_SIGNAL,
            signal_s: f64::from(word & Self::MAX_SIGNAL) / 1e4,
            receive_rate: Rate::from_bits_per_second(u32::from_be_bytes([r0, r1, r2, r3]).into()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 8698 section 5.3: 15 bits of 100 us allow 3.2767 s; a longer signal is reported as that.
    #[test]
    fn the_longest_signal() {
        let report = NadaReport { gradual: true, signal_s: 9.0, receive_rate: Rate::from_bits_per_second(1_000_000) };
        let own = report.encode().unwrap();
        assert_eq!(own.as_bytes(), [0xff, 0xff, 0, 0x0f, 0x42, 0x40]);
        assert_eq!(NadaReport::decode(&own).unwrap().signal_s, 3.2767);
        assert_eq!(NadaReport::decode(&Own::new(&[1; 5]).unwrap()), None);
    }

    proptest! {
        #[test]
        fn decoding_inverts_encoding(bytes: [u8; 6]) {
            let own = Own::new(&bytes).unwrap();
            prop_assert_eq!(NadaReport::decode(&own).unwrap().encode(), Some(own));
        }
    }
}
