//! Whether the peer lies about what has come: now and then a number is passed over, and who says that its packet has come
//! is caught (RFC 4342 section 9, "by occasionally not sending a packet"; RFC 4340 section 12.3).
//!
//! Controllers take such a number for a packet without data, whose loss is no congestion. So an honest receiver loses
//! nothing by it. A Loss Event Rate does not tell which losses it means: it is then no feedback (RFC 4342 section 6).

use headway_rate::{Arrival, LossInterval, Run};
use headway_units::{Duration, Entropy, Instant};
use std::collections::VecDeque;

/// Numbers passed over that are remembered.
const REMEMBERED: usize = 1024;
/// Round trips at least from one to the next: two in the same loss event would make one of it in which data seems lost, since Loss
/// Intervals do not tell the lost packets of an event from those between that have come (RFC 4342 section 8.6.1).
const ROUND_TRIPS_BETWEEN: u64 = 2;
/// But not more of the shortest: a peer makes a round trip as long as it likes by naming a packet late.
const SHORTEST_BETWEEN: u64 = 8;
/// Numbers in a row that are passed over at most.
const LONGEST_RUN: u32 = 8;
/// A receiver of TFRC counts a packet as lost once so many behind it have come (NDUPACK, RFC 4342 section 6.1), however far
/// behind: loss intervals say nothing about it before.
const SETTLED: u8 = 3;
/// Who has lied once is tested so many times as often.
const HASTE: u64 = 8;
/// "Only as last resorts, after multiple round-trip times of verified aggression" (RFC 4340 section 12.3).
const LIES_FOR_A_PENALTY: u32 = 3;

/// What a report gives away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing, or that it is true.
    Believed,
    /// A lie: the sender slows down, "as if the receiver had sent a Slow Receiver option".
    Lie,
    /// One of several, round trips apart: the connection is reset.
    Penalty,
}

