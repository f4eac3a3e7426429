//! What a filter of losses is told.

#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use headway_units::{Duration, OptionError, Rate};

/// Which losses count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum LossFilterKind {
    /// Those while the bottleneck is judged busy, by the jitter of one-way delays (UDDJ-TFRC).
    Uddj,
    /// Those that come with long queues, as far as others do not.
    Guarded,
    /// Those behind a delay that is long for their number (ZigZag; Cen, Cosman and Voelker 2003).
    Zigzag,
    /// Those that the time between two arrivals does not make up for (mBiaz; Biaz and Vaidya 1999, Cen, Cosman and Voelker 2003).
    Mbiaz,
    /// Those while delays are near their greatest (Spike; Tobe and others 2000).
    Spike,
    /// Those that the channel did not take, of which a simulator tells the receiver (Wireless-TFRC): no protocol, but a yardstick.
    Oracle,
}

/// Options of `loss_filter = "uddj"`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct UddjOptions {
    /// What the congestion flag does.
    pub action: UddjAction,
    /// When the flag is computed anew.
    pub update: UddjUpdate,
    /// The flag is set from a utilisation F of 1 less this on; 0: above 1 only, as printed. Below 1.
    pub margin: f64,
    /// Whether the bottleneck is busy where jitter and queue cancel to nothing.
    pub busy_at_zero: bool,
    /// The flag is not set below this queueing delay.
    pub floor: Duration,
    /// The rate of the way, if it is known: what packets of different sizes take on it is then taken out of the jitter. Of links that pass
    /// packets on whole it is 1 / (1 / rate + 1 / rate ..).
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub bottleneck: Option<Rate>,
    /// Whether what one clock gains on the other is taken out of the jitter.
    pub remove_skew: bool,
}

/// What the congestion flag does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum UddjAction {
    /// Losses count only where it is set, and where it is set without a loss that counts as one.
    #[default]
    FilterAndEarly,
    /// Losses count only where it is set.
    Filter,
    /// Losses count only where it is set. As long as it is set the receiver reports at least the loss event rate that holds the sender at the
    /// rate that arrived when the flag was set.
    Hold,
}

/// When the flag is computed anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum UddjUpdate {
    /// Each round trip and at each loss, of the gaps since the last time (section 2.3).
    #[default]
    RoundTripAndLoss,
    /// Each round trip.
    RoundTrip,
    /// At each packet, of the gap before it.
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
            return wrong("bottleneck", "`bottleneck` is 0bps; leave the key away where the rate is not known");
        }
        Ok(())
    }
}
