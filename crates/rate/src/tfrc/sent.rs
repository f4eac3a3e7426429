//! What was sent: when, with which counter, and which numbers carried no data.

use headway_units::Instant;
use std::collections::VecDeque;

/// Packets remembered that no report has named yet, 24 MiB: those of a round trip of the widest Sequence Windows.
const PACKETS: usize = 1 << 20;
/// Runs of packets without data that are remembered.
const RUNS: usize = 256;
/// Changes of the counter that are remembered.
const TICKS: usize = 256;
/// The counter's steps in a round trip (RFC 4342 section 8.1).
const ROUND_TRIP: u64 = 4;

/// A data packet that went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) number: u64,
    pub(crate) at: Instant,
    pub(crate) counter: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct SentLog {
    packets: VecDeque<Sent>,
    /// The first packet with each counter, and when it went.
    ticks: VecDeque<Sent>,
    /// First and last number.
    without_data: VecDeque<(u64, u64)>,
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

    pub(crate) fn add_without_data(&mut self, number: u64) {
        match self.without_data.back_mut() {
            Some(run) if run.1.checked_add(1) == Some(number) => run.1 = number,
            _ => self.without_data.push_back((number, number)),
        }
        if self.without_data.len() > RUNS
            && let Some(oldest) = self.without_data.pop_front()
        {
            self.complete_from = oldest.1.saturating_add(1);
        }
    }

    /// The newest data packet up to `number`; older ones are forgotten.
    pub(crate) fn acknowledge(&mut self, number: u64) -> Option<Sent> {
        let after = self.packets.partition_point(|sent| sent.number <= number);
        let found = after.checked_sub(1).and_then(|i| self.packets.get(i)).copied();
        self.packets.drain(..after.saturating_sub(1));
        found
    }

    /// Packets without data in `from..to`; `None` if that is not remembered.
    pub(crate) fn count_without_data(&self, from: u64, to: u64) -> Option<u64> {
        let overlap = |run: &(u64, u64)| run.1.saturating_add(1).min(to).saturating_sub(run.0.max(from));
        (from >= self.complete_from).then(|| self.without_data.iter().map(overlap).sum())
    }

    /// The packet that went a round trip after `from`, to a quarter, if the last one before `to` went two round trips after
    /// it. As far back as is remembered: of what went before, nothing is known.
    pub(crate) fn a_round_trip_after(&self, from: u64, to: u64) -> Option<u64> {
        let ticks = &self.ticks;
        let last = |number| ticks.partition_point(|tick| tick.number <= number).checked_sub(1);
        let begun = ticks.get(last(from).unwrap_or(0))?.counter;
        let over = ticks.get(last(to.checked_sub(1)?)?)?.counter;
        let next = ticks.get(ticks.partition_point(|tick| tick.counter < begun.saturating_add(ROUND_TRIP)))?;
        (over >= begun.saturating_add(2 * ROUND_TRIP)).then_some(next.number)
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
