//! From losses to loss events (RFC 5348 section 5.2, RFC 4342 section 10.2).

use super::average::INTERVALS;
use super::options::LossEvents;
use std::collections::VecDeque;

/// A packet that has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) number: u64,
    pub(crate) data: bool,
    pub(crate) marked: bool,
    /// Packets without data before it, as far as it says so.
    pub(crate) ndp_count: u64,
    pub(crate) ccval: u8,
    /// In s, by the clock that separates loss events.
    pub(crate) at: f64,
    /// The sender's R in s; zero if unknown.
    pub(crate) r: f64,
    pub(crate) round: u32,
    /// Losses were rare so far: consecutive ones are a single event.
    pub(crate) rare: bool,
    /// A long gap before it restarts the history.
    pub(crate) restarts: bool,
}

/// Missing packets between two that came, or one marked packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hole {
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// Packets without data before it.
    pub(crate) non_data: u64,
    /// Number and time of `S_before`, and the time from packet to packet up to `S_after`.
    pub(crate) before: (u64, f64),
    pub(crate) step: f64,
    /// The window counter of the greatest number received before it.
    pub(crate) counter: u64,
    pub(crate) r: f64,
    pub(crate) round: u32,
    /// Packets that came after it.
    pub(crate) above: u8,
    pub(crate) declared: bool,
    pub(crate) marked: bool,
    /// A filter says that no congestion did it: it does not count.
    pub(crate) excused: bool,
    /// It is one event, however long it lasted.
    pub(crate) whole: bool,
}

impl Hole {
    /// The nominal arrival time of one of its packets.
    pub(crate) fn time(&self, number: u64) -> f64 {
        self.before.1 + (number - self.before.0) as f64 * self.step
    }
    /// Its first packet from `from` on whose nominal time is after `limit`.
    pub(crate) fn after(&self, from: u64, limit: f64) -> Option<u64> {
        if self.time(from) > limit {
            return Some(from);
        }
        if self.step <= 0.0 {
            return None;
        }
        // A rounding error is at most one packet; where times are too large to tell packets apart, there is none.
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

/// A loss event: an interval's beginning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    /// Its first lost packet.
    pub(crate) start: u64,
    /// Its last.
    pub(crate) last: u64,
    /// Packets lost or marked.
    pub(crate) dropped: u64,
    /// Packets without data before `start`.
    pub(crate) non_data: u64,
    pub(crate) at: f64,
    pub(crate) counter: u64,
    pub(crate) r: f64,
    pub(crate) round: u32,
}

/// Events, the oldest first, and whether older ones are forgotten.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events {
    pub(crate) list: VecDeque<Event>,
    pub(crate) forgotten: bool,
}

impl Events {
    /// Adds declared losses, which come after all others.
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
            // Of more events in one hole than count, only the last are gone through.
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

    /// The newest event goes on with the packets of `hole` from `from` on.
    fn grow(&mut self, hole: &Hole, from: u64) {
        if let Some(event) = self.list.back_mut() {
            let already = u64::from(event.start == from && event.last == from);
            event.last = hole.last;
            event.dropped = event.dropped.saturating_add(hole.last - from + 1 - already);
        }
    }
}
