//! Grouping of losses into loss events (RFC 5348 section 5.2, RFC 4342 section 10.2).

use super::average::INTERVALS;
use super::options::LossEvents;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) number: u64,
    pub(crate) data: bool,
    pub(crate) marked: bool,
    /// Number of packets without data before it, if reported.
    pub(crate) ndp_count: u64,
    pub(crate) ccval: u8,
    /// Time in s, by the clock that separates loss events.
    pub(crate) at: f64,
    /// Sender's R in s; zero if unknown.
    pub(crate) r: f64,
    pub(crate) round: u32,
    /// Whether losses were rare so far, so that consecutive losses are a single event.
    pub(crate) rare: bool,
    /// Whether a long gap before it restarts the history.
    pub(crate) restarts: bool,
}

/// Run of missing packets, or one marked packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hole {
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// Number of packets without data before it.
    pub(crate) non_data: u64,
    /// Number and time of `S_before`, and the time per packet up to `S_after`.
    pub(crate) before: (u64, f64),
    pub(crate) step: f64,
    /// Window counter of the greatest number received before it.
    pub(crate) counter: u64,
    pub(crate) r: f64,
    pub(crate) round: u32,
    /// Number of packets received after it.
    pub(crate) above: u8,
    pub(crate) declared: bool,
    pub(crate) marked: bool,
    /// Whether a filter classified it as a channel loss, which does not count.
    pub(crate) excused: bool,
    /// Whether it is one event, regardless of its duration.
    pub(crate) whole: bool,
}

impl Hole {
    /// Returns the nominal arrival time of one of its packets.
    pub(crate) fn time(&self, number: u64) -> f64 {
        self.before.1 + (number - self.before.0) as f64 * self.step
    }
    /// Returns its first packet from `from` whose nominal time is after `limit`.
    pub(crate) fn after(&self, from: u64, limit: f64) -> Option<u64> {
        if self.time(from) > limit {
            return Some(from);
        }
        if self.step <= 0.0 {
            return None;
        }
        // Rounding errors are at most one packet; if times are too large to separate packets, none is found.
        let steps = ((limit - self.before.1) / self.step).floor() as u64;
        let near = self.before.0.saturating_add(steps).max(from);
        (near..=self.last).take(3).find(|number| self.time(*number) > limit)
    }
}

impl Hole {
    pub(crate) fn of_mark(packet: &Arrival, non_data: u64, counter: u64) -> Self {
        Self {
            first: packet.number,
            last: packet.number,
            non_data,
            before: (packet.number, packet.at),
            step: 0.0,
            counter,
            r: packet.r,
            round: packet.round,
            above: 0,
            declared: false,
            marked: true,
            excused: false,
            whole: false,
        }
    }
}

/// Loss event, the start of a loss interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) start: u64,
    /// Last lost packet.
    pub(crate) last: u64,
    /// Number of lost or marked packets.
    pub(crate) dropped: u64,
    /// Number of packets without data before `start`.
    pub(crate) non_data: u64,
    pub(crate) at: f64,
    pub(crate) counter: u64,
    pub(crate) r: f64,
    pub(crate) round: u32,
}

/// Events, oldest first, and whether older ones were discarded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events {
    pub(crate) list: VecDeque<Event>,
    pub(crate) forgotten: bool,
}

impl Events {
    /// Adds a declared loss, in order of packet numbers.
    pub(crate) fn fold(&mut self, rule: LossEvents, hole: &Hole) {
        if hole.excused {
            return;
        }
        let mut from = hole.first;
        while from <= hole.last {
            let Some(event) = self.list.back_mut() else {
                self.begin(hole, from);
                if rule != LossEvents::ArrivalTime || hole.whole {
                    self.grow(hole, from);
                    return;
                }
                from = from.saturating_add(1);
                if from == u64::MAX {
                    return;
                }
                continue;
            };
            let start = match rule {
                LossEvents::WindowCounter => (hole.counter.saturating_sub(event.counter) > 4).then_some(from),
                LossEvents::ArrivalTime if hole.whole => (hole.time(from) > event.at + hole.r).then_some(from),
                LossEvents::SendTime if hole.round <= event.round => None,
                LossEvents::SendTime | LossEvents::ArrivalTime => hole.after(from, event.at + hole.r),
            };
            let Some(mut start) = start else {
                self.grow(hole, from);
                return;
            };
            if start > from {
                event.last = start - 1;
                event.dropped = event.dropped.saturating_add(start - from);
            }
            if rule != LossEvents::ArrivalTime || hole.whole {
                self.begin(hole, start);
                self.grow(hole, start);
                return;
            }
            // Only the last events of a run count in the average; skip earlier ones.
            let packets_per_event = if hole.step > 0.0 { (hole.r / hole.step).floor() as u64 } else { u64::MAX };
            let packets_per_event = packets_per_event.saturating_add(1);
            let surplus = ((hole.last - start) / packets_per_event).saturating_sub(INTERVALS as u64 + 1);
            start += surplus * packets_per_event;
            self.begin(hole, start);
            from = start.saturating_add(1);
            if from == u64::MAX {
                return;
            }
        }
    }

    fn begin(&mut self, hole: &Hole, start: u64) {
        self.list.push_back(Event {
            start,
            last: start,
            dropped: 1,
            non_data: hole.non_data,
            at: hole.time(start),
            counter: hole.counter,
            r: hole.r,
            round: hole.round,
        });
        if self.list.len() > INTERVALS {
            self.list.pop_front();
            self.forgotten = true;
        }
    }

    /// Extends the newest event by the packets of `hole` from `from`.
    fn grow(&mut self, hole: &Hole, from: u64) {
        if let Some(event) = self.list.back_mut() {
            let already = u64::from(event.start == from && event.last == from);
            event.last = hole.last;
            event.dropped = event.dropped.saturating_add(hole.last - from + 1 - already);
        }
    }
}
