//! Pacing: the time of the next packet (RFC 5348 sections 4.6 and 8.3).
//!
//! ```text
//! t_ipi = s / X_inst                      t_(i+1) = t_i + t_ipi
//! t_delta = min(t_ipi, t_gran, R) / 2     a packet may be sent this much early
//! ```
//! Nominal times keep their fraction of a nanosecond, so that errors do not accumulate.

use super::options::{Pacing, TfrcExpert};
use crate::toolbox::Fine;
use headway_units::{Duration, Instant};

/// Tolerance of a wake-up at the nearest nanosecond.
const WOKEN: Duration = Duration::from_nanos(1);
/// Packets in a round trip from which on they are sent in pairs: a pair is at most half of them.
const PAIR_RATE: f64 = 4.0;

/// Parameters of the nominal times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    /// `t_ipi` in s.
    pub(crate) t_ipi: f64,
    /// R in s, if known.
    pub(crate) r: Option<f64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    rule: Pacing,
    t_gran: f64,
    /// Tick in ns; zero without ticks.
    tick: u64,
    min_interval: Duration,
    /// Nominal time of the last packet.
    nominal: Option<Fine>,
    /// Nominal time of the next packet, for rules in which later rates do not change it.
    next: Option<Fine>,
    last: Option<Instant>,
    /// Whether the next packet is the second one of a pair.
    is_second: bool,
    /// Time until which no timer of `t_gran` fires again; packets due before it are sent at it.
    rest: Option<Instant>,
    /// Time of the ticking timer for which a packet waits.
    timer: Option<Instant>,
}

impl Pacer {
    pub(crate) fn new(options: &TfrcExpert) -> Self {
        Self {
            rule: options.pacing,
            tick: if options.pacing == Pacing::Scheduled { options.t_gran.as_nanos() } else { 0 },
            t_gran: options.t_gran.as_secs_f64(),
            min_interval: options.min_interval,
            nominal: None,
            next: None,
            last: None,
            is_second: false,
            rest: None,
            timer: None,
        }
    }

    /// Returns the earliest time of the next packet; `None` before the first.
    pub(crate) fn due(&self, gap: Gap) -> Option<Instant> {
        let nominal = match self.rule {
            Pacing::Nominal | Pacing::Even => self.nominal?.after(gap.t_ipi * 1e9),
            Pacing::Pairs if self.is_second && PAIR_RATE * gap.t_ipi <= gap.r.unwrap_or(0.0) => self.nominal?,
            Pacing::Pairs => self.nominal?.after(gap.t_ipi * 1e9),
            Pacing::Timer | Pacing::Scheduled => self.next?,
        };
        let mut early = nominal.at;
        if self.t_gran > 0.0 {
            let t_delta = match self.rule {
                // net/dccp/ccids/ccid3.h, `TFRC_T_DELTA`.
                Pacing::Scheduled => self.t_gran / 2.0,
                Pacing::Nominal | Pacing::Pairs | Pacing::Even | Pacing::Timer => {
                    gap.t_ipi.min(self.t_gran).min(gap.r.unwrap_or(0.0)) / 2.0
                }
            };
            early = early.checked_sub(Duration::from_secs_f64(t_delta)).unwrap_or(Instant::ZERO);
        }
        let spaced = self.last.filter(|_| !self.min_interval.is_zero()).map(|last| last + self.min_interval);
        Some(spaced.map_or(early, |spaced| early.max(spaced)))
    }

    /// Returns how long the next packet, which is `due`, must wait. If it `waits`, its timer is set.
    ///
    /// Linux truncates the delay to milliseconds and rounds it up to ticks (net/dccp/ccids/ccid3.c,
    /// `ccid3_hc_tx_send_packet`; net/dccp/output.c, `dccp_write_xmit`). A timer of n ticks fires with the (n + 1)th
    /// (kernel/time/timer.c, `calc_index`); until then nothing is sent (net/dccp/proto.c, `dccp_sendmsg`).
    #[inline]
    pub(crate) fn wait(&mut self, now: Instant, due: Option<Instant>, waits: bool) -> Option<Instant> {
        let until = self.timer.filter(|timer| *timer > now);
        self.timer = until;
        if until.is_some() {
            return until;
        }
        let due = due.filter(|due| *due > now)?;
        if self.tick > 0 && waits {
            self.set_timer(now, due);
        }
        self.timer.or(Some(self.rest.map_or(due, |rest| due.max(rest))))
    }

