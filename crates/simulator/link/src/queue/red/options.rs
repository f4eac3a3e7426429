//! The options of RED.

use super::super::check_limit;
use super::classes::{self, Class};
use super::mark_limit::MarkLimit;
use headway_units::{Bytes, Dialect, Duration, OptionError, Probability, QueueSize, Threshold, unused_unless};
use serde::{Deserialize, Serialize};

/// Options of a queue of `kind = "red"`. The names in brackets are ns-2 variables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Capacity of the queue. With `in_bytes`, a capacity of n packets is n times `mean_packet` bytes. \[limit_\]
    pub limit: QueueSize,
    /// Whether the queue and its average are measured in bytes. \[queue_in_bytes_\]
    pub in_bytes: bool,
    /// Whether the drop probability grows with the size of the packet. \[bytes_\]
    pub weigh_size: bool,
    /// Mean packet size, which converts bytes into packets, and idle time into missed arrivals. \[mean_pktsize_\]
    pub mean_packet: Bytes,
    /// Average queue length at which early drops begin (lower threshold). 0 or `false` is automatic: the packets that
    /// the link sends in half of `target_delay`, at least 5. \[thresh_\]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_threshold: Option<Threshold>,
    /// Average queue length at which the drop probability reaches `max_probability` (upper threshold). 0 or `false` is
    /// automatic: three times the lower threshold. \[maxthresh_\]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_threshold: Option<Threshold>,
    /// Queueing delay from which an automatic `min_threshold` (0 or `false`) is computed. \[targetdelay_\]
    pub target_delay: Duration,
    /// Weight of the queue length at an arrival in the moving average, above 0, at most 1; or an automatic value of
    /// ns-2: 0 is 1 - exp(-1/C), -1 is 1 - exp(-1/(10 C RTT)), -2 is 1 - exp(-10/C). C is the link rate in mean packets
    /// per second. RTT is three times the sum of link delay and transmission time of a mean packet, at least 100 ms.
    /// \[q_weight_\]
    pub queue_weight: f64,
    /// Drop probability at the upper threshold. \[1/linterm_\]
    pub max_probability: Probability,
    /// Whether the drop probability rises linearly to 1 between the upper threshold and twice that; if not, it is 1
    /// above the upper threshold. \[gentle_\]
    pub gentle: bool,
    /// Whether early drops are spaced: at drop probability p, none within 1/p arrivals after the last one. \[wait_\]
    pub wait: bool,
    /// Whether ECN-capable packets are marked instead of dropped. \[setbit_\]
    pub ecn: bool,
    /// Drop probability from which on RED drops ECN-capable packets, too; above 1 it always marks them. Without it
    /// (dialect ns2: `false`) RED marks them, but from the upper threshold on (with `gentle`, from twice that) each
    /// arrival forces a drop. \[mark_p_, use_mark_p_\]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark_limit: Option<MarkLimit>,
    /// Which packet a forced drop discards, such as that of a full queue. \[drop_tail_, drop_rand_, drop_front_\]
    pub drop: Victim,
    /// How `max_probability` adapts to the load. \[adaptive_, feng_adaptive_\]
    pub adaptive: Adaptive,
    /// For `adaptive = "aimd"`: additive increase of `max_probability`, at most a quarter of `max_probability`; 0.01 if
    /// absent. For `"feng"`: divisor of `max_probability` when the average falls below the lower threshold, above 1 for
    /// a decrease; 3 if absent (dialect ns2: 0.01, as for `"aimd"`). \[alpha_\]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// For `adaptive = "aimd"`: factor that decreases `max_probability`; 0.9 if absent. For `"feng"`: factor of
    /// `max_probability` when the average rises above the upper threshold, above 1 for an increase; 2 if absent
    /// (dialect ns2: 0.9, as for `"aimd"`). \[beta_\]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    /// For `adaptive = "aimd"`: minimum time between two adaptations of `max_probability`. \[interval_\]
    pub interval: Duration,
    /// For `adaptive = "aimd"`: value of `max_probability` from which on it is no longer increased. \[top_\]
    pub top: Probability,
    /// For `adaptive = "aimd"`: `max_probability` is decreased only while it is above this value; 0 is replaced by the
    /// smaller of 0.01 and the value of `automatic_bottom`. \[bottom_\]
    pub bottom: Probability,
    /// For `adaptive = "aimd"` and `bottom = 0`: formula for the value that replaces `bottom`.
    pub automatic_bottom: AutomaticBottom,
    /// Experiments of ns-2: 0 is off; 1 drops nothing early while the queue is far below its average; 2 drops fewer
    /// packets early in that case; 3 counts idle time in packets of size `idle_packet`. \[cautious_\]
    pub cautious: u8,
    /// Packet size for `cautious = 3`. \[idle_pktsize_\]
    pub idle_packet: Bytes,
    /// Whether a forced drop leaves the count of packets since the last drop unchanged, instead of setting it to 0. A
    /// drop is forced if the queue is full, or, without `mark_limit`, if the average is at or above the upper threshold
    /// (with `gentle`, twice that). \[ns1_compat_\]
    pub ns1_compat: bool,
    /// Traffic classes, by DSCP, each with its reaction to an early drop. For packets without a class, `ecn` selects
    /// it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Class>,
}

