//! What was sent: when, with which counter, and which numbers carried no data.

use headway_units::Instant;
use std::collections::VecDeque;

/// Packets remembered that no report has named yet, 32 MiB: those of a round trip of the widest Sequence Windows.
const PACKETS: usize = 1 << 20;
/// Runs of packets without data that are remembered, 1.5 MiB: an end may be asked for as many SyncAcks as the other likes (RFC 4340
/// section 7.5.4), and what is not known to be without data counts as data.
const RUNS: usize = 1 << 16;
/// Changes of the counter that are remembered.
const TICKS: usize = 256;
/// The counter's steps in a round trip (RFC 4342 section 8.1).
const ROUND_TRIP: u64 = 4;
/// The steps that a receiver may take one loss event to last, beside losses in a row: it goes by the packets before those that are lost
/// (RFC 4342 section 10.2).
const LONGEST_EVENT: u64 = 5;

/// A data packet that went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) number: u64,
    pub(crate) at: Instant,
    pub(crate) counter: u64,
    /// Data bytes sent so far, this packet's included.
    pub(crate) bytes: u64,
}

/// What a report names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    /// The newest data packet up to its number.
    pub(crate) newest: Sent,
    /// The mean size of the data packets behind the one that was named before, if there are any; lost ones count.
    pub(crate) mean_size: Option<f64>,
}

/// Consecutive packets without data.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: u64,
    last: u64,
    /// Packets without data before it.
    before: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct SentLog {
    packets: VecDeque<Sent>,
    /// The first packet with each counter, and when it went.
    ticks: VecDeque<Sent>,
    without_data: VecDeque<Run>,
    /// From which number on `without_data` is complete.
    complete_from: u64,
}

impl SentLog {
    pub(crate) fn add(&mut self, sent: Sent) {
        if self.packets.len() == PACKETS {
            self.packets.pop_front();
        }
        self.packets.push_back(sent);
        if self.ticks.back().is_none_or(|tick| tick.counter != sent.counter) {
            if self.ticks.len() == TICKS {
                self.ticks.pop_front();
            }
            self.ticks.push_back(sent);
        }
    }

    #[inline(never)]
    pub(crate) fn add_without_data(&mut self, number: u64) {
        match self.without_data.back_mut() {
            Some(run) if run.last.checked_add(1) == Some(number) => run.last = number,
            _ => {
                let before = self.count_below(number);
                self.without_data.push_back(Run { first: number, last: number, before });
            }
        }
        if self.without_data.len() > RUNS
            && let Some(oldest) = self.without_data.pop_front()
        {
            self.complete_from = oldest.last.saturating_add(1);
        }
    }

    /// What a report of `number` names; older packets are forgotten.
    pub(crate) fn acknowledge(&mut self, number: u64) -> Option<Named> {
        let after = self.packets.partition_point(|sent| sent.number <= number);
        let newest = *self.packets.get(after.checked_sub(1)?)?;
        let packets = after as f64 - 1.0;
        let bytes = self.packets.front().map_or(0, |oldest| newest.bytes - oldest.bytes);
        self.packets.drain(..after - 1);
        Some(Named { newest, mean_size: (packets > 0.0).then(|| bytes as f64 / packets) })
    }

    /// How many data packets no report has named, and when the first of them went.
    pub(crate) fn unnamed(&self) -> (usize, Option<Instant>) {
        (self.packets.len().saturating_sub(1), self.packets.get(1).map(|sent| sent.at))
    }

    /// Packets without data in `from..to`; `None` if that is not remembered.
    pub(crate) fn count_without_data(&self, from: u64, to: u64) -> Option<u64> {
        (from >= self.complete_from).then(|| self.count_below(to).saturating_sub(self.count_below(from)))
    }

    /// Whether any packet of `from..to` carried data, or may have.
    pub(crate) fn may_have_data(&self, from: u64, to: u64) -> bool {
        self.count_without_data(from, to).is_none_or(|count| count < to.saturating_sub(from))
    }

    fn count_below(&self, number: u64) -> u64 {
        let after = self.without_data.partition_point(|run| run.first < number);
        match after.checked_sub(1).and_then(|i| self.without_data.get(i)) {
            Some(run) => run.before.saturating_add(run.last.saturating_add(1).min(number) - run.first),
            None => self.without_data.front().map_or(0, |oldest| oldest.before),
        }
    }

