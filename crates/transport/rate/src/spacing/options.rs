//! What packet spacing is told: its options, and their presets.

#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use headway_units::{Dialect, Duration, OptionError, Options, check_range, unused_unless};

/// A packet of 1500 B has this gap at 12 Gb/s.
const SHORTEST_GAP: Duration = Duration::from_micros(1);
/// The longest gap between packets (`t_mbi` of RFC 5348 section 4.3).
const LONGEST_GAP: Duration = Duration::from_secs(64);

/// Options of `spacing`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct SpacingOptions {
    /// What a loss behind a deliberate shortening does.
    pub damping: Damping,
    /// How a gap becomes shorter where nothing was lost.
    pub shorten: Shorten,
    /// For `shorten = "rate"`: so many packets more in a round trip, from 0.001 to 1000000.
    pub packets: f64,
    /// For `shorten = "step"`: so much shorter, more than 0s and at most 64s.
    pub step: Duration,
    /// For `shorten = "factor"`: the new gap is this fraction of the old, from 0.01 to 0.999.
    pub factor: f64,
    /// The gap that follows none at all, from 1us to 64s.
    pub first: Duration,
    /// What the round trip is in which packets are counted, and which no gap exceeds.
    pub round_trip: SpacingRtt,
    /// What becomes of the gap while the application sends less than it allows.
    pub when_limited: WhenLimited,
    /// Round trips without a report after which the gap doubles, as for a loss; 0: it never does, and a sender that nobody hears goes on.
    pub silence: u8,
    /// However long a silence lasts, it is one loss: the first report after it leaves twice the gap from before it, at most.
    pub silence_is_one_loss: bool,
    /// The first report without a loss after a silence restores the gap from before it.
    pub remembers_rate: bool,
}

/// What a loss behind a deliberate shortening does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Damping {
    /// The gap doubles, whatever went before (the ad-hoc protocol, section 2.1).
    None,
    /// The newest decision is blamed, although the report is of packets that went before it.
    Newest,
    /// The decision by which the lost packets went is blamed; reports on packets from before the last reaction are passed over.
    InForce,
}

/// How a gap becomes shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Shorten {
    /// `packets` more in a round trip: R / (R / (tx + ps) + packets) - tx.
    Rate,
    /// By `step`.
    Step,
    /// To `factor` of it. With a half, to restore and to double are the same: damping changes nothing.
    Factor,
}

/// What the round trip is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum SpacingRtt {
    /// That of the set-up, for ever: what the carrier knows, or the answer to a first packet that goes alone (the paper's ping).
    Base,
    /// The least so far.
    Least,
    /// A moving average, 0.9 of the old and 0.1 of the new.
    Smoothed,
}

/// What becomes of the gap while the application sends less than it allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum WhenLimited {
    /// It becomes shorter all the same, although nobody has tried it.
    Shorten,
    /// It stays.
    Hold,
}

impl Options for SpacingOptions {
    /// The paper's: one packet more in a round trip, 50 us at first. What it is silent on, a sender that nobody hears and one that has little to
    /// send, is as in TFRC, but for the dialect of its simulator.
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
        check_range("step", self.step, Duration::from_nanos(1)..=LONGEST_GAP)?;
        check_range("first", self.first, SHORTEST_GAP..=LONGEST_GAP)
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
