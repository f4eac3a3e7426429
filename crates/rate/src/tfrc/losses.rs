//! Which packets are lost, and which losses make one event (RFC 5348 sections 5.1 to 5.3; RFC 4342 sections 6.1 and 10.2).
//!
//! Memory is bounded whatever numbers come: holes are kept as runs, the oldest of too many is settled for good, and of
//! loss events only those that count in an average are remembered.

use super::average::{INTERVALS, Interval};
use super::options::{LossEvents, OpenInterval, TfrcOptions};
use crate::contract::LossInterval;
use std::collections::VecDeque;

/// Runs of lost and marked packets that may still change.
const HOLES: usize = 64;
/// What 24 bits hold on the wire, and 23 (RFC 4342 section 8.6.1).
const LONGEST: u64 = (1 << 24) - 1;
const LONGEST_LOSSY: u64 = (1 << 23) - 1;
/// The interval before the first loss, where intervals are known by their first packet.
const FIRST: u64 = u64::MAX;

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
}

/// What a packet has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// It had come before, or came too late: nothing has changed.
    pub(crate) duplicate: bool,
    /// A loss event has begun.
    pub(crate) new_event: bool,
    /// A loss has turned out to be none.
    pub(crate) filled: bool,
}

/// Missing packets between two that came, or one marked packet.
#[derive(Clone, Copy, Debug)]
struct Hole {
    first: u64,
    last: u64,
    /// Packets without data before it.
    non_data: u64,
    /// Number and time of `S_before`, and the time from packet to packet up to `S_after`.
    before: (u64, f64),
    step: f64,
    /// The window counter of the greatest number received before it.
    counter: u64,
    r: f64,
    round: u32,
    /// Packets that came after it.
    above: u8,
    declared: bool,
    marked: bool,
}

impl Hole {
    /// The nominal arrival time of one of its packets.
    fn time(&self, number: u64) -> f64 {
        self.before.1 + (number - self.before.0) as f64 * self.step
    }
    /// Its first packet from `from` on whose nominal time is after `limit`.
    fn after(&self, from: u64, limit: f64) -> Option<u64> {
        if self.time(from) > limit {
            return Some(from);
        }
        let steps = ((limit - self.before.1) / self.step).floor();
        let number = self.before.0.saturating_add(steps as u64);
        let number =
            if number > from && self.time(number.min(self.last)) > limit { number } else { number.saturating_add(1) };
        (self.step > 0.0 && number <= self.last).then_some(number.max(from))
    }
}

/// A loss event: an interval's beginning.
#[derive(Clone, Copy, Debug)]
struct Event {
    /// Its first lost packet.
    start: u64,
    /// Its last.
    last: u64,
    /// Packets lost or marked.
    dropped: u64,
    /// Packets without data before `start`.
    non_data: u64,
    at: f64,
    counter: u64,
    r: f64,
    round: u32,
}

#[derive(Clone, Copy, Debug)]
struct Highest {
    number: u64,
    at: f64,
    /// The window counter as if it did not wrap.
    counter: u64,
}

/// Events, the oldest first, and whether older ones are forgotten.
#[derive(Clone, Debug, Default)]
struct Events {
    list: VecDeque<Event>,
    forgotten: bool,
}

/// What has come and what has not.
#[derive(Clone, Debug)]
pub(crate) struct LossHistory {
    rule: LossEvents,
    loss_after: u8,
    late_arrivals_fill: bool,
    open: OpenInterval,
    first: u64,
    highest: Option<Highest>,
    /// Packets without data up to the highest.
    non_data: u64,
    holes: VecDeque<Hole>,
    /// Of holes that are gone.
    settled: Events,
    /// Of all declared ones.
    events: Events,
}

impl LossHistory {
    pub(crate) fn new(options: &TfrcOptions, rule: LossEvents) -> Self {
        Self {
            rule,
            loss_after: options.loss_after,
            late_arrivals_fill: options.late_arrivals_fill,
            open: options.open_interval,
            first: 0,
            highest: None,
            non_data: 0,
            holes: VecDeque::new(),
            settled: Events::default(),
            events: Events::default(),
        }
    }

