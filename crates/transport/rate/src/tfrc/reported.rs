//! p from reported loss intervals (RFC 4342 sections 6.1.1 and 8.6; RFC 5622 section 8.7).
//!
//! The sender knows which of its packets carried data, so it counts data lengths itself where it remembers, and joins an
//! interval to the one before if nothing but packets without data was lost in it.
//!
//! A receiver may lie, so the intervals are held against what was sent (section 9.2): none reaches below the first packet,
//! losses over a round trip and a half and more are not one event, and the first interval, which the receiver makes up, is
//! no longer than the greatest rate so far would have it.

use super::average::{Average, FIRST, INTERVALS, Interval};
use super::options::TfrcOptions;
use super::sent::SentLog;
use crate::report::LossInterval;
use crate::toolbox::HEALTHY_LOSS;
use std::collections::VecDeque;

/// Events at most into which reported ones fall apart and which are remembered.
const PARTS: usize = 64;
/// Numbers remembered of the newest reports and lossy parts.
const NAMED: usize = 64;

#[derive(Clone, Debug)]
pub(crate) struct Reported {
    average: Average,
    short_intervals: bool,
    /// Of intervals seen before, by their first packet: whether they were short when they closed.
    short: Vec<(u64, bool)>,
    /// Used again.
    spare_intervals: Vec<Interval>,
    spare_short: Vec<(u64, bool)>,
    newest: Option<u64>,
    /// Losses of packets below do not count: a silence separates them from now.
    counts_from: u64,
    /// Losses in a row make one event, although they lasted longer.
    whole_gaps: bool,
    /// Packets that reports named, the newest last.
    named: VecDeque<u64>,
    /// Lossy parts, by their first packet, that began while losses were rare.
    rare: VecDeque<u64>,
    /// What the last report made of p.
    p: f64,
    /// What the last report said: a receiver need not repeat what it knows to have arrived.
    known: Vec<Interval>,
    /// Packets with which further events begin within reported ones, in their order.
    parts: Vec<u64>,
    /// What was told as lost stays lost, and Drop Counts, which nothing verifies, do not count.
    keeps_losses: bool,
    /// Lossy parts in which data was lost, the newest first: the first number, and the one behind the last.
    told: Vec<(u64, u64)>,
    /// The most packets that a round trip was allowed before the first loss of data.
    window: f64,
    /// The most packets that were received in a round trip before it, and the longest interval that the equation answers to that.
    received: (f64, f64),
    /// Losses of packets without data came before it: what the receiver has made up is too short.
    made_up_early: bool,
}

/// What a report says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    pub(crate) p: f64,
    /// A loss event has begun since the report before.
    pub(crate) new_event: bool,
}

fn push_bounded(list: &mut VecDeque<u64>, number: u64) {
    if list.len() == NAMED {
        list.pop_front();
    }
    list.push_back(number);
}

impl Reported {
    /// `keeps_losses`: what was told as lost stays lost.
    pub(crate) fn new(options: &TfrcOptions, keeps_losses: bool) -> Self {
        Self {
            average: Average::new(options),
            short_intervals: options.expert.short_intervals,
            short: Vec::new(),
            spare_intervals: Vec::new(),
            spare_short: Vec::new(),
            newest: None,
            counts_from: 0,
            whole_gaps: !options.events_in_a_gap,
            named: VecDeque::new(),
            rare: VecDeque::new(),
            p: 0.0,
            known: Vec::new(),
            parts: Vec::new(),
            keeps_losses,
            told: Vec::new(),
            window: 0.0,
            received: (0.0, 0.0),
            made_up_early: false,
        }
    }

    /// Forgets all losses of packets below `from`.
    pub(crate) fn restart(&mut self, from: u64) {
        self.average.restart();
        (self.newest, self.counts_from) = (None, from);
        self.known.clear();
        self.told.clear();
        (self.window, self.received) = (0.0, (0.0, 0.0));
    }

    /// So many packets were allowed in a round trip until now, and so many received; to these an interval of this length is the
    /// equation's, which is asked for the most of them only.
    pub(crate) fn allowed(&mut self, window: f64, received: f64, interval: impl FnOnce() -> f64) {
        if self.newest.is_none() {
            self.window = self.window.max(window);
            if received > self.received.0 {
                self.received = (received, self.received.1.max(interval()));
            }
        }
    }

