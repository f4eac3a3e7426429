//! Random Early Detection (Floyd and Jacobson 1993) as ns-2.35 computes it (queue/red.cc), with every option of that
//! file that changes results.
//!
//! At each arrival, before the decision and without the arriving packet, with q the waiting packets (or bytes):
//!
//! ```text
//! avg   <- avg (1 - w_q)^(m+1) + w_q q        m = floor(idle time * packets per second)
//! p_b    = max_p (avg - min_th) / (max_th - min_th)                     min_th <= avg < max_th
//!        = (1 - max_p)/max_th * avg + 2 max_p - 1      (gentle)         max_th <= avg
//!        = 1                                           (not gentle)     max_th <= avg
//! p_a    = p_b / (2 - c p_b) once c p_b >= 1 (wait), or p_b / (1 - c p_b);  c counts arrivals since the last drop
//! ```
//!
//! Departures of ns-2 from the 1993 paper that change results: m+1 instead of m after an idle time; `wait`; `gentle`;
//! the first packet above `min_th` is never dropped; nothing is dropped early while at most one packet (in byte mode
//! one *byte*) waits; a mark is refused, and the packet dropped, from `mark_limit` on.

use super::{Arrival, Backlog, LinkFacts, Verdict};
use headway_units::{
    Bytes, Dialect, DropCause, Duration, Instant, OptionError, Probability, QueueSize, Random, Threshold,
};
use serde::{Deserialize, Serialize};

/// Options of `kind = "red"`. In brackets the variable of ns-2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// How much the queue holds. With `in_bytes`, packets are counted at `mean_packet` bytes each. \[limit_\]
    pub limit: QueueSize,
    /// Whether the queue and its average are measured in bytes. \[queue_in_bytes_\]
    pub in_bytes: bool,
    /// Whether a packet's probability grows with its size. \[bytes_\]
    pub weigh_size: bool,
    /// Packet size that turns bytes into packets, and idle time into missed arrivals. \[mean_pktsize_\]
    pub mean_packet: Bytes,
    /// Average at which early drops begin; absent: half of `target_delay` at the link's rate, 5 packets at
    /// least. \[thresh_\]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_threshold: Option<Threshold>,
    /// Average at which the drop probability reaches `max_probability`; absent: three times the
    /// lower. \[maxthresh_\]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_threshold: Option<Threshold>,
    /// Queueing delay aimed at by the automatic thresholds. \[targetdelay_\]
    pub target_delay: Duration,
    /// Weight of an arrival in the average, from 0 to 1; or as in ns-2: 0 is 1 - exp(-1/C), -1 is
    /// 1 - exp(-1/(10 C RTT)), -2 is 1 - exp(-10/C), C in mean packets per second, RTT three times the link's delay
    /// and 100 ms at least. \[q_weight_\]
    pub queue_weight: f64,
    /// Drop probability at the upper threshold. \[1/linterm_\]
    pub max_probability: Probability,
    /// Whether the probability rises to 1 only at twice the upper threshold. \[gentle_\]
    pub gentle: bool,
    /// Whether drops keep a distance from one another. \[wait_\]
    pub wait: bool,
    /// Whether ECN-capable packets are marked instead of dropped. \[setbit_\]
    pub ecn: bool,
    /// Drop probability from which on even capable packets are dropped; absent: they are always marked, but beyond
    /// the upper threshold (twice that if `gentle`) every packet is dropped. \[mark_p_, use_mark_p_\]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark_limit: Option<Probability>,
    /// Which packet a full queue gives up. \[drop_tail_, drop_rand_, drop_front_\]
    pub drop: Victim,
    /// How `max_probability` follows the load. \[adaptive_, feng_adaptive_\]
    pub adaptive: Adaptive,
    /// Increase of the adapted probability: a step for `aimd`, a divisor for `feng`. \[alpha_\]
    pub alpha: f64,
    /// Decrease of the adapted probability: a factor for `aimd`; for `feng` the factor of the increase. \[beta_\]
    pub beta: f64,
    /// Least time between two adaptations. \[interval_\]
    pub interval: Duration,
    /// Highest adapted probability. \[top_\]
    pub top: Probability,
    /// Lowest adapted probability; 0 is the smaller of 0.01 and 80 kb/s over the link's rate. \[bottom_\]
    pub bottom: Probability,
    /// ns-2's experiments: 1 spares packets while the queue is far below its average, 2 spares some, 3 counts idle
    /// time in packets of `idle_packet`; 0 does none of it. \[cautious_\]
    pub cautious: u8,
    /// Packet size for `cautious = 3`. \[idle_pktsize_\]
    pub idle_packet: Bytes,
    /// Whether a forced drop leaves the count since the last drop alone. \[ns1_compat_\]
    pub ns1_compat: bool,
}

