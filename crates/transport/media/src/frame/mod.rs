//! Frames: what a receiver plays as one, in as many packets as it takes.
//!
//! [`Framing`] numbers the packets where a frame is cut, [`MediaHeader`] is those numbers as bytes in front of a datagram's data, and
//! [`Reassembly`] makes frames of the packets that come.

mod header;
mod reassembly;

pub use header::{HeaderError, MediaHeader};
pub use reassembly::{Inserted, Reassembly, ReassemblyOptions};

use headway_units::MediaKind;

/// Which packet of which frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fragment {
    /// The frame's number, counted from 0 in its flow and among those of its [`MediaKind`]; behind 2^32 - 1 comes 0.
    pub frame: u32,
    /// The packet's place in its frame, from 0.
    pub index: u16,
    /// Whether it is the last packet of its frame.
    pub last: bool,
}

impl Fragment {
    /// Whether the packet is its frame by itself.
    #[inline]
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.index == 0 && self.last
    }
}

/// Numbers the packets of one flow. Frames of different kinds may be written by turns, packet by packet; those of one kind follow one
/// another.
#[derive(Clone, Debug, Default)]
pub struct Framing {
    /// Of each kind, the frame and the place of the packet that comes next.
    next: [(u32, u16); MediaKind::ALL.len()],
}

impl Framing {
    /// The numbers of the next packet of this kind, which ends its frame or leaves it open. A frame of more packets than there are places,
    /// 65,536, is cut into frames of so many.
    #[inline]
    pub const fn number(&mut self, kind: MediaKind, ends_frame: bool) -> Fragment {
        let next = &mut self.next[kind as usize];
        let (frame, index) = *next;
        let last = ends_frame || index == u16::MAX;
        *next = if last { (frame.wrapping_add(1), 0) } else { (frame, index + 1) };
        Fragment { frame, index, last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(framing: &mut Framing, kind: MediaKind, ends_frame: bool) -> (u32, u16, bool) {
        let Fragment { frame, index, last } = framing.number(kind, ends_frame);
        (frame, index, last)
    }

    /// Sound in the middle of a picture belongs to no picture.
    #[test]
    fn each_kind_counts_for_itself() {
        let mut framing = Framing::default();
        assert_eq!(numbers(&mut framing, MediaKind::Video, false), (0, 0, false));
        assert_eq!(numbers(&mut framing, MediaKind::Audio, true), (0, 0, true));
        assert_eq!(numbers(&mut framing, MediaKind::Video, false), (0, 1, false));
        assert_eq!(numbers(&mut framing, MediaKind::Audio, true), (1, 0, true));
        assert_eq!(numbers(&mut framing, MediaKind::Video, true), (0, 2, true));
        assert_eq!(numbers(&mut framing, MediaKind::Video, true), (1, 0, true));
    }

    #[test]
    fn frames_are_counted_in_a_circle() {
        let mut framing = Framing { next: [(u32::MAX, 0); 6] };
        assert_eq!(numbers(&mut framing, MediaKind::VideoI, false), (u32::MAX, 0, false));
        assert_eq!(numbers(&mut framing, MediaKind::VideoI, true), (u32::MAX, 1, true));
        assert_eq!(numbers(&mut framing, MediaKind::VideoI, true), (0, 0, true));
    }

    /// The place is two bytes on the wire.
    #[test]
    fn a_frame_has_at_most_65536_packets() {
        let mut framing = Framing::default();
        let all: Vec<_> = (0..=65_536).map(|_| numbers(&mut framing, MediaKind::Data, false)).collect();
        assert_eq!(all[65_534..], [(0, 65_534, false), (0, 65_535, true), (1, 0, false)]);
    }
}
