//! The receiver's record of one stream.

use super::{CcfbBlock, TimedArrival};
use headway_units::{Ecn, Instant};
use std::collections::VecDeque;

/// First copy of a packet.
#[derive(Clone, Copy, Debug)]
struct Copy {
    at: Instant,
    ecn: Ecn,
}

/// Arrivals of one RTP stream, from which its blocks are made (RFC 8888 section 3.1).
///
/// - Each block covers the latest `window` sequence numbers up to the greatest one received, or fewer at the start. A
///   packet is therefore in several blocks, and a lost feedback packet costs nothing that a later one repeats.
/// - Of several copies of a packet, the first arrival is reported. If one of them is marked CE, CE is reported.
/// - A packet older than the window is not recorded.
/// - Sequence numbers are extended to the one nearest to the greatest number received, so that they may wrap.
#[derive(Clone, Debug)]
pub struct CcfbLog {
    ssrc: u32,
    window: usize,
    /// Extended sequence number of the last entry of `copies`.
    greatest: u64,
    /// Packets in the order of sequence numbers, at most `window`.
    copies: VecDeque<Option<Copy>>,
}

impl CcfbLog {
    /// Creates the record of a stream. `window` is limited to 1 to [`CcfbBlock::MAX_PACKETS`] packets.
    #[must_use]
    pub fn new(ssrc: u32, window: usize) -> Self {
        Self { ssrc, window: window.clamp(1, CcfbBlock::MAX_PACKETS), greatest: 0, copies: VecDeque::new() }
    }

    /// Records an arrival of the packet with this RTP sequence number. Returns whether it is the first copy within the
    /// window.
    pub fn on_packet(&mut self, sequence: u16, at: Instant, ecn: Ecn) -> bool {
        if self.copies.is_empty() {
            // Numbers before the first one are never negative.
            self.greatest = (1 << 16) + u64::from(sequence);
            self.copies.push_back(Some(Copy { at, ecn }));
            return true;
        }
        let ahead = i64::from(sequence.wrapping_sub(self.greatest as u16).cast_signed());
        if ahead > 0 {
            self.advance(ahead.unsigned_abs());
        }
        let behind = usize::try_from(ahead.min(0).unsigned_abs()).unwrap_or(usize::MAX);
        // Packets before the first one may still arrive.
        while self.copies.len() <= behind && self.copies.len() < self.window {
            self.copies.push_front(None);
        }
        let Some(copy) = self.copies.len().checked_sub(behind + 1).and_then(|index| self.copies.get_mut(index)) else {
            return false;
        };
        match copy {
            Some(first) => {
                if ecn == Ecn::Ce {
                    first.ecn = Ecn::Ce;
                }
                false
            }
            None => {
                *copy = Some(Copy { at, ecn });
                true
            }
        }
    }

    /// Extends the window by `packets` that have not arrived.
    fn advance(&mut self, packets: u64) {
        self.greatest += packets;
        let new = usize::try_from(packets).unwrap_or(usize::MAX).min(self.window);
        let excess = (self.copies.len() + new).saturating_sub(self.window);
        self.copies.drain(..excess);
        self.copies.extend(std::iter::repeat_n(None, new));
    }

    /// Returns the block for a report with the timestamp `now`; `None` before the first packet.
    #[must_use]
    pub fn block(&self, now: Instant) -> Option<CcfbBlock> {
        let before_greatest = (self.copies.len() as u64).checked_sub(1)?;
        let arrivals = self.copies.iter().map(|copy| {
            copy.map_or(TimedArrival::NotReceived, |Copy { at, ecn }| TimedArrival::Received {
                ecn,
                // After the timestamp, the arrival time is stated as unknown.
                before: (at <= now).then(|| now.since(at)),
            })
        });
        let begin_seq = (self.greatest - before_greatest) as u16;
        Some(CcfbBlock { ssrc: self.ssrc, begin_seq, arrivals: arrivals.collect() })
    }
}