    fn set_timer(&mut self, now: Instant, due: Instant) {
        // `due` is early by half a tick.
        let millis = due.since(now).as_nanos().saturating_add(self.tick / 2) / 1_000_000;
        let ticks = (millis * 1_000_000).div_ceil(self.tick) + 1;
        let passed = now.as_nanos() / self.tick;
        self.timer = passed.saturating_add(ticks).checked_mul(self.tick).map(Instant::from_nanos);
    }

    pub(crate) fn on_send(&mut self, now: Instant, gap: Gap) {
        let start = Fine::at(now);
        let ns = gap.t_ipi * 1e9;
        match self.rule {
            Pacing::Nominal | Pacing::Pairs | Pacing::Even => {
                // Unused permissions older than a round trip are discarded; with even spacing, all are.
                let kept = if self.rule == Pacing::Even { 0.0 } else { gap.r.unwrap_or(0.0) };
                let oldest = now.checked_sub(Duration::from_secs_f64(kept)).unwrap_or(Instant::ZERO);
                let nominal = self.nominal.map_or(start, |last| last.after(ns));
                self.nominal = Some(if nominal.at + WOKEN < oldest { Fine::at(oldest) } else { nominal });
                self.is_second = self.rule == Pacing::Pairs && !self.is_second;
                if matches!(self.rule, Pacing::Nominal | Pacing::Pairs) && !self.is_second && self.t_gran > 0.0 {
                    // A rest of at most half a round trip loses no unused permissions.
                    self.rest = Some(now + Duration::from_secs_f64(self.t_gran.min(gap.r.unwrap_or(0.0) / 2.0)));
                }
            }
            Pacing::Timer => {
                // The timer continued without a packet: its last expiry counts.
                let due = self.next.filter(|next| next.at <= now).unwrap_or(start);
                let late = now.since(due.at).as_nanos() as f64;
                let due = if late >= ns && ns > 0.0 { due.after((late / ns).floor() * ns) } else { due };
                self.next = Some(due.after(ns));
            }
            Pacing::Scheduled => self.next = Some(self.next.unwrap_or(start).after(ns)),
        }
        self.last = Some(now);
    }

    /// Discards unused permissions: the next packet may be sent immediately, and later ones are spaced from it.
    pub(crate) fn restart(&mut self) {
        (self.nominal, self.next, self.is_second) = (None, None, false);
    }

