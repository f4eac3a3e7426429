//! The retransmission timeout (RFC 6298; ns-2.35 tcp/tcp.cc, `rtt_update`, `rtt_timeout`, `rtt_backoff`).
//!
//! R' is a sample and G the clock's tick. All values are integers in ticks, as in 4.3BSD:
//!
//! ```text
//! first:  SRTT = R', RTTVAR = R'/2
//! next:   RTTVAR += (|SRTT - R'| - RTTVAR)/4,  SRTT += (R' - SRTT)/8
//! RTO     = SRTT + max(G, 4 RTTVAR), at least min_rto, times the back-off, at most max_rto, at least 2 G
//! ```
//!
//! SRTT is stored times 8 and RTTVAR times 4. A tick of 1 us is thus RFC 6298 to the microsecond, and a tick of 10 ms
//! is ns-2. RTTVAR is at least a quarter of a tick, which implements max(G, ..) of RFC 6298.

use crate::options::{Pipe, Rules};
use headway_units::{Duration, Instant, RtoFloor, TickedRoundTripEstimate};

/// Back-off from which on SRTT is stale and a new sample starts over (RFC 6298 section 5, last note).
const STALE_BACKOFF: u64 = 8;

#[derive(Clone, Debug)]
pub(crate) struct Rto {
    /// SRTT and RTTVAR in ticks.
    round_trip: TickedRoundTripEstimate,
    /// Timeout before `min_rto` and back-off, in ns.
    base: u64,
    backoff: u64,
}

impl Rto {
    pub(crate) fn new(rules: &Rules) -> Self {
        Self { round_trip: TickedRoundTripEstimate::default(), base: rules.initial_rto.as_nanos(), backoff: 1 }
    }

    /// Samples a packet sent at `sent` and acknowledged at `now`: counts the ticks of a clock that started
    /// `clock_phase` before time zero.
    pub(crate) fn sample(&mut self, rules: &Rules, sent: Instant, now: Instant) {
        let tick = rules.tick.as_nanos();
        let within_tick = (sent.as_nanos().saturating_add(rules.clock_phase.as_nanos())) % tick;
        let ticks = (now.since(sent).as_nanos().saturating_add(within_tick)) / tick;
        self.update(rules, i64::try_from(ticks).unwrap_or(i64::MAX / 16));
    }

    /// Samples an echoed timestamp, rounded to the nearest tick.
    pub(crate) fn sample_timestamp(&mut self, rules: &Rules, echo: Instant, now: Instant) {
        let tick = rules.tick.as_nanos();
        let ticks = (now.since(echo).as_nanos().saturating_add(tick / 2)) / tick;
        self.update(rules, i64::try_from(ticks).unwrap_or(i64::MAX / 16));
    }

    fn update(&mut self, rules: &Rules, ticks: i64) {
        if rules.sack.pipe == Pipe::Fack {
            self.round_trip.sample_linux(ticks);
        } else {
            self.round_trip.sample(ticks);
        }
        let tick = rules.tick.as_nanos();
        let in_time = |ticks: i64| ticks.unsigned_abs().saturating_mul(tick);
        self.base = match rules.rto_floor {
            RtoFloor::Rto => in_time(self.round_trip.timeout()),
            RtoFloor::Variance => in_time(self.round_trip.mean8() >> 3)
                .saturating_add(in_time(self.round_trip.deviation4()).max(rules.min_rto.as_nanos())),
        };
    }

    pub(crate) fn timeout(&self, rules: &Rules) -> Duration {
        let least = self.base.max(rules.min_rto.as_nanos());
        let timeout = least.saturating_mul(self.backoff).min(rules.max_rto.as_nanos());
        Duration::from_nanos(timeout.max(2 * rules.tick.as_nanos()))
    }

    /// Doubles the timeout after an expiry (RFC 6298 step 5.5).
    pub(crate) fn back_off(&mut self, rules: &Rules) {
        if self.backoff < 64 || self.timeout(rules) < rules.max_rto {
            self.backoff = self.backoff.saturating_mul(2);
        }
        if self.backoff > STALE_BACKOFF {
            self.round_trip.mark_stale();
        }
    }

