//! When the next packet may go (RFC 5348 sections 4.6 and 8.3).
//!
//! ```text
//! t_ipi = s / X_inst                      t_(i+1) = t_i + t_ipi
//! t_delta = min(t_ipi, t_gran, R) / 2     a packet may go so much early
//! ```
//! Nominal times keep their fraction of a nanosecond, so that the n-th is where it should be.

use super::options::{Pacing, TfrcOptions};
use headway_units::{Duration, Instant, Random};

/// An instant and a fraction of a nanosecond, from 0 to 1.
#[derive(Clone, Copy, Debug)]
struct Fine {
    at: Instant,
    fraction: f64,
}

impl Fine {
    /// Later by `ns`; "never" if that is too long.
    fn after(self, ns: f64) -> Self {
        let ns = self.fraction + ns;
        let whole = ns.floor();
        if whole < u64::MAX as f64 {
            Self { at: self.at + Duration::from_nanos(whole as u64), fraction: ns - whole }
        } else {
            Self { at: Instant::FAR_FUTURE, fraction: 0.0 }
        }
    }
}

/// What the nominal times follow from.
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
    min_interval: Duration,
    dither: f64,
    random: Random,
    /// The nominal time of the last packet.
    nominal: Option<Fine>,
    /// Of the next, where later rates do not move it.
    next: Option<Fine>,
    last: Option<Instant>,
    /// What `dither` makes of the gap to the next packet.
    stretch: f64,
}

impl Pacer {
    pub(crate) fn new(options: &TfrcOptions, random: Random) -> Self {
        Self {
            rule: options.pacing,
            t_gran: options.t_gran.as_secs_f64(),
            min_interval: options.min_interval,
            dither: options.dither,
            random,
            nominal: None,
            next: None,
            last: None,
            stretch: 1.0,
        }
    }

    /// The earliest instant for the next packet; `None` before the first.
    pub(crate) fn due(&self, gap: Gap) -> Option<Instant> {
        let nominal = match self.rule {
            Pacing::Nominal => self.nominal?.after(gap.t_ipi * self.stretch * 1e9),
            Pacing::Timer | Pacing::Scheduled => self.next?,
        };
        let t_delta = gap.t_ipi.min(self.t_gran).min(gap.r.unwrap_or(0.0)) / 2.0;
        let early = nominal.at.checked_sub(Duration::from_secs_f64(t_delta)).unwrap_or(Instant::ZERO);
        let spaced = self.last.filter(|_| !self.min_interval.is_zero()).map(|last| last + self.min_interval);
        Some(spaced.map_or(early, |spaced| early.max(spaced)))
    }

    /// A packet goes now.
    pub(crate) fn on_send(&mut self, now: Instant, gap: Gap) {
        let start = Fine { at: now, fraction: 0.0 };
        let since_last = gap.t_ipi * self.stretch * 1e9;
        if self.dither > 0.0 {
            self.stretch = 1.0 + self.dither * (2.0 * self.random.uniform() - 1.0);
        }
        let ns = gap.t_ipi * self.stretch * 1e9;
        match self.rule {
            Pacing::Nominal => {
                // Unused times older than a round trip are lost.
                let oldest = now.checked_sub(Duration::from_secs_f64(gap.r.unwrap_or(0.0))).unwrap_or(Instant::ZERO);
                let nominal = self.nominal.map_or(start, |last| last.after(since_last));
                self.nominal = Some(if nominal.at < oldest { Fine { at: oldest, fraction: 0.0 } } else { nominal });
            }
            Pacing::Timer => {
                // The timer ran on without a packet: the last time that it came round counts.
                let due = self.next.filter(|next| next.at <= now).unwrap_or(start);
                let missed = (now.since(due.at).as_nanos() as f64 / ns).floor();
                let due = if missed >= 1.0 && ns > 0.0 { due.after(missed * ns) } else { due };
                self.next = Some(due.after(ns));
            }
            Pacing::Scheduled => self.next = Some(self.next.unwrap_or(start).after(ns)),
        }
        self.last = Some(now);
    }

    /// A packet may go at once, where the rule has it so.
    pub(crate) fn release(&mut self, now: Instant) {
        if self.rule == Pacing::Timer {
            self.next = Some(Fine { at: now, fraction: 0.0 });
        }
    }
}
