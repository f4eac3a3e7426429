//! Splits a frame into packets by the application: full packets, then the remainder.

use crate::Write;
use crate::write::Sizes;
use headway_units::Bytes;

/// Splitter of one frame at a time, whose packets are written at the same time.
#[derive(Debug)]
pub(super) struct Packets {
    sizes: Sizes,
    largest: Bytes,
    left: u64,
    /// Fields common to all packets of the frame.
    frame: Option<Write>,
}

impl Packets {
    /// Creates a splitter into packets of at most `largest`, at least 1 B.
    pub(super) const fn new(sizes: Sizes, largest: Bytes) -> Self {
        Self { sizes, largest, left: 0, frame: None }
    }

    /// Starts the next frame. Its packets have the fields of `frame`, except for the sizes. The previous frame must be
    /// finished.
    pub(super) const fn begin(&mut self, bytes: Bytes, frame: Write) {
        (self.left, self.frame) = (bytes.count(), Some(frame));
    }

    /// Returns the next packet of the frame without removing it.
    pub(super) fn peek(&self) -> Option<Write> {
        let size = self.left.min(self.largest.count());
        let frame = self.frame.filter(|_| size > 0)?;
        let rest = self.sizes.write_size(Bytes::new(self.left - size));
        Some(Write { size: self.sizes.write_size(Bytes::new(size)), rest, ..frame })
    }

    /// Returns the next packet of the frame; `None` if it is finished.
    pub(super) fn next(&mut self) -> Option<Write> {
        let write = self.peek();
        self.left = self.left.saturating_sub(self.largest.count());
        write
    }
}

/// Returns the number of packets of at most `largest` for a frame.
pub(super) const fn count(frame: u64, largest: Bytes) -> u64 {
    if largest.count() == 0 { 0 } else { frame.div_ceil(largest.count()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::{Instant, MediaKind};
    use proptest::prelude::*;

    fn cut(frame: u64, largest: u64) -> Vec<u64> {
        let mut packets = Packets::new(Sizes::Payload, Bytes::new(largest));
        let size = Sizes::Payload.write_size(Bytes::new(0));
        let (kind, created) = (MediaKind::Video, Instant::from_secs(3));
        packets.begin(Bytes::new(frame), Write { size, kind, priority: 1, created, expires: None, rest: size });
        let packets: Vec<(u64, bool)> = std::iter::from_fn(|| {
            let peeked = packets.peek();
            let write = packets.next();
            assert_eq!(peeked, write);
            write.map(|write| (write.size.payload(Bytes::new(28)).count(), write.ends_frame(Bytes::new(28))))
        })
        .collect();
        let ends: Vec<bool> = packets.iter().map(|packet| packet.1).collect();
        assert_eq!(ends.iter().position(|ends| *ends), Some(ends.len() - 1), "only the last ends the frame");
        packets.into_iter().map(|packet| packet.0).collect()
    }

    /// The packets of at most 1026 B of the SFDPS paper (section 4.1), computed by hand.
    #[test]
    fn full_packets_then_the_remainder() {
        for (frame, packets) in [
            (1, &[1][..]),
            (475, &[475]),
            (1026, &[1026]),
            (1027, &[1026, 1]),
            (2052, &[1026, 1026]),
            (4450, &[1026, 1026, 1026, 1026, 346]),
            (5130, &[1026, 1026, 1026, 1026, 1026]),
            (6450, &[1026, 1026, 1026, 1026, 1026, 1026, 294]),
        ] {
            assert_eq!(cut(frame, 1026), packets);
        }
    }

    proptest! {
        #[test]
        fn every_byte_is_in_one_packet(frame in 1u64..100_000, largest in 1u64..100_000) {
            let packets = cut(frame, largest);
            prop_assert_eq!(packets.iter().sum::<u64>(), frame);
            prop_assert!(packets.iter().all(|&packet| packet > 0 && packet <= largest));
            prop_assert!(packets[..packets.len() - 1].iter().all(|&packet| packet == largest));
            prop_assert_eq!(packets.len() as u64, count(frame, Bytes::new(largest)));
        }
    }
}