    /// Ends the back-off after the acknowledgement of a segment sent once.
    pub(crate) fn reset_back_off(&mut self) {
        self.backoff = 1;
    }

    /// Sets the timeout after a lost SYN if there was no sample (RFC 6298 step 5.7).
    pub(crate) fn fall_back(&mut self, timeout: Duration) {
        if self.round_trip.mean8() == 0 {
            self.base = timeout.as_nanos();
            self.backoff = 1;
        }
    }

    pub(crate) fn backoff(&self) -> u64 {
        self.backoff
    }
    /// Returns SRTT; zero before the first sample.
    pub(crate) fn srtt(&self, rules: &Rules) -> Duration {
        Duration::from_nanos((self.round_trip.mean8().unsigned_abs().saturating_mul(rules.tick.as_nanos())) / 8)
    }
    pub(crate) fn rttvar(&self, rules: &Rules) -> Duration {
        Duration::from_nanos((self.round_trip.deviation4().unsigned_abs().saturating_mul(rules.tick.as_nanos())) / 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TcpOptions;
    use headway_units::{Dialect, Registry};
    use std::sync::Arc;

    fn rto(change: impl FnOnce(&mut Rules), dialect: Dialect) -> (Rto, Arc<Rules>) {
        let mut options = TcpOptions::preset("tcp-reno", dialect).unwrap();
        change(options.rules_mut());
        (Rto::new(&options.rules), options.rules)
    }

    /// ns-2.35 with tick 0.01 s, samples of 5, 5, 8 and 5 ticks, computed by hand from tcp/tcp.cc.
    #[test]
    fn ns2_vector() {
        let (mut rto, rules) = rto(|rules| rules.min_rto = Duration::ZERO, Dialect::Ns2);
        let mut seen = vec![];
        for ticks in [5, 5, 8, 5] {
            rto.update(&rules, ticks);
            seen.push((
                rto.round_trip.mean8(),
                rto.round_trip.deviation4(),
                rto.timeout(&rules).as_nanos() / 10_000_000,
            ));
        }
        assert_eq!(seen, [(40, 10, 15), (40, 8, 13), (43, 9, 14), (43, 7, 12)]);
    }

    /// ns-2.35 tcp/tcp.cc, `rtt_timeout`: "if (timeout < 2.0 * tcp_tick_)" sets it to two ticks, here of 10 ms,
    /// regardless of `rtxcur_init_` and `maxrto_`.
    #[test]
    fn a_timeout_is_at_least_two_ticks() {
        for (initial, most, timeout) in [(5, 60_000, 20), (30, 60_000, 30), (3000, 15, 20)] {
            let change = |rules: &mut Rules| {
                rules.min_rto = Duration::ZERO;
                (rules.initial_rto, rules.max_rto) = (Duration::from_millis(initial), Duration::from_millis(most));
            };
            let (rto, rules) = rto(change, Dialect::Ns2);
            assert_eq!(rto.timeout(&rules), Duration::from_millis(timeout), "{initial} ms, at most {most} ms");
        }
    }

    /// RFC 6298 section 2 with a fine clock: after SRTT 100 ms, R' = 200 ms gives RTTVAR 62.5 ms and SRTT 112.5 ms.
    #[test]
    fn rfc_6298_equations() {
        let (mut rto, rules) = rto(
            |rules| {
                rules.tick = Duration::from_micros(1);
                rules.min_rto = Duration::ZERO;
            },
            Dialect::Rfc,
        );
        rto.sample(&rules, Instant::ZERO, Instant::from_millis(100));
        assert_eq!((rto.srtt(&rules), rto.rttvar(&rules)), (Duration::from_millis(100), Duration::from_millis(50)));
        assert_eq!(rto.timeout(&rules), Duration::from_millis(300));
        rto.sample(&rules, Instant::ZERO, Instant::from_millis(200));
        assert_eq!(
            (rto.srtt(&rules), rto.rttvar(&rules)),
            (Duration::from_micros(112_500), Duration::from_micros(62_500))
        );
        assert_eq!(rto.timeout(&rules), Duration::from_micros(362_500));
    }

    /// RFC 6298 steps 2.4, 5.5 and 2.5: rounded up to 1 s, doubled at each expiry, at most 60 s.
    #[test]
    fn rfc_6298_back_off() {
        let (mut rto, rules) = rto(|_| {}, Dialect::Rfc);
        rto.sample(&rules, Instant::ZERO, Instant::from_millis(100));
        let seconds: Vec<_> = (0..8)
            .map(|_| {
                let timeout = rto.timeout(&rules).as_nanos() / 1_000_000_000;
                rto.back_off(&rules);
                timeout
            })
            .collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
    }

    /// Section 5, last note: after a back-off of more than eight, the old SRTT is added to the deviation, and a sample
    /// starts over.
    #[test]
    fn a_stale_estimate_is_discarded() {
        let (mut rto, rules) = rto(|_| {}, Dialect::Rfc);
        rto.sample(&rules, Instant::ZERO, Instant::from_millis(100));
        for _ in 0..3 {
            rto.back_off(&rules);
        }
        assert_eq!(rto.srtt(&rules), Duration::from_millis(100));
        rto.back_off(&rules);
        assert_eq!((rto.srtt(&rules), rto.rttvar(&rules)), (Duration::ZERO, Duration::from_millis(75)));
        rto.sample(&rules, Instant::ZERO, Instant::from_millis(300));
        assert_eq!((rto.srtt(&rules), rto.rttvar(&rules)), (Duration::from_millis(300), Duration::from_millis(150)));
    }

    /// Section 5, last note, with the timer at its maximum since the first expiry: a round trip of 20 s has an RTO of
    /// 60 s. After four expiries, a sample of 1 s gives an RTO of 3 s, as a first sample does (step 2.2).
    #[test]
    fn a_stale_estimate_is_discarded_at_the_maximum_timeout() {
        let (mut rto, rules) = rto(|_| {}, Dialect::Rfc);
        rto.sample(&rules, Instant::ZERO, Instant::from_secs(20));
        for _ in 0..4 {
            assert_eq!(rto.timeout(&rules), Duration::from_secs(60));
            rto.back_off(&rules);
        }
        rto.reset_back_off();
        rto.sample(&rules, Instant::ZERO, Instant::from_secs(1));
        assert_eq!(rto.timeout(&rules), Duration::from_secs(3));
    }

    /// Linux: SRTT + max(200 ms, 4 RTTVAR).
    #[test]
    fn linux_limits_the_variance_term() {
        let (mut rto, rules) = rto(|_| {}, Dialect::Linux);
        for _ in 0..100 {
            rto.sample(&rules, Instant::ZERO, Instant::from_millis(50));
        }
        assert_eq!(rto.timeout(&rules), Duration::from_millis(250));
    }

    /// ns-2 rounds timestamp samples to the nearest tick, at least one.
    #[test]
    fn timestamps_are_rounded() {
        for (millis, ticks) in [(4, 1), (14, 1), (15, 2), (24, 2)] {
            let (mut rto, rules) = rto(|_| {}, Dialect::Ns2);
            rto.sample_timestamp(&rules, Instant::from_millis(3), Instant::from_millis(3 + millis));
            assert_eq!(rto.srtt(&rules), Duration::from_millis(10 * ticks), "{millis} ms");
        }
    }

    /// A round trip of 15 ms is one or two ticks of 10 ms, depending on its start.
    #[test]
    fn a_coarse_clock_counts_its_ticks() {
        let (mut rto, rules) = rto(|rules| rules.clock_phase = Duration::ZERO, Dialect::Ns2);
        rto.sample(&rules, Instant::from_millis(1), Instant::from_millis(16));
        assert_eq!(rto.srtt(&rules), Duration::from_millis(10));
        rto.round_trip = TickedRoundTripEstimate::default();
        rto.sample(&rules, Instant::from_millis(6), Instant::from_millis(21));
        assert_eq!(rto.srtt(&rules), Duration::from_millis(20));
    }
}
