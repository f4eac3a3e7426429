//! Random Early Detection (Floyd and Jacobson 1993) as ns-2.35 computes it (queue/red.cc), with every option of that
//! file that changes results. [`Options::classes`] is not in ns-2; packets of marked classes count as ECN-capable.
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
//! ns-2 differs from the 1993 paper in ways that change results: m+1 instead of m after an idle time; `wait`; `gentle`;
//! the first packet after `avg` has reached `min_th` is never dropped early; nothing is dropped early while at most one
//! packet (in byte mode one *byte*) waits; from `mark_limit` on packets are dropped instead of marked.

mod classes;
mod mark_limit;
mod options;

pub use classes::{Class, OnCongestion};
pub(crate) use classes::{Classes, mark_at_the_head};
pub use mark_limit::MarkLimit;
pub use options::{Adaptive, AutomaticBottom, Options, Victim};

use self::options::LEAST_AUTOMATIC_THRESHOLD;
use super::{Arrival, Backlog, LinkProperties, Verdict};
use headway_units::{DropCause, Duration, Instant, QueueSize, Random};

/// Steps of Adaptive RED (Floyd, Gummadi and Shenker 2001), and of Self-configuring RED (Feng et al. 1999).
const ALPHA: f64 = 0.01;
const BETA: f64 = 0.9;
const FENG_ALPHA: f64 = 3.0;
const FENG_BETA: f64 = 2.0;

/// State of a queue with Random Early Detection (RED). The fields have the names of the equations of the module.
#[derive(Debug)]
pub struct Red {
    options: Options,
    classes: Classes,
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
    /// The gentle slope uses the initial `max_p`, even if that adapts, as in ns-2.
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

/// Returns RED's probability of an early drop or mark at this average queue length, before `wait` spaces the drops; 1
/// where every packet is dropped. `average` is in bytes with `in_bytes`, else in packets.
#[must_use]
pub fn early_drop_probability(options: &Options, facts: LinkProperties, average: f64) -> f64 {
    let red = Red { avg: average, ..Red::new(options, facts) };
    if average < red.min_th { 0.0 } else { red.p_b() }
}

impl Red {
    pub(super) fn new(options: &Options, facts: LinkProperties) -> Self {
        let mean = options.mean_packet.count() as f64;
        let rate = facts.rate.bits_per_second();
        let ptc = rate as f64 / (8.0 * mean);
        let per_packet = if options.in_bytes { mean } else { 1.0 };
        let min_th = options.min_threshold.filter(|t| options.units(*t) > 0.0).map_or_else(
            || per_packet * f64::max(LEAST_AUTOMATIC_THRESHOLD, options.target_delay.as_secs_f64() * ptc / 2.0),
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
            bottom: match (options.bottom.value(), options.automatic_bottom) {
                (0.0, AutomaticBottom::Window) => f64::min(0.01, 80_000.0 / rate as f64),
                (0.0, AutomaticBottom::MeanPacket) => f64::min(0.01, 8.0 * mean * 0.1 / rate as f64),
                (bottom, _) => bottom,
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
            classes: Classes::new(&options.classes),
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
            let mark = matches!(early, Early::Mark | Early::MarkHead(_));
            // The arriving packet is one of the candidates.
            let place = match self.options.drop {
                Victim::Tail if mark => return Verdict::DropMarked(DropCause::QueueFull),
                Victim::Tail => return Verdict::Drop(DropCause::QueueFull),
                Victim::Random => random.below(backlog.packets + 1),
                Victim::Front => backlog.packets.min(1),
            };
            return Verdict::EnqueueAndDrop { mark, place: place as usize, cause: DropCause::QueueFull };
        }
        match early {
            Early::No => Verdict::Admit,
            Early::Mark => Verdict::Mark,
            Early::MarkHead(class) => Verdict::MarkHead { class },
            Early::Drop => Verdict::Drop(DropCause::Early),
        }
    }

    /// Returns the mean-sized packets that would have fitted into the idle time, rounded down.
    fn missed_arrivals(&self, idle_s: f64) -> u64 {
        let packet = if self.options.cautious == 3 { self.options.idle_packet } else { self.options.mean_packet };
        // `as` turns a negative time, a possible rounding error, into zero.
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

    /// Moves the average toward the middle fifth between the thresholds (Adaptive RED, 2001).
    fn adapt_aimd(&mut self, now: Instant) {
        if now <= self.adapted_at + self.options.interval {
            return;
        }
        let part = 0.4 * (self.max_th - self.min_th);
        if self.avg < self.min_th + part && self.max_p > self.bottom {
            self.max_p *= self.options.beta.unwrap_or(BETA);
            self.adapted_at = now;
        } else if self.avg > self.max_th - part && self.max_p < self.options.top.value() {
            self.max_p += f64::min(self.options.alpha.unwrap_or(ALPHA), 0.25 * self.max_p);
            self.adapted_at = now;
        }
    }

    fn adapt_feng(&mut self) {
        if self.min_th < self.avg && self.avg < self.max_th {
            self.feng = Region::Between;
        }
        if self.avg < self.min_th && self.feng != Region::Below {
            self.feng = Region::Below;
            self.max_p /= self.options.alpha.unwrap_or(FENG_ALPHA);
        }
        if self.avg > self.max_th && self.feng != Region::Above {
            self.feng = Region::Above;
            self.max_p *= self.options.beta.unwrap_or(FENG_BETA);
        }
    }

    fn decide_early(&mut self, q: u64, arrival: Arrival, random: &mut Random) -> Early {
        let p_b = self.p_b();
        let p_a = self.p_a(p_b, arrival.size.count());
        // "Far below": less than the average would be after 50 ms with an empty queue.
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
        if self.options.mark_limit.is_some_and(|limit| limit.is_reached_by(p_b)) {
            return Early::Drop;
        }
        match self.classes.of(arrival.dscp) {
            Some((_, OnCongestion::Drop)) => Early::Drop,
            Some((_, OnCongestion::MarkTail)) => Early::Mark,
            Some((class, OnCongestion::MarkHead)) => Early::MarkHead(class),
            None if self.options.ecn && arrival.ecn.is_capable() => Early::Mark,
            None => Early::Drop,
        }
    }

    /// Returns the drop probability before spacing, from the average alone.
    fn p_b(&self) -> f64 {
        let p = if self.avg >= self.max_th {
            if self.options.gentle { self.gentle_slope * self.avg + self.gentle_offset } else { 1.0 }
        } else {
            self.max_p * ((self.avg - self.min_th) / (self.max_th - self.min_th))
        };
        p.min(1.0)
    }

    /// Returns the drop probability after spacing; in byte mode weighted by the packet's size.
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
    MarkHead(u8),
    Drop,
}

/// Returns the weight w_q, with ns-2's automatic values (red.cc `initialize_params`).
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
