//! p from reported loss intervals (RFC 4342 sections 6.1.1 and 8.6; RFC 5622 section 8.7).
//!
//! The sender knows which packets carried data. It counts data lengths itself as far as they are recorded, and merges
//! an interval in which only packets without data were lost with the previous one.
//!
//! Reports may be false, so intervals are checked against the sent packets (section 9.2): none starts before the first
//! packet, losses over more than a round trip and a quarter are several events, and the first interval, which is
//! synthetic, is at most that of the greatest rate so far.

use super::average::{Average, FIRST, INTERVALS, Interval};
use super::options::TfrcOptions;
use super::sent::SentLog;
use crate::report::LossInterval;
use crate::toolbox::HEALTHY_LOSS;
use std::collections::VecDeque;

/// Maximum number of recorded events into which reported ones were split.
const MAX_PARTS: usize = 64;
/// Maximum number of recorded acknowledgement numbers and lossy parts.
const MAX_RECORDED: usize = 64;

#[derive(Clone, Debug)]
pub(crate) struct Reported {
    average: Average,
    short_intervals: bool,
    /// First packet of known closed intervals, and whether they were short when they closed.
    short: Vec<(u64, bool)>,
    spare_intervals: Vec<Interval>,
    spare_short: Vec<(u64, bool)>,
    newest: Option<u64>,
    /// Lowest number whose loss counts; a silence precedes it.
    counts_from: u64,
    /// Whether consecutive losses are one event, regardless of their duration.
    whole_gaps: bool,
    /// Acknowledgement numbers of reports, newest last.
    acknowledgements: VecDeque<u64>,
    /// First packets of lossy parts that began while losses were rare.
    rare: VecDeque<u64>,
    /// p after the last report.
    p: f64,
    /// Intervals of the last report: a receiver need not repeat those known to have arrived.
    known: Vec<Interval>,
    /// Packets at which reported events are split, in ascending order.
    parts: Vec<u64>,
    /// Whether reported losses cannot be retracted and Drop Counts, which are unverifiable, are ignored.
    keeps_losses: bool,
    /// Lossy parts in which data was lost, newest first, as the first number and the one after the last.
    losses: Vec<(u64, u64)>,
    /// Maximum number of packets allowed in a round trip before the first loss of data.
    window: f64,
    /// Maximum number of packets received in a round trip before it, and the equation's interval for it.
    received: (f64, f64),
    /// Whether only packets without data were lost before it, so that the receiver's synthetic length is too short.
    early_synthetic: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    pub(crate) p: f64,
    /// Whether a loss event has begun since the previous report.
    pub(crate) new_event: bool,
}

fn push_bounded(list: &mut VecDeque<u64>, number: u64) {
    if list.len() == MAX_RECORDED {
        list.pop_front();
    }
    list.push_back(number);
}