/// Which packet a full RED queue gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Victim {
    /// The newcomer.
    Tail,
    /// Any of the waiting, the newcomer included.
    Random,
    /// The second to leave, as in ns-2.
    Front,
}

/// How RED's probability follows the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Adaptive {
    /// It does not.
    Off,
    /// Adaptive RED (Floyd, Gummadi and Shenker 2001).
    Aimd,
    /// Self-configuring RED (Feng, Kandlur, Saha and Shin 1999).
    Feng,
}

impl headway_units::Options for Options {
    fn preset(dialect: Dialect) -> Self {
        let ns2 = dialect == Dialect::Ns2;
        Self {
            limit: QueueSize::Packets(50),
            in_bytes: ns2,
            weigh_size: ns2,
            mean_packet: Bytes::new(500),
            min_threshold: (!ns2).then_some(Threshold::Packets(5.0)),
            max_threshold: (!ns2).then_some(Threshold::Packets(15.0)),
            target_delay: Duration::from_millis(5),
            queue_weight: if ns2 { -1.0 } else { 0.002 },
            max_probability: probability(0.1),
            gentle: true,
            wait: true,
            ecn: false,
            mark_limit: ns2.then_some(probability(0.1)),
            drop: Victim::Tail,
            adaptive: Adaptive::Off,
            alpha: 0.01,
            beta: 0.9,
            interval: Duration::from_millis(500),
            top: probability(0.5),
            bottom: Probability::ZERO,
            cautious: 0,
            idle_packet: Bytes::new(100),
            ns1_compat: false,
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        let wrong = |key, message: &str| Err(OptionError::new(key, message));
        match self.limit {
            QueueSize::Packets(0) => {
                return wrong("limit", "a queue of 0 packets passes nothing: write at least \"1packets\"");
            }
            QueueSize::Bytes(bytes) if bytes.count() == 0 => {
                return wrong("limit", "a queue of 0 bytes passes nothing: write at least \"1B\"");
            }
            QueueSize::Bytes(_) if !self.in_bytes => {
                return wrong("limit", "a limit in bytes needs in_bytes = true");
            }
            _ => {}
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
        if let (Some(low), Some(high)) = (self.min_threshold, self.max_threshold)
            && self.units(low) > self.units(high)
        {
            return wrong("max_threshold", "must not lie below min_threshold");
        }
        if self.max_probability.value() == 0.0 {
            return wrong("max_probability", "must be above 0: at 0 nothing is dropped early; use kind = \"droptail\"");
        }
        for (key, value) in [("alpha", self.alpha), ("beta", self.beta)] {
            if !(value > 0.0 && value <= 100.0) {
                return wrong(key, "must be above 0 and at most 100");
            }
        }
        if self.cautious > 3 {
            return wrong("cautious", "must be 0, 1, 2 or 3");
        }
        Ok(())
    }
}

fn probability(value: f64) -> Probability {
    Probability::new(value).unwrap_or(Probability::ZERO)
}

impl Options {
    /// A threshold in what the queue counts: packets, or bytes.
    fn units(&self, threshold: Threshold) -> f64 {
        match threshold {
            Threshold::Packets(packets) if self.in_bytes => packets * self.mean_packet.count() as f64,
            Threshold::Packets(units) | Threshold::Bytes(units) => units,
        }
    }
}

/// A running RED queue. Names as in the module's equations.
#[derive(Debug)]
pub struct Red {
    options: Options,
    /// Bits per second.
    rate: u64,
    limit: u64,
    min_th: f64,
    max_th: f64,
    w_q: f64,
    /// Mean packets per second.
    ptc: f64,
    bottom: f64,
    max_p: f64,
    /// The gentle slope keeps the first `max_p` even where that adapts, as ns-2 does.
    gentle_slope: f64,
    gentle_offset: f64,
    avg: f64,
    count: u64,
    count_bytes: u64,
    above_min: bool,
    adapted_at: Instant,
    feng: Region,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Region {
    Below,
    Between,
    Above,
}

impl Red {
    pub(super) fn new(options: &Options, facts: LinkFacts) -> Self {
        let mean = options.mean_packet.count() as f64;
        let rate = facts.rate.bits_per_second();
        let ptc = rate as f64 / (8.0 * mean);
        let per_packet = if options.in_bytes { mean } else { 1.0 };
        let min_th = options.min_threshold.filter(|t| options.units(*t) > 0.0).map_or_else(
            || per_packet * f64::max(5.0, options.target_delay.as_secs_f64() * ptc / 2.0),
            |threshold| options.units(threshold),
        );
        let max_th = options
            .max_threshold
            .filter(|t| options.units(*t) > 0.0)
            .map_or(3.0 * min_th, |threshold| options.units(threshold));
        let max_p = options.max_probability.value();
        Self {
            rate,
            limit: match options.limit {
                QueueSize::Packets(packets) if options.in_bytes => packets.saturating_mul(options.mean_packet.count()),
                QueueSize::Packets(packets) => packets,
                QueueSize::Bytes(bytes) => bytes.count(),
            },
            min_th,
            max_th,
            w_q: weight(options.queue_weight, ptc, facts.delay),
            ptc,
            bottom: if options.bottom.value() == 0.0 {
                f64::min(0.01, 80_000.0 / rate as f64)
            } else {
                options.bottom.value()
            },
            max_p,
            gentle_slope: (1.0 - max_p) / max_th,
            gentle_offset: 2.0 * max_p - 1.0,
            avg: 0.0,
            count: 0,
            count_bytes: 0,
            above_min: false,
            adapted_at: Instant::ZERO,
            feng: Region::Above,
            options: options.clone(),
        }
    }

    pub(super) fn average(&self) -> Option<f64> {
        let unit = if self.options.in_bytes { self.options.mean_packet.count() as f64 } else { 1.0 };
        Some(self.avg / unit)
    }

    pub(super) fn admit(&mut self, now: Instant, backlog: &Backlog, arrival: Arrival, random: &mut Random) -> Verdict {
        let q = if self.options.in_bytes { backlog.bytes } else { backlog.packets };
        let missed = if backlog.idle { self.missed_arrivals(backlog.idle_s) } else { 0 };
        self.update_average(now, q, missed);

        let size = arrival.size.count();
        self.count += 1;
        self.count_bytes = self.count_bytes.saturating_add(size);

        let mut early = Early::No;
        let mut forced = q >= self.limit;
        if self.avg >= self.min_th && q > 1 {
            let certain = if self.options.gentle { 2.0 * self.max_th } else { self.max_th };
            if self.options.mark_limit.is_none() && self.avg >= certain {
                forced = true;
            } else if !self.above_min {
                self.above_min = true;
                self.count = 1;
                self.count_bytes = size;
            } else {
                early = self.decide_early(q, arrival, random);
            }
        } else {
            self.above_min = false;
        }

        if forced {
            if !self.options.ns1_compat {
                self.count = 0;
                self.count_bytes = 0;
            }
            // The newcomer counts among the victims.
            let place = match self.options.drop {
                Victim::Tail if matches!(early, Early::Mark) => return Verdict::DropMarked(DropCause::QueueFull),
                Victim::Tail => return Verdict::Drop(DropCause::QueueFull),
                Victim::Random => random.below(backlog.packets + 1),
                Victim::Front => backlog.packets.min(1),
            };
            let mark = matches!(early, Early::Mark);
            return Verdict::AdmitAndEvict { mark, place: place as usize, cause: DropCause::QueueFull };
        }
        match early {
            Early::No => Verdict::Admit,
            Early::Mark => Verdict::Mark,
            Early::Drop => Verdict::Drop(DropCause::Early),
        }
    }

    /// Mean packets that the idle time had room for, rounded down.
    fn missed_arrivals(&self, idle_s: f64) -> u64 {
        let packet = if self.options.cautious == 3 { self.options.idle_packet } else { self.options.mean_packet };
        // `as` takes a negative time, which rounding may leave, to zero.
        (self.rate as f64 / (8.0 * packet.count() as f64) * idle_s) as u64
    }

    fn update_average(&mut self, now: Instant, q: u64, missed: u64) {
        let keep = 1.0 - self.w_q;
        let decay = if missed == 0 { keep } else { libm::pow(keep, missed as f64 + 1.0) };
        self.avg = self.avg * decay + self.w_q * q as f64;
        match self.options.adaptive {
            Adaptive::Off => {}
            Adaptive::Aimd => self.adapt_aimd(now),
            Adaptive::Feng => self.adapt_feng(),
        }
    }

    /// Keeps the average between the thresholds' inner fifth (Adaptive RED, 2001).
    fn adapt_aimd(&mut self, now: Instant) {
        if now <= self.adapted_at + self.options.interval {
            return;
        }
        let part = 0.4 * (self.max_th - self.min_th);
        if self.avg < self.min_th + part && self.max_p > self.bottom {
            self.max_p *= self.options.beta;
            self.adapted_at = now;
        } else if self.avg > self.max_th - part && self.max_p < self.options.top.value() {
            self.max_p += f64::min(self.options.alpha, 0.25 * self.max_p);
            self.adapted_at = now;
        }
    }

    fn adapt_feng(&mut self) {
        if self.min_th < self.avg && self.avg < self.max_th {
            self.feng = Region::Between;
        }
        if self.avg < self.min_th && self.feng != Region::Below {
            self.feng = Region::Below;
            self.max_p /= self.options.alpha;
        }
        if self.avg > self.max_th && self.feng != Region::Above {
            self.feng = Region::Above;
            self.max_p *= self.options.beta;
        }
    }

    fn decide_early(&mut self, q: u64, arrival: Arrival, random: &mut Random) -> Early {
        let p_b = self.p_b();
        let p_a = self.p_a(p_b, arrival.size.count());
        // "Far below": the queue could have been empty for the last 50 ms.
        let far_below = match self.options.cautious {
            1 | 2 => libm::pow(1.0 - self.w_q, self.ptc * 0.05) * self.avg,
            _ => 0.0,
        };
        if self.options.cautious == 1 && (q as f64) < far_below {
            return Early::No;
        }
        let mut u = random.uniform();
        if self.options.cautious == 2 && (q as f64) < far_below {
            u *= far_below / q as f64;
        }
        if u > p_a {
            return Early::No;
        }
        self.count = 0;
        self.count_bytes = 0;
        let may_mark = self.options.mark_limit.is_none_or(|limit| p_b < limit.value());
        if self.options.ecn && arrival.ecn.is_capable() && may_mark { Early::Mark } else { Early::Drop }
    }

    /// Drop probability before spacing, from the average alone.
    fn p_b(&self) -> f64 {
        let p = if self.avg >= self.max_th {
            if self.options.gentle { self.gentle_slope * self.avg + self.gentle_offset } else { 1.0 }
        } else {
            self.max_p * ((self.avg - self.min_th) / (self.max_th - self.min_th))
        };
        p.min(1.0)
    }

    /// Drop probability with even spacing, and in byte mode with the packet's size.
    fn p_a(&self, p_b: f64, size: u64) -> f64 {
        let mean = self.options.mean_packet.count();
        let count = if self.options.weigh_size { self.count_bytes / mean } else { self.count };
        let expected = count as f64 * p_b;
        let p = match (self.options.wait, expected) {
            (true, e) if e < 1.0 => 0.0,
            (true, e) if e < 2.0 => p_b / (2.0 - e),
            (false, e) if e < 1.0 => p_b / (1.0 - e),
            _ => 1.0,
        };
        if self.options.weigh_size && p < 1.0 { (p * size as f64 / mean as f64).min(1.0) } else { p }
    }
}

enum Early {
    No,
    Mark,
    Drop,
}

/// The weight w_q, with ns-2's automatic values (red.cc `initialize_params`).
fn weight(queue_weight: f64, ptc: f64, delay: Duration) -> f64 {
    if queue_weight > 0.0 {
        return queue_weight;
    }
    let per_packet = 1.0 / ptc;
    let exponent = if queue_weight == -1.0 {
        let rtt = f64::max(0.1, 3.0 * (delay.as_secs_f64() + per_packet));
        -1.0 / (10.0 * rtt * ptc)
    } else if queue_weight == -2.0 {
        -10.0 / ptc
    } else {
        -1.0 / ptc
    };
    1.0 - libm::exp(exponent)
}

#[cfg(test)]
mod tests;
