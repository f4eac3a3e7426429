//! The four decisions of a queue, and the numbers that they take.

use super::waiting::Key;
use super::{Full, KindMethods, Late, Media, Order, QueueMethod, Travel};
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use headway_units::{Bytes, Duration, OptionError, QueueSize, unused_unless};

/// What a send queue does.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct Rules {
    /// How much waits at most: packets, or bytes of data without headers.
    pub limit: QueueSize,
    /// In which order packets go.
    pub order: Order,
    /// What happens when the queue is full.
    pub full: Full,
    /// What happens to a packet that would come too late, when one may go.
    pub late: Late,
    /// How long a packet that goes now is taken to be on its way.
    pub travel: Travel,
    /// Which part of the controller's round trip a packet is on its way, 0 to 1.
    pub rtt_share: f64,
    /// By how many mean deviations of the round trip a packet must be early to be sure to come in time, 0 to 100; of
    /// `late = "sure-first"`.
    pub margin: f64,
    /// By how much a score puts a packet off for each level of its priority.
    pub priority_weight: Duration,
    /// By how much a score puts a packet off for each KiB of its data.
    pub size_weight: Duration,
    /// Whether a packet that the receiver's reports show lost comes back, if it can still arrive in time.
    pub resend: bool,
    /// Whether a late packet that is thrown away uses up the permission to send, as in Linux 6.1: the CCID moves its nominal send time
    /// before `dccp_write_xmit` removes the packet. Only for `late = "discard"` and `"discard-unless-last"`.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "is_false"))]
    pub discard_spends: bool,
    /// The method of each kind of media whose messages name none.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "KindMethods::is_empty"))]
    pub methods: KindMethods,
}

/// Whether an option has its preset, and is left out of a file.
#[cfg(feature = "schema")]
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// Packets at most in a queue that looks through what waits before it chooses: a second of 12 Mb/s in full packets, and as much work
/// a packet as nobody notices.
const MOST_SEARCHED: usize = 1000;
/// Packets at most in any queue: two minutes of 100 Mb/s in full packets, and 64 MiB of memory, which a source that is faster
/// than its path would fill.
const MOST_KEPT: usize = 1 << 20;
/// A day.
const LARGEST_WEIGHT: Duration = Duration::from_secs(86_400);

impl Rules {
    /// Returns the place of `media` by `order`.
    #[inline]
    pub(super) fn key<T>(&self, order: Order, media: &Media<T>) -> Key {
        order.key(media, self.priority_weight, self.size_weight)
    }

    /// Returns the method of messages that name none.
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

    /// Packets that may wait, whatever the limit.
    pub(super) fn most_waiting(&self) -> usize {
        Self::most_before(self.method())
    }

    /// Packets that may wait when one of this method arrives, whatever the limit.
    pub(super) fn most_before(method: QueueMethod) -> usize {
        if method.chooses() { MOST_SEARCHED } else { MOST_KEPT }
    }

    pub(super) fn unused(&self) -> Vec<OptionError> {
        let scores = self.order == Order::Score || self.methods.all().any(|method| method.order == Order::Score);
        let scored = |key| unused_unless(scores, key, "order = \"score\"");
        [
            unused_unless(self.late == Late::SureFirst, "margin", "late = \"sure-first\""),
            // A queue with travel = "one-way" uses the share until a delay is measured.
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
            return Err(OptionError::new("limit", "a queue without room sends nothing: limit is at least 1packet"));
        }
        if let QueueSize::Packets(packets) = self.limit
            && packets > self.most_waiting() as u64
        {
            let message = if self.chooses() {
                format!(
                    "{packets} packets are too many for a queue that looks through them before it chooses: limit is at most \
                     {MOST_SEARCHED}packets, or write kind = \"fifo\""
                )
            } else {
                format!("{packets} packets are too many to keep in memory: limit is at most {MOST_KEPT}packets")
            };
            return Err(OptionError::new("limit", message));
        }
        if self.discard_spends && !matches!(self.late, Late::Discard | Late::DiscardUnlessLast) {
            let message = "this queue throws no late packet away: discard_spends goes with late = \"discard\" or \"discard-unless-last\"";
            return Err(OptionError::new("discard_spends", message));
        }
        if self.late == Late::SureFirst && !self.methods.is_empty() {
            let message = "this queue compares all messages that wait, so that none has its own method: expected another `late` than \"sure-first\"";
            return Err(OptionError::new("methods", message));
        }
        if !(0.0..=1.0).contains(&self.rtt_share) {
            let message = format!("{} is no part of a round trip: rtt_share is from 0 to 1", self.rtt_share);
            return Err(OptionError::new("rtt_share", message));
        }
        if !(0.0..=100.0).contains(&self.margin) {
            let message = format!("{} mean deviations are out of range: margin is from 0 to 100", self.margin);
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
