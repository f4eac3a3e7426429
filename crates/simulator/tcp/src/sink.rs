//! The receiver: reassembly, acknowledgements at once or delayed, SACK blocks, ECN echo (RFC 5681 section 4.2, RFC 2018,
//! RFC 3168 section 6.1.3; ns-2.35 tcp/tcp-sink.cc).
//!
//! With delayed acknowledgements a segment in order waits for the next, or for the timer. Answered at once are: the
//! second segment, a segment out of order, one that fills a gap, one with PSH, the SYN. So is one that was marked where the one before was not, or the other way
//! round, if each mark counts (RFC 8257 section 3.2): by itself, behind the answer to what waited.

use crate::TcpOptions;
use crate::options::{EcnEcho, Rules};
use crate::ranges::Ranges;
use crate::segment::{SackBlocks, Segment};
use headway_units::{Bytes, Ecn, Instant};
use std::ops::Range;
use std::sync::Arc;

/// What an acknowledgement must know of a segment beside its number.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    capable: bool,
    congested: bool,
    cwr: bool,
    /// On the SYN, ECE asks whether this side speaks ECN (RFC 3168 section 6.1.1).
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

/// An acknowledgement to be sent.
#[derive(Clone, Copy, Debug)]
struct Answer {
    /// The segment that it answers.
    latest: u64,
    ece: bool,
}

/// Reported blocks, most recent first.
type Blocks = [Option<(u64, u64)>; SackBlocks::MAX];

/// What few sinks have.
#[derive(Clone, Copy, Debug, Default)]
struct Rest {
    /// The blocks of earlier acknowledgements. They are reported again as they were, as long as none covers them: an acknowledgement may thus name
    /// what its own number covers already, as in ns-2.
    history: Blocks,
    /// To be sent before [`Sink::out`].
    earlier: Option<Segment>,
}

/// A TCP receiver. Driven as a [`crate::Sender`] is. Two cache lines: what each segment touches comes first.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Sink {
    rules: Arc<Rules>,
    /// The next number in order (`next_`).
    next: u64,
    last_acked: u64,
    to_echo: Instant,
    /// Received out of order.
    beyond: Ranges,

    /// What a call has made to be sent: this and [`Rest::earlier`] at most, and they are polled for before the next call.
    out: Option<Answer>,
    received: u64,
    wire_bytes: u64,
    /// When the acknowledgement that waits is due, and for what: far in the future if none does.
    due: Instant,
    waiting: Marks,
    congestion_seen: bool,
    quick: u32,
    duplicates: u32,
    rest: Option<Box<Rest>>,
}

impl Sink {
    /// A sink that has received nothing.
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

