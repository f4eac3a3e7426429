//! The receiver: reassembly, acknowledgements at once or delayed, SACK blocks, ECN echo (RFC 5681 section 4.2, RFC
//! 2018, RFC 3168 section 6.1.3; ns-2.35 tcp/tcp-sink.cc).
//!
//! With delayed acknowledgements, a segment in order waits for the next segment or the timer. Acknowledged immediately
//! are the second segment, a segment out of order, one that fills a gap, one with PSH, and the SYN. With exact ECN
//! echo, a segment whose mark differs from the previous one is also acknowledged immediately, after a separate
//! acknowledgement of the waiting one (RFC 8257 section 3.2). With accurate ECN echo, each acknowledgement reports the
//! counts of packets by ECN field (RFC 9768).

use crate::TcpOptions;
use crate::options::{EcnEcho, Pipe, Rules};
use crate::ranges::Ranges;
use crate::segment::{EcnCounts, SackBlocks, Segment};
use headway_units::{Bytes, Ecn, Instant};
use std::ops::Range;
use std::sync::Arc;

/// Header fields of a segment that its acknowledgement depends on.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    capable: bool,
    congested: bool,
    cwr: bool,
    /// ECE on the SYN, which requests ECN (RFC 3168 section 6.1.1).
    asks: bool,
}

impl Marks {
    #[inline]
    fn of(segment: &Segment) -> Self {
        let capable = segment.ecn.is_capable();
        Self { capable, congested: segment.ecn == Ecn::Ce, cwr: segment.cwr, asks: segment.ece && !capable }
    }

    fn and(self, other: Self) -> Self {
        Self {
            capable: self.capable | other.capable,
            congested: self.congested | other.congested,
            cwr: self.cwr | other.cwr,
            asks: self.asks | other.asks,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct PendingAck {
    /// Segment that triggered it.
    latest: u64,
    ece: bool,
    /// Whether it was received before.
    duplicate: bool,
}

/// Reported SACK blocks, most recent first.
type Blocks = [Option<(u64, u64)>; SackBlocks::MAX];

/// State that most sinks do not need.
#[derive(Clone, Copy, Debug, Default)]
struct Rest {
    /// Blocks of earlier acknowledgements. They are repeated unchanged until another block covers them. As in ns-2, an
    /// acknowledgement may thus report segments below its own number.
    history: Blocks,
    /// Acknowledgement to send before [`Sink::out`].
    earlier: Option<Segment>,
    /// Counts of accurate ECN, and the ECN field of the SYN.
    counts: Option<(EcnCounts, Ecn)>,
}

/// TCP receiver. Driven like a [`crate::Sender`]. Occupies two cache lines; fields accessed for each segment come
/// first.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Sink {
    rules: Arc<Rules>,
    /// Next number in order (`next_`).
    next: u64,
    last_acked: u64,
    to_echo: Instant,
    /// Segments received out of order.
    beyond: Ranges,

    /// Acknowledgement to send. With [`Rest::earlier`], at most two are pending, and they must be polled before the
    /// next call.
    out: Option<PendingAck>,
    received: u64,
    wire_bytes: u64,
    /// Deadline of the delayed acknowledgement (`FAR_FUTURE` if none), and the marks it covers.
    due: Instant,
    waiting: Marks,
    congestion_seen: bool,
    quick: u32,
    duplicates: u32,
    rest: Option<Box<Rest>>,
}

impl Sink {
    /// Creates a sink that has received nothing.
    #[must_use]
    pub fn new(options: &TcpOptions) -> Self {
        Self {
            rules: Arc::clone(&options.rules),
            next: 0,
            last_acked: 0,
            to_echo: Instant::ZERO,
            beyond: Ranges::default(),
            out: None,
            received: 0,
            wire_bytes: 0,
            due: Instant::FAR_FUTURE,
            waiting: Marks::default(),
            congestion_seen: false,
            quick: options.rules.quick_acks,
            duplicates: 0,
            rest: None,
        }
    }

    /// Handles a segment of data or the SYN. Acknowledgements, and segments beyond the receiver window, are ignored.
    #[inline]
    pub fn handle(&mut self, now: Instant, segment: &Segment) {
        if segment.is_ack || segment.seq >= self.next.saturating_add(self.rules.reach()) {
            return;
        }
        let seq = segment.seq;
        self.wire_bytes += u64::from(segment.size);
        let marks = Marks::of(segment);
        if self.rules.ecn_echo != EcnEcho::UntilCwr {
            self.observe_mark(now, segment, marks);
        }
        // RFC 7323 section 4.3: echo the segment expected by the last acknowledgement, not one above it.
        if segment.sent >= self.to_echo && seq <= self.last_acked {
            self.to_echo = segment.sent;
        }
        let had_gap = !self.beyond.is_empty();
        let duplicate = seq < self.next || self.beyond.holding(seq).is_some();
        if duplicate {
            self.duplicates = self.duplicates.saturating_add(1);
        } else {
            self.received += u64::from(seq != 0);
            if seq == self.next && !had_gap {
                self.next += 1;
            } else {
                self.beyond.add(seq..seq + 1);
                if let Some(first) = self.beyond.first()
                    && first.start == self.next
                {
                    self.next = first.end;
                    self.beyond.remove_below(self.next);
                }
            }
        }

        let Some(delay) = self.rules.delayed_ack else {
            self.acknowledge(seq, marks, duplicate);
            return;
        };
        // In order: the highest segment in order is this one, for ns-2 even if received before.
        let in_order = seq + 1 == self.next && self.beyond.is_empty() && (!duplicate || self.rules.delay_duplicates);
        if !in_order {
            self.quick = self.quick.max(self.rules.quick_acks_after_gap);
        }
        if in_order && self.due == Instant::FAR_FUTURE && seq != 0 && self.quick == 0 && !segment.push {
            (self.due, self.waiting) = (now + delay, marks);
            return;
        }
        self.quick = self.quick.saturating_sub(u32::from(seq != 0));
        self.acknowledge(seq, marks, duplicate);
    }

    /// Handles the expiry of [`Sink::poll_timeout`]: sends the delayed acknowledgement.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.due <= now {
            // The waiting segment is the highest in order.
            self.acknowledge(self.next.saturating_sub(1), self.waiting, false);
        }
    }

