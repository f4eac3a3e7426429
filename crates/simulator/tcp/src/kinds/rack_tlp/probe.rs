//! Tail loss probes (RFC 8985 section 7).

use headway_units::Duration;

/// Time for which a receiver may delay an acknowledgement (`TLP.max_ack_delay`, section 7.2).
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);
/// Probe timeout without a round-trip sample (section 7.2).
const WITHOUT_RTT: Duration = Duration::from_secs(1);

/// Tail loss probe in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    /// One past the highest segment sent when it was sent (`TLP.end_seq`).
    pub(super) end: u64,
    /// Whether it was a retransmission.
    pub(super) resent: bool,
}

impl Probe {
    /// Returns whether it was new data, or arrived in addition to the original (section 7.4.2).
    pub(super) fn was_needless(self, duplicate: Option<u64>) -> bool {
        !self.resent || duplicate == Some(self.end - 1)
    }

    /// Returns whether it replaced a lost segment, by an acknowledgement of later data.
    pub(super) fn has_repaired(self, acked: u64, duplicate: Option<u64>) -> bool {
        !self.was_needless(duplicate) && acked > self.end
    }
}

/// Returns the time after which a probe is sent (`TLP_calc_PTO`, section 7.2).
pub(super) fn timeout(srtt: Duration, in_flight: u64) -> Duration {
    let base = if srtt.is_zero() { WITHOUT_RTT } else { srtt * 2 };
    if in_flight == 1 { base + MAX_ACK_DELAY } else { base }
}
