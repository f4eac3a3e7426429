//! Loss detection and loss history (RFC 5348 sections 5.1 to 5.3; RFC 4342 sections 6.1 and 10.2).
//!
//! Memory is bounded for any input: missing packets are recorded as runs, the oldest runs are settled permanently, and
//! only the loss events of an average are kept.

use super::average::{FIRST, INTERVALS, Interval};
use super::events::{Arrival, Event, Events, Hole};
use super::options::{LossEvents, OpenInterval, TfrcOptions};
use crate::contract::LossClassification;
use crate::loss_filter::{Filter, LossFilter, Seen};
use crate::report::LossInterval;
use crate::toolbox::{MIN_SILENCE, MIN_UNACKNOWLEDGED};
use std::collections::VecDeque;

/// Maximum number of unsettled runs of lost and marked packets.
const MAX_HOLES: usize = 64;
/// Limits of 24-bit and 23-bit fields on the wire (RFC 4342 section 8.6.1).
const MAX_LENGTH: u64 = (1 << 24) - 1;
const MAX_LOSSY: u64 = (1 << 23) - 1;

/// Effect of a packet on the history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// Whether the packet is a duplicate or too late, so that nothing has changed.
    pub(crate) duplicate: bool,
    /// Whether a loss event has begun.
    pub(crate) new_event: bool,
    /// Whether a loss event was revoked by a late arrival.
    pub(crate) filled: bool,
    /// Whether all losses were discarded.
    pub(crate) restarted: bool,
}

#[derive(Clone, Copy, Debug)]
struct Highest {
    number: u64,
    at: f64,
    /// Number and time of the last arrival, which may be an older packet.
    latest: (u64, f64),
    /// Window counter without wrapping.
    counter: u64,
}

impl Highest {
    /// Returns the state after a packet with a higher number.
    fn next(self, packet: &Arrival) -> Self {
        let steps = if packet.data { u64::from(packet.ccval.wrapping_sub(self.counter as u8) % 16) } else { 0 };
        Self {
            number: packet.number,
            at: packet.at,
            latest: (packet.number, packet.at),
            counter: self.counter.saturating_add(steps),
        }
    }
}

/// History of received and lost packets.
#[derive(Debug)]
pub(crate) struct LossHistory {
    rule: LossEvents,
    loss_after: u8,
    late_arrivals_fill: bool,
    open: OpenInterval,
    first: u64,
    highest: Option<Highest>,
    /// Number of packets without data up to the highest.
    non_data: u64,
    holes: VecDeque<Hole>,
    settled: Events,
    /// Events of all declared runs.
    events: Events,
    filtered: Option<Box<Filtered>>,
}

/// Loss filter and its classifications that have not been polled.
#[derive(Debug)]
struct Filtered {
    filter: Filter,
    judgements: VecDeque<LossClassification>,
}

impl Filtered {
    fn record(&mut self, judgement: LossClassification) {
        if self.judgements.len() == MAX_HOLES {
            self.judgements.pop_front();
        }
        self.judgements.push_back(judgement);
    }
}

/// Declares a run lost, which a filter may classify as a channel loss.
fn settle(hole: &mut Hole, filtered: &mut Option<Box<Filtered>>) {
    hole.declared = true;
    if let Some(filtered) = filtered.as_mut().filter(|_| !hole.marked) {
        let (first, last) = (hole.first, hole.last);
        let counts = filtered.filter.counts(first, last);
        hole.excused = !counts;
        filtered.record(LossClassification::Lost { first, last, counts });
    }
}

impl LossHistory {
    #[cold]
    #[inline(never)]
    pub(crate) fn new(options: &TfrcOptions, rule: LossEvents) -> Self {
        Self {
            rule,
            loss_after: options.expert.loss_after,
            late_arrivals_fill: options.expert.late_arrivals_fill,
            open: options.open_interval,
            first: 0,
            highest: None,
            non_data: 0,
            holes: VecDeque::new(),
            settled: Events::default(),
            events: Events::default(),
            filtered: options.loss_filter.map(|kind| {
                let filter = Filter::new(kind, &options.uddj.clone().unwrap_or_default());
                Box::new(Filtered { filter, judgements: VecDeque::new() })
            }),
        }
    }

