//! The receiver's record of one stream.

use super::CcfbBlock;
use crate::report::ArrivalWindow;
use headway_units::{Ecn, Instant};

/// Arrivals of one RTP stream, from which its blocks are made (RFC 8888 section 3.1).
///
/// - Each block covers the latest `window` sequence numbers up to the greatest one received, or fewer at the start. A
///   packet is therefore in several blocks, and a lost feedback packet costs nothing that a later one repeats.
/// - If a packet arrives several times, the first arrival is reported. If one of the copies is marked CE, CE is
///   reported.
/// - A packet older than the window is not recorded.
/// - Sequence numbers are extended to the one nearest to the greatest number received, so that they may wrap.
#[derive(Clone, Debug)]
pub struct CcfbLog {
    ssrc: u32,
    window: ArrivalWindow,
}

impl CcfbLog {
    /// Creates the record of a stream. `window` is limited to 1 to [`CcfbBlock::MAX_PACKETS`] packets.
    #[must_use]
    pub fn new(ssrc: u32, window: usize) -> Self {
        Self { ssrc, window: ArrivalWindow::new(window.clamp(1, CcfbBlock::MAX_PACKETS)) }
    }

    /// Records an arrival of the packet with this RTP sequence number. Returns whether it is the first copy, and not
    /// older than the window of numbers.
    pub fn on_packet(&mut self, sequence: u16, at: Instant, ecn: Ecn) -> bool {
        // The first number is extended above 2^16, so that earlier numbers are positive.
        let near = self.window.greatest().unwrap_or((1 << 16) | u64::from(sequence));
        let number = near.saturating_add_signed(sequence.wrapping_sub(near as u16).cast_signed().into());
        self.window.insert(at, number, ecn)
    }

    /// Returns the greatest sequence number received, extended to 64 bits: the first number plus 2^16, and upwards.
    /// `None` before the first packet.
    #[must_use]
    pub fn greatest(&self) -> Option<u64> {
        self.window.greatest()
    }

    /// Returns the block for a report with the timestamp `now`, with at most the newest `packets` packets; `None` before
    /// the first packet.
    #[must_use]
    pub fn block(&self, now: Instant, packets: usize) -> Option<CcfbBlock> {
        let greatest = self.window.greatest()?;
        let mut arrivals: Vec<_> = self.window.states(now).take(packets).collect();
        arrivals.reverse();
        let begin_seq = (greatest as u16).wrapping_sub(arrivals.len() as u16).wrapping_add(1);
        Some(CcfbBlock { ssrc: self.ssrc, begin_seq, arrivals })
    }
}