impl Reported {
    /// Creates the state without losses. With `keeps_losses`, reported losses cannot be retracted.
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
            acknowledgements: VecDeque::new(),
            rare: VecDeque::new(),
            p: 0.0,
            known: Vec::new(),
            parts: Vec::new(),
            keeps_losses,
            losses: Vec::new(),
            window: 0.0,
            received: (0.0, 0.0),
            early_synthetic: false,
        }
    }

    /// Discards all losses of packets below `from`.
    pub(crate) fn restart(&mut self, from: u64) {
        self.average.restart();
        (self.newest, self.counts_from) = (None, from);
        self.known.clear();
        self.losses.clear();
        (self.window, self.received) = (0.0, (0.0, 0.0));
    }

    /// Records the packets allowed and received in a round trip until now. `interval` computes the equation's interval
    /// for the receive rate; it is only called for a new maximum.
    pub(crate) fn allowed(&mut self, window: f64, received: f64, interval: impl FnOnce() -> f64) {
        if self.newest.is_none() {
            self.window = self.window.max(window);
            if received > self.received.0 {
                self.received = (received, self.received.1.max(interval()));
            }
        }
    }

    /// Processes the intervals, newest first, of a report with acknowledgement number `acknowledged`; `r` in s.
    pub(crate) fn read(
        &mut self,
        acknowledged: u64,
        skip: u8,
        reported: &[LossInterval],
        sent: &SentLog,
        r: f64,
    ) -> Reading {
        if self.whole_gaps && self.acknowledgements.back().is_none_or(|last| *last < acknowledged) {
            push_bounded(&mut self.acknowledgements, acknowledged);
        }
        let mut end = acknowledged.saturating_add(1).saturating_sub(u64::from(skip));
        let highest = end;
        let mut intervals = std::mem::take(&mut self.spare_intervals);
        intervals.clear();
        let mut short = std::mem::take(&mut self.spare_short);
        short.clear();
        let mut open_counts = true;
        // Data packets of intervals without losses of data, to be added to the previous interval.
        let mut joined = 0.0;
        let mut to_the_beginning = false;
        let kept = self.keeps_losses.then(|| self.kept(end, reported, sent));
        let reported = kept.as_deref().unwrap_or(reported);
        let mut losses = Vec::new();
        // Process all intervals: losses of data may follow any number of intervals without.
        for one in reported {
            let start = end.saturating_sub(u64::from(one.lossless) + u64::from(one.lossy));
            let lossy_end = start.saturating_add(u64::from(one.lossy)).min(end);
            let before = self.counts_from > 0 && lossy_end <= self.counts_from;
            if one.lossy == 0 || before {
                to_the_beginning = true;
                // The first interval: its length is synthetic, and zero before the first loss.
                if (one.data > 0 || before) && !intervals.is_empty() {
                    let reported_length = if before { 0.0 } else { one.data.into() };
                    intervals.push(self.first(reported_length, joined));
                }
                break;
            }
            // Of losses that began in a silence, only those after it count.
            let start = start.max(self.counts_from);
            let sequence = end - start;
            let without_data = sent.count_without_data(start, end);
            let data = without_data.map_or(u64::from(one.data), |count| sequence.saturating_sub(count));
            if !sent.may_have_data(start, lossy_end) {
                self.early_synthetic |= self.newest.is_none() && intervals.is_empty();
                joined += data as f64;
                end = start;
                continue;
            }
            losses.push((start, lossy_end));
            let mut length = (data.clamp(1, sequence.max(1)) as f64 + joined).max(1.0);
            // The Loss Length replaces a missing or unverifiable Drop Count (RFC 5622 section 8.7).
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
            // The newest event includes the packets after the losses.
            for part in self.part(start, lossy_end, sent) {
                let newer = sent.count_without_data(part, end).map_or(0, |count| (end - part).saturating_sub(count));
                // A short interval with counted losses may be below one packet.
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
            let newer = self.losses.iter().copied().filter(|loss| loss.0 >= highest);
            let older = self.losses.iter().copied().filter(|loss| loss.0 < end && !to_the_beginning);
            self.losses = newer.chain(losses).chain(older).take(INTERVALS).collect();
        }
        // "The receiver need not send loss intervals that the sender already knows about" (RFC 4342 section 8.6.1),
        // even if it sends none with a loss of data.
        if intervals.last().map_or(!to_the_beginning, |oldest| oldest.start != FIRST) {
            let wanted = INTERVALS.saturating_sub(intervals.len());
            let newer = intervals.last().map_or(highest, |interval| interval.start);
            let mut known = self.known.iter().filter(|known| known.start < end || known.start == FIRST).copied();
            // The newest of them includes later packets, in intervals with losses of packets without data only.
            let grown = known.next().map(|known| {
                let without_data = sent.count_without_data(known.start, newer);
                let grown = newer.checked_sub(known.start).zip(without_data).map_or(0, |(all, none)| all - none);
                Interval { length: known.length.max(grown as f64), ..known }
            });
            intervals.extend(grown.into_iter().chain(known).take(wanted));
        }
        // The first losses of data, after more losses of packets without data than the receiver records.
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
            // The previous interval is unknown; assume the same length.
            intervals.push(intervals[0]);
        }
        let p = self.average.loss_event_rate(&intervals, open_counts);
        self.spare_intervals = intervals;
        self.p = p;
        Reading { p, new_event }
    }

    /// Returns the intervals with all losses of data reported before. A late packet may fill a gap (RFC 5348 section
    /// 5.1), but a receiver that can retract losses could find out from the rate which losses count.
    fn kept(&self, end: u64, reported: &[LossInterval], sent: &SentLog) -> Vec<LossInterval> {
        let count = |packets: u64| u32::try_from(packets).unwrap_or(u32::MAX);
        let mut kept = reported.to_vec();
        for &(first, behind) in &self.losses {
            let (mut until, mut place) = (end, None);
            for (at, one) in kept.iter().enumerate() {
                let length = if one.lossy == 0 { until } else { u64::from(one.lossless) + u64::from(one.lossy) };
                let start = until.saturating_sub(length);
                let lossy_end = start.saturating_add(one.lossy.into()).min(until);
                if start < behind && first < lossy_end && sent.may_have_data(start, lossy_end) {
                    place = None; // still reported
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

    /// Returns where the losses in `start..end` are split into further events, newest first (section 9.2).
    fn part(&mut self, start: u64, end: u64, sent: &SentLog) -> Vec<u64> {
        // Without an arrival between them, the receiver could not report the first of these losses before the last.
        // With frequent losses, consecutive ones may be random.
        if self.whole_gaps {
            if self.p <= HEALTHY_LOSS && self.newest.is_none_or(|newest| newest < start) {
                push_bounded(&mut self.rare, start);
            }
            if self.rare.contains(&start)
                && !self.acknowledgements.iter().any(|acknowledgements| (start..end).contains(acknowledgements))
            {
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
        let surplus = self.parts.len().saturating_sub(MAX_PARTS);
        self.parts.drain(..surplus);
        parts.reverse();
        parts
    }

    /// Returns the interval before the first loss of data, from the length that the receiver reports. If the receiver
    /// computed it at a loss of a packet without data, the current value replaces it.
    fn first(&self, reported_length: f64, joined: f64) -> Interval {
        let synthetic = if self.early_synthetic || reported_length <= 0.0 {
            self.received.1.min(self.longest_first())
        } else {
            0.0
        };
        Interval { start: FIRST, length: (reported_length.min(self.longest_first()) + joined).max(synthetic).max(1.0) }
    }

    /// Returns the maximum length of the first interval. A receiver computes it from its receive rate by the inverse of
    /// the equation (RFC 5348 section 6.3.1). With small p that is w^2 / 1.5 packets for w per round trip; its
    /// round-trip time may differ.
    fn longest_first(&self) -> f64 {
        (2.0 * self.window * self.window).max(1.0)
    }
}
