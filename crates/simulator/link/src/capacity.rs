//! A measured capacity: the times at which a link may transmit, in the trace format of Mahimahi (R. Netravali et al.,
//! "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015).
//!
//! Each line is a time in ms at which the link can send 1504 B, of one packet or of several. A packet departs with the
//! opportunity that sends its last byte. Lines with equal times are separate opportunities. An unused opportunity is
//! lost, also for packets that arrive at the same time. After the last line the trace starts again.
//!
//! The first waiting packet is in the transmitter until its opportunity, and not in the queue. Mahimahi counts it in
//! its queue, so that this model admits one packet more than Mahimahi with an equal limit.

use headway_units::{Bytes, Instant, Rate};
use std::sync::Arc;

/// A parsed capacity trace.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacityTrace {
    /// Times in ns from the beginning of a round: not decreasing, never empty, the last one above 0.
    opportunities: Vec<u64>,
}

/// The reason why a text is not a capacity trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CapacityTraceError {
    /// The text is longer than [`CapacityTrace::LARGEST_TEXT`].
    #[error("a capacity trace of {0} is too long; expected at most 64MiB")]
    TooLong(Bytes),
    /// The text has no transmission opportunity.
    #[error("the trace is empty; expected lines of milliseconds, such as 12, the last of them above 0")]
    Empty,
    /// The last time of the trace, which is its duration, is 0.
    #[error("the last line is 0, but it is the duration of the trace; expected a time above 0, such as 12")]
    NoLength,
    /// A line is not a number of milliseconds.
    #[error("line {line}: \"{text:.40}\" is not a time; expected whole milliseconds up to 1000000000, such as 12")]
    Time {
        /// Number of the line, from 1.
        line: u64,
        /// Text of the line.
        text: String,
    },
    /// The time of a line is before that of the previous line.
    #[error("line {line}: {millis} is before the previous time; expected increasing times")]
    Order {
        /// Number of the line, from 1.
        line: u64,
        /// Time in the line.
        millis: u64,
    },
}

impl CapacityTrace {
    /// Bytes that the link can send at each time of the trace: Mahimahi's `PACKET_SIZE`, the largest packet of its TUN
    /// device.
    pub const OPPORTUNITY: Bytes = Bytes::new(1504);
    /// Header that a TUN device adds to each packet (`struct tun_pi`: flags and protocol). Mahimahi's `mm-link` counts
    /// it as part of the packet.
    pub const HEADER: Bytes = Bytes::new(4);
    /// Maximum size of a trace file, 64 MiB: a trace of about a quarter of an hour at 100 Mb/s.
    pub const LARGEST_TEXT: Bytes = Bytes::new(64 << 20);
    /// Eleven days.
    const LATEST_MILLIS: u64 = 1_000_000_000;

    /// Parses a trace: one time in ms per line.
    ///
    /// # Errors
    /// Returns an error if the text is empty or too long, or if its last time is 0; else the first line that is not a
    /// time or is before the previous one.
    pub fn parse(text: &str) -> Result<Self, CapacityTraceError> {
        let length = Bytes::new(text.len() as u64);
        if length > Self::LARGEST_TEXT {
            return Err(CapacityTraceError::TooLong(length));
        }
        let (mut opportunities, mut last) = (Vec::new(), 0);
        for (written, line) in text.trim_start_matches('\u{feff}').lines().zip(1..) {
            let written = written.trim();
            if written.is_empty() {
                continue;
            }
            let digits = written.bytes().all(|byte| byte.is_ascii_digit());
            let millis: Option<u64> = written.parse().ok().filter(|millis| digits && *millis <= Self::LATEST_MILLIS);
            let millis =
                millis.ok_or_else(|| CapacityTraceError::Time { line, text: written.chars().take(40).collect() })?;
            if millis < last {
                return Err(CapacityTraceError::Order { line, millis });
            }
            last = millis;
            opportunities.push(millis * 1_000_000);
        }
        match last {
            0 if opportunities.is_empty() => Err(CapacityTraceError::Empty),
            0 => Err(CapacityTraceError::NoLength),
            _ => Ok(Self { opportunities }),
        }
    }

    /// Returns the mean rate of the trace, over one repetition.
    #[must_use]
    pub fn rate(&self) -> Rate {
        let bits = 8 * u128::from(Self::OPPORTUNITY.count()) * self.opportunities.len() as u128;
        let rate = bits * 1_000_000_000 / u128::from(self.round());
        Rate::from_bits_per_second(u64::try_from(rate).unwrap_or(u64::MAX).max(1))
    }

