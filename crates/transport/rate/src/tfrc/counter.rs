//! Window counter of CCVal (RFC 4342 section 8.1): quarters of the sender's round trip, from which the receiver
//! estimates the round-trip time.

use super::options::CounterSamples;
use headway_units::Instant;
use std::collections::VecDeque;

#[derive(Clone, Debug, Default)]
pub(crate) struct WindowCounter {
    /// `last_WC`, without wrapping.
    last: u64,
    /// `last_WC_time`.
    at: Option<Instant>,
    /// Time at which an acknowledgement advanced the counter, until a packet carries it.
    moved: Option<Instant>,
}

impl WindowCounter {
    /// Returns the counter of a data packet sent now. It is constant while the round-trip time, in s, is unknown.
    pub(crate) fn on_send(&mut self, now: Instant, rtt: Option<f64>) -> u64 {
        // A clock of whole nanoseconds reaches each quarter up to 1 ns late.
        let quarters = |from: Instant| rtt.map_or(0, |rtt| ((now.since(from).as_secs_f64() + 1e-9) * 4.0 / rtt) as u64);
        match (self.at, self.moved.take().map_or(0, quarters)) {
            // After a pause, the four steps of the acknowledgement alone would appear as a round trip.
            (None, paused) => self.last = self.last.saturating_add(if paused >= 5 { 5 } else { 0 }),
            (Some(at), _) if quarters(at) >= 1 => self.last = self.last.saturating_add(quarters(at).min(5)),
            (Some(_), _) => return self.last,
        }
        self.at = Some(now);
        self.last
    }

    /// Advances the counter to at least `counter` + 4 after an acknowledgement of a packet with `counter`.
    pub(crate) fn on_acknowledged(&mut self, now: Instant, counter: u64) {
        if self.last < counter.saturating_add(4) {
            self.last = counter.saturating_add(4);
            // The next packet is the first with the new value.
            self.at = None;
            self.moved = Some(now);
        }
    }
}

/// Receiver's estimate of the round-trip time, from the first arrivals with each counter.
#[derive(Clone, Debug)]
pub(crate) struct CounterRtt {
    rule: CounterSamples,
    /// Counter without wrapping and its first arrival: newest last, at most five. For one sample per round trip: the
    /// start of the next sample, and its possible end.
    firsts: VecDeque<(u64, Instant)>,
    smoothed: Option<f64>,
}

impl CounterRtt {
    pub(crate) fn new(rule: CounterSamples) -> Self {
        Self { rule, firsts: VecDeque::new(), smoothed: None }
    }

    /// Handles a packet with the greatest number so far.
    pub(crate) fn on_packet(&mut self, now: Instant, counter: u64) {
        let sample = match self.rule {
            CounterSamples::EachStep => self.each_step(now, counter),
            CounterSamples::EachRoundTrip => self.each_round_trip(now, counter),
        };
        if let Some(sample) = sample.filter(|sample| *sample > 0.0) {
            self.smoothed = Some(self.smoothed.map_or(sample, |old| 0.9 * old + 0.1 * sample));
        }
    }

    /// Implements net/dccp/ccids/lib/packet_history.c, `tfrc_rx_hist_sample_rtt`, with its integer division.
    #[inline(never)]
    fn each_round_trip(&mut self, now: Instant, counter: u64) -> Option<f64> {
        let Some(&(begun, from)) = self.firsts.front() else {
            self.firsts.push_back((counter, now));
            return None;
        };
        let candidate = self.firsts.get(1).copied();
        let sample = match counter.saturating_sub(begun) {
            4 => Some(now.since(from).as_secs_f64()),
            1..=3 => {
                self.firsts.truncate(1);
                self.firsts.push_back((counter, now));
                return None;
            }
            steps => match candidate {
                Some((end, to)) => Some(to.since(from).as_secs_f64() * (4 / (end - begun).max(1)) as f64),
                None if steps == 0 => return None,
                None => None,
            },
        };
        self.firsts.clear();
        self.firsts.push_back((counter, now));
        sample
    }

    fn each_step(&mut self, now: Instant, counter: u64) -> Option<f64> {
        if self.firsts.back().is_some_and(|newest| newest.0 >= counter) {
            return None;
        }
        self.step_to(now, counter)
    }

    #[inline(never)]
    fn step_to(&mut self, now: Instant, counter: u64) -> Option<f64> {
        self.firsts.push_back((counter, now));
        if self.firsts.len() > 5 {
            self.firsts.pop_front();
        }
        // D = 4 is preferred; steps of five allow no measurement.
        [4u64, 3, 2].into_iter().find_map(|d| {
            let (_, first) = self.firsts.iter().find(|first| first.0 + d == counter)?;
            Some(now.since(*first).as_secs_f64() * 4.0 / d as f64)
        })
    }

    /// Starts measuring at the next packet, since a silence is not a round trip.
    pub(crate) fn skip_silence(&mut self) {
        self.firsts.clear();
    }