    /// The packet that went a round trip after `from`, to a quarter, if the last one before `to` went half a round trip more after
    /// it: between the two. As far back as is remembered: of what went before, nothing is known.
    pub(crate) fn a_round_trip_after(&self, from: u64, to: u64) -> Option<u64> {
        let ticks = &self.ticks;
        let last = |number| ticks.partition_point(|tick| tick.number <= number).checked_sub(1);
        let begun = ticks.get(last(from).unwrap_or(0))?.counter;
        let over = ticks.get(last(to.checked_sub(1)?)?)?.counter;
        let next = ticks.get(ticks.partition_point(|tick| tick.counter < begun.saturating_add(ROUND_TRIP)))?;
        (over > begun.saturating_add(LONGEST_EVENT)).then_some(next.number)
    }

    /// Time in s from packet `from` to packet `to`, to a quarter of a round trip; `None` if that is not remembered.
    pub(crate) fn between(&self, from: u64, to: u64) -> Option<f64> {
        let at = |number| {
            let after = self.ticks.partition_point(|tick| tick.number <= number);
            after.checked_sub(1).and_then(|i| self.ticks.get(i)).map(|tick| tick.at)
        };
        Some(at(to)?.since(at(from)?).as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(number: u64) -> Sent {
        Sent { number, at: Instant::from_millis(number * 10), counter: number / 4, bytes: number * 100 }
    }

    /// A report names a packet, maybe one without data: the newest data packet up to it is meant, and older ones are forgotten.
    #[test]
    fn what_a_report_names() {
        let mut log = SentLog::default();
        [2, 3, 5, 8].into_iter().for_each(|number| log.add(sent(number)));
        let mut named = |number| log.acknowledge(number).map(|named| (named.newest.number, named.mean_size));
        assert_eq!(
            [named(1), named(4), named(3), named(2), named(7), named(100), named(100)],
            [
                None,
                Some((3, Some(100.0))),
                Some((3, None)),
                None,
                Some((5, Some(200.0))),
                Some((8, Some(300.0))),
                Some((8, None))
            ]
        );
    }

    /// Of packets of 100, 200, 300 and 400 B a report that names the fourth after the first speaks of 900 B in three packets.
    #[test]
    fn the_mean_size_of_what_a_report_names() {
        let mut log = SentLog::default();
        let mut bytes = 0;
        for number in 1..=4 {
            bytes += number * 100;
            log.add(Sent { bytes, ..sent(number) });
        }
        let mut mean = |number| log.acknowledge(number).and_then(|named| named.mean_size);
        assert_eq!([mean(1), mean(4), mean(4)], [None, Some(300.0), None]);
    }

    /// Runs of packets without data are counted within any numbers, as long as they are remembered.
    #[test]
    fn packets_without_data() {
        let mut log = SentLog::default();
        [3, 4, 5, 9, 12].into_iter().for_each(|number| log.add_without_data(number));
        for (from, to, count) in
            [(0, 20, 5), (4, 20, 4), (5, 9, 1), (5, 10, 2), (6, 9, 0), (0, 3, 0), (0, 4, 1), (9, 9, 0), (12, 13, 1)]
        {
            assert_eq!(log.count_without_data(from, to), Some(count), "{from} to {to}");
        }
        (0..RUNS as u64).for_each(|n| log.add_without_data(100 + 2 * n));
        // The three oldest runs are gone: 12 was the last of them.
        assert_eq!((log.count_without_data(12, 200), log.count_without_data(13, 103)), (None, Some(2)));
        assert_eq!(log.without_data.len(), RUNS);
    }

    /// Times are told to a step of the counter, as far back as steps are remembered.
    #[test]
    fn times_between_packets() {
        let mut log = SentLog::default();
        (4..4 * (TICKS as u64 + 1)).for_each(|number| log.add(sent(number)));
        assert_eq!(log.between(4, 12), Some(0.08));
        assert_eq!(log.between(7, 15), Some(0.08), "of the first with the same counter");
        assert_eq!(log.between(3, 12), None);
        log.add(sent(4 * (TICKS as u64 + 1)));
        assert_eq!((log.between(7, 12), log.between(8, 12)), (None, Some(0.04)));
        assert_eq!(log.ticks.len(), TICKS);
    }
}
