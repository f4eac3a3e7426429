//! Gaps between packets with the arithmetic of ns-2.

use headway_rate::{Outbound, Sender};

/// Returns the time from the last packet to the next deadline in seconds, if the deadline is the end of a gap. The
/// clock of ns-2 is a sum of doubles: a gap rounded to nanoseconds would change the order of events.
pub(super) fn ns2_gap_s(outbound: &Outbound) -> Option<f64> {
    if outbound.permitted()? != outbound.poll_timeout()? {
        return None;
    }
    match outbound.controller()? {
        Sender::Udpm(sender) => sender.last_gap_s(),
        Sender::Rap(sender) => sender.last_gap_s(),
        Sender::Spacing(sender) => sender.last_gap_s(),
        Sender::SpacingFixed(sender) => sender.last_gap_s(),
        _ => None,
    }
}
