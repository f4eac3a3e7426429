//! Record of sent packets: times, window counters, and numbers without data.

use headway_units::Instant;
use std::collections::VecDeque;

/// Maximum number of recorded unacknowledged packets, 32 MiB: a round trip of the largest Sequence Windows.
const MAX_PACKETS: usize = 1 << 20;
/// Maximum number of recorded runs of packets without data, 1.5 MiB. A peer may request any number of SyncAcks (RFC
/// 4340 section 7.5.4); packets not recorded count as data.
const MAX_RUNS: usize = 1 << 16;
/// Maximum number of recorded changes of the counter.
const MAX_TICKS: usize = 256;
/// Steps of the counter per round trip (RFC 4342 section 8.1).
const ROUND_TRIP_STEPS: u64 = 4;
/// Maximum length of a loss event in steps, except consecutive losses (RFC 4342 section 10.2).
const MAX_EVENT_STEPS: u64 = 5;

/// Sent data packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) number: u64,
    pub(crate) at: Instant,
    pub(crate) counter: u64,
    /// Data bytes sent up to and including this packet.
    pub(crate) bytes: u64,
}

/// Packets covered by an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledged {
    /// Newest data packet up to the acknowledged number.
    pub(crate) newest: Sent,
    /// Mean size of the data packets since the previous acknowledgement, if any, including lost ones.
    pub(crate) mean_size: Option<f64>,
}

/// Consecutive packets without data.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: u64,
    last: u64,
    /// Number of packets without data before it.
    before: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct SentLog {
    packets: VecDeque<Sent>,
    ticks: VecDeque<Sent>,
    without_data: VecDeque<Run>,
    /// Number from which `without_data` is complete.
    complete_from: u64,
}

impl SentLog {
    pub(crate) fn add(&mut self, sent: Sent) {
        if self.packets.len() == MAX_PACKETS {
            self.packets.pop_front();
        }
        self.packets.push_back(sent);
        if self.ticks.back().is_none_or(|tick| tick.counter != sent.counter) {
            if self.ticks.len() == MAX_TICKS {
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
        if self.without_data.len() > MAX_RUNS
            && let Some(oldest) = self.without_data.pop_front()
        {
            self.complete_from = oldest.last.saturating_add(1);
        }
    }

    /// Returns the packets covered by a report on `number` and removes older ones.
    pub(crate) fn acknowledge(&mut self, number: u64) -> Option<Acknowledged> {
        let after = self.packets.partition_point(|sent| sent.number <= number);
        let newest = *self.packets.get(after.checked_sub(1)?)?;
        let packets = after as f64 - 1.0;
        let bytes = self.packets.front().map_or(0, |oldest| newest.bytes - oldest.bytes);
        self.packets.drain(..after - 1);
        Some(Acknowledged { newest, mean_size: (packets > 0.0).then(|| bytes as f64 / packets) })
    }

    /// Returns the number of unacknowledged data packets and the sending time of the first of them.
    pub(crate) fn unacknowledged(&self) -> (usize, Option<Instant>) {
        (self.packets.len().saturating_sub(1), self.packets.get(1).map(|sent| sent.at))
    }

    /// Returns the number of packets without data in `from..to`; `None` if not recorded.
    pub(crate) fn count_without_data(&self, from: u64, to: u64) -> Option<u64> {
        (from >= self.complete_from).then(|| self.count_below(to).saturating_sub(self.count_below(from)))
    }

    /// Returns whether any packet of `from..to` carried data, or may have.
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

    /// Returns the packet sent a round trip after `from`, to a quarter, if the last one before `to` was sent more than
    /// a round trip and a quarter after it. `None` beyond the record.
    pub(crate) fn a_round_trip_after(&self, from: u64, to: u64) -> Option<u64> {
        let ticks = &self.ticks;
        let last = |number| ticks.partition_point(|tick| tick.number <= number).checked_sub(1);
        let begun = ticks.get(last(from).unwrap_or(0))?.counter;
        let over = ticks.get(last(to.checked_sub(1)?)?)?.counter;
        let next = ticks.get(ticks.partition_point(|tick| tick.counter < begun.saturating_add(ROUND_TRIP_STEPS)))?;
        (over > begun.saturating_add(MAX_EVENT_STEPS)).then_some(next.number)
    }

    /// Returns the time in s from packet `from` to packet `to`, to a quarter of a round trip; `None` if not recorded.
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

    /// The newest data packet up to the acknowledged one is returned, and older ones are removed.
    #[test]
    fn acknowledgements_return_the_newest_data_packet() {
        let mut log = SentLog::default();
        [2, 3, 5, 8].into_iter().for_each(|number| log.add(sent(number)));
        let mut acknowledge =
            |number| log.acknowledge(number).map(|packets| (packets.newest.number, packets.mean_size));
        assert_eq!(
            [
                acknowledge(1),
                acknowledge(4),
                acknowledge(3),
                acknowledge(2),
                acknowledge(7),
                acknowledge(100),
                acknowledge(100)
            ],
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

    /// Of packets of 100, 200, 300 and 400 B, the fourth after the first: 900 B in three packets.
    #[test]
    fn the_mean_size_of_acknowledged_packets() {
        let mut log = SentLog::default();
        let mut bytes = 0;
        for number in 1..=4 {
            bytes += number * 100;
            log.add(Sent { bytes, ..sent(number) });
        }
        let mut mean = |number| log.acknowledge(number).and_then(|packets| packets.mean_size);
        assert_eq!([mean(1), mean(4), mean(4)], [None, Some(300.0), None]);
    }

    /// Runs of packets without data are counted in any range while they are recorded.
    #[test]
    fn packets_without_data() {
        let mut log = SentLog::default();
        [3, 4, 5, 9, 12].into_iter().for_each(|number| log.add_without_data(number));
        for (from, to, count) in
            [(0, 20, 5), (4, 20, 4), (5, 9, 1), (5, 10, 2), (6, 9, 0), (0, 3, 0), (0, 4, 1), (9, 9, 0), (12, 13, 1)]
        {
            assert_eq!(log.count_without_data(from, to), Some(count), "{from} to {to}");
        }
        (0..MAX_RUNS as u64).for_each(|n| log.add_without_data(100 + 2 * n));
        // The three oldest runs, up to 12, were removed.
        assert_eq!((log.count_without_data(12, 200), log.count_without_data(13, 103)), (None, Some(2)));
        assert_eq!(log.without_data.len(), MAX_RUNS);
    }

    /// Times have the resolution of a counter step, while steps are recorded.
    #[test]
    fn times_between_packets() {
        let mut log = SentLog::default();
        (4..4 * (MAX_TICKS as u64 + 1)).for_each(|number| log.add(sent(number)));
        assert_eq!(log.between(4, 12), Some(0.08));
        assert_eq!(log.between(7, 15), Some(0.08), "time of the first packet with the same counter");
        assert_eq!(log.between(3, 12), None);
        log.add(sent(4 * (MAX_TICKS as u64 + 1)));
        assert_eq!((log.between(7, 12), log.between(8, 12)), (None, Some(0.04)));
        assert_eq!(log.ticks.len(), MAX_TICKS);
    }
}