    /// Reads the intervals, the newest first, of a report whose acknowledgement number is `acknowledged`; `r` in s.
    pub(crate) fn read(
        &mut self,
        acknowledged: u64,
        skip: u8,
        reported: &[LossInterval],
        sent: &SentLog,
        r: f64,
    ) -> Reading {
        if self.whole_gaps && self.named.back().is_none_or(|last| *last < acknowledged) {
            push_bounded(&mut self.named, acknowledged);
        }
        let mut end = acknowledged.saturating_add(1).saturating_sub(u64::from(skip));
        let highest = end;
        let mut intervals = std::mem::take(&mut self.spare_intervals);
        intervals.clear();
        let mut short = std::mem::take(&mut self.spare_short);
        short.clear();
        let mut open_counts = true;
        // What an interval without losses of data hands to the one before it.
        let mut joined = 0.0;
        let mut to_the_beginning = false;
        let kept = self.keeps_losses.then(|| self.kept(end, reported, sent));
        let reported = kept.as_deref().unwrap_or(reported);
        let mut told = Vec::new();
        // All of them: losses may stand behind any number of intervals that only lost packets without data.
        for one in reported {
            let start = end.saturating_sub(u64::from(one.lossless) + u64::from(one.lossy));
            let lossy_end = start.saturating_add(u64::from(one.lossy)).min(end);
            let before = self.counts_from > 0 && lossy_end <= self.counts_from;
            if one.lossy == 0 || before {
                to_the_beginning = true;
                // The first of all: its length is synthetic, and zero as long as nothing was lost.
                if (one.data > 0 || before) && !intervals.is_empty() {
                    let told = if before { 0.0 } else { one.data.into() };
                    intervals.push(self.first(told, joined));
                }
                break;
            }
            // Of losses that began in a silence, those after it count.
            let start = start.max(self.counts_from);
            let sequence = end - start;
            let without_data = sent.count_without_data(start, end);
            let data = without_data.map_or(u64::from(one.data), |count| sequence.saturating_sub(count));
            if !sent.may_have_data(start, lossy_end) {
                self.made_up_early |= self.newest.is_none() && intervals.is_empty();
                joined += data as f64;
                end = start;
                continue;
            }
            told.push((start, lossy_end));
            let mut length = (data.clamp(1, sequence.max(1)) as f64 + joined).max(1.0);
            // A missing or absurd Drop Count is the Loss Length (RFC 5622 section 8.7). So is one that nobody can verify.
            let dropped = if one.dropped == 0 || self.keeps_losses { one.lossy } else { one.dropped.min(one.lossy) };
            if self.short_intervals {
                let open = intervals.is_empty();
                let known = self.short.iter().find(|known| known.0 == start && !open).map(|known| known.1);
                let until = if open { highest } else { end };
                let is_short = known.unwrap_or_else(|| sent.between(start, until).is_some_and(|time| time <= 2.0 * r));
                if is_short {
                    length /= f64::from(dropped);
                    open_counts &= !open;
                }
                if !open {
                    short.push((start, is_short));
                }
            }
            // The newest event has what follows the losses.
            for part in self.part(start, lossy_end, sent) {
                let newer = sent.count_without_data(part, end).map_or(0, |count| (end - part).saturating_sub(count));
                // A short interval, whose losses count, may be less than a packet long.
                let newer = (newer as f64 + std::mem::take(&mut joined)).max(1.0).min(length);
                intervals.push(Interval { start: part, length: newer });
                length = (length - newer).max(1.0);
                end = part;
            }
            joined = 0.0;
            intervals.push(Interval { start, length });
            end = start;
            if intervals.len() >= INTERVALS {
                break;
            }
        }
        intervals.truncate(INTERVALS);
        self.parts.retain(|part| *part >= end);
        self.spare_short = std::mem::replace(&mut self.short, short);
        if self.keeps_losses {
            let newer = self.told.iter().copied().filter(|told| told.0 >= highest);
            let older = self.told.iter().copied().filter(|told| told.0 < end && !to_the_beginning);
            self.told = newer.chain(told).chain(older).take(INTERVALS).collect();
        }
        // "The receiver need not send loss intervals that the sender already knows about" (RFC 4342 section 8.6.1), also where it
        // sends none in which data was lost.
        if intervals.last().map_or(!to_the_beginning, |oldest| oldest.start != FIRST) {
            let wanted = INTERVALS.saturating_sub(intervals.len());
            let newer = intervals.last().map_or(highest, |interval| interval.start);
            let mut known = self.known.iter().filter(|known| known.start < end || known.start == FIRST).copied();
            // The newest of them has grown by what has come since, in intervals that only lost packets without data.
            let grown = known.next().map(|known| {
                let without_data = sent.count_without_data(known.start, newer);
                let grown = newer.checked_sub(known.start).zip(without_data).map_or(0, |(all, none)| all - none);
                Interval { length: known.length.max(grown as f64), ..known }
            });
            intervals.extend(grown.into_iter().chain(known).take(wanted));
        }
        // The first losses of data, behind more of packets without data than the receiver remembers.
        if self.known.is_empty() && !to_the_beginning && (1..INTERVALS).contains(&intervals.len()) {
            intervals.push(self.first(0.0, joined));
        }
        let newest = intervals.first().map(|interval| interval.start).filter(|start| *start != FIRST);
        let new_event = newest > self.newest;
        if newest.is_none() {
            self.spare_intervals = intervals;
            self.p = 0.0;
            return Reading { p: 0.0, new_event: false };
        }
        self.newest = newest;
        self.known.clone_from(&intervals);
        if intervals.len() == 1 {
            // What was before is not known: as much.
            intervals.push(intervals[0]);
        }
        let p = self.average.loss_event_rate(&intervals, open_counts);
        self.spare_intervals = intervals;
        self.p = p;
        Reading { p, new_event }
    }