    /// The highest number received.
    pub(crate) fn highest(&self) -> Option<u64> {
        self.highest.map(|highest| highest.number)
    }

    /// The window counter of the highest data packet, as if it did not wrap.
    pub(crate) fn counter(&self) -> u64 {
        self.highest.map_or(0, |highest| highest.counter)
    }

    /// Whether any loss event is remembered.
    pub(crate) fn has_losses(&self) -> bool {
        !self.events.list.is_empty()
    }

    /// Whether the interval before the first loss still counts.
    pub(crate) fn remembers_first(&self) -> bool {
        !self.events.forgotten && self.events.list.len() < INTERVALS
    }

    pub(crate) fn on_packet(&mut self, packet: &Arrival) -> Change {
        match self.highest {
            None => self.begin(packet),
            Some(highest) if packet.number > highest.number => self.extend(highest, packet),
            Some(_) => self.fill(packet),
        }
    }

    fn begin(&mut self, packet: &Arrival) -> Change {
        self.first = packet.number;
        let counter = u64::from(packet.ccval % 16);
        self.highest = Some(Highest { number: packet.number, at: packet.at, counter });
        self.non_data = u64::from(!packet.data);
        let mut change = Change::default();
        if packet.marked && packet.data {
            self.holes.push_back(Hole::of_mark(packet, 0, counter));
            change.new_event = self.declare();
        }
        change
    }

    fn extend(&mut self, highest: Highest, packet: &Arrival) -> Change {
        let gap = packet.number - highest.number - 1;
        // NDP Count: the nearest of the missing ones carried no data, so that their loss is no congestion.
        let without_data = packet.ndp_count.min(gap);
        if gap > without_data {
            self.holes.push_back(Hole {
                first: highest.number + 1,
                last: highest.number + gap - without_data,
                non_data: self.non_data,
                before: (highest.number, highest.at),
                step: ((packet.at - highest.at) / (packet.number - highest.number) as f64).max(0.0),
                counter: highest.counter,
                r: packet.r,
                round: packet.round,
                above: 0,
                declared: false,
                marked: false,
            });
        }
        self.non_data = self.non_data.saturating_add(without_data);
        if packet.marked && packet.data {
            self.holes.push_back(Hole::of_mark(packet, self.non_data, highest.counter));
        }
        self.non_data = self.non_data.saturating_add(u64::from(!packet.data));
        let steps = if packet.data { u64::from(packet.ccval.wrapping_sub(highest.counter as u8) % 16) } else { 0 };
        self.highest =
            Some(Highest { number: packet.number, at: packet.at, counter: highest.counter.saturating_add(steps) });
        self.count_above(packet.number);
        Change { new_event: self.declare(), ..Change::default() }
    }

    /// A packet that is not the newest.
    fn fill(&mut self, packet: &Arrival) -> Change {
        let duplicate = Change { duplicate: true, ..Change::default() };
        let Some(at) = self.holes.iter().position(|hole| (hole.first..=hole.last).contains(&packet.number)) else {
            return duplicate;
        };
        let hole = self.holes[at];
        if hole.marked || hole.declared && !self.late_arrivals_fill {
            return duplicate;
        }
        let before = self.newest();
        let events = self.events.list.len();
        // A hole is never at zero: something came before it.
        let without_data = packet.ndp_count.min(packet.number);
        let found = self.take_out(packet.number - without_data, packet.number - 1, true);
        self.take_out(packet.number, packet.number, !packet.data);
        self.non_data = self.non_data.saturating_add(found).saturating_add(u64::from(!packet.data));
        if packet.marked && packet.data {
            let at = self.holes.partition_point(|hole| hole.first < packet.number);
            let non_data = self.holes.get(at).map_or(self.non_data, |hole| hole.non_data);
            self.holes.insert(at, Hole::of_mark(packet, non_data, hole.counter));
        }
        self.count_above(packet.number);
        self.events = self.settled.clone();
        for hole in self.holes.iter().filter(|hole| hole.declared) {
            self.events.fold(self.rule, hole);
        }
        let fewer = self.events.list.len() < events;
        let declared = self.declare();
        Change { duplicate: false, new_event: declared && self.newest() > before, filled: fewer }
    }