/// The packet that RED drops if a drop is forced: if the queue is full, or the average is so high that each arrival
/// forces a drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Victim {
    /// A forced drop discards the arriving packet.
    Tail,
    /// A forced drop discards a packet drawn at random from the waiting packets and the arriving packet.
    Random,
    /// A forced drop discards the packet that would depart second, as in ns-2.
    Front,
}

/// How the drop probability of RED adapts to the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Adaptive {
    /// `max_probability` is constant.
    Off,
    /// `max_probability` adapts as in Adaptive RED (Floyd, Gummadi and Shenker 2001).
    Aimd,
    /// `max_probability` adapts as in self-configuring RED (Feng, Kandlur, Saha and Shin 1999).
    Feng,
}

/// Formula for the lower bound of the adapted `max_probability` if `bottom` is 0. The result is bounded by 0.01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AutomaticBottom {
    /// The inverse of the number of packets of 1000 B that the link sends in 100 ms: 80 kb/s over its rate (ns-2).
    Window,
    /// The bits of `mean_packet` times 0.1, over the link's rate in bit/s (ns-3, with a round-trip time of 0.1 s).
    MeanPacket,
}

/// Minimum of an automatic `min_threshold`, in packets.
pub(super) const LEAST_AUTOMATIC_THRESHOLD: f64 = 5.0;