    /// A segment has arrived. Acknowledgements, and numbers beyond the window, are ignored.
    #[inline]
    pub fn handle(&mut self, now: Instant, segment: &Segment) {
        if segment.is_ack || segment.seq >= self.next.saturating_add(self.rules.reach()) {
            return;
        }
        let seq = segment.seq;
        self.wire_bytes += u64::from(segment.size);
        let marks = Marks::of(segment);
        if self.rules.ecn_echo == EcnEcho::Exact {
            self.answer_if_marks_flip(now, seq, marks);
        }
        // RFC 7323 section 4.3: echo the segment that the last acknowledgement waits for, not one that is ahead.
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
                    self.beyond.forget_below(self.next);
                }
            }
        }

        let Some(delay) = self.rules.delayed_ack else {
            self.acknowledge(seq, marks);
            return;
        };
        // In order means: the last segment in order is this one; for ns-2 even if it came before.
        let in_order = seq + 1 == self.next && self.beyond.is_empty() && (!duplicate || self.rules.delay_duplicates);
        if !in_order {
            self.quick = self.quick.max(self.rules.quick_acks_after_gap);
        }
        if in_order && self.due == Instant::FAR_FUTURE && seq != 0 && self.quick == 0 && !segment.push {
            (self.due, self.waiting) = (now + delay, marks);
            return;
        }
        self.quick = self.quick.saturating_sub(u32::from(seq != 0));
        self.acknowledge(seq, marks);
    }

    /// The instant of [`Sink::poll_timeout`] has come: the delayed acknowledgement is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.due <= now {
            // What waits is the last in order.
            self.acknowledge(self.next.saturating_sub(1), self.waiting);
        }
    }

    /// The peer has sent its last segment, with which a FIN comes: what waits is answered now, if the options say so.
    pub fn handle_fin(&mut self) {
        if self.rules.answer_fin && self.due != Instant::FAR_FUTURE {
            self.acknowledge(self.next.saturating_sub(1), self.waiting);
        }
    }

    /// When to call [`Sink::handle_timeout`], unless something else happens before.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        (self.due != Instant::FAR_FUTURE).then_some(self.due)
    }

    /// The next acknowledgement to send now, if any.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        if let Some(earlier) = self.rest.as_mut().and_then(|rest| rest.earlier.take()) {
            return Some(earlier);
        }
        let Answer { latest, ece } = self.out.take()?;
        let sack = self.report(latest);
        Some(self.acknowledgement(now, sack, ece))
    }

    /// One of all that has come in order.
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

    /// Data segments received, each number once, without the SYN.
    #[must_use]
    pub fn received_segments(&self) -> u64 {
        self.received
    }
    /// Their payload: goodput, even if a gap still holds it back.
    #[must_use]
    pub fn received_payload(&self) -> Bytes {
        Bytes::new(self.received * self.rules.payload().count())
    }
    /// Bytes on the wire of all that arrived: SYN, duplicates and headers included.
    #[must_use]
    pub fn received_wire_bytes(&self) -> Bytes {
        Bytes::new(self.wire_bytes)
    }
    /// Segments that had arrived before.
    #[must_use]
    pub fn duplicates(&self) -> u64 {
        u64::from(self.duplicates)
    }
    /// The next number that is waited for.
    #[must_use]
    pub fn next_expected(&self) -> u64 {
        self.next
    }

    /// RFC 8257 section 3.2: a segment that is marked where those before it were not, or the other way round, is answered at once. What waited is
    /// answered before it, as it was marked.
    #[cold]
    #[inline(never)]
    fn answer_if_marks_flip(&mut self, now: Instant, seq: u64, marks: Marks) {
        if seq == 0 || marks.congested == self.congestion_seen {
            return;
        }
        self.quick = self.quick.max(1);
        if self.due != Instant::FAR_FUTURE {
            (self.due, self.last_acked) = (Instant::FAR_FUTURE, self.next);
            // Nothing waits where there is a gap: no blocks to report.
            let answer = self.acknowledgement(now, SackBlocks::default(), self.congestion_seen);
            self.rest.get_or_insert_default().earlier = Some(answer);
        }
    }

    /// Answers the segment `latest`, and with it the one that was waiting.
    fn acknowledge(&mut self, latest: u64, marks: Marks) {
        let waited = std::mem::replace(&mut self.due, Instant::FAR_FUTURE) != Instant::FAR_FUTURE;
        let marks = if waited { marks.and(self.waiting) } else { marks };
        let ece = match self.rules.ecn_echo {
            EcnEcho::UntilHeard => {
                self.congestion_seen = marks.congested || self.congestion_seen && !marks.cwr;
                marks.asks || self.congestion_seen && marks.capable
            }
            // What it covers was marked alike.
            EcnEcho::Exact => {
                self.congestion_seen = marks.congested;
                marks.asks || marks.congested
            }
        };
        self.last_acked = self.next;
        self.out = Some(Answer { latest, ece });
    }

    /// SACK blocks (RFC 2018 section 4): first the one that holds `latest`, then those of earlier acknowledgements.
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
        // A segment below the number acknowledged reports nothing of itself, but what it filled covers older blocks.
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