    /// Removes `from..=to` from the holes; holes after them learn whether they carried data. Returns how many they were.
    fn take_out(&mut self, from: u64, to: u64, without_data: bool) -> u64 {
        let mut count = 0;
        let mut i = 0;
        while i < self.holes.len() {
            let hole = &mut self.holes[i];
            if from <= to && !hole.marked && hole.first <= to && from <= hole.last {
                let (first, last) = (hole.first.max(from), hole.last.min(to));
                let upper = Hole { first: last.saturating_add(1), ..*hole };
                let has_upper = last < hole.last;
                let removed = last - first + 1;
                if first > hole.first {
                    hole.last = first - 1;
                    i += 1;
                } else {
                    self.holes.remove(i);
                }
                count += removed;
                if has_upper {
                    let earlier = if without_data { count } else { 0 };
                    self.holes.insert(i, Hole { non_data: upper.non_data.saturating_add(earlier), ..upper });
                    i += 1;
                }
            } else {
                if without_data && hole.first > from {
                    hole.non_data = hole.non_data.saturating_add(count);
                }
                i += 1;
            }
        }
        count
    }

    fn count_above(&mut self, number: u64) {
        for hole in self.holes.iter_mut().rev() {
            if hole.last < number && !hole.declared {
                hole.above = hole.above.saturating_add(1);
            } else if hole.declared && !hole.marked {
                break;
            }
        }
    }

    /// Declares lost what is lost by now, and says whether an event has begun.
    fn declare(&mut self) -> bool {
        let before = self.newest();
        // A mark is congestion at once, and begins with what is missing before it (RFC 5348 section 5.1).
        let marked = self.holes.iter().rposition(|hole| hole.marked && !hole.declared);
        let mut any = false;
        for (i, hole) in self.holes.iter_mut().enumerate() {
            if !hole.declared && (hole.above >= self.loss_after || marked.is_some_and(|marked| i <= marked)) {
                hole.declared = true;
                any = true;
                self.events.fold(self.rule, hole);
            }
        }
        while self.holes.len() > HOLES {
            if let Some(mut hole) = self.holes.pop_front() {
                if !hole.declared {
                    hole.declared = true;
                    self.events.fold(self.rule, &hole);
                }
                self.settled.fold(self.rule, &hole);
            }
        }
        any && self.newest() > before
    }

    fn newest(&self) -> Option<u64> {
        self.events.list.back().map(|event| event.start)
    }

    /// Lets the only loss event begin at another packet and time, for good (ns-2's first loss).
    pub(crate) fn restart(&mut self, start: u64, at: f64, round: u32) {
        self.holes.retain(|hole| !hole.declared);
        self.settled = Events::default();
        let counter = self.counter();
        let event = Event { start, last: start, dropped: 1, non_data: self.non_data, at, counter, r: 0.0, round };
        self.settled.list.push_back(event);
        self.events = self.settled.clone();
    }

    /// Number of and packets without data before the first packet behind the open interval.
    fn end(&self, open: OpenInterval) -> (u64, u64) {
        let highest = (self.highest().map_or(0, |highest| highest.saturating_add(1)), self.non_data);
        match open {
            OpenInterval::ToHighest | OpenInterval::AfterLoss => highest,
            OpenInterval::ToFirstHole => {
                let pending = self.holes.iter().find(|hole| !hole.declared);
                pending.map_or(highest, |hole| (hole.first, hole.non_data))
            }
        }
    }