    /// Passes a data packet with a greater number than all before to the filter, before [`on_packet`](Self::on_packet).
    pub(crate) fn filter_packet(&mut self, seen: &Seen) {
        if let Some(filtered) = &mut self.filtered {
            filtered.filter.on_packet(seen);
        }
    }

    /// Returns whether there is congestion without a loss so far.
    pub(crate) fn poll_early(&mut self) -> bool {
        self.filtered.as_mut().is_some_and(|filtered| {
            let early = filtered.filter.poll_early();
            if early {
                filtered.record(LossClassification::Early);
            }
            early
        })
    }

    /// Returns whether a filter holds the sender at its rate.
    pub(crate) fn holds(&self) -> bool {
        self.filtered.as_ref().is_some_and(|filtered| filtered.filter.holds())
    }

    pub(crate) fn on_channel_loss(&mut self, number: u64) {
        if let Some(filtered) = &mut self.filtered {
            filtered.filter.on_channel_loss(number);
        }
    }

    pub(crate) fn poll_loss_classification(&mut self) -> Option<LossClassification> {
        self.filtered.as_mut()?.judgements.pop_front()
    }

    pub(crate) fn highest(&self) -> Option<u64> {
        self.highest.map(|highest| highest.number)
    }

    /// Returns the window counter of the highest data packet, without wrapping.
    pub(crate) fn counter(&self) -> u64 {
        self.highest.map_or(0, |highest| highest.counter)
    }

    /// Returns whether any loss event is recorded.
    pub(crate) fn has_losses(&self) -> bool {
        !self.events.list.is_empty()
    }

    /// Returns whether a packet is missing but not yet declared lost.
    pub(crate) fn is_pending(&self) -> bool {
        self.holes.back().is_some_and(|hole| !hole.declared)
    }

    /// Returns whether the interval before the first loss still counts.
    pub(crate) fn remembers_first(&self) -> bool {
        !self.events.forgotten && self.events.list.len() < INTERVALS
    }

    #[inline]
    pub(crate) fn on_packet(&mut self, packet: &Arrival) -> Change {
        match self.highest {
            // Common case: packets in order without a missing one.
            Some(highest)
                if packet.number.checked_sub(highest.number) == Some(1)
                    && self.holes.is_empty()
                    && !(packet.marked && packet.data) =>
            {
                self.non_data = self.non_data.saturating_add(u64::from(!packet.data));
                self.highest = Some(highest.next(packet));
                Change::default()
            }
            Some(highest) if packet.number > highest.number => self.extend(highest, packet),
            Some(_) => self.fill(packet),
            None => self.begin(packet),
        }
    }

    #[cold]
    #[inline(never)]
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