/// What a report says has come.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Claim<'a> {
    /// An Ack Vector, from the acknowledgement number downwards.
    Runs(&'a [Run]),
    /// Loss Intervals, the newest first, behind so many packets of open fate.
    Intervals(u8, &'a [LossInterval]),
    /// The acknowledgement number alone.
    Nothing,
}

impl Claim<'_> {
    /// How many packets it speaks of at most, from the acknowledgement number downwards.
    fn reach(self) -> u64 {
        match self {
            Self::Nothing => 1,
            Self::Runs(runs) => runs.iter().fold(1, |reach, run| reach.saturating_add(run.packets)),
            Self::Intervals(..) => u64::MAX,
        }
    }

    /// Whether the packet so many below the acknowledgement number has come; `None` if nothing is said of it. `settled`: enough
    /// packets behind it had come when this was said.
    fn has_come(self, below: u64, settled: bool) -> Option<bool> {
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
                    // The first of all reaches to the beginning.
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

/// A number that was passed over.
#[derive(Clone, Copy, Debug)]
struct PassedOver {
    number: u64,
    /// Packets behind it that reports have named, until there are enough.
    behind: u8,
    /// The last of them.
    settled_by: u64,
}

impl PassedOver {
    /// Whether the receiver had to know that it had not come when the newest packet was `acknowledged`. What a report names was the
    /// newest when it was written: all lesser ones that were ever named had come by then, in whatever order reports arrive.
    const fn is_settled(&self, acknowledged: u64) -> bool {
        self.behind >= SETTLED && acknowledged >= self.settled_by
    }
}

/// The numbers that were passed over, and how often the peer lied about them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Honesty {
    /// Data packets from one to the next, in the mean; 0: none is passed over.
    interval: u64,
    passed_over: VecDeque<PassedOver>,
    /// When the last one was passed over.
    last: Option<Instant>,
    /// The shortest round trip.
    shortest: Option<Duration>,
    /// Of all packets before this one something was told that stands.
    told: u64,
    /// The greatest numbers acknowledged, the greatest first.
    greatest: [u64; SETTLED as usize],
    /// Reports have come that can be held against it.
    verifiable: bool,
    lies: u32,
    /// An acknowledgement of this number is a round trip later than the last lie.
    next_lie: u64,
}

impl Honesty {
    pub(crate) fn new(interval: u64) -> Self {
        Self { interval, ..Self::default() }
    }

    /// How many numbers are to be passed over before the next packet. No number tells which: each has the same chance, a round trip or
    /// two behind the last. Nor does a hole: half of them are longer than one number, half of these longer than two, and so on. On
    /// a path that keeps the sender's gaps, timing may.
    pub(crate) fn passes_over(&mut self, now: Instant, rtt: Duration, random: &mut dyn Entropy) -> u32 {
        if !self.verifiable || self.interval == 0 {
            return 0;
        }
        let interval = if self.lies > 0 { self.interval.div_ceil(HASTE) } else { self.interval };
        let between = (rtt * ROUND_TRIPS_BETWEEN).min(self.shortest.unwrap_or(rtt) * SHORTEST_BETWEEN);
        let soon = self.last.is_some_and(|last| now.since(last) < between);
        if soon || random.below(interval) > 0 {
            return 0;
        }
        self.last = Some(now);
        (1 + random.bits().trailing_zeros()).min(LONGEST_RUN)
    }

    /// A round trip was measured.
    pub(crate) fn on_round_trip(&mut self, sample: Duration) {
        self.shortest = Some(self.shortest.map_or(sample, |shortest| shortest.min(sample)));
    }

    /// It was.
    pub(crate) fn on_passed_over(&mut self, number: u64) {
        if self.passed_over.len() == REMEMBERED {
            self.passed_over.pop_front();
        }
        self.passed_over.push_back(PassedOver { number, behind: 0, settled_by: 0 });
    }

    /// The controller goes by a report that can be held against what went. Only then are numbers passed over: what the receiver of
    /// another CCID says, on its way since before a change, is no sign that the new one has begun (RFC 4340 section 10).
    pub(crate) const fn begin(&mut self) {
        self.verifiable = true;
    }

    /// A report names `acknowledged`; the next packet that goes is `upcoming`.
    pub(crate) fn judge(&mut self, acknowledged: u64, upcoming: u64, claim: Claim<'_>) -> Verdict {
        // Each number that is greater than all before names one more packet that has come.
        if acknowledged > self.greatest[0] {
            self.greatest.rotate_right(1);
            self.greatest[0] = acknowledged;
            for passed_over in &mut self.passed_over {
                if passed_over.number < acknowledged && passed_over.behind < SETTLED {
                    passed_over.behind += 1;
                    passed_over.settled_by = acknowledged;
                }
            }
        }
        let reach = claim.reach();
        let from = self.passed_over.partition_point(|known| known.number.saturating_add(reach) <= acknowledged);
        let to = self.passed_over.partition_point(|known| known.number <= acknowledged);
        let lie = (from..to).find(|at| {
            let known = self.passed_over[*at];
            claim.has_come(acknowledged - known.number, known.is_settled(acknowledged)) == Some(true)
        });
        let Some(lie) = lie else { return Verdict::Believed };
        self.passed_over.remove(lie);
        if self.lies == 0 || acknowledged >= self.next_lie {
            self.lies += 1;
            self.next_lie = upcoming;
        }
        if self.lies >= LIES_FOR_A_PENALTY { Verdict::Penalty } else { Verdict::Lie }
    }

    /// Whether the peer is to be verified: then it is to say which packets have come.
    pub(crate) const fn verifies(&self) -> bool {
        self.interval > 0
    }

    /// Intervals by which the controller goes from now on reach back to what was told before, or to the beginning (section 8.6.1 of
    /// RFC 4342): who leaves packets out says nothing false of them. What is left out counts as lost. An honest receiver leaves
    /// something out only behind ten newer loss events, where it no longer counts, unless many reports were lost.
    ///
    /// Nine intervals are not enough by themselves: packets without data, as many as a receiver asks for, make them as short as it
    /// likes.
    pub(crate) fn complete(&mut self, acknowledged: u64, skip: u8, intervals: &mut Vec<LossInterval>) {
        let end = acknowledged.saturating_add(1).saturating_sub(u64::from(skip));
        let said = intervals.iter().map(|interval| u64::from(interval.lossless) + u64::from(interval.lossy)).sum();
        let to_the_beginning = intervals.iter().any(|interval| interval.lossy == 0);
        let left_out = end.saturating_sub(said).saturating_sub(self.told);
        if left_out > 0 && !to_the_beginning {
            let lossy = u32::try_from(left_out).unwrap_or(u32::MAX);
            intervals.push(LossInterval { lossless: 0, lossy, data: lossy, dropped: lossy });
        }
        // What did not have to be known yet is to be told again: all of it, where a report is older than another.
        let [greatest, .., settled] = self.greatest;
        if acknowledged >= greatest {
            self.told = self.told.max(end.min(settled));
        }
    }

    /// A receiver that begins anew, under another CCID, knows nothing of the numbers before.
    pub(crate) fn begin_anew(&mut self) {
        self.passed_over.clear();
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
    fn what_a_report_claims() {
        let runs = [run(Received, 3), run(NotReceived, 2), run(Marked, 1)];
        let vector = [0, 2, 3, 4, 5, 6].map(|below| Claim::Runs(&runs).has_come(below, false));
        assert_eq!(vector, [Some(true), Some(true), Some(false), Some(false), Some(true), None]);
        // Two of open fate, 98 received, 10 with losses, and the first interval with 50.
        let intervals = [interval(98, 10), interval(50, 0)];
        let said = |settled| {
            [1, 2, 99, 100, 109, 110, 159, 1000].map(|below| Claim::Intervals(2, &intervals).has_come(below, settled))
        };
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(said(true), [None, yes, yes, no, no, yes, yes, yes]);
        // What nobody has to know yet counts as not said.
        assert_eq!(said(false), [None, None, None, no, no, None, None, None]);
        assert_eq!(Claim::Nothing.has_come(0, false), Some(true));
        assert_eq!(Claim::Nothing.has_come(1, true), None);
    }

    /// RFC 4340 section 12.3: a reset only after several round trips; two lies in one round trip are one.
    #[test]
    fn a_penalty_takes_three_round_trips() {
        let mut honesty = Honesty::new(100);
        (0..6).for_each(|i| honesty.on_passed_over(10 * i));
        let all = [run(Received, 1000)];
        let mut judge = |acknowledged, upcoming| honesty.judge(acknowledged, upcoming, Claim::Runs(&all));
        assert_eq!(judge(5, 40), Verdict::Lie);
        assert_eq!(judge(15, 60), Verdict::Lie);
        assert_eq!(judge(39, 60), Verdict::Lie);
        assert_eq!(judge(40, 70), Verdict::Lie, "the second round trip");
        assert_eq!(judge(45, 70), Verdict::Lie);
        assert_eq!(judge(69, 80), Verdict::Lie);
        assert_eq!(judge(70, 90), Verdict::Believed, "there is no other number");
    }

    /// RFC 4342 section 8.6.1: intervals follow one another without a gap. Otherwise a receiver could speak of nothing but packets
    /// without data, such as the SyncAcks that it has asked for, and of no loss.
    #[test]
    fn what_is_left_out_counts_as_lost() {
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
            "what of 0 to 100? Two behind 100 are still to be named"
        );
        assert_eq!(left_out(300, 2, &[interval(297, 1)]), [(0, 1)], "0 is left out");
        assert_eq!(left_out(400, 2, &[interval(298, 1)]), [], "from 100 on: 200, 300 and 400 were named");
        assert_eq!(left_out(500, 0, &[interval(290, 1)]), [(0, 10)], "200 to 209 are left out");
        assert_eq!(left_out(600, 0, &[interval(300, 1)]), [], "from 300 on");
        assert_eq!(left_out(550, 0, &[interval(250, 1)]), [], "an older one that was overtaken");
        assert_eq!(left_out(700, 0, &[interval(300, 1)]), [], "it has settled nothing: from 400 on");
        assert_eq!(left_out(1600, 0, &[interval(1, 1); 28]), [(0, 1045)], "many intervals, and next to nothing told");
    }

    /// A packet is lost for sure once three behind it have come: until then each report tells of it again, and at last truly. One
    /// that names a lesser number than reports before says what was known when that was the newest.
    #[test]
    fn what_is_not_settled_is_told_again() {
        let mut honesty = Honesty::new(100);
        honesty.on_passed_over(95);
        let intervals = [interval(1000, 1)];
        let all = Claim::Intervals(0, &intervals);
        assert_eq!([100, 110].map(|ack| honesty.judge(ack, 500, all)), [Verdict::Believed; 2]);
        assert_eq!([130, 140].map(|ack| honesty.judge(ack, 500, Claim::Nothing)), [Verdict::Believed; 2]);
        assert_eq!(honesty.judge(120, 500, all), Verdict::Believed, "130 may have come later");
        assert_eq!(honesty.judge(135, 500, all), Verdict::Lie, "100, 110 and 130 had");
    }

    /// RFC 4340 section 10: another CCID begins with nothing. The first interval of its receiver does not reach below its beginning,
    /// whatever it seems to say.
    #[test]
    fn another_ccid_begins_anew() {
        let mut honesty = Honesty::new(100);
        let judge = |honesty: &mut Honesty, acknowledged| {
            honesty.judge(acknowledged, acknowledged + 1, Claim::Intervals(0, &[interval(5, 0)]))
        };
        honesty.on_passed_over(10);
        honesty.begin_anew();
        assert_eq!([1000, 1001, 1002, 1003].map(|ack| judge(&mut honesty, ack)), [Verdict::Believed; 4]);
        assert!(!honesty.verifiable);
        honesty.on_passed_over(1004);
        assert_eq!([1005, 1006].map(|ack| judge(&mut honesty, ack)), [Verdict::Believed; 2]);
        assert_eq!(judge(&mut honesty, 1007), Verdict::Lie);
    }

    /// One of 50 in the mean, and one of 7 behind the first lie; none before a report can be verified.
    #[test]
    fn numbers_are_passed_over_at_random() {
        let (mut random, second) = (Random::new(1, "honesty"), Duration::from_secs(1));
        let mut honesty = Honesty::new(50);
        let mut runs = |honesty: &mut Honesty| {
            let times = (0..50_000).map(|n| Instant::from_secs(100 + 2 * n));
            let runs: Vec<_> = times.map(|now| honesty.passes_over(now, second, &mut random)).collect();
            honesty.last = None;
            let count = |is: fn(u32) -> bool| runs.iter().filter(|run| is(**run)).count();
            [count(|run| run == 1), count(|run| run == 2), count(|run| run == 3), count(|run| run > 0)]
        };
        assert_eq!(runs(&mut honesty), [0; 4]);
        honesty.begin();
        // Five standard errors of a binomial: 5 sqrt(50000 / 50), and less for half of it, a quarter, an eighth.
        let near = |count: usize, mean: usize, error| count.abs_diff(mean) < error;
        let [one, two, three, all] = runs(&mut honesty);
        assert!(near(all, 1000, 158) && near(one, 500, 112) && near(two, 250, 80) && near(three, 125, 56));
        honesty.on_passed_over(7);
        assert_eq!(honesty.judge(7, 20, Claim::Nothing), Verdict::Lie);
        assert!(near(runs(&mut honesty)[3], 7143, 400));
        assert_eq!(Honesty { verifiable: true, ..Honesty::new(0) }.passes_over(Instant::ZERO, second, &mut random), 0);
        assert!(honesty.passed_over.is_empty());
    }

    /// RFC 4342 section 8.6.1: losses a round trip apart are two events, and what has come between is not in them.
    #[test]
    fn two_round_trips_lie_between() {
        let mut random = Random::new(1, "honesty");
        let mut honesty = Honesty { verifiable: true, ..Honesty::new(20) };
        let rtt = Duration::from_millis(100);
        let passed_over: Vec<u64> =
            (0..100_000).filter(|ms| honesty.passes_over(Instant::from_millis(*ms), rtt, &mut random) > 0).collect();
        assert!(passed_over.windows(2).all(|pair| pair[1] - pair[0] >= 200));
        // 200 ms and 20 more in the mean.
        assert!((440..470).contains(&passed_over.len()), "{}", passed_over.len());
        // Of an hour it is eight times the shortest.
        honesty.on_round_trip(rtt);
        let hour = Duration::from_secs(3600);
        let longer =
            (100_000..200_000).filter(|ms| honesty.passes_over(Instant::from_millis(*ms), hour, &mut random) > 0);
        assert!((115..123).contains(&longer.count()));
    }
}