impl headway_units::Options for Options {
    fn preset(dialect: Dialect) -> Self {
        let (ns2, ns3) = (dialect == Dialect::Ns2, dialect == Dialect::Ns3);
        Self {
            limit: QueueSize::Packets(if ns3 { 25 } else { 50 }),
            in_bytes: ns2,
            weigh_size: ns2,
            mean_packet: Bytes::new(500),
            min_threshold: (!ns2).then_some(Threshold::Packets(5.0)),
            max_threshold: (!ns2).then_some(Threshold::Packets(15.0)),
            target_delay: Duration::from_millis(5),
            queue_weight: if ns2 { -1.0 } else { 0.002 },
            max_probability: probability(if ns3 { 0.02 } else { 0.1 }),
            gentle: true,
            wait: true,
            ecn: false,
            mark_limit: ns2.then_some(probability(0.1).into()),
            drop: Victim::Tail,
            adaptive: Adaptive::Off,
            // ns-2 has one `alpha_` and `beta_` for both algorithms; ns-3 has `FengAlpha` 3 and `FengBeta` 2.
            alpha: ns2.then_some(0.01),
            beta: ns2.then_some(0.9),
            interval: Duration::from_millis(500),
            top: probability(0.5),
            bottom: Probability::ZERO,
            automatic_bottom: if ns3 { AutomaticBottom::MeanPacket } else { AutomaticBottom::Window },
            cautious: 0,
            idle_packet: Bytes::new(100),
            // ns-3 uses the opposite meaning, and its `Ns1Compat` is false (`RedQueueDisc::DoEnqueue`).
            ns1_compat: ns3,
            classes: Vec::new(),
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        let wrong = |key, message: &str| Err(OptionError::new(key, message));
        check_limit(self.limit)?;
        if matches!(self.limit, QueueSize::Bytes(_)) && !self.in_bytes {
            return wrong("limit", "a limit in bytes needs in_bytes = true");
        }
        if !self.in_bytes {
            for (key, threshold) in [("min_threshold", self.min_threshold), ("max_threshold", self.max_threshold)] {
                if matches!(threshold, Some(Threshold::Bytes(_))) {
                    return wrong(key, "a threshold in bytes needs in_bytes = true");
                }
            }
        }
        if !(1..=1_000_000_000).contains(&self.mean_packet.count()) {
            return wrong("mean_packet", "must be from 1B to 1GB");
        }
        if !(1..=1_000_000_000).contains(&self.idle_packet.count()) {
            return wrong("idle_packet", "must be from 1B to 1GB");
        }
        let automatic = [0.0, -1.0, -2.0].contains(&self.queue_weight);
        let in_range = self.queue_weight > 0.0 && self.queue_weight <= 1.0;
        if !(automatic || in_range) {
            return wrong("queue_weight", "must be above 0 and at most 1, or one of ns-2's automatic 0, -1, -2");
        }
        self.check_thresholds()?;
        if self.max_probability.value() == 0.0 {
            return wrong("max_probability", "must be above 0: at 0 nothing is dropped early; use kind = \"droptail\"");
        }
        for (key, value) in [("alpha", self.alpha), ("beta", self.beta)] {
            if value.is_some_and(|value| !(value > 0.0 && value <= 100.0)) {
                return wrong(key, "must be above 0 and at most 100");
            }
        }
        if self.adaptive == Adaptive::Aimd && self.bottom > self.top {
            let message = format!("{} is above top: expected at most {}", self.bottom.value(), self.top.value());
            return Err(OptionError::new("bottom", message));
        }
        if self.cautious > 3 {
            return wrong("cautious", "must be 0, 1, 2 or 3");
        }
        classes::check(&self.classes)
    }

    fn unused(&self) -> Vec<OptionError> {
        let aimd = self.adaptive == Adaptive::Aimd;
        let adapts = |key| unused_unless(self.adaptive != Adaptive::Off, key, "adaptive = \"aimd\" or \"feng\"");
        let by_steps = |key| unused_unless(aimd, key, "adaptive = \"aimd\"");
        let fixed_bottom = aimd && self.bottom != Probability::ZERO;
        let has_automatic_threshold = self.min_threshold.is_none_or(|threshold| self.units(threshold) == 0.0);
        [
            unused_unless(has_automatic_threshold, "target_delay", "min_threshold = false"),
            adapts("alpha"),
            adapts("beta"),
            by_steps("interval"),
            by_steps("top"),
            by_steps("bottom"),
            unused_unless(aimd && !fixed_bottom, "automatic_bottom", "adaptive = \"aimd\" and bottom = 0"),
            unused_unless(self.cautious == 3, "idle_packet", "cautious = 3"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

fn probability(value: f64) -> Probability {
    Probability::new(value).unwrap_or(Probability::ZERO)
}

impl Options {
    /// Checks that `min_threshold` is at most `max_threshold`, and at most `limit` if it is written. A study that varies
    /// `limit` may set it below the automatic threshold: RED then drops like DropTail, as in ns-2.
    fn check_thresholds(&self) -> Result<(), OptionError> {
        let is_written = |threshold: &Threshold| self.units(*threshold) > 0.0;
        let written = self.min_threshold.filter(is_written);
        let (name, low) = match written {
            Some(low) => ("min_threshold,", low),
            None => ("the automatic min_threshold, at least", Threshold::Packets(LEAST_AUTOMATIC_THRESHOLD)),
        };
        if let Some(high) = self.max_threshold.filter(is_written).filter(|high| self.units(low) > self.units(*high)) {
            let message = format!("{high} is below {name} {low}; expected at least {low}");
            return Err(OptionError::new("max_threshold", message));
        }
        let limit = match self.limit {
            QueueSize::Packets(packets) => Threshold::Packets(packets as f64),
            QueueSize::Bytes(bytes) => Threshold::Bytes(bytes.count() as f64),
        };
        if written.is_some() && self.units(low) > self.units(limit) {
            let message = format!(
                "{} is below min_threshold, {low}, so that RED drops and marks nothing early; expected at least {low}, or \
                 a min_threshold of at most {limit}",
                self.limit
            );
            return Err(OptionError::new("limit", message));
        }
        Ok(())
    }

    /// Returns a threshold in the unit of the queue: packets or bytes.
    pub(super) fn units(&self, threshold: Threshold) -> f64 {
        match threshold {
            Threshold::Packets(packets) if self.in_bytes => packets * self.mean_packet.count() as f64,
            Threshold::Packets(units) | Threshold::Bytes(units) => units,
        }
    }
}
