//! Options of packet spacing and their presets.

#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use headway_units::{Dialect, Duration, OptionError, Options, check_range, unused_unless};

/// Shortest gap: a packet of 1500 B has it at 12 Gb/s.
const MIN_GAP: Duration = Duration::from_micros(1);
/// Longest gap between packets (`t_mbi` of RFC 5348 section 4.3).
const MAX_GAP: Duration = Duration::from_secs(64);

/// Options of the controller `spacing`, whose gap between packets doubles after losses and shortens without.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct SpacingOptions {
    /// Response to a loss that a shorter gap between packets may have caused.
    pub damping: Damping,
    /// Rule by which the gap shortens after a report without losses.
    pub shorten: Shorten,
    /// Number of packets per round trip by which each report without losses raises the rate, with `shorten = "rate"`,
    /// from 0.001 to 1000000.
    pub packets: f64,
    /// Reduction of the gap with `shorten = "step"`, above 0s and at most 64s.
    pub step: Duration,
    /// Ratio of the new to the old gap with `shorten = "factor"`, from 0.01 to 0.999.
    pub factor: f64,
    /// Gap after a loss at a gap of zero, with which a flow starts, from 1us to 64s.
    pub first: Duration,
    /// Definition of the round-trip time, which is the interval at which the receiver counts packets, and the maximum
    /// of the gap.
    pub round_trip: SpacingRtt,
    /// Rule for the gap while the application sends fewer packets than permitted.
    pub when_limited: WhenLimited,
    /// Number of rounds without a report after which the gap doubles, as for a loss; 0: never. A round is a round-trip
    /// time plus the time from the start of a packet to the start of the next.
    pub silence: u8,
    /// Whether a silence (a time without reports) of any length counts as one loss: after it, the gap is at most twice
    /// that from before it.
    pub silence_is_one_loss: bool,
    /// Whether the next report after the one that ends a silence restores the gap from before the silence, if it shows
    /// no loss.
    pub remembers_rate: bool,
}

/// Response to a loss that a shorter gap between packets may have caused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Damping {
    /// Each report of a loss doubles the gap (the ad-hoc protocol, section 2.1 of the packet spacing paper).
    None,
    /// The loss is attributed to the newest decision about the gap, although the reported packets were sent before it.
    /// If that decision shortened the gap, the previous gap is restored instead of doubling.
    Newest,
    /// The loss is attributed to the decision about the gap under which the lost packets were sent. If that decision
    /// shortened the gap, the gap from before it is restored instead of doubling. Reports about packets sent before the
    /// last doubling or restoration of the gap are ignored.
    InForce,
}

/// Rule by which the gap between packets shortens after a report without losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Shorten {
    /// The gap shortens so that `packets` more packets fit in a round trip. The new gap is R / (R / (tx + ps) +
    /// packets) - tx. R is the round-trip time, tx the transmission time of a packet and ps the old gap.
    Rate,
    /// The gap shortens by `step`.
    Step,
    /// The gap shortens to `factor` times the old gap. With 0.5, restoring equals doubling, so damping has no effect.
    Factor,
}

/// Definition of the round-trip time that the controller `spacing` uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum SpacingRtt {
    /// Initial round-trip time, never updated: from the handshake, or from a first packet sent alone (the ping of the
    /// packet spacing paper).
    Base,
    /// Minimum of the round-trip times measured so far.
    Least,
    /// Moving average of the measured round-trip times, 0.9 of the old mean and 0.1 of the new sample.
    Smoothed,
}

/// Rule for the gap while the application sends fewer packets than permitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum WhenLimited {
    /// The gap shortens as if the application had sent all permitted packets, although the path is not tested at that
    /// rate.
    Shorten,
    /// The gap is kept if the application sends less than half of the permitted packets. It may still shorten to that
    /// of four packets per round trip.
    Hold,
}

impl Options for SpacingOptions {
    /// Returns the values of the paper: one more packet per round trip, 50 us at first. For silences and
    /// application-limited periods, which it does not cover, the values follow TFRC, except with `ns2`.
    fn preset(dialect: Dialect) -> Self {
        let ns2 = dialect == Dialect::Ns2;
        Self {
            damping: Damping::InForce,
            shorten: Shorten::Rate,
            packets: 1.0,
            step: Duration::from_micros(50),
            factor: 0.5,
            first: Duration::from_micros(50),
            round_trip: SpacingRtt::Base,
            when_limited: if ns2 { WhenLimited::Shorten } else { WhenLimited::Hold },
            silence: if ns2 { 0 } else { 4 },
            silence_is_one_loss: dialect == Dialect::Headway1,
            remembers_rate: dialect == Dialect::Headway1,
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        check_range("packets", self.packets, 0.001..=1e6)?;
        check_range("factor", self.factor, 0.01..=0.999)?;
        check_range("step", self.step, Duration::from_nanos(1)..=MAX_GAP)?;
        check_range("first", self.first, MIN_GAP..=MAX_GAP)
    }

    fn unused(&self) -> Vec<OptionError> {
        let is_silent = self.silence > 0;
        [
            unused_unless(self.shorten == Shorten::Rate, "packets", "shorten = \"rate\""),
            unused_unless(self.shorten == Shorten::Step, "step", "shorten = \"step\""),
            unused_unless(self.shorten == Shorten::Factor, "factor", "shorten = \"factor\""),
            unused_unless(is_silent, "silence_is_one_loss", "silence above 0"),
            unused_unless(is_silent && self.silence_is_one_loss, "remembers_rate", "silence_is_one_loss = true"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}
