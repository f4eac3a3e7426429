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
        if self.step <= 0.0 {
            return None;
        }
        // A rounding error is at most one packet; where times are too large to tell packets apart, there is none.
        let steps = ((limit - self.before.1) / self.step).floor() as u64;
        let near = self.before.0.saturating_add(steps).max(from);
        (near..=self.last).take(3).find(|number| self.time(*number) > limit)
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
    /// Number and time of the last packet to arrive, which may be an older one.
    latest: (u64, f64),
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
        self.highest =
            Some(Highest { number: packet.number, at: packet.at, latest: (packet.number, packet.at), counter });
        self.non_data = u64::from(!packet.data);
        let mut change = Change::default();
        if packet.marked && packet.data {
            self.holes.push_back(Hole::of_mark(packet, 0, counter));
            change.new_event = self.declare(false);
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
                before: highest.latest,
                step: ((packet.at - highest.latest.1) / (packet.number - highest.latest.0) as f64).max(0.0),
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
        self.highest = Some(Highest {
            number: packet.number,
            at: packet.at,
            latest: (packet.number, packet.at),
            counter: highest.counter.saturating_add(steps),
        });
        self.count_above(packet.number);
        Change { new_event: self.declare(false), ..Change::default() }
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
        // What is still missing right behind it has it as the greatest number received before.
        let counter = hole.counter.saturating_add(u64::from(packet.ccval.wrapping_sub(hole.counter as u8) % 16));
        let behind = self.holes.iter_mut().find(|behind| behind.first > packet.number);
        if let Some(behind) = behind.filter(|behind| packet.data && behind.first == packet.number + 1) {
            behind.counter = counter;
        }
        if let Some(highest) = &mut self.highest {
            highest.latest = (packet.number, packet.at);
        }
        self.non_data = self.non_data.saturating_add(found).saturating_add(u64::from(!packet.data));
        if packet.marked && packet.data {
            let at = self.holes.partition_point(|hole| hole.first < packet.number);
            let non_data = self.holes.get(at).map_or(self.non_data, |hole| hole.non_data);
            self.holes.insert(at, Hole::of_mark(packet, non_data, hole.counter));
        }
        self.count_above(packet.number);
        let declared = self.declare(true);
        let new_event = declared && self.newest() > before;
        Change { duplicate: false, new_event, filled: !new_event && self.events.list.len() < events }
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

    /// Declares lost what is lost by now, and says whether an event has begun; `anew` if what came before has changed.
    fn declare(&mut self, anew: bool) -> bool {
        let before = self.newest();
        if anew {
            self.events = self.settled.clone();
        }
        // A mark is congestion at once, and begins with what is missing before it (RFC 5348 section 5.1).
        let marked = self.holes.iter().rposition(|hole| hole.marked && !hole.declared);
        let mut any = false;
        for (i, hole) in self.holes.iter_mut().enumerate() {
            let newly = !hole.declared && (hole.above >= self.loss_after || marked.is_some_and(|marked| i <= marked));
            hole.declared |= newly;
            any |= newly;
            if newly || anew && hole.declared {
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
            let skipped = self.open == OpenInterval::AfterLoss && i + 1 == list.len();
            let from = event.start.saturating_add(u64::from(skipped));
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
        if self.highest.is_none() {
            return 0;
        }
        let (whole, _) = self.end(OpenInterval::ToHighest);
        let mut end = self.end(OpenInterval::ToFirstHole);
        // Skip Length is NDUPACK = 3 at most: of a longer tail, the part before counts as received until it is declared.
        let skip = whole.saturating_sub(end.0).min(3);
        end.0 = whole - skip;
        for event in self.events.list.iter().rev().take(INTERVALS) {
            let lossy = (event.last - event.start).saturating_add(1);
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
                from = from.saturating_add(1);
                if from == u64::MAX {
                    return;
                }
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

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::{Dialect, Options};
    use proptest::prelude::*;

    fn options() -> TfrcOptions {
        TfrcOptions::preset(Dialect::Rfc)
    }

    fn history(rule: LossEvents) -> LossHistory {
        LossHistory::new(&options(), rule)
    }

    fn packet(number: u64, at: f64) -> Arrival {
        Arrival { number, data: true, marked: false, ndp_count: 0, ccval: 0, at, r: 0.05, round: 0 }
    }

    fn starts(history: &LossHistory) -> Vec<u64> {
        history.events.list.iter().map(|event| event.start).collect()
    }

    /// RFC 5348 section 5.2: losses 11, 12, 13 at 1.02, 1.04, 1.06 s, loss 20 at 1.21 s (tests/data/tfrc.json).
    #[test]
    fn interpolation_and_grouping() {
        let data: serde_json::Value = serde_json::from_str(include_str!("../../tests/data/tfrc.json")).unwrap();
        let vector = &data["loss_interpolation"];
        for (r, events) in [("R", "events"), ("R_small", "events_small")] {
            let mut history = history(LossEvents::ArrivalTime);
            for (number, at) in [(10, 1.0), (14, 1.08), (15, 1.1), (16, 1.12), (17, 1.14), (18, 1.18), (19, 1.2)]
                .into_iter()
                .chain([(21, 1.22), (22, 1.24), (23, 1.26)])
            {
                history.on_packet(&Arrival { r: vector[r].as_f64().unwrap(), ..packet(number, at) });
            }
            let lost = vector["examples"].as_array().unwrap().iter().zip(vector[events].as_array().unwrap());
            let mut expected: Vec<(u64, f64)> = Vec::new();
            for (example, event) in lost {
                if event.as_u64().unwrap() as usize == expected.len() {
                    expected.push((example["lost"].as_u64().unwrap(), example["T_loss"].as_f64().unwrap()));
                }
            }
            let got: Vec<(u64, f64)> = history.events.list.iter().map(|event| (event.start, event.at)).collect();
            assert_eq!(got.len(), expected.len());
            for (got, expected) in got.iter().zip(expected) {
                assert!(got.0 == expected.0 && (got.1 - expected.1).abs() < 1e-12, "{got:?} {expected:?}");
            }
        }
    }

    /// RFC 5348 section 5.1: lost after three later packets, late ones fill the hole again.
    #[test]
    fn three_later_packets_and_a_late_one() {
        let mut history = history(LossEvents::ArrivalTime);
        let changes: Vec<Change> = [1, 3, 4, 5].map(|n| history.on_packet(&packet(n, n as f64))).into();
        assert_eq!(changes.iter().map(|change| change.new_event).collect::<Vec<_>>(), [false, false, false, true]);
        assert_eq!(starts(&history), [2]);
        let late = history.on_packet(&packet(2, 5.5));
        assert!(late.filled && !late.duplicate && !history.has_losses());
        assert!(history.on_packet(&packet(2, 5.6)).duplicate);
        assert!(history.on_packet(&packet(4, 5.7)).duplicate);
    }

    /// RFC 5348 section 5.1: n-1, n+1, and n+2 with a mark: the event begins with n, at once.
    #[test]
    fn a_mark_is_congestion_at_once() {
        let mut history = history(LossEvents::ArrivalTime);
        history.on_packet(&packet(9, 1.0));
        assert!(!history.on_packet(&packet(11, 1.01)).new_event);
        assert!(history.on_packet(&Arrival { marked: true, ..packet(12, 1.02) }).new_event);
        assert_eq!(starts(&history), [10]);
        assert_eq!(history.events.list[0].dropped, 2);
        // RFC 5348 section 5.3: a single marked packet is an interval of one.
        let mut history = LossHistory::new(&options(), LossEvents::ArrivalTime);
        history.on_packet(&packet(1, 1.0));
        history.on_packet(&Arrival { marked: true, ..packet(2, 1.01) });
        assert_eq!(history.intervals(7.0, false).0.iter().map(|i| i.length).collect::<Vec<_>>(), [1.0, 7.0]);
    }

    /// The example of RFC 4342 section 8.6.2 and RFC 5622 section 8.7.1: packets 0 to 44, of which 10, 19 to 21, 23, 32
    /// and 43 are lost.
    fn example() -> LossHistory {
        let mut history = history(LossEvents::WindowCounter);
        for number in (0..=44).filter(|n| ![10, 19, 20, 21, 23, 32, 43].contains(n)) {
            history.on_packet(&Arrival { ccval: (number / 2 % 16) as u8, ..packet(number, number as f64) });
        }
        history
    }

    #[test]
    fn the_loss_intervals_example() {
        let mut list = Vec::new();
        let skip = example().report(15.0, &mut list);
        let fields: Vec<[u32; 4]> = list.iter().map(|l| [l.lossless, l.lossy, l.data, l.dropped]).collect();
        assert_eq!((skip, &fields[..]), (2, &[[10, 1, 11, 1], [8, 5, 13, 4], [8, 1, 9, 1], [10, 0, 15, 0]][..]));
        let sequence: u32 = list.iter().map(|l| l.lossless + l.lossy).sum();
        assert_eq!(sequence + u32::from(skip), 45);
    }

    /// RFC 4342 section 6.1.1: packets without data are no part of data lengths, and their loss is no congestion if NDP
    /// Count tells of it.
    #[test]
    fn packets_without_data() {
        let mut history = history(LossEvents::WindowCounter);
        let at = |number: u64| Arrival { ccval: (number / 2 % 16) as u8, ..packet(number, number as f64) };
        for number in 0..20 {
            history.on_packet(&Arrival { data: number % 4 != 3, ..at(number) });
        }
        // 20 carries none and is lost; so do 22 and 23, which are lost with the data of 21.
        history.on_packet(&Arrival { ndp_count: 1, ..at(21) });
        assert!(history.holes.is_empty());
        history.on_packet(&Arrival { ndp_count: 2, ..at(25) });
        for number in 26..30 {
            history.on_packet(&at(number));
        }
        assert_eq!(starts(&history), [22]);
        let mut list = Vec::new();
        history.report(9.0, &mut list);
        assert_eq!((list[0].lossy, list[0].lossless, list[0].data), (1, 7, 6));
        assert_eq!(list[1].lossless, 22);
    }

    /// A jump of 2^60 numbers, thousands of holes, marks: memory stays what it is.
    #[test]
    fn memory_is_bounded() {
        for rule in [LossEvents::ArrivalTime, LossEvents::SendTime, LossEvents::WindowCounter] {
            let mut history = history(rule);
            history.on_packet(&packet(5, 0.0));
            history.on_packet(&Arrival { r: 1e-9, ..packet(1 << 60, 1e6) });
            for i in 0..10_000 {
                let number = (1 << 60) + 3 * i + 7;
                history.on_packet(&Arrival { marked: i % 5 == 0, round: i as u32, ..packet(number, 1e6 + i as f64) });
            }
            history.on_packet(&packet(u64::MAX, 2e6));
            history.on_packet(&packet(u64::MAX - 2, 2e6));
            assert!(history.holes.len() <= HOLES && history.events.list.len() <= INTERVALS);
            let mut list = Vec::new();
            history.report(1e30, &mut list);
            assert!(list.len() <= INTERVALS && history.intervals(1e30, true).0.len() <= INTERVALS);
        }
    }

    /// The loss events of RFC 5348 sections 5.1 and 5.2, from the list of all arrivals.
    fn literally(arrivals: &[Arrival], r: f64) -> Vec<u64> {
        let first = arrivals[0].number;
        let mut came: Vec<&Arrival> = Vec::new();
        for arrival in arrivals {
            if arrival.number >= first && came.iter().all(|other| other.number != arrival.number) {
                came.push(arrival);
            }
        }
        let mut lost: Vec<(u64, f64)> = Vec::new();
        let highest = came.iter().map(|arrival| arrival.number).max().unwrap();
        for number in first..=highest {
            if let Some(arrival) = came.iter().find(|arrival| arrival.number == number) {
                if arrival.marked {
                    lost.push((number, arrival.at));
                }
                continue;
            }
            let later = came.iter().filter(|arrival| arrival.number > number);
            if later.clone().count() < 3 && !later.clone().any(|arrival| arrival.marked) {
                continue;
            }
            let after = came.iter().position(|arrival| arrival.number > number).unwrap();
            let (before, after) = (came[after - 1], came[after]);
            let step = (after.at - before.at) / (after.number - before.number) as f64;
            lost.push((number, before.at + (number - before.number) as f64 * step));
        }
        let mut events: Vec<(u64, f64)> = Vec::new();
        for loss in lost {
            if events.last().is_none_or(|old| old.1 + r < loss.1) {
                events.push(loss);
            }
        }
        events.iter().map(|event| event.0).collect()
    }

    /// RFC 4342 section 10.2, from the list of all packets in order: number, whether it came, its counter.
    fn literally_by_counter(packets: &[(bool, u8)]) -> Vec<u64> {
        let came = |n: &usize| packets[*n].0;
        let mut events: Vec<usize> = Vec::new();
        for y in 1..packets.len() {
            if came(&y) || (y + 1..packets.len()).filter(came).count() < 3 {
                continue;
            }
            let previous = |n: usize| (0..n).rev().find(came).unwrap();
            let separate = events.last().is_none_or(|x| {
                let (x_prev, y_prev) = (previous(*x), previous(y));
                let distance = |s: usize| packets[s].1.wrapping_sub(packets[x_prev].1) % 16;
                (x_prev + 1..=y_prev).filter(came).any(|s| distance(s) > 4)
            });
            if separate {
                events.push(y);
            }
        }
        events.iter().map(|event| *event as u64).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// Loss, reordering, duplication and marks against a reference that keeps all.
        #[test]
        fn loss_events_are_those_of_the_rfc(
            moves in prop::collection::vec((0u64..6, 0.001..0.03f64, prop::bool::weighted(0.1)), 4..60),
            r in 0.01..0.3f64,
        ) {
            let mut history = history(LossEvents::ArrivalTime);
            let mut arrivals = Vec::new();
            let (mut newest, mut now) = (100u64, 0.0);
            for (step, gap, marked) in moves {
                now += gap;
                // 0 to 2 on: 1 to 3 further; else one of the last few again, or for the first time.
                newest += if step < 3 { step + 1 } else { 0 };
                let number = if step < 3 { newest } else { newest - (step - 2) * 2 + 1 };
                let arrival = Arrival { r, marked, ..packet(number, now) };
                arrivals.push(arrival);
                history.on_packet(&arrival);
            }
            let expected = literally(&arrivals, r);
            let kept = expected.len().saturating_sub(INTERVALS);
            prop_assert_eq!(starts(&history), &expected[kept..]);
            prop_assert_eq!(history.remembers_first(), expected.len() < INTERVALS);
        }

        /// Counters that go up by 0 to 5 a packet, and up to two losses in a row: too few for the counter to wrap unseen.
        #[test]
        fn loss_events_by_counter_are_those_of_the_rfc(
            steps in prop::collection::vec((0u8..6, 0u8..5), 8..80),
        ) {
            let mut packets = vec![(true, 0)];
            let mut counter = 0u8;
            for (step, fate) in steps {
                counter = (counter + step) % 16;
                let run = packets.iter().rev().take_while(|packet| !packet.0).count();
                packets.push((fate > 0 || run == 1, counter));
            }
            let mut history = history(LossEvents::WindowCounter);
            for (number, (_, ccval)) in packets.iter().enumerate().filter(|(_, packet)| packet.0) {
                history.on_packet(&Arrival { ccval: *ccval, ..packet(number as u64, number as f64) });
            }
            let expected = literally_by_counter(&packets);
            let kept = expected.len().saturating_sub(INTERVALS);
            prop_assert_eq!(starts(&history), &expected[kept..]);
        }
    }
}
