//! Google Congestion Control: the target rate is the lesser rate of two halves. One follows the growth of the one-way
//! delay, the other one the losses.
//!
//! ```text
//! gcc-2026  groups of 5 ms -> trendline -> over-use detector -> AIMD with link capacity ┐
//!           losses of 250 ms -> model of a path with a bandwidth and inherent losses    ┴ lesser rate
//! draft-02  groups of 5 ms -> Kalman filter -> over-use detector -> AIMD                ┐
//!           losses of 200 ms -> thresholds of 2 and 10 %                                ┴ lesser rate
//! ```
//!
//! `gcc-2026` follows libwebrtc, whose files the modules name. Differences from libwebrtc:
//!
//! - **No padding.** A sender half permits packets, but cannot send any. A probe therefore consists of media that waits
//!   in the send queue, sent faster ([`probe`]). In the first 2 s, media is held back for up to 200 ms to fill a probe.
//!   Later there is no probe without a queue, and the rate grows by 8 % per s at most, and only up to 1.5 times the rate
//!   that arrives. After losses, no padding is sent for 2 s, either.
//! - **Pacing** is always at 1.1 times the target rate, so that a source that ignores the target rate is limited, too.
//!   libwebrtc paces at 2.5 times the target rate before the first report, and faster if the queue would need more than
//!   2 s.
//! - **Without reports** the rate is multiplied by 0.8 each second, from 3 s after the last report on, down to
//!   `min_rate`, as in libwebrtc. It is checked when a packet is sent, and also before the first report. Packets are
//!   sent at the reduced rate, so that the path is probed. The next report ends the reduction: both halves still have
//!   their rates.
//! - **A packet is lost** if three later packets have arrived (`Flight`), not when a report does not list it.
//! - **Left out** are the robust throughput estimator, the network state estimator, allocated rates, the congestion
//!   window, and the check of a step of the receiver's clock. A step appears as growth of the delay, for 20 groups.
//!
//! `draft-02` differs from the draft as implementations do: the detector compares the number of groups, at most 60,
//! times the estimate with the threshold. Compared without this factor, as in the text, a queue that grows by 50 ms per
//! s is never detected. The rate of the loss half is limited to 1.05 times that of the delay half, and changes every
//! 200 ms at most. The limit of 1.5 times the received rate ends growth, but does not reduce the rate. Pacing is
//! that of the draft, at the target rate (section 4).

mod acknowledged_rate;
mod aimd;
mod alr;
mod arrival_groups;
mod draft;
mod link_capacity;
mod loss;
mod options;
mod overuse;
mod probe;
mod probe_controller;
mod receiver;
mod sender;
mod shipped;
mod trendline;
#[cfg(test)]
mod vectors;

pub use options::{GccOptions, GccVersion};
pub use receiver::GccReceiver;
pub use sender::GccSender;

use headway_units::{Duration, Instant};

/// Packet whose reception or loss was reported.
#[derive(Clone, Copy, Debug)]
struct ReportedPacket {
    number: u64,
    sent: Instant,
    /// Size with headers.
    bytes: f64,
    is_lost: bool,
    /// Arrival time by the receiver's clock, if reported.
    arrived: Option<Instant>,
}

/// A report, as the estimators use it.
#[derive(Clone, Copy, Debug)]
struct PacketReport<'a> {
    now: Instant,
    /// Packets in the order of arrival; those without arrival time first.
    packets: &'a [ReportedPacket],
    /// Mean time from sending a packet to its report.
    rtt: Duration,
}

/// Returns the time from one instant to another in ms, negative if it is earlier.
fn ms_between(from: Instant, to: Instant) -> f64 {
    to.as_nanos().wrapping_sub(from.as_nanos()).cast_signed() as f64 / 1e6
}