    /// Permits a packet immediately, with the timer rule.
    pub(crate) fn release(&mut self, now: Instant) {
        if self.rule == Pacing::Timer {
            self.next = Some(Fine::at(now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tfrc::TfrcOptions;
    use headway_units::{Dialect, Options};

    fn pacer(change: impl FnOnce(&mut TfrcExpert)) -> Pacer {
        let mut options = TfrcOptions::preset(Dialect::Rfc).expert;
        change(&mut options);
        Pacer::new(&options)
    }

    fn at(seconds: f64) -> Instant {
        Instant::from_nanos((seconds * 1e9).round() as u64)
    }

    fn burst(pacer: &mut Pacer, now: Instant, gap: Gap) -> u32 {
        let mut packets = 0;
        while pacer.due(gap).is_none_or(|due| due <= now) {
            pacer.on_send(now, gap);
            packets += 1;
        }
        packets
    }

    /// The n-th packet of 1000 B at 777,777 B/s is sent n * 1000 / 777,777 s after the first, to the nanosecond.
    #[test]
    fn fractions_of_a_nanosecond_are_kept() {
        for rule in [Pacing::Nominal, Pacing::Timer, Pacing::Scheduled] {
            let mut pacer = pacer(|o| o.pacing = rule);
            let gap = Gap { t_ipi: 1000.0 / 777_777.0, r: Some(0.1) };
            let mut now = Instant::from_secs(3);
            for n in 0u128..1_000_000 {
                let exact = 3_000_000_000 + n * 1_000_000_000_000 / 777_777;
                assert!(u128::from(now.as_nanos()).abs_diff(exact) <= 1, "{rule:?}: packet {n} at {now}");
                pacer.on_send(now, gap);
                now = pacer.due(gap).unwrap();
            }
        }
    }

    /// RFC 5348 section 4.6: unused permissions are kept for a round trip; ns-2 keeps one, Linux all.
    #[test]
    fn credit() {
        let gap = Gap { t_ipi: 0.01, r: Some(0.1) };
        for (rule, packets) in [(Pacing::Nominal, 11), (Pacing::Timer, 1), (Pacing::Scheduled, 200)] {
            let mut pacer = pacer(|o| o.pacing = rule);
            pacer.on_send(Instant::ZERO, gap);
            assert_eq!(burst(&mut pacer, at(2.005), gap), packets, "{rule:?}");
        }
        // Without a round-trip time none is kept.
        let mut pacer = pacer(|_| {});
        let gap = Gap { t_ipi: 1.0, r: None };
        pacer.on_send(Instant::ZERO, gap);
        assert_eq!(burst(&mut pacer, at(100.0), gap), 1);
    }

    /// Pairs have the rate of single packets: the second one is a gap early, and the next pair two gaps after the first.
    /// Below four packets in a round trip all are single.
    #[test]
    fn pairs_keep_the_rate() {
        let mut pacer = pacer(|o| o.pacing = Pacing::Pairs);
        for (r, times) in [(0.04, [0, 0, 20, 20, 40, 40]), (0.039, [0, 10, 20, 30, 40, 50])] {
            let gap = Gap { t_ipi: 0.01, r: Some(r) };
            pacer.restart();
            let mut now = at(1.0);
            for millis in times {
                now = pacer.due(gap).map_or(now, |due| due.max(now));
                assert_eq!(now, at(1.0) + Duration::from_millis(millis), "{r}");
                pacer.on_send(now, gap);
            }
        }
    }

    /// RFC 5348 section 8.3: with t_ipi 1 ms, R 100 ms and t_gran 10 ms, a packet may be sent 0.5 ms early.
    #[test]
    fn early_by_half_a_gap() {
        let mut pacer = pacer(|o| o.t_gran = Duration::from_millis(10));
        let gap = Gap { t_ipi: 0.001, r: Some(0.1) };
        pacer.on_send(Instant::ZERO, gap);
        assert_eq!(pacer.due(gap), Some(at(0.0005)));
        // A packet sent early does not make the next one early, too.
        pacer.on_send(at(0.0005), gap);
        assert_eq!(pacer.due(gap), Some(at(0.0015)));
    }

    /// RFC 5348 section 8.3: with gaps below `t_gran`, due packets are sent together at each timer, whose period is at
    /// most half of R, so that no permission is lost. Gaps above `t_gran` are exact.
    #[test]
    fn packets_are_sent_together_at_the_timer() {
        for (t_ipi, r, packets, wake) in
            [(1e-5, 0.1, 10, 1e-4), (1e-5, 4e-5, 2, 2e-5), (0.001, 0.1, 1, 0.00095), (1e-5, 0.0, 1, 1e-5)]
        {
            let mut pacer = pacer(|o| o.t_gran = Duration::from_micros(100));
            let gap = Gap { t_ipi, r: Some(r).filter(|r| *r > 0.0) };
            pacer.on_send(at(1.0), gap);
            let (mut now, mut sent) = (at(1.0), 1);
            for turn in 0..1000 {
                while let Some(until) = pacer.wait(now, pacer.due(gap), true) {
                    if turn == 0 {
                        assert_eq!(until, at(1.0 + wake));
                    }
                    now = until;
                }
                sent += burst(&mut pacer, now, gap);
            }
            let most = now.since(at(1.0)).as_secs_f64() / t_ipi;
            assert!(
                (f64::from(sent) - most).abs() <= 2.0 && (f64::from(sent) / 1000.0 - f64::from(packets)).abs() < 0.1,
                "{sent} of {most}"
            );
        }
    }

    /// Linux with HZ 250: 16.9 ms becomes 16 ms or 4 ticks, and the 5th tick is at 20 ms at the earliest, 3.1 ms late.
    /// 2.5 ms is one tick, and the 2nd is between 4 and 8 ms. Below 2 ms there is no wait. While the timer runs nothing
    /// is sent; if no packet waits it does not run.
    #[test]
    fn linux_timers_fire_at_ticks() {
        let linux = || {
            let mut pacer = pacer(|o| (o.pacing, o.t_gran) = (Pacing::Scheduled, Duration::from_millis(4)));
            pacer.on_send(at(1.0), Gap { t_ipi: 0.0169, r: Some(0.1) });
            pacer
        };
        let gap = Gap { t_ipi: 0.0169, r: Some(0.1) };
        for (now, until) in
            [(1.0, Some(1.020)), (1.0039, Some(1.020)), (1.0041, Some(1.020)), (1.0144, Some(1.020)), (1.015, None)]
        {
            let mut pacer = linux();
            let due = pacer.due(gap);
            assert_eq!(due, Some(at(1.0149)));
            assert_eq!(pacer.wait(at(now), due, true), until.map(at), "{now}");
        }
        let mut pacer = linux();
        let due = pacer.due(gap);
        assert_eq!(pacer.wait(at(1.0), due, false), due);
        assert_eq!(pacer.wait(at(1.0), due, true), Some(at(1.020)));
        assert_eq!(pacer.wait(at(1.001), Some(at(1.0)), true), Some(at(1.020)));
        assert_eq!(pacer.wait(at(1.020), due, true), None);
        let mut pacer = linux();
        assert_eq!(pacer.wait(at(1.0), Some(Instant::FAR_FUTURE), true), Some(Instant::FAR_FUTURE));
    }

    /// A new rate changes the nominal time of the next packet, except in ns-2 and Linux.
    #[test]
    fn a_new_rate() {
        let (slow, fast) = (Gap { t_ipi: 1.0, r: None }, Gap { t_ipi: 0.01, r: Some(0.1) });
        for (rule, due) in [(Pacing::Nominal, 0.01), (Pacing::Timer, 1.0), (Pacing::Scheduled, 1.0)] {
            let mut pacer = pacer(|o| o.pacing = rule);
            pacer.on_send(Instant::ZERO, slow);
            assert_eq!(pacer.due(fast), Some(at(due)));
            pacer.release(at(0.1));
            assert_eq!(pacer.due(fast), Some(at(if rule == Pacing::Timer { 0.1 } else { due })));
        }
    }

    /// "Packets are spaced evenly": s/T after the previous packet, even if that was late. A new rate changes the time
    /// of the next packet, and fractions of a nanosecond are kept.
    #[test]
    fn even_gaps() {
        let mut pacer = pacer(|o| o.pacing = Pacing::Even);
        let gap = Gap { t_ipi: 0.01, r: Some(0.1) };
        pacer.on_send(Instant::ZERO, gap);
        assert_eq!(pacer.due(gap), Some(at(0.01)));
        assert_eq!(pacer.due(Gap { t_ipi: 0.002, ..gap }), Some(at(0.002)));
        pacer.on_send(at(0.05), gap);
        assert_eq!(pacer.due(gap), Some(at(0.06)));
        let third = Gap { t_ipi: 1.0 / 3.0, r: Some(0.1) };
        let mut now = at(0.05);
        for _ in 0..30_000 {
            now = pacer.due(third).unwrap();
            pacer.on_send(now, third);
        }
        assert!(now.since(at(10_000.05)) <= Duration::from_nanos(1) && now >= at(10_000.049_999_999), "{now}");
    }

    /// RFC 4828 section 4.3.
    #[test]
    fn ten_milliseconds_apart() {
        let mut pacer = pacer(|o| o.min_interval = Duration::from_millis(10));
        let gap = Gap { t_ipi: 0.001, r: Some(0.1) };
        pacer.on_send(Instant::ZERO, gap);
        pacer.on_send(at(1.0), gap);
        assert_eq!(pacer.due(gap), Some(at(1.01)));
    }

    #[test]
    fn an_infinite_gap_is_the_far_future() {
        let mut pacer = pacer(|_| {});
        let gap = Gap { t_ipi: f64::INFINITY, r: Some(0.1) };
        pacer.on_send(Instant::ZERO, gap);
        assert_eq!(pacer.due(gap), Some(Instant::FAR_FUTURE));
    }
}
