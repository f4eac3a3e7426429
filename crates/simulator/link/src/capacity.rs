//! A capacity that somebody has measured: when a link may transmit, as Mahimahi's traces have it (R. Netravali et al., "Mahimahi: Accurate
//! Record-and-Replay for HTTP", USENIX ATC 2015).
//!
//! A line is an instant in ms, and there the link takes 1504 B, of one packet or of several; a packet leaves with the opportunity that takes its last byte.
//! As many lines as there are for one instant. An opportunity that finds nothing is gone, also for what comes at the same instant. Behind the
//! last line the trace begins again, that instant being its zero.
//!
//! Of what waits, the first is in the transmitter until the opportunity comes, and not in the queue: Mahimahi has it in its queue, which so
//! holds one packet more here.

use headway_units::{Bytes, Instant, Rate};
use std::sync::Arc;

/// A capacity trace, read.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacityTrace {
    /// Ns from the beginning of a round: rising or alike, never empty, the last of them above 0.
    opportunities: Vec<u64>,
}

/// Why a text is no capacity trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CapacityTraceError {
    /// Longer than [`CapacityTrace::LARGEST_TEXT`].
    #[error("a capacity trace of {0} is too long: at most 64MiB are read")]
    TooLong(Bytes),
    /// No opportunity in it.
    #[error("there is nothing in it: expected lines of milliseconds, such as 12, the last of them above 0")]
    Empty,
    /// None after its beginning: it would begin again at once, for ever.
    #[error("its last line is 0: that line says how long the trace lasts, so write one above 0, such as 12")]
    NoLength,
    /// Not a number of milliseconds.
    #[error("line {line}: \"{text:.40}\" is no time: write whole milliseconds up to 1000000000, such as 12")]
    Time {
        /// Where, counted from 1.
        line: u64,
        /// What is there.
        text: String,
    },
    /// Before the line above it.
    #[error("line {line}: {millis} comes before the line above it")]
    Order {
        /// Where, counted from 1.
        line: u64,
        /// What is there.
        millis: u64,
    },
}

impl CapacityTrace {
    /// What one opportunity takes: Mahimahi's `PACKET_SIZE`, the largest packet that its TUN device hands over.
    pub const OPPORTUNITY: Bytes = Bytes::new(1504);
    /// The header that a TUN device puts before each packet (`struct tun_pi`: flags and protocol). `mm-link` counts it.
    pub const HEADER: Bytes = Bytes::new(4);
    /// The longest text that is read, 64 MiB: a quarter of an hour of 100 Mb/s.
    pub const LARGEST_TEXT: Bytes = Bytes::new(64 << 20);
    /// Eleven days.
    const LATEST_MILLIS: u64 = 1_000_000_000;

    /// Reads a trace: a time in ms a line.
    ///
    /// # Errors
    /// At the first line that is no time, or comes before the one above it; if there is nothing in it, or too much, or the last is 0.
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

    /// What it lets through in the mean.
    #[must_use]
    pub fn rate(&self) -> Rate {
        let bits = 8 * u128::from(Self::OPPORTUNITY.count()) * self.opportunities.len() as u128;
        let rate = bits * 1_000_000_000 / u128::from(self.round());
        Rate::from_bits_per_second(u64::try_from(rate).unwrap_or(u64::MAX).max(1))
    }

    /// What it lets through in the mean from one instant to another, in bit/s; what comes at the first is not counted, what comes at the last is.
    #[must_use]
    pub fn mean_rate(&self, from: Instant, to: Instant) -> f64 {
        let seconds = to.since(from).as_secs_f64();
        if seconds == 0.0 {
            return self.rate().bits_per_second() as f64;
        }
        let opportunities = self.after(to) - self.after(from);
        8.0 * Self::OPPORTUNITY.count() as f64 * opportunities as f64 / seconds
    }

    /// From one beginning to the next, in ns.
    fn round(&self) -> u64 {
        self.opportunities.last().copied().unwrap_or(1)
    }

    /// When the opportunity with this number comes, counted from 0 over all rounds.
    fn at(&self, number: u64) -> Instant {
        let length = self.opportunities.len() as u64;
        let within = self.opportunities.get((number % length) as usize).copied().unwrap_or_default();
        Instant::from_nanos((number / length).saturating_mul(self.round()).saturating_add(within))
    }

    /// The number of the first opportunity after this instant.
    fn after(&self, instant: Instant) -> u64 {
        let (round, within) = (instant.as_nanos() / self.round(), instant.as_nanos() % self.round());
        round * self.opportunities.len() as u64 + self.opportunities.partition_point(|at| *at <= within) as u64
    }
}

/// A trace, played.
#[derive(Debug)]
pub(crate) struct Capacity {
    trace: Arc<CapacityTrace>,
    /// The first opportunity of which nothing was used.
    next: u64,
    /// Bytes that the one before that can still take.
    left: u64,
}

impl Capacity {
    pub(crate) fn new(trace: &Arc<CapacityTrace>) -> Self {
        Self { trace: Arc::clone(trace), next: 0, left: 0 }
    }