    #[inline(never)]
    fn extend(&mut self, highest: Highest, packet: &Arrival) -> Change {
        let gap = packet.number - highest.number - 1;
        // NDP Count: the last of the missing packets carried no data, so their loss is not congestion.
        let without_data = packet.ndp_count.min(gap);
        let silence = (4.0 * packet.r).max(MIN_SILENCE.as_secs_f64());
        if packet.restarts && gap - without_data >= MIN_UNACKNOWLEDGED as u64 && packet.at - highest.at >= silence {
            self.restart_at(highest, packet);
            return Change { restarted: true, ..Change::default() };
        }
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
                excused: false,
                whole: packet.rare,
            });
        }
        self.non_data = self.non_data.saturating_add(without_data);
        if packet.marked && packet.data {
            self.holes.push_back(Hole::of_mark(packet, self.non_data, highest.counter));
        }
        self.non_data = self.non_data.saturating_add(u64::from(!packet.data));
        self.highest = Some(highest.next(packet));
        self.count_above(packet.number);
        Change { new_event: self.is_pending() && self.declare(false), ..Change::default() }
    }

    /// Discards all losses, because a silence precedes the packet.
    fn restart_at(&mut self, highest: Highest, packet: &Arrival) {
        self.holes.clear();
        (self.settled, self.events) = (Events::default(), Events::default());
        (self.first, self.non_data) = (packet.number, u64::from(!packet.data));
        self.highest = Some(highest.next(packet));
    }

    /// Handles a packet that is not the newest.
    #[inline(never)]
    fn fill(&mut self, packet: &Arrival) -> Change {
        let duplicate = Change { duplicate: true, ..Change::default() };
        let Some(at) = self.holes.iter().position(|hole| (hole.first..=hole.last).contains(&packet.number)) else {
            return duplicate;
        };
        let hole = self.holes[at];
        if hole.marked || hole.declared && !self.late_arrivals_fill {
            return duplicate;
        }
        let events = self.events.list.len();
        // A missing run cannot start at zero, since an earlier packet was received.
        let without_data = packet.ndp_count.min(packet.number);
        let found = self.take_out(packet.number - without_data, packet.number - 1, true);
        self.take_out(packet.number, packet.number, !packet.data);
        // For the missing packets directly after it, this packet is the greatest number received before.
        let counter = hole.counter.saturating_add(u64::from(packet.ccval.wrapping_sub(hole.counter as u8) % 16));
        let next = self.holes.iter_mut().find(|next| next.first == packet.number + 1);
        if let Some(next) = next.filter(|_| packet.data) {
            next.counter = counter;
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
        let new_event = self.declare(true);
        let filled = !new_event && self.events.list.len() < events;
        Change { new_event, filled, ..Change::default() }
    }

    /// Marks a packet that was received before. Its window counter and the number of packets without data before it are
    /// those of the next run.
    pub(crate) fn mark(&mut self, packet: &Arrival) -> Change {
        let number = packet.number;
        let known = self.highest.is_some_and(|highest| (self.first..=highest.number).contains(&number));
        let settled = self.settled.list.back().is_some_and(|event| number <= event.last);
        let in_hole = self.holes.iter().any(|hole| (hole.first..=hole.last).contains(&number));
        if !known || settled || in_hole {
            return Change { duplicate: true, ..Change::default() };
        }
        let before = self.newest();
        let at = self.holes.partition_point(|hole| hole.first < number);
        let (non_data, counter) =
            self.holes.get(at).map_or((self.non_data, self.counter()), |hole| (hole.non_data, hole.counter));
        self.holes.insert(at, Hole::of_mark(packet, non_data, counter));
        let declared = self.declare(true);
        Change { new_event: declared && self.newest() > before, ..Change::default() }
    }

    /// Removes `from..=to` from the runs and returns the number of packets removed. With `without_data`, later runs
    /// count them.
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
                if without_data {
                    hole.non_data = hole.non_data.saturating_add(count);
                }
                i += 1;
            }
        }
        count
    }

    /// Counts a packet above each undeclared run. Runs before a declared one are declared, too.
    fn count_above(&mut self, number: u64) {
        for hole in self.holes.iter_mut().rev().take_while(|hole| !hole.declared) {
            if hole.last < number {
                hole.above = hole.above.saturating_add(1);
            }
        }
    }

    /// Declares the runs that are lost by now and returns whether an event has begun. `recompute` rebuilds all events,
    /// after a change of earlier packets.
    fn declare(&mut self, recompute: bool) -> bool {
        let before = self.newest();
        // A mark is congestion immediately; the event starts with the packets missing before it (RFC 5348 section 5.1).
        let marked = self.holes.iter().rposition(|hole| hole.marked && !hole.declared);
        let loss_after = self.loss_after;
        let is_lost = |i: usize, hole: &Hole| {
            !hole.declared && (hole.above >= loss_after || marked.is_some_and(|marked| i <= marked))
        };
        let any = self.holes.iter().enumerate().any(|(i, hole)| is_lost(i, hole));
        let recompute = any && self.revise() || recompute;
        if recompute {
            self.events = self.settled.clone();
        }
        for (i, hole) in self.holes.iter_mut().enumerate() {
            let newly = is_lost(i, hole);
            if newly {
                settle(hole, &mut self.filtered);
            }
            if newly || recompute && hole.declared {
                self.events.fold(self.rule, hole);
            }
        }
        while self.holes.len() > MAX_HOLES {
            if let Some(mut hole) = self.holes.pop_front() {
                if !hole.declared {
                    settle(&mut hole, &mut self.filtered);
                    self.events.fold(self.rule, &hole);
                }
                self.settled.fold(self.rule, &hole);
            }
        }
        any && self.newest() > before
    }

    /// Excuses losses that the filter attributes to the channel by now. Returns whether there are any.
    fn revise(&mut self) -> bool {
        let Some(filtered) = self.filtered.as_mut().filter(|filtered| filtered.filter.revises()) else { return false };
        let mut revised = false;
        for hole in self.holes.iter_mut().filter(|hole| hole.declared && !hole.marked && !hole.excused) {
            hole.excused = !filtered.filter.counts(hole.first, hole.last);
            revised |= hole.excused;
        }
        revised
    }

    fn newest(&self) -> Option<u64> {
        self.events.list.back().map(|event| event.start)
    }

    /// Moves the only loss event permanently to another packet and time (ns-2's first loss).
    pub(crate) fn restart(&mut self, start: u64, at: f64, round: u32) {
        self.holes.retain(|hole| !hole.declared);
        self.settled = Events::default();
        let counter = self.counter();
        let event = Event { start, last: start, dropped: 1, non_data: self.non_data, at, counter, r: 0.0, round };
        self.settled.list.push_back(event);
        self.events = self.settled.clone();
    }

    /// Returns the number of the first packet after the open interval, and the number of packets without data before
    /// it.
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

    /// Stores the intervals for an average, newest first, ending with the interval before the first loss of length
    /// `first`. With `short`, short intervals count their losses (RFC 4828 section 3). Returns whether the open
    /// interval is longer than short.
    pub(crate) fn intervals(&self, first: f64, short: bool, intervals: &mut Vec<Interval>) -> bool {
        let list = &self.events.list;
        let mut end = self.end(self.open);
        intervals.clear();
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
        open_counts
    }

    /// Returns whether an interval lasted at most two round trips, or eight steps of the window counter (RFC 5622
    /// section 8.4).
    fn is_short(&self, event: &Event, next: Option<&Event>) -> bool {
        let highest = self.highest.map_or((0.0, 0), |highest| (highest.at, highest.counter));
        let (at, counter) = next.map_or(highest, |next| (next.at, next.counter));
        match self.rule {
            LossEvents::WindowCounter => counter.saturating_sub(event.counter) <= 8,
            LossEvents::ArrivalTime | LossEvents::SendTime => at - event.at <= 2.0 * event.r,
        }
    }

    /// Returns Skip Length and stores the intervals to be reported (RFC 4342 section 8.6), newest first.
    pub(crate) fn report(&self, first: f64, list: &mut Vec<LossInterval>) -> u8 {
        list.clear();
        if self.highest.is_none() {
            return 0;
        }
        let (whole, _) = self.end(OpenInterval::ToHighest);
        let mut end = self.end(OpenInterval::ToFirstHole);
        // Skip Length is at most NDUPACK = 3: of a longer tail, the earlier part counts as received until it is
        // declared lost.
        let skip = whole.saturating_sub(end.0).min(3);
        end.0 = whole - skip;
        for event in self.events.list.iter().rev().take(INTERVALS) {
            let lossy = (event.last - event.start).saturating_add(1);
            let packets = end.0.saturating_sub(event.start);
            let data = packets.saturating_sub(end.1.saturating_sub(event.non_data)).max(1);
            list.push(LossInterval {
                lossless: packets.saturating_sub(lossy).min(MAX_LENGTH) as u32,
                lossy: lossy.min(MAX_LOSSY) as u32,
                data: data.min(MAX_LENGTH) as u32,
                dropped: event.dropped.min(MAX_LOSSY) as u32,
            });
            end = (event.start, event.non_data);
        }
        if self.remembers_first() {
            list.push(LossInterval {
                lossless: end.0.saturating_sub(self.first).min(MAX_LENGTH) as u32,
                lossy: 0,
                data: if self.has_losses() { (first as u64).min(MAX_LENGTH) as u32 } else { 0 },
                dropped: 0,
            });
        }
        skip as u8
    }
}

#[cfg(test)]
mod tests;