    /// The intervals for an average, the newest first, the oldest being that before the first loss, `first` long. Short
    /// ones count their losses if `short` (RFC 4828 section 3). Also whether the open interval is longer than short.
    pub(crate) fn intervals(&self, first: f64, short: bool) -> (Vec<Interval>, bool) {
        let list = &self.events.list;
        let mut end = self.end(self.open);
        let mut intervals = Vec::with_capacity(INTERVALS);
        let mut open_counts = true;
        for (i, event) in list.iter().enumerate().rev().take(INTERVALS) {
            let from = event.start + u64::from(self.open == OpenInterval::AfterLoss && i + 1 == list.len());
            let without_data = end.1.saturating_sub(event.non_data);
            let mut length = end.0.saturating_sub(from).saturating_sub(without_data) as f64;
            if self.open != OpenInterval::AfterLoss {
                // RFC 4342 section 6.1.1.
                length = length.max(1.0);
            }
            if short && self.is_short(event, list.get(i + 1)) {
                length /= event.dropped.max(1) as f64;
                open_counts &= i + 1 != list.len();
            }
            intervals.push(Interval { start: event.start, length });
            end = (event.start, event.non_data);
        }
        if self.remembers_first() && !intervals.is_empty() {
            intervals.push(Interval { start: FIRST, length: first });
        }
        (intervals, open_counts)
    }

    /// Whether an interval lasted two round trips at most: eight steps of the window counter (RFC 5622 section 8.4).
    fn is_short(&self, event: &Event, next: Option<&Event>) -> bool {
        let highest = self.highest.map_or((0.0, 0), |highest| (highest.at, highest.counter));
        let (at, counter) = next.map_or(highest, |next| (next.at, next.counter));
        match self.rule {
            LossEvents::WindowCounter => counter.saturating_sub(event.counter) <= 8,
            LossEvents::ArrivalTime | LossEvents::SendTime => at - event.at <= 2.0 * event.r,
        }
    }

    /// What is told of the intervals (RFC 4342 section 8.6): Skip Length, and the list, the newest first.
    pub(crate) fn report(&self, first: f64, list: &mut Vec<LossInterval>) -> u8 {
        list.clear();
        let Some(highest) = self.highest else { return 0 };
        let (whole, _) = self.end(OpenInterval::ToHighest);
        let mut end = self.end(OpenInterval::ToFirstHole);
        // Skip Length is NDUPACK = 3 at most: of a longer tail, the part before counts as received until it is declared.
        let skip = whole.saturating_sub(end.0).min(3);
        end.0 = whole - skip;
        let _ = highest;
        for event in self.events.list.iter().rev().take(INTERVALS) {
            let lossy = event.last - event.start + 1;
            let packets = end.0.saturating_sub(event.start);
            let data = packets.saturating_sub(end.1.saturating_sub(event.non_data)).max(1);
            list.push(LossInterval {
                lossless: packets.saturating_sub(lossy).min(LONGEST) as u32,
                lossy: lossy.min(LONGEST_LOSSY) as u32,
                data: data.min(LONGEST) as u32,
                dropped: event.dropped.min(LONGEST_LOSSY) as u32,
            });
            end = (event.start, event.non_data);
        }
        if self.remembers_first() {
            list.push(LossInterval {
                lossless: end.0.saturating_sub(self.first).min(LONGEST) as u32,
                lossy: 0,
                data: if self.has_losses() { (first as u64).min(LONGEST) as u32 } else { 0 },
                dropped: 0,
            });
        }
        skip as u8
    }
}

impl Hole {
    fn of_mark(packet: &Arrival, non_data: u64, counter: u64) -> Self {
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
        }
    }
}

impl Events {
    /// Adds declared losses, which come after all others.
    fn fold(&mut self, rule: LossEvents, hole: &Hole) {
        let mut from = hole.first;
        while from <= hole.last {
            let Some(event) = self.list.back_mut() else {
                self.begin(hole, from);
                if rule != LossEvents::ArrivalTime {
                    self.grow(hole, from);
                    return;
                }
                from += 1;
                continue;
            };
            let start = match rule {
                LossEvents::WindowCounter => (hole.counter.saturating_sub(event.counter) > 4).then_some(from),
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
            if rule != LossEvents::ArrivalTime {
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
            from = start + 1;
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
