//! Verification of the peer's reports: sequence numbers are skipped at random, and a peer that acknowledges a skipped
//! number has lied (RFC 4342 section 9, "by occasionally not sending a packet"; RFC 4340 section 12.3).
//!
//! Controllers treat a skipped number as a packet without data, whose loss is no congestion, so that an honest receiver
//! is not penalized. A Loss Event Rate does not identify lost packets. It therefore does not count as feedback here
//! (RFC 4342 section 6).

use headway_rate::{Arrival, LossInterval, Run};
use headway_units::{Duration, Entropy, Instant};
use std::collections::VecDeque;

const REMEMBERED: usize = 1024;
/// Minimum number of round trips between skipped numbers. Two in the same loss event would make data between them seem
/// lost, since Loss Intervals do not distinguish lost from received packets within an event (RFC 4342 section 8.6.1).
const ROUND_TRIPS_BETWEEN: u64 = 2;
/// Upper bound of that interval, in shortest round trips: a peer can lengthen the measured round
/// trip by acknowledging late.
const SHORTEST_BETWEEN: u64 = 8;
const MAX_RUN: u32 = 8;
/// Number of later packets after which a TFRC receiver counts a packet as lost (NDUPACK, RFC 4342
/// section 6.1). Loss intervals do not report it before.
const SETTLED: u8 = 3;
/// Factor by which a peer that has lied is tested more often.
const TEST_SPEEDUP: u64 = 8;
/// Number of lies that reset the connection: "only as last resorts, after multiple round-trip times
/// of verified aggression" (RFC 4340 section 12.3).
const LIES_FOR_A_PENALTY: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The report is not known to be false.
    Believed,
    /// The report is false: the sender slows down, "as if the receiver had sent a Slow Receiver option".
    Lie,
    /// The report is one of several false ones, round trips apart: the connection is reset.
    Penalty,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Claim<'a> {
    /// Ack Vector, from the acknowledgement number down.
    Runs(&'a [Run]),
    /// Skip Length and Loss Intervals, the newest first.
    Intervals(u8, &'a [LossInterval]),
    Nothing,
}

impl Claim<'_> {
    /// Returns the maximum number of covered packets, from the acknowledgement number down.
    fn reach(self) -> u64 {
        match self {
            Self::Nothing => 1,
            Self::Runs(runs) => runs.iter().fold(1, |reach, run| reach.saturating_add(run.packets)),
            Self::Intervals(..) => u64::MAX,
        }
    }

    /// Returns whether the packet `below` numbers under the acknowledgement number is reported as received; `None` if
    /// it is not covered. `settled`: enough later packets had arrived when the report was sent.
    fn is_received(self, below: u64, settled: bool) -> Option<bool> {
        let mut end = 0u64;
        match self {
            _ if below == 0 => Some(true),
            Self::Nothing => None,
            Self::Runs(runs) => runs
                .iter()
                .find(|run| {
                    end = end.saturating_add(run.packets);
                    below < end
                })
                .map(|run| run.arrival != Arrival::NotReceived),
            Self::Intervals(skip, intervals) => {
                end = skip.into();
                for interval in intervals {
                    let lossless = end.saturating_add(interval.lossless.into());
                    // The first interval of the connection extends to its start.
                    if (end..lossless).contains(&below) || interval.lossy == 0 && below >= end {
                        return settled.then_some(true);
                    }
                    end = lossless.saturating_add(interval.lossy.into());
                    if (lossless..end).contains(&below) {
                        return Some(false);
                    }
                }
                None
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct SkippedNumber {
    number: u64,
    /// Number of later packets acknowledged, up to [`SETTLED`].
    later: u8,
    settled_by: u64,
}

impl SkippedNumber {
    /// Returns whether the receiver had to count the number as lost when its newest packet was
    /// `acknowledged`. An acknowledgement number is the newest received when the report is sent, so
    /// all lower ones had arrived, even if reports are reordered.
    const fn is_settled(&self, acknowledged: u64) -> bool {
        self.later >= SETTLED && acknowledged >= self.settled_by
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Honesty {
    /// Mean number of data packets between skipped numbers; 0: none are skipped.
    interval: u64,
    skipped: VecDeque<SkippedNumber>,
    last: Option<Instant>,
    shortest: Option<Duration>,
    /// All packets below this number have been reported.
    reported: u64,
    /// Greatest acknowledgement numbers, in descending order.
    greatest: [u64; SETTLED as usize],
    /// Reports have arrived that can be verified.
    verifiable: bool,
    lies: u32,
    /// Acknowledgement number from which another lie counts: a round trip after the last.
    next_lie: u64,
}

impl Honesty {
    pub(crate) fn new(interval: u64) -> Self {
        Self { interval, ..Self::default() }
    }

    /// Returns how many numbers to skip before the next packet. Each number is equally likely, from
    /// one or two round trips after the last. The length of a run is geometric: half of them are
    /// longer than one number, half of these longer than two, and so on. A receiver cannot identify
    /// skipped numbers, except by timing on a path that preserves the sender's gaps.
    pub(crate) fn numbers_to_skip(&mut self, now: Instant, rtt: Duration, random: &mut dyn Entropy) -> u32 {
        if !self.verifiable || self.interval == 0 {
            return 0;
        }
        let interval = if self.lies > 0 { self.interval.div_ceil(TEST_SPEEDUP) } else { self.interval };
        let between = (rtt * ROUND_TRIPS_BETWEEN).min(self.shortest.unwrap_or(rtt) * SHORTEST_BETWEEN);
        let soon = self.last.is_some_and(|last| now.since(last) < between);
        if soon || random.below(interval) > 0 {
            return 0;
        }
        self.last = Some(now);
        (1 + random.bits().trailing_zeros()).min(MAX_RUN)
    }

    pub(crate) fn on_round_trip(&mut self, sample: Duration) {
        self.shortest = Some(self.shortest.map_or(sample, |shortest| shortest.min(sample)));
    }

    pub(crate) fn on_skipped(&mut self, number: u64) {
        if self.skipped.len() == REMEMBERED {
            self.skipped.pop_front();
        }
        self.skipped.push_back(SkippedNumber { number, later: 0, settled_by: 0 });
    }

    /// Records that the controller received a verifiable report. Numbers are skipped only from then on: a report under
    /// the old CCID does not show that the receiver of a new one has started (RFC 4340 section 10).
    pub(crate) const fn begin(&mut self) {
        self.verifiable = true;
    }

    /// Verifies a report with this acknowledgement number. `upcoming` is the number of the next packet.
    pub(crate) fn judge(&mut self, acknowledged: u64, upcoming: u64, claim: Claim<'_>) -> Verdict {
        // Each greater number than any before identifies one more received packet.
        if acknowledged > self.greatest[0] {
            self.greatest.rotate_right(1);
            self.greatest[0] = acknowledged;
            for skipped in &mut self.skipped {
                if skipped.number < acknowledged && skipped.later < SETTLED {
                    skipped.later += 1;
                    skipped.settled_by = acknowledged;
                }
            }
        }
        let reach = claim.reach();
        let from = self.skipped.partition_point(|known| known.number.saturating_add(reach) <= acknowledged);
        let to = self.skipped.partition_point(|known| known.number <= acknowledged);
        let lie = (from..to).find(|at| {
            let known = self.skipped[*at];
            claim.is_received(acknowledged - known.number, known.is_settled(acknowledged)) == Some(true)
        });
        let Some(lie) = lie else { return Verdict::Believed };
        self.skipped.remove(lie);
        if self.lies == 0 || acknowledged >= self.next_lie {
            self.lies += 1;
            self.next_lie = upcoming;
        }
        if self.lies >= LIES_FOR_A_PENALTY { Verdict::Penalty } else { Verdict::Lie }
    }

    /// Returns whether the peer is verified and must report which packets were received.
    pub(crate) const fn verifies(&self) -> bool {
        self.interval > 0
    }

    /// Completes intervals so that they reach back to the last report, or to the start (section 8.6.1 of RFC 4342).
    /// Packets that a receiver omits count as lost. An honest receiver omits only packets older than ten loss events,
    /// which no longer count, unless many reports were lost.
    ///
    /// A minimum of nine intervals is not enough: a receiver can shorten intervals by requesting packets without data.
    pub(crate) fn complete(&mut self, acknowledged: u64, skip: u8, intervals: &mut Vec<LossInterval>) {
        let end = acknowledged.saturating_add(1).saturating_sub(u64::from(skip));
        let covered = intervals.iter().map(|interval| u64::from(interval.lossless) + u64::from(interval.lossy)).sum();
        let to_the_beginning = intervals.iter().any(|interval| interval.lossy == 0);
        let left_out = end.saturating_sub(covered).saturating_sub(self.reported);
        if left_out > 0 && !to_the_beginning {
            let lossy = u32::try_from(left_out).unwrap_or(u32::MAX);
            intervals.push(LossInterval { lossless: 0, lossy, data: lossy, dropped: lossy });
        }
        // Packets that did not have to be reported yet must be reported again, all of them if a
        // report is older than another.
        let [greatest, .., settled] = self.greatest;
        if acknowledged >= greatest {
            self.reported = self.reported.max(end.min(settled));
        }
    }

    /// Restarts for a receiver under another CCID, which has no state of earlier numbers.
    pub(crate) fn restart(&mut self) {
        self.skipped.clear();
        self.verifiable = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Arrival::{Marked, NotReceived, Received};
    use headway_units::Random;

    fn run(arrival: Arrival, packets: u64) -> Run {
        Run { arrival, packets }
    }
    fn interval(lossless: u32, lossy: u32) -> LossInterval {
        LossInterval { lossless, lossy, data: lossless + lossy, dropped: lossy }
    }

    /// RFC 4342 section 9: "to catch the receiver in an error in Loss Intervals or Ack Vector information".
    #[test]
    fn reported_arrivals_of_a_claim() {
        let runs = [run(Received, 3), run(NotReceived, 2), run(Marked, 1)];
        let vector = [0, 2, 3, 4, 5, 6].map(|below| Claim::Runs(&runs).is_received(below, false));
        assert_eq!(vector, [Some(true), Some(true), Some(false), Some(false), Some(true), None]);
        // Skip Length 2, 98 received, 10 with losses, and the first interval of 50.
        let intervals = [interval(98, 10), interval(50, 0)];
        let covered = |settled| {
            [1, 2, 99, 100, 109, 110, 159, 1000]
                .map(|below| Claim::Intervals(2, &intervals).is_received(below, settled))
        };
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(covered(true), [None, yes, yes, no, no, yes, yes, yes]);
        // Packets that are not settled count as not reported.
        assert_eq!(covered(false), [None, None, None, no, no, None, None, None]);
        assert_eq!(Claim::Nothing.is_received(0, false), Some(true));
        assert_eq!(Claim::Nothing.is_received(1, true), None);
    }

    /// RFC 4340 section 12.3: the connection is reset only after several round trips; lies in one
    /// round trip count once.
    #[test]
    fn a_reset_follows_lies_in_three_round_trips() {
        let mut honesty = Honesty::new(100);
        (0..6).for_each(|i| honesty.on_skipped(10 * i));
        let all = [run(Received, 1000)];
        let mut judge = |acknowledged, upcoming| honesty.judge(acknowledged, upcoming, Claim::Runs(&all));
        assert_eq!(judge(5, 40), Verdict::Lie);
        assert_eq!(judge(15, 60), Verdict::Lie);
        assert_eq!(judge(39, 60), Verdict::Lie);
        assert_eq!(judge(40, 70), Verdict::Lie, "the second round trip");
        assert_eq!(judge(45, 70), Verdict::Lie);
        assert_eq!(judge(69, 80), Verdict::Lie);
        assert_eq!(judge(70, 90), Verdict::Believed, "no skipped number is left");
    }

    /// RFC 4342 section 8.6.1: intervals are contiguous. Otherwise a receiver could omit losses and
    /// report only packets without data, such as SyncAcks that it has requested.
    #[test]
    fn omitted_packets_count_as_lost() {
        let mut honesty = Honesty::new(100);
        let mut left_out = |acknowledged, skip, intervals: &[LossInterval]| {
            honesty.judge(acknowledged, acknowledged + 1, Claim::Intervals(skip, intervals));
            let mut all = intervals.to_vec();
            honesty.complete(acknowledged, skip, &mut all);
            all.split_off(intervals.len()).iter().map(|more| (more.lossless, more.lossy)).collect::<Vec<_>>()
        };
        assert_eq!(left_out(100, 0, &[interval(10, 1), interval(50, 0)]), [], "to the beginning");
        assert_eq!(
            left_out(200, 2, &[interval(188, 11)]),
            [],
            "0 to 100 is not settled until two later packets are acknowledged"
        );
        assert_eq!(left_out(300, 2, &[interval(297, 1)]), [(0, 1)], "0 is left out");
        assert_eq!(left_out(400, 2, &[interval(298, 1)]), [], "from 100 on: 200, 300 and 400 were acknowledged");
        assert_eq!(left_out(500, 0, &[interval(290, 1)]), [(0, 10)], "200 to 209 are left out");
        assert_eq!(left_out(600, 0, &[interval(300, 1)]), [], "from 300 on");
        assert_eq!(left_out(550, 0, &[interval(250, 1)]), [], "a reordered older report");
        assert_eq!(left_out(700, 0, &[interval(300, 1)]), [], "the older report settled nothing: from 400 on");
        assert_eq!(left_out(1600, 0, &[interval(1, 1); 28]), [(0, 1045)], "many intervals that cover few packets");
    }

    /// A packet counts as lost once three later packets have arrived. Reports before that may be inaccurate about it. A
    /// reordered report reflects what was known when its acknowledgement number was the newest.
    #[test]
    fn unsettled_packets_are_reported_again() {
        let mut honesty = Honesty::new(100);
        honesty.on_skipped(95);
        let intervals = [interval(1000, 1)];
        let all = Claim::Intervals(0, &intervals);
        assert_eq!([100, 110].map(|ack| honesty.judge(ack, 500, all)), [Verdict::Believed; 2]);
        assert_eq!([130, 140].map(|ack| honesty.judge(ack, 500, Claim::Nothing)), [Verdict::Believed; 2]);
        assert_eq!(honesty.judge(120, 500, all), Verdict::Believed, "130 may have arrived later");
        assert_eq!(honesty.judge(135, 500, all), Verdict::Lie, "100, 110 and 130 had arrived");
    }

    /// RFC 4340 section 10: another CCID starts without state. The first interval of its receiver
    /// does not cover numbers before its start, whatever it reports.
    #[test]
    fn another_ccid_starts_without_state() {
        let mut honesty = Honesty::new(100);
        let judge = |honesty: &mut Honesty, acknowledged| {
            honesty.judge(acknowledged, acknowledged + 1, Claim::Intervals(0, &[interval(5, 0)]))
        };
        honesty.on_skipped(10);
        honesty.restart();
        assert_eq!([1000, 1001, 1002, 1003].map(|ack| judge(&mut honesty, ack)), [Verdict::Believed; 4]);
        assert!(!honesty.verifiable);
        honesty.on_skipped(1004);
        assert_eq!([1005, 1006].map(|ack| judge(&mut honesty, ack)), [Verdict::Believed; 2]);
        assert_eq!(judge(&mut honesty, 1007), Verdict::Lie);
    }

    /// On average one in 50 is skipped, and one in 7 after the first lie; none before a report can be verified.
    #[test]
    fn numbers_are_skipped_at_random() {
        let (mut random, second) = (Random::new(1, "honesty"), Duration::from_secs(1));
        let mut honesty = Honesty::new(50);
        let mut runs = |honesty: &mut Honesty| {
            let times = (0..50_000).map(|n| Instant::from_secs(100 + 2 * n));
            let runs: Vec<_> = times.map(|now| honesty.numbers_to_skip(now, second, &mut random)).collect();
            honesty.last = None;
            let count = |is: fn(u32) -> bool| runs.iter().filter(|run| is(**run)).count();
            [count(|run| run == 1), count(|run| run == 2), count(|run| run == 3), count(|run| run > 0)]
        };
        assert_eq!(runs(&mut honesty), [0; 4]);
        honesty.begin();
        // Five standard errors of a binomial distribution: 5 sqrt(50000 / 50), and less for a half,
        // a quarter, an eighth of it.
        let near = |count: usize, mean: usize, error| count.abs_diff(mean) < error;
        let [one, two, three, all] = runs(&mut honesty);
        assert!(near(all, 1000, 158) && near(one, 500, 112) && near(two, 250, 80) && near(three, 125, 56));
        honesty.on_skipped(7);
        assert_eq!(honesty.judge(7, 20, Claim::Nothing), Verdict::Lie);
        assert!(near(runs(&mut honesty)[3], 7143, 400));
        assert_eq!(
            Honesty { verifiable: true, ..Honesty::new(0) }.numbers_to_skip(Instant::ZERO, second, &mut random),
            0
        );
        assert!(honesty.skipped.is_empty());
    }

    /// RFC 4342 section 8.6.1: losses two round trips apart are separate events, and packets
    /// received between are in neither.
    #[test]
    fn skipped_numbers_are_two_round_trips_apart() {
        let mut random = Random::new(1, "honesty");
        let mut honesty = Honesty { verifiable: true, ..Honesty::new(20) };
        let rtt = Duration::from_millis(100);
        let skipped: Vec<u64> = (0..100_000)
            .filter(|ms| honesty.numbers_to_skip(Instant::from_millis(*ms), rtt, &mut random) > 0)
            .collect();
        assert!(skipped.windows(2).all(|pair| pair[1] - pair[0] >= 200));
        // Mean spacing: 200 ms, and 20 ms more on average.
        assert!((440..470).contains(&skipped.len()), "{}", skipped.len());
        // Of an hour's round trip, eight times the shortest.
        honesty.on_round_trip(rtt);
        let hour = Duration::from_secs(3600);
        let longer =
            (100_000..200_000).filter(|ms| honesty.numbers_to_skip(Instant::from_millis(*ms), hour, &mut random) > 0);
        assert!((115..123).contains(&longer.count()));
    }
}
