//! The receiver: reassembly, acknowledgements at once or delayed, SACK blocks, ECN echo (RFC 5681 section 4.2, RFC 2018,
//! RFC 3168 section 6.1.3; ns-2.35 tcp/tcp-sink.cc).
//!
//! With delayed acknowledgements a segment in order waits for the next, or for the timer. Answered at once are: the
//! second segment, a segment out of order, one that fills a gap, the SYN.

use crate::TcpOptions;
use crate::ranges::Ranges;
use crate::segment::{SackBlocks, Segment};
use headway_units::{Bytes, Duration, Ecn, Instant};
use std::ops::Range;

/// A TCP receiver. Driven as a [`crate::Sender`] is. What each segment touches comes first.
#[derive(Debug)]
#[repr(C)]
pub struct Sink {
    /// The next number in order (`next_`).
    next: u64,
    window: u64,
    last_acked: u64,
    to_echo: Instant,
    /// Received out of order.
    beyond: Ranges,
    received: u64,
    payload: u64,
    wire_bytes: u64,
    delay: Option<Duration>,
    ack_size: u32,
    quick: u32,
    quick_after_gap: u32,
    sack_block_size: u32,
    sack_blocks: usize,
    congestion_seen: bool,
    delay_duplicates: bool,
    /// What a call has made to be sent: one at most, and it is polled for before the next call.
    out: Option<Segment>,

    /// A segment whose acknowledgement waits, until when.
    waiting: Option<(Segment, Instant)>,
    /// The blocks of earlier acknowledgements, most recent first. They are reported again as they were, as long as
    /// none covers them: an acknowledgement may thus name what its own number covers already, as in ns-2.
    history: [Option<(u64, u64)>; SackBlocks::MAX],
    duplicates: u64,
}

impl Sink {
    /// A sink that has received nothing.
    #[must_use]
    pub fn new(options: &TcpOptions) -> Self {
        let rules = &options.rules;
        Self {
            ack_size: rules.ack_size.count() as u32,
            sack_block_size: rules.sack_block_size.count() as u32,
            sack_blocks: usize::from(rules.sack_blocks).min(SackBlocks::MAX),
            payload: rules.payload().count(),
            window: rules.segments(rules.window),
            delay: rules.delayed_ack,
            delay_duplicates: rules.delay_duplicates,
            quick: rules.quick_acks,
            quick_after_gap: rules.quick_acks_after_gap,
            next: 0,
            beyond: Ranges::default(),
            history: [None; SackBlocks::MAX],
            last_acked: 0,
            to_echo: Instant::ZERO,
            congestion_seen: false,
            waiting: None,
            out: None,
            received: 0,
            duplicates: 0,
            wire_bytes: 0,
        }
    }

    /// A segment has arrived. Acknowledgements, and numbers beyond the window, are ignored.
    pub fn handle(&mut self, now: Instant, segment: &Segment) {
        if segment.is_ack || segment.seq >= self.next.saturating_add(self.window) {
            return;
        }
        let seq = segment.seq;
        self.wire_bytes += u64::from(segment.size);
        // RFC 7323 section 4.3: echo the segment that the last acknowledgement waits for, not one that is ahead.
        if segment.sent >= self.to_echo && seq <= self.last_acked {
            self.to_echo = segment.sent;
        }
        let had_gap = !self.beyond.is_empty();
        let duplicate = seq < self.next || self.beyond.holding(seq).is_some();
        if duplicate {
            self.duplicates += 1;
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

        let Some(delay) = self.delay else {
            self.acknowledge(now, segment);
            return;
        };
        // In order means: the last segment in order is this one; for ns-2 even if it came before.
        let in_order = seq + 1 == self.next && self.beyond.is_empty() && (!duplicate || self.delay_duplicates);
        if !in_order {
            self.quick = self.quick.max(self.quick_after_gap);
        }
        if in_order && self.waiting.is_none() && seq != 0 && self.quick == 0 {
            self.waiting = Some((*segment, now + delay));
            return;
        }
        self.quick = self.quick.saturating_sub(u32::from(seq != 0));
        self.acknowledge(now, segment);
    }

    /// The instant of [`Sink::poll_timeout`] has come: the delayed acknowledgement is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        if let Some((segment, due)) = self.waiting
            && due <= now
        {
            self.acknowledge(now, &segment);
        }
    }