    /// Handles the FIN on the last segment of the peer: makes a delayed acknowledgement due immediately if `answer_fin`
    /// is set.
    pub fn handle_fin(&mut self) {
        if self.rules.answer_fin && self.due != Instant::FAR_FUTURE {
            self.acknowledge(self.next.saturating_sub(1), self.waiting, false);
        }
    }

    /// Returns when to call [`Sink::handle_timeout`], unless another call changes this time; `None` if no
    /// acknowledgement is delayed.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        (self.due != Instant::FAR_FUTURE).then_some(self.due)
    }

    /// Returns the next acknowledgement to send at `now`; `None` if there is none.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        if let Some(rest) = &mut self.rest {
            if let Some(earlier) = rest.earlier.take() {
                return Some(earlier);
            }
            if rest.counts.is_some() {
                return self.poll_counted(now);
            }
        }
        let PendingAck { latest, ece, duplicate } = self.out.take()?;
        let mut sack = self.report(latest);
        if duplicate && self.rules.sack.pipe == Pipe::RackTlp {
            sack = sack.after_duplicate(latest, self.rules.sack.sack_blocks);
        }
        Some(self.acknowledgement(now, sack, ece))
    }

    /// Creates an acknowledgement of all segments in order.
    #[inline(always)]
    fn acknowledgement(&self, now: Instant, sack: SackBlocks, ece: bool) -> Segment {
        let blocks = SackBlocks::BYTES * sack.len() as u32;
        Segment {
            seq: self.next,
            sent: now,
            echo: self.to_echo,
            size: self.rules.ack_size.count() as u32 + blocks,
            sack,
            ecn: Ecn::NotEct,
            is_ack: true,
            ece,
            cwr: false,
            push: false,
            retransmission: false,
        }
    }

    /// Returns the number of distinct data segments received, without the SYN.
    #[must_use]
    pub fn received_segments(&self) -> u64 {
        self.received
    }
    /// Returns the payload bytes of the data segments received, without duplicates but with segments above a gap.
    #[must_use]
    pub fn received_payload(&self) -> Bytes {
        Bytes::new(self.received * self.rules.payload().count())
    }
    /// Returns all bytes received on the wire, including SYN, duplicates and headers.
    #[must_use]
    pub fn received_wire_bytes(&self) -> Bytes {
        Bytes::new(self.wire_bytes)
    }
    /// Returns the number of segments that arrived again.
    #[must_use]
    pub fn duplicates(&self) -> u64 {
        u64::from(self.duplicates)
    }
    /// Returns the number of the first segment that has not arrived: 0 is the SYN, 1 the first data segment.
    #[must_use]
    pub fn next_expected(&self) -> u64 {
        self.next
    }

    #[cold]
    #[inline(never)]
    fn observe_mark(&mut self, now: Instant, segment: &Segment, marks: Marks) {
        match self.rules.ecn_echo {
            EcnEcho::UntilCwr => {}
            EcnEcho::Exact => self.acknowledge_mark_change(now, segment.seq, marks),
            EcnEcho::Accurate => self.count(segment),
        }
    }

    /// Counts a packet by its ECN field (RFC 9768 section 3.2.1). A data packet with CE after a packet without CE is
    /// acknowledged immediately (section 3.2.2.5.1, change-triggered), and as in RFC 8257 section 3.2 also one without CE
    /// after one with CE. That at least every second CE is acknowledged (increment-triggered) follows from the
    /// acknowledgement of every second segment.
    fn count(&mut self, segment: &Segment) {
        if !self.rules.ecn {
            return;
        }
        let (counts, syn) = self.rest.get_or_insert_default().counts.get_or_insert((EcnCounts::INITIAL, Ecn::NotEct));
        let congested = segment.ecn == Ecn::Ce;
        if segment.seq == 0 {
            *syn = segment.ecn;
        } else {
            counts.count(segment.ecn);
            if congested != self.congestion_seen {
                self.quick = self.quick.max(1);
            }
        }
        self.congestion_seen = congested;
    }

    /// Is [`Sink::poll_transmit`] with accurate ECN.
    #[cold]
    #[inline(never)]
    fn poll_counted(&mut self, now: Instant) -> Option<Segment> {
        let PendingAck { latest, ece, duplicate } = self.out.take()?;
        let mut sack = SackBlocks::default();
        if !self.beyond.is_empty() {
            sack = self.report(latest);
        } else if let Some(rest) = &mut self.rest {
            // Not freed, unlike by `report`.
            rest.history = Blocks::default();
        }
        if duplicate && self.rules.sack.pipe == Pipe::RackTlp {
            sack = sack.after_duplicate(latest, self.rules.sack.sack_blocks);
        }
        sack.keep_two();
        let (counts, syn) = self.rest.as_ref()?.counts?;
        let mut ack = self.acknowledgement(now, sack, ece);
        ack.size += counts.option_bytes();
        let is_first = self.next == 1 && counts == EcnCounts::INITIAL;
        ack.sack.set_counts(if is_first { EcnCounts::of_syn(syn) } else { counts });
        Some(ack)
    }

    /// Acknowledges immediately a segment whose mark differs from the previous ones (RFC 8257 section 3.2). A waiting
    /// acknowledgement is sent first, with the previous mark.
    fn acknowledge_mark_change(&mut self, now: Instant, seq: u64, marks: Marks) {
        if seq == 0 || marks.congested == self.congestion_seen {
            return;
        }
        self.quick = self.quick.max(1);
        if self.due != Instant::FAR_FUTURE {
            (self.due, self.last_acked) = (Instant::FAR_FUTURE, self.next);
            // No acknowledgement waits while there is a gap, so there are no blocks to report.
            let answer = self.acknowledgement(now, SackBlocks::default(), self.congestion_seen);
            self.rest.get_or_insert_default().earlier = Some(answer);
        }
    }

    /// Acknowledges the segment `latest` and a waiting one.
    fn acknowledge(&mut self, latest: u64, marks: Marks, duplicate: bool) {
        let waited = std::mem::replace(&mut self.due, Instant::FAR_FUTURE) != Instant::FAR_FUTURE;
        let marks = if waited { marks.and(self.waiting) } else { marks };
        let ece = match self.rules.ecn_echo {
            EcnEcho::UntilCwr => {
                self.congestion_seen = marks.congested || self.congestion_seen && !marks.cwr;
                marks.asks || self.congestion_seen && marks.capable
            }
            // All covered segments have equal marks.
            EcnEcho::Exact => {
                self.congestion_seen = marks.congested;
                marks.asks || marks.congested
            }
            EcnEcho::Accurate => self.rules.ecn,
        };
        self.last_acked = self.next;
        self.out = Some(PendingAck { latest, ece, duplicate });
    }

    /// Returns the SACK blocks (RFC 2018 section 4): first the one that contains `latest`, then those of earlier
    /// acknowledgements.
    #[inline]
    fn report(&mut self, latest: u64) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let most = usize::from(self.rules.sack.sack_blocks).min(SackBlocks::MAX);
        if most == 0 {
            return blocks;
        }
        let Some(highest) = self.beyond.end() else {
            self.rest = None;
            return blocks;
        };
        let current = self.beyond.holding(latest);
        // A segment below the acknowledged number is not reported, but the gap it filled covers older blocks.
        let Range { start, end } = current.clone().unwrap_or(0..self.next);
        if let Some(current) = &current {
            blocks.push(current.clone());
        }
        let earlier = self.rest.as_ref().map(|rest| rest.history).unwrap_or_default();
        let mut kept = Blocks::default();
        let mut keep = current
            .iter()
            .map(|block| (block.start, block.end))
            .chain(earlier.into_iter().flatten().filter(|old| old.1 <= highest && !(start <= old.0 && end >= old.1)));
        for slot in kept.iter_mut().take(most) {
            *slot = keep.next();
        }
        for (start, end) in kept.into_iter().flatten().skip(usize::from(current.is_some())) {
            blocks.push(start..end);
        }
        self.rest.get_or_insert_default().history = kept;
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sink_is_two_cache_lines() {
        assert_eq!(size_of::<Sink>(), 128);
    }
}