    /// Returns the mean rate between two times, in bit/s. A transmission opportunity at `from` does not count, one at
    /// `to` does.
    #[must_use]
    pub fn mean_rate(&self, from: Instant, to: Instant) -> f64 {
        let seconds = to.since(from).as_secs_f64();
        if seconds == 0.0 {
            return self.rate().bits_per_second() as f64;
        }
        let opportunities = self.after(to) - self.after(from);
        8.0 * Self::OPPORTUNITY.count() as f64 * opportunities as f64 / seconds
    }

    fn round(&self) -> u64 {
        self.opportunities.last().copied().unwrap_or(1)
    }

    /// Returns the time of the opportunity with this number, from 0 over all rounds.
    fn at(&self, number: u64) -> Instant {
        let length = self.opportunities.len() as u64;
        let within = self.opportunities.get((number % length) as usize).copied().unwrap_or_default();
        Instant::from_nanos((number / length).saturating_mul(self.round()).saturating_add(within))
    }

    /// Returns the number of the first opportunity after this time.
    fn after(&self, instant: Instant) -> u64 {
        let (round, within) = (instant.as_nanos() / self.round(), instant.as_nanos() % self.round());
        round * self.opportunities.len() as u64 + self.opportunities.partition_point(|at| *at <= within) as u64
    }
}

#[derive(Debug)]
pub(crate) struct Capacity {
    trace: Arc<CapacityTrace>,
    /// The first unused opportunity.
    next: u64,
    /// Bytes that are left of the previous opportunity.
    left: u64,
}

impl Capacity {
    pub(crate) fn new(trace: &Arc<CapacityTrace>) -> Self {
        Self { trace: Arc::clone(trace), next: 0, left: 0 }
    }