    /// When a packet of so many bytes has left that is first from `start` on: at the instant of the last transmission's end if it `waited` for that.
    pub(crate) fn transmit(&mut self, start: Instant, waited: bool, bytes: u64) -> Instant {
        if !waited {
            (self.next, self.left) = (self.next.max(self.trace.after(start)), 0);
        }
        // Even nothing takes an opportunity.
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

    /// Worked by hand by the rules of Mahimahi's `LinkQueue::rationalize`: opportunities at 5, 5, 10, 20 ms, and again 20 ms later.
    #[test]
    fn packets_share_opportunities_and_need_several() {
        let trace = Arc::new(CapacityTrace::parse("5\n5\n10\n20\n").unwrap());
        let mut capacity = Capacity::new(&trace);
        let at = Instant::from_millis;
        // Both opportunities at 5 take 3008 B: of 1000 B each three packets, of which the second has 504 B in the first and 496 B in the second.
        assert_eq!(capacity.transmit(at(0), false, 1000), at(5));
        assert_eq!(capacity.transmit(at(5), true, 1000), at(5));
        assert_eq!(capacity.transmit(at(5), true, 1000), at(5));
        // 8 B are left, 1496 B are the next one's; what comes then has 8 B of it left.
        assert_eq!(capacity.transmit(at(5), true, 1504), at(10));
        assert_eq!(capacity.transmit(at(10), true, 8), at(10));
        // One that comes at an opportunity's own instant is too late for it: the link was idle.
        assert_eq!(capacity.transmit(at(10), false, 40), at(20));
        // What has passed unused is gone, those at 25 and 30 and all of the next round.
        assert_eq!(capacity.transmit(at(51), false, 1504), at(60));
        assert_eq!(capacity.transmit(at(60), true, 1504), at(65));
        // The last of a round and none at the beginning of the next: 80, 85, 85, 90.
        assert_eq!(capacity.transmit(at(79), false, 4 * 1504), at(90));
    }

    /// 12 Mb/s are 1504 B each ms, by the mean of any whole number of rounds.
    #[test]
    fn the_mean_is_what_a_busy_link_lets_through() {
        let trace = CapacityTrace::parse("\u{feff}0\n1\n\n3\n4\r\n").unwrap();
        assert_eq!(trace.rate(), Rate::from_bits_per_second(12_032_000));
        let mut capacity = Capacity::new(&Arc::new(trace));
        let mut end = capacity.transmit(Instant::ZERO, false, 1504);
        for _ in 1..1000 {
            end = capacity.transmit(end, true, 1504);
        }
        // What is at 0 of the first round was missed; a thousand later come the end of round 250 and what is at 0 of the next.
        assert_eq!(ms(end), 1000.0);
    }

    /// One of 1504 B is 12.032 Mb/s for a ms.
    #[test]
    fn the_rate_between_two_instants_counts_opportunities() {
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
    fn what_is_no_trace_is_told_by_its_line() {
        for (text, why) in [
            ("", "there is nothing in it"),
            ("0\n0\n", "its last line is 0: that line says how long the trace lasts, so write one above 0"),
            ("1\nx\n", "line 2: \"x\" is no time"),
            ("1\n-2\n", "line 2: \"-2\" is no time"),
            ("1\n+2\n", "line 2: \"+2\" is no time"),
            ("1.5\n", "line 1: \"1.5\" is no time"),
            ("99999999999999999999\n", "is no time"),
            ("1000000001\n", "is no time"),
            ("3\n\n2\n", "line 3: 2 comes before"),
        ] {
            let error = CapacityTrace::parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        let long = "1\n".repeat(CapacityTrace::LARGEST_TEXT.count() as usize / 2 + 1);
        assert!(matches!(CapacityTrace::parse(&long), Err(CapacityTraceError::TooLong(_))));
    }

    proptest! {
        /// Beside Mahimahi's own loop, which walks from opportunity to opportunity: any trace, any packets.
        #[test]
        fn the_sum_is_the_walk(
            steps in prop::collection::vec(0u64..5, 1..20),
            packets in prop::collection::vec((0u64..12, 1u64..5000), 1..60),
        ) {
            let mut stamps: Vec<u64> = steps.iter().scan(0, |at, step| { *at += step; Some(*at) }).collect();
            stamps.push(stamps.last().unwrap() + 1);
            let text: String = stamps.iter().map(|at| format!("{at}\n")).collect();
            let mut capacity = Capacity::new(&Arc::new(CapacityTrace::parse(&text).unwrap()));
            // When each packet comes, in ms and in order.
            let packets: Vec<(u64, u64)> =
                packets.iter().scan(0, |at, (wait, bytes)| { *at += wait; Some((*at, *bytes)) }).collect();
            let mut left: Vec<u64> = Vec::new();
            let (mut round, mut index, mut first, mut sent) = (0, 0, 0, 0);
            while left.len() < packets.len() {
                let now = round + stamps[index];
                let mut room = 1504;
                // What comes at this instant is not there yet.
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
            for ((came, bytes), left) in packets.iter().zip(left) {
                let came = Instant::from_millis(*came);
                // What comes as the last ends finds the opportunity gone, as Mahimahi has it.
                let waited = came < free;
                free = capacity.transmit(if waited { free } else { came }, waited, *bytes);
                prop_assert_eq!(free, Instant::from_millis(left));
            }
        }
    }
}
