//! Whether the peer lies about what has come: now and then a number is passed over, and who says that its packet has come
//! is caught (RFC 4342 section 9, "by occasionally not sending a packet"; RFC 4340 section 12.3).
//!
//! Controllers take such a number for a packet without data, whose loss is no congestion. So an honest receiver loses
//! nothing by it. A Loss Event Rate does not tell which losses it means: alone it is then no feedback (RFC 4342 section 6).

use super::heard::Heard;
use headway_rate::{Arrival, LossInterval, Run};
use headway_units::Random;
use std::collections::VecDeque;

/// Numbers passed over that are remembered.
const REMEMBERED: usize = 32;
/// A receiver of TFRC may count the newest packets as come until three behind them have (RFC 4342 section 8.6.1): it is
/// held to loss intervals only so far below.
const SETTLED: u64 = 64;
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
    /// Whether the packet so many below the acknowledgement number has come; `None` if nothing is said of it.
    fn has_come(self, below: u64) -> Option<bool> {
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
                        return Some(below >= SETTLED).filter(|settled| *settled);
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

/// The numbers that were passed over, and how often the peer lied about them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Honesty {
    /// Data packets from one to the next, in the mean; 0: none is passed over.
    interval: u64,
    passed_over: VecDeque<u64>,
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

    /// Whether the next packet's number is to be passed over. A peer cannot guess which: each has the same chance.
    pub(crate) fn passes_over(&mut self, random: &mut Random) -> bool {
        let interval = if self.lies > 0 { self.interval.div_ceil(HASTE) } else { self.interval };
        self.verifiable && interval > 0 && random.below(interval) == 0
    }

    /// It was.
    pub(crate) fn on_passed_over(&mut self, number: u64) {
        if self.passed_over.len() == REMEMBERED {
            self.passed_over.pop_front();
        }
        self.passed_over.push_back(number);
    }

    /// A report names `acknowledged`; the next packet that goes is `upcoming`.
    pub(crate) fn judge(&mut self, acknowledged: u64, upcoming: u64, claim: Claim<'_>) -> Verdict {
        match claim {
            Claim::Runs(_) | Claim::Intervals(..) => self.verifiable = true,
            Claim::Nothing => {}
        }
        let lie = self.passed_over.iter().position(|number| {
            acknowledged.checked_sub(*number).is_some_and(|below| claim.has_come(below) == Some(true))
        });
        let Some(lie) = lie else { return Verdict::Believed };
        self.passed_over.remove(lie);
        if self.lies == 0 || acknowledged >= self.next_lie {
            self.lies += 1;
            self.next_lie = upcoming;
        }
        if self.lies >= LIES_FOR_A_PENALTY { Verdict::Penalty } else { Verdict::Lie }
    }

    /// Whether this is feedback: who is to be verified says which packets have come.
    pub(crate) const fn accepts(&self, heard: &Heard) -> bool {
        self.interval == 0 || heard.skip.is_some() || heard.vector
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Arrival::{Marked, NotReceived, Received};

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
        let vector = [0, 2, 3, 4, 5, 6].map(|below| Claim::Runs(&runs).has_come(below));
        assert_eq!(vector, [Some(true), Some(true), Some(false), Some(false), Some(true), None]);
        // Two of open fate, 98 received, 10 with losses, and the first interval with 50.
        let intervals = [interval(98, 10), interval(50, 0)];
        let open = [1, 2, 63, 64, 99, 100, 109, 110, 159, 1000].map(|below| {
            // What nobody has to know yet counts as not said.
            Claim::Intervals(2, &intervals).has_come(below)
        });
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(open, [None, None, None, yes, yes, no, no, yes, yes, yes]);
        assert_eq!(Claim::Nothing.has_come(0), Some(true));
        assert_eq!(Claim::Nothing.has_come(1), None);
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

    /// One of 50 in the mean, and one of 7 behind the first lie; none before a report can be verified.
    #[test]
    fn numbers_are_passed_over_at_random() {
        let mut random = Random::new(1, "honesty");
        let mut honesty = Honesty::new(50);
        let mut count = |honesty: &mut Honesty| (0..50_000).filter(|_| honesty.passes_over(&mut random)).count();
        assert_eq!(count(&mut honesty), 0);
        assert_eq!(honesty.judge(0, 1, Claim::Runs(&[])), Verdict::Believed);
        // Five standard errors of a binomial: 5 sqrt(50000 / 50).
        assert!(count(&mut honesty).abs_diff(1000) < 158);
        honesty.on_passed_over(7);
        assert_eq!(honesty.judge(7, 20, Claim::Nothing), Verdict::Lie);
        assert!(count(&mut honesty).abs_diff(7143) < 400);
        assert!(!Honesty { verifiable: true, ..Honesty::new(0) }.passes_over(&mut random));
    }
}