    /// Returns when the transmission of a packet ends that is next from `start` on. `waited` is whether it waited for
    /// the end of the last transmission.
    pub(crate) fn transmit(&mut self, start: Instant, waited: bool, bytes: u64) -> Instant {
        if !waited {
            (self.next, self.left) = (self.next.max(self.trace.after(start)), 0);
        }
        // A packet of 0 bytes uses an opportunity, too.
        let beyond = bytes.max(1).saturating_sub(self.left);
        let more = beyond.div_ceil(CapacityTrace::OPPORTUNITY.count());
        self.left = self.left + more * CapacityTrace::OPPORTUNITY.count() - bytes.max(1);
        self.next += more;
        self.trace.at(self.next.saturating_sub(1)).max(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(instant: Instant) -> f64 {
        instant.as_secs_f64() * 1e3
    }

    /// By the rules of Mahimahi's `LinkQueue::rationalize`: opportunities at 5, 5, 10, 20 ms, and again 20 ms later.
    #[test]
    fn packets_share_opportunities_and_need_several() {
        let trace = Arc::new(CapacityTrace::parse("5\n5\n10\n20\n").unwrap());
        let mut capacity = Capacity::new(&trace);
        let at = Instant::from_millis;
        // Both opportunities at 5 ms send 3008 B: three packets of 1000 B; the second one has 504 B in the first and
        // 496 B in the second opportunity.
        assert_eq!(capacity.transmit(at(0), false, 1000), at(5));
        assert_eq!(capacity.transmit(at(5), true, 1000), at(5));
        assert_eq!(capacity.transmit(at(5), true, 1000), at(5));
        // 8 B are left, and 1496 B use the next one; a packet that waited can use the last 8 B of it.
        assert_eq!(capacity.transmit(at(5), true, 1504), at(10));
        assert_eq!(capacity.transmit(at(10), true, 8), at(10));
        // A packet that arrives at an idle link at the time of an opportunity misses it.
        assert_eq!(capacity.transmit(at(10), false, 40), at(20));
        // Unused opportunities are lost: those at 25 and 30 ms and the whole next round.
        assert_eq!(capacity.transmit(at(51), false, 1504), at(60));
        assert_eq!(capacity.transmit(at(60), true, 1504), at(65));
        // The last one of a round, and none at the beginning of the next: 80, 85, 85, 90.
        assert_eq!(capacity.transmit(at(79), false, 4 * 1504), at(90));
    }

    /// 12.032 Mb/s are 1504 B per ms, on average over any whole number of rounds.
    #[test]
    fn the_mean_rate_is_that_of_a_busy_link() {
        let trace = CapacityTrace::parse("\u{feff}0\n1\n\n3\n4\r\n").unwrap();
        assert_eq!(trace.rate(), Rate::from_bits_per_second(12_032_000));
        let mut capacity = Capacity::new(&Arc::new(trace));
        let mut end = capacity.transmit(Instant::ZERO, false, 1504);
        for _ in 1..1000 {
            end = capacity.transmit(end, true, 1504);
        }
        // The opportunity at 0 of the first round is missed; a thousand later is the one at 0 of round 251.
        assert_eq!(ms(end), 1000.0);
    }

    /// One opportunity of 1504 B is 12.032 Mb/s for a ms.
    #[test]
    fn the_mean_rate_counts_opportunities() {
        let trace = CapacityTrace::parse("5\n5\n10\n20\n").unwrap();
        let at = Instant::from_millis;
        for (from, to, opportunities) in
            [(0, 4, 0), (0, 5, 2), (5, 10, 1), (10, 20, 1), (0, 20, 4), (20, 40, 4), (3, 87, 18), (7, 8, 0)]
        {
            let rate = 12_032_000.0 * f64::from(opportunities) / (to - from) as f64;
            assert!((trace.mean_rate(at(from), at(to)) - rate).abs() < 1e-6, "{from} {to}");
        }
        assert_eq!(trace.mean_rate(at(7), at(7)), trace.rate().bits_per_second() as f64);
    }

    #[test]
    fn errors_name_the_line() {
        for (text, why) in [
            ("", "the trace is empty"),
            ("0\n0\n", "the last line is 0, but it is the duration of the trace; expected a time above 0"),
            ("1\nx\n", "line 2: \"x\" is not a time"),
            ("1\n-2\n", "line 2: \"-2\" is not a time"),
            ("1\n+2\n", "line 2: \"+2\" is not a time"),
            ("1.5\n", "line 1: \"1.5\" is not a time"),
            ("99999999999999999999\n", "is not a time"),
            ("1000000001\n", "is not a time"),
            ("3\n\n2\n", "line 3: 2 is before"),
        ] {
            let error = CapacityTrace::parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        let long = "1\n".repeat(CapacityTrace::LARGEST_TEXT.count() as usize / 2 + 1);
        assert!(matches!(CapacityTrace::parse(&long), Err(CapacityTraceError::TooLong(_))));
    }

    proptest! {
        /// Comparison with Mahimahi's own loop over opportunities, for any trace and any packets.
        #[test]
        fn departures_equal_those_of_mahimahi(
            steps in prop::collection::vec(0u64..5, 1..20),
            packets in prop::collection::vec((0u64..12, 1u64..5000), 1..60),
        ) {
            let mut stamps: Vec<u64> = steps.iter().scan(0, |at, step| { *at += step; Some(*at) }).collect();
            stamps.push(stamps.last().unwrap() + 1);
            let text: String = stamps.iter().map(|at| format!("{at}\n")).collect();
            let mut capacity = Capacity::new(&Arc::new(CapacityTrace::parse(&text).unwrap()));
            // Arrival time of each packet in ms, in order, and its bytes.
            let packets: Vec<(u64, u64)> =
                packets.iter().scan(0, |at, (wait, bytes)| { *at += wait; Some((*at, *bytes)) }).collect();
            let mut left: Vec<u64> = Vec::new();
            let (mut round, mut index, mut first, mut sent) = (0, 0, 0, 0);
            while left.len() < packets.len() {
                let now = round + stamps[index];
                let mut room = 1504;
                // Packets that arrive at this time are too late for it.
                while room > 0 && first < packets.len() && packets[first].0 < now {
                    let taken = room.min(packets[first].1 - sent);
                    (room, sent) = (room - taken, sent + taken);
                    if sent == packets[first].1 {
                        left.push(now);
                        (first, sent) = (first + 1, 0);
                    }
                }
                index += 1;
                if index == stamps.len() {
                    (round, index) = (round + stamps[index - 1], 0);
                }
            }
            let mut free = Instant::ZERO;
            for ((arrival, bytes), left) in packets.iter().zip(left) {
                let arrival = Instant::from_millis(*arrival);
                // As in Mahimahi, a packet that arrives as the last transmission ends misses the opportunity.
                let waited = arrival < free;
                free = capacity.transmit(if waited { free } else { arrival }, waited, *bytes);
                prop_assert_eq!(free, Instant::from_millis(left));
            }
        }
    }
}
