//! Options of loss filters.

#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use headway_units::{Duration, OptionError, Rate};

/// Loss filter of a TFRC receiver: criterion by which losses count as congestion and not as losses of the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum LossFilterKind {
    /// Losses count while the bottleneck is estimated to be busy, by the jitter of one-way delays (UDDJ-TFRC).
    Uddj,
    /// Losses count to the extent that they are more frequent with longer queues or at higher sending rates; if that
    /// cannot be judged, all count.
    Guarded,
    /// Losses count unless the one-way delay of the packet after them is short: below a limit, at or below the mean
    /// delay, that depends on the number of packets lost in a row (ZigZag; Cen, Cosman and Voelker 2003).
    Zigzag,
    /// Losses count unless the packet after them arrives when it would have arrived without them, which shows that the
    /// channel lost them (mBiaz; Biaz and Vaidya 1999, Cen, Cosman and Voelker 2003).
    Mbiaz,
    /// Losses count while the one-way delay is long: from above the middle between its minimum and maximum until below
    /// a third of this range (Spike; Tobe and others 2000).
    Spike,
    /// Losses in queues count, and losses on the channel do not, which the simulator distinguishes (Wireless-TFRC). This
    /// is not a protocol but a reference for comparison.
    Oracle,
}

/// Options of `loss_filter = "uddj"`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct UddjOptions {
    /// Effect of the congestion flag, which is set while the bottleneck is estimated to be busy.
    pub action: UddjAction,
    /// When the congestion flag is computed.
    pub update: UddjUpdate,
    /// Margin m of the congestion flag, from 0 to below 1: an estimated utilization of the bottleneck of at least 1 - m
    /// sets the flag. 0: only a utilization above 1 does, as in the UDDJ-TFRC paper.
    pub margin: f64,
    /// Whether the bottleneck counts as busy if the jitter of the one-way delay and the estimated queueing delay are
    /// both zero.
    pub busy_at_zero: bool,
    /// Queueing delay below which the congestion flag is not set.
    pub floor: Duration,
    /// Rate of the bottleneck, above 0bps; absent: unknown. With it, differences in transmission time between packets
    /// of different sizes are removed from the jitter. For a path of several store-and-forward links it is the inverse
    /// of the sum of their 1 / rate.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub bottleneck: Option<Rate>,
    /// Whether the skew between the clocks of sender and receiver is removed from the jitter.
    pub remove_skew: bool,
}

/// Effect of the congestion flag, which is set while the bottleneck is estimated to be busy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum UddjAction {
    /// Losses count only while the congestion flag is set. The set flag also counts as a loss without one, once per
    /// round trip.
    #[default]
    FilterAndEarly,
    /// Losses count only while the congestion flag is set.
    Filter,
    /// Losses count only while the congestion flag is set. While it is set, the receiver reports at least the loss
    /// event rate that holds the sender at the receive rate at which the flag was set.
    Hold,
}

/// When the congestion flag is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum UddjUpdate {
    /// The congestion flag is computed every round trip and at each loss, from the gaps between packets since the last
    /// computation (section 2.3 of the UDDJ-TFRC paper).
    #[default]
    RoundTripAndLoss,
    /// The congestion flag is computed every round trip, from the gaps between packets since the last computation.
    RoundTrip,
    /// The congestion flag is computed at each packet, from the gap before the packet.
    Packet,
}

impl Default for UddjOptions {
    fn default() -> Self {
        Self {
            action: UddjAction::default(),
            update: UddjUpdate::default(),
            margin: 0.0,
            busy_at_zero: false,
            floor: Duration::ZERO,
            bottleneck: None,
            remove_skew: false,
        }
    }
}

impl UddjOptions {
    pub(crate) fn check(&self) -> Result<(), OptionError> {
        let wrong = |key, message: &str| Err(OptionError::new(key, message).within("uddj"));
        if !(0.0..1.0).contains(&self.margin) {
            return wrong("margin", &format!("{} is out of range: from 0 to below 1", self.margin));
        }
        if self.bottleneck.is_some_and(|rate| rate.bits_per_second() == 0) {
            return wrong(
                "bottleneck",
                "0bps is out of range; expected a rate above 0, or omit the key if the rate is unknown",
            );
        }
        Ok(())
    }
}