    /// Returns the smoothed round-trip time in s.
    pub(crate) fn rtt(&self) -> Option<f64> {
        self.smoothed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Duration;
    use proptest::prelude::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// RFC 4342 section 8.1: after an acknowledgement of a packet with counter WC, later packets carry at least WC + 4.
    #[test]
    fn an_acknowledgement_advances_the_counter() {
        let mut counter = WindowCounter::default();
        assert_eq!(counter.on_send(at(0), Some(0.1)), 0);
        counter.on_acknowledged(at(10), 0);
        assert_eq!(counter.on_send(at(20), Some(0.1)), 4);
        // The quarter starts at the first packet with the value.
        assert_eq!(counter.on_send(at(44), Some(0.1)), 4);
        assert_eq!(counter.on_send(at(45), Some(0.1)), 5);
        counter.on_acknowledged(at(46), 0);
        assert_eq!(counter.on_send(at(46), Some(0.1)), 5);
    }

    /// A pause after the acknowledgement is not a round trip: with four steps the receiver would measure one.
    #[test]
    fn a_pause_after_an_acknowledgement() {
        for (pause_ms, steps) in [(124, 4), (125, 9), (30_000, 9)] {
            let (mut counter, mut rtt) = (WindowCounter::default(), CounterRtt::new(CounterSamples::EachStep));
            rtt.on_packet(at(50), counter.on_send(at(0), Some(0.1)));
            counter.on_acknowledged(at(100), 0);
            let next = counter.on_send(at(100 + pause_ms), Some(0.1));
            assert_eq!(next, steps, "{pause_ms}");
            rtt.on_packet(at(150 + pause_ms), next);
            assert_eq!(rtt.rtt().is_some(), steps == 4, "{pause_ms}");
        }
    }

    /// At most five steps, after a pause of 1.25 round trips as of an hour; none without a round-trip time.
    #[test]
    fn steps_of_five() {
        let mut counter = WindowCounter::default();
        assert_eq!(counter.on_send(at(0), None), 0);
        assert_eq!(counter.on_send(at(5000), None), 0);
        assert_eq!(counter.on_send(at(5125), Some(0.1)), 5);
        assert_eq!(counter.on_send(at(5250), Some(0.1)), 10);
        assert_eq!(counter.on_send(at(3_600_000), Some(0.1)), 15);
    }

    /// Figure of RFC 4342 section 8.1: T7 - T3 for the counters K-1 K-1 K K K+1 K+3 K+4 K+3 K+4.
    #[test]
    fn the_round_trip_from_counters() {
        let mut rtt = CounterRtt::new(CounterSamples::EachStep);
        let arrivals = [(0, 9), (10, 9), (25, 10), (30, 10), (50, 11), (100, 13), (125, 14)];
        for (ms, counter) in arrivals {
            rtt.on_packet(at(ms), counter);
        }
        // D = 2: (T6 - T5) 4/2 = 100 ms; then D = 4: T7 - T3 = 100 ms.
        assert!((rtt.rtt().unwrap() - 0.1).abs() < 1e-12);
        let mut steps_of_five = CounterRtt::new(CounterSamples::EachStep);
        for i in 0..10 {
            steps_of_five.on_packet(at(200 * i), 5 * i);
        }
        assert_eq!(steps_of_five.rtt(), None);
    }

    /// Linux: 0 to 4 is a sample of 100 ms, and the next starts at 4. Counter 8 does not arrive, so the last packet
    /// before 9 ends it: three steps in 60 ms, times 4/3 in integers, 60 ms. 0.9 * 100 + 0.1 * 60 = 96 ms.
    #[test]
    fn one_sample_per_round_trip() {
        let mut rtt = CounterRtt::new(CounterSamples::EachRoundTrip);
        for (ms, counter) in [(0, 0), (25, 1), (50, 2), (75, 3), (100, 4)] {
            assert_eq!(rtt.rtt(), None);
            rtt.on_packet(at(ms), counter);
        }
        assert!((rtt.rtt().unwrap() - 0.1).abs() < 1e-12);
        for (ms, counter) in [(110, 4), (120, 5), (160, 7), (200, 9)] {
            rtt.on_packet(at(ms), counter);
        }
        assert!((rtt.rtt().unwrap() - 0.096).abs() < 1e-12);
    }

    proptest! {
        /// Algorithm of RFC 4342 section 8.1 in whole nanoseconds, modulo 16.
        #[test]
        fn the_counter_matches_the_rfc(
            gaps in prop::collection::vec(0u64..400_000, 1..200),
            quarter in 1u64..100_000,
        ) {
            let mut counter = WindowCounter::default();
            let (mut last_wc, mut last_wc_time, mut now) = (0u64, None, 0u64);
            for gap in gaps {
                now += gap;
                let quarter_rtts = (now - *last_wc_time.get_or_insert(now)) / quarter;
                if quarter_rtts > 0 {
                    last_wc = (last_wc + quarter_rtts.min(5)) % 16;
                    last_wc_time = Some(now);
                }
                let rtt = Duration::from_nanos(4 * quarter * 1000).as_secs_f64();
                prop_assert_eq!(counter.on_send(Instant::from_micros(now), Some(rtt)) % 16, last_wc);
            }
        }
    }
}
