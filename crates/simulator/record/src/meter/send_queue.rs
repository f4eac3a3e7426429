//! Counts of a flow's send queue.

use headway_units::{Duration, MediaKind, SendDrop};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counts of a send queue for one media kind. Events count at or after `measure_from`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SendQueueSummary {
    /// Packets that the application wrote to the send queue.
    pub written_packets: u64,
    /// Packets that left the send queue to be sent, including retransmissions.
    pub sent_packets: u64,
    /// Arriving packets that the send queue rejected because it was full.
    pub refused_packets: u64,
    /// Waiting packets that the full send queue discarded in favor of others.
    pub pushed_out_packets: u64,
    /// Packets that the send queue discarded because they would have arrived after their deadline.
    pub expired_packets: u64,
    /// Mean time from writing a sent packet until it left the queue, in s; `None` without sent packets.
    pub mean_wait_s: Option<f64>,
    /// Maximum time from writing a sent packet until it left the queue, in s; `None` without sent packets.
    pub max_wait_s: Option<f64>,
    /// Packets that the send queue discarded, for any cause, and that would have arrived after their deadline by the
    /// sender's estimate.
    pub late_packets: u64,
    /// Mean time by which the packets of `late_packets` would have missed their deadline, in s; `None` without such
    /// packets.
    pub mean_lateness_s: Option<f64>,
    /// Number of times that a packet lost in the network was enqueued again in the send queue. Such packets are then
    /// sent or discarded like all others.
    #[serde(default)]
    pub returned_packets: u64,
    /// Packets lost in the network whose loss the sender detected too late for a retransmission by their deadline.
    #[serde(default)]
    pub lost_late_packets: u64,
}

impl SendQueueSummary {
    /// Returns the number of packets that the send queue discarded: refused, pushed out or expired. It includes lost
    /// packets that were enqueued again and then discarded.
    #[must_use]
    pub fn unsent_packets(&self) -> u64 {
        self.refused_packets + self.pushed_out_packets + self.expired_packets
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    written: u64,
    sent: u64,
    wait_sum: u128,
    wait_max: Duration,
    dropped: [u64; SendDrop::ALL.len()],
    late: u64,
    lateness_sum: u128,
    returned: u64,
    lost_late: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct SendQueueMeter {
    kinds: [Counts; MediaKind::ALL.len()],
}

impl SendQueueMeter {
    #[inline]
    pub(crate) fn written(&mut self, kind: MediaKind) {
        self.kinds[kind as usize].written += 1;
    }

    #[inline]
    pub(crate) fn left(&mut self, kind: MediaKind, wait: Duration) {
        let counts = &mut self.kinds[kind as usize];
        counts.sent += 1;
        counts.wait_sum += u128::from(wait.as_nanos());
        counts.wait_max = counts.wait_max.max(wait);
    }

    pub(crate) fn dropped(&mut self, kind: MediaKind, cause: SendDrop, lateness: Duration) {
        let counts = &mut self.kinds[kind as usize];
        counts.dropped[cause as usize] += 1;
        if !lateness.is_zero() {
            counts.late += 1;
            counts.lateness_sum += u128::from(lateness.as_nanos());
        }
    }

    pub(crate) fn found_lost(&mut self, kind: MediaKind, returned: bool) {
        let counts = &mut self.kinds[kind as usize];
        *if returned { &mut counts.returned } else { &mut counts.lost_late } += 1;
    }

    /// Returns the counts by kind; unused kinds are absent.
    pub(crate) fn summary(&self) -> BTreeMap<MediaKind, SendQueueSummary> {
        let mean = |sum: u128, count: u64| (count > 0).then(|| sum as f64 / count as f64 / 1e9);
        let summary = |kind: MediaKind| {
            let counts = &self.kinds[kind as usize];
            let [refused, pushed_out, expired] = counts.dropped;
            let lost = counts.returned + counts.lost_late;
            let used = counts.written + counts.sent + refused + pushed_out + expired + lost > 0;
            used.then(|| {
                let summary = SendQueueSummary {
                    written_packets: counts.written,
                    sent_packets: counts.sent,
                    refused_packets: refused,
                    pushed_out_packets: pushed_out,
                    expired_packets: expired,
                    mean_wait_s: mean(counts.wait_sum, counts.sent),
                    max_wait_s: (counts.sent > 0).then(|| counts.wait_max.as_secs_f64()),
                    late_packets: counts.late,
                    mean_lateness_s: mean(counts.lateness_sum, counts.late),
                    returned_packets: counts.returned,
                    lost_late_packets: counts.lost_late,
                };
                (kind, summary)
            })
        };
        MediaKind::ALL.into_iter().filter_map(summary).collect()
    }
}
