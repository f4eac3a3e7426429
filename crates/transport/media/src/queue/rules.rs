//! The four decisions of a queue, with their parameters.

use super::waiting::Key;
use super::{Full, KindMethods, Late, Media, Order, QueueMethod, Travel};
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use headway_units::{Bytes, Duration, OptionError, QueueSize, unused_unless};

/// Rules of a send queue.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct Rules {
    /// Maximum number of waiting packets, or maximum bytes of data without headers; at least 1packet or 1B. At most
    /// 1000 packets, or 1048576 with `order = "arrival"`, `full = "refuse"` and `late = "send"`; this also applies to a
    /// limit in bytes.
    pub limit: QueueSize,
    /// Order in which packets are sent.
    pub order: Order,
    /// Behavior of a full queue.
    pub full: Full,
    /// Behavior for a packet that would arrive late.
    pub late: Late,
    /// Estimate of the path delay of a packet, which decides whether it would arrive late.
    pub travel: Travel,
    /// Estimated path delay to the receiver, as a fraction of the smoothed round-trip time, 0 to 1. Used with `travel =
    /// "round-trip"`, and with `"one-way"` before the first measurement.
    pub rtt_share: f64,
    /// Safety margin of `late = "sure-first"`, added to the path delay, in mean deviations of the round-trip time, 0 to
    /// 100.
    pub margin: f64,
    /// Time added to the expiry for each level of priority (1 is one level less urgent than 0), with `order = "score"`;
    /// at most 1 day.
    pub priority_weight: Duration,
    /// Time added to the expiry for each KiB of data, with `order = "score"`; at most 1 day.
    pub size_weight: Duration,
    /// Whether a packet that the receiver's reports show lost is enqueued and sent again, if it can still arrive on
    /// time.
    pub resend: bool,
    /// Whether dropping a late packet consumes the controller's permission to send one packet, as in Linux 6.1, where
    /// the CCID advances its nominal send time before `dccp_write_xmit` removes the packet. Only for `late = "discard"`
    /// and `"discard-unless-last"`.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "is_false"))]
    pub discard_spends: bool,
    /// Queueing methods, by kind of media, of messages that have no own method.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "KindMethods::is_empty"))]
    pub methods: KindMethods,
}

/// Returns whether an option has its default and is omitted from files.
#[cfg(feature = "schema")]
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// Maximum number of packets in a queue that searches before it selects: a second of 12 Mb/s in full packets, with a
/// negligible cost per packet.
const MAX_SEARCHED: usize = 1000;
/// Maximum number of packets in any queue: two minutes of 100 Mb/s in full packets, and 64 MiB of memory, which a
/// source faster than its path would fill.
const MAX_KEPT: usize = 1 << 20;
/// Maximum weight: a day.
const LARGEST_WEIGHT: Duration = Duration::from_secs(86_400);

impl Rules {
    /// Returns the rank of `media` by `order`.
    #[inline]
    pub(super) fn key<T>(&self, order: Order, media: &Media<T>) -> Key {
        order.key(media, self.priority_weight, self.size_weight)
    }

    /// Returns the method of messages without a method.
    #[inline]
    pub(super) const fn method(&self) -> QueueMethod {
        QueueMethod { order: self.order, full: self.full, late: self.late }
    }

    /// Returns the rule for `media` when it is late.
    pub(super) fn late_of<T>(&self, media: &Media<T>) -> Late {
        media.method.map_or(self.late, |method| method.late)
    }

    fn chooses(&self) -> bool {
        self.method().chooses()
    }

    /// Returns the maximum number of waiting packets, for any limit.
    pub(super) fn max_waiting(&self) -> usize {
        Self::max_before(self.method())
    }

    /// Returns the maximum number of waiting packets when a message of this method arrives, for any limit.
    pub(super) fn max_before(method: QueueMethod) -> usize {
        if method.chooses() { MAX_SEARCHED } else { MAX_KEPT }
    }

    pub(super) fn unused(&self) -> Vec<OptionError> {
        let scores = self.order == Order::Score || self.methods.all().any(|method| method.order == Order::Score);
        let scored = |key| unused_unless(scores, key, "order = \"score\"");
        [
            unused_unless(self.late == Late::SureFirst, "margin", "late = \"sure-first\""),
            // With travel = "one-way", the share is used until a delay is measured.
            unused_unless(self.travel != Travel::Forward, "rtt_share", "travel = \"round-trip\" or \"one-way\""),
            scored("priority_weight"),
            scored("size_weight"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    pub(super) fn check(&self) -> Result<(), OptionError> {
        if self.limit == QueueSize::Packets(0) || self.limit == QueueSize::Bytes(Bytes::new(0)) {
            return Err(OptionError::new(
                "limit",
                format!("{} is out of range: limit is at least 1packet", self.limit),
            ));
        }
        if let QueueSize::Packets(packets) = self.limit
            && packets > self.max_waiting() as u64
        {
            let message = if self.chooses() {
                format!(
                    "{packets} packets are too many for a queue that searches them before it selects one: limit is at most \
                     {MAX_SEARCHED}packets, or write kind = \"fifo\""
                )
            } else {
                format!("{packets} packets are too many to keep in memory: limit is at most {MAX_KEPT}packets")
            };
            return Err(OptionError::new("limit", message));
        }
        if self.discard_spends && !matches!(self.late, Late::Discard | Late::DiscardUnlessLast) {
            let message = "this queue drops no late packets: discard_spends requires late = \"discard\" or \"discard-unless-last\"";
            return Err(OptionError::new("discard_spends", message));
        }
        if self.late == Late::SureFirst && !self.methods.is_empty() {
            let message = "late = \"sure-first\" compares all waiting messages and excludes methods: expected another value of late";
            return Err(OptionError::new("methods", message));
        }
        if !(0.0..=1.0).contains(&self.rtt_share) {
            let message = format!("{} is out of range: rtt_share is from 0 to 1", self.rtt_share);
            return Err(OptionError::new("rtt_share", message));
        }
        if !(0.0..=100.0).contains(&self.margin) {
            let message = format!("{} is out of range: margin is from 0 to 100", self.margin);
            return Err(OptionError::new("margin", message));
        }
        for (key, weight) in [("priority_weight", self.priority_weight), ("size_weight", self.size_weight)] {
            if weight > LARGEST_WEIGHT {
                return Err(OptionError::new(key, format!("{weight} is out of range: from 0s to {LARGEST_WEIGHT}")));
            }
        }
        Ok(())
    }
}