    /// The intervals with all losses of data that were told before. A late packet may fill a hole (RFC 5348 section 5.1), but who
    /// could take back what it has told would try by the rate which losses count.
    fn kept(&self, end: u64, reported: &[LossInterval], sent: &SentLog) -> Vec<LossInterval> {
        let count = |packets: u64| u32::try_from(packets).unwrap_or(u32::MAX);
        let mut kept = reported.to_vec();
        for &(first, behind) in &self.told {
            let (mut until, mut place) = (end, None);
            for (at, one) in kept.iter().enumerate() {
                let length = if one.lossy == 0 { until } else { u64::from(one.lossless) + u64::from(one.lossy) };
                let start = until.saturating_sub(length);
                let lossy_end = start.saturating_add(one.lossy.into()).min(until);
                if start < behind && first < lossy_end && sent.may_have_data(start, lossy_end) {
                    place = None; // it is still told
                    break;
                }
                if (start..until).contains(&first) {
                    place = Some((at, start, lossy_end, until));
                }
                until = start;
            }
            let Some((at, start, lossy_end, until)) = place else { continue };
            let (lost, lossy) = (behind.min(until), lossy_end.min(first) - start);
            let newer = LossInterval {
                lossless: count(until - lost),
                lossy: count(lost - first),
                data: count(until - first),
                dropped: count(lost - first),
            };
            let older = LossInterval { lossless: count(first - start - lossy), lossy: count(lossy), ..kept[at] };
            let pieces = if first > start { vec![newer, older] } else { vec![newer] };
            kept.splice(at..=at, pieces);
        }
        kept
    }

    /// Where further events begin among the losses in `start..end`, the newest first (section 9.2).
    fn part(&mut self, start: u64, end: u64, sent: &SentLog) -> Vec<u64> {
        // Without a packet that arrived between them, the receiver could not report the first of these losses before the last.
        // Where losses are frequent, several in a row are chance.
        if self.whole_gaps {
            if self.p <= HEALTHY_LOSS && self.newest.is_none_or(|newest| newest < start) {
                push_bounded(&mut self.rare, start);
            }
            if self.rare.contains(&start) && !self.named.iter().any(|named| (start..end).contains(named)) {
                return Vec::new();
            }
        }
        let from = self.parts.partition_point(|part| *part <= start);
        let mut to = self.parts.partition_point(|part| *part < end);
        let mut parts = self.parts.get(from..to).unwrap_or_default().to_vec();
        while let Some(next) = sent.a_round_trip_after(parts.last().copied().unwrap_or(start), end) {
            parts.push(next);
            self.parts.insert(to, next);
            to += 1;
        }
        let surplus = self.parts.len().saturating_sub(PARTS);
        self.parts.drain(..surplus);
        parts.reverse();
        parts
    }

    /// The interval before the first loss of data, of which the receiver says that it is so long. Where it has made that up when a
    /// packet without data was lost, it is what it would have been now.
    fn first(&self, told: f64, joined: f64) -> Interval {
        let made_up = if self.made_up_early || told <= 0.0 { self.received.1.min(self.longest_first()) } else { 0.0 };
        Interval { start: FIRST, length: (told.min(self.longest_first()) + joined).max(made_up).max(1.0) }
    }

    /// A receiver makes the first interval up so that the equation answers what it has received (RFC 5348 section 6.3.1).
    /// With small p that is w^2 / 1.5 packets for w in a round trip; its own round trip may be another.
    fn longest_first(&self) -> f64 {
        (2.0 * self.window * self.window).max(1.0)
    }
}