    /// When to call [`Sink::handle_timeout`], unless something else happens before.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.waiting.map(|(_, due)| due)
    }

    /// The next acknowledgement to send now, if any.
    pub fn poll_transmit(&mut self, _now: Instant) -> Option<Segment> {
        self.out.take()
    }

    /// Data segments received, each number once, without the SYN.
    #[must_use]
    pub fn received_segments(&self) -> u64 {
        self.received
    }
    /// Their payload: goodput, even if a gap still holds it back.
    #[must_use]
    pub fn received_payload(&self) -> Bytes {
        Bytes::new(self.received * self.payload)
    }
    /// Bytes on the wire of all that arrived: SYN, duplicates and headers included.
    #[must_use]
    pub fn received_wire_bytes(&self) -> Bytes {
        Bytes::new(self.wire_bytes)
    }
    /// Segments that had arrived before.
    #[must_use]
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }
    /// The next number that is waited for.
    #[must_use]
    pub fn next_expected(&self) -> u64 {
        self.next
    }

    /// Answers `segment`, and with it the one that was waiting.
    fn acknowledge(&mut self, now: Instant, segment: &Segment) {
        let waiting = self.waiting.take().map(|(segment, _)| segment);
        let both = [Some(segment), waiting.as_ref()];
        let any = |test: fn(&Segment) -> bool| both.iter().flatten().any(|segment| test(segment));
        if any(|segment| segment.cwr) {
            self.congestion_seen = false;
        }
        if any(|segment| segment.ecn == Ecn::Ce) {
            self.congestion_seen = true;
        }
        // On the SYN, ECE asks whether this side speaks ECN (RFC 3168 section 6.1.1).
        let grants = any(|segment| segment.ece && !segment.ecn.is_capable());
        let ece = grants || (self.congestion_seen && any(|segment| segment.ecn.is_capable()));
        let sack = self.report(segment.seq);
        self.last_acked = self.next;
        self.out = Some(Segment {
            seq: self.next,
            sent: now,
            echo: self.to_echo,
            size: self.ack_size + self.sack_block_size * sack.len() as u32,
            sack,
            ecn: Ecn::NotEct,
            is_ack: true,
            ece,
            cwr: false,
            retransmission: false,
        });
    }

    /// SACK blocks (RFC 2018 section 4): first the one that holds `latest`, then those of earlier acknowledgements.
    fn report(&mut self, latest: u64) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        if self.sack_blocks == 0 {
            return blocks;
        }
        let Some(highest) = self.beyond.end() else {
            self.history = [None; SackBlocks::MAX];
            return blocks;
        };
        let current = self.beyond.holding(latest);
        // A segment below the number acknowledged reports nothing of itself, but what it filled covers older blocks.
        let Range { start, end } = current.clone().unwrap_or(0..self.next);
        if let Some(current) = &current {
            blocks.push(current.clone());
        }
        let mut kept = [None; SackBlocks::MAX];
        let mut keep = current.iter().map(|block| (block.start, block.end)).chain(
            self.history.into_iter().flatten().filter(|old| old.1 <= highest && !(start <= old.0 && end >= old.1)),
        );
        for slot in kept.iter_mut().take(self.sack_blocks) {
            *slot = keep.next();
        }
        for (start, end) in kept.into_iter().flatten().skip(usize::from(current.is_some())) {
            blocks.push(start..end);
        }
        self.history = kept;
        blocks
    }
}
