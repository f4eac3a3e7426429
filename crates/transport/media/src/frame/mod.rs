//! Frames: units that a receiver plays, in one or more packets.
//!
//! [`Framing`] numbers the packets of a split frame, [`MediaHeader`] encodes the numbers in front of the data of a
//! datagram, and [`Reassembly`] reassembles frames from received packets.

mod header;
mod reassembly;

pub use header::{HeaderError, MediaHeader};
pub use reassembly::{Inserted, Reassembly, ReassemblyOptions};

use headway_units::MediaKind;

/// Media frame of a packet, and position of the packet in that frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fragment {
    /// Frame number, from 0 per flow and [`MediaKind`]; wraps after 2^32 - 1.
    pub frame: u32,
    /// Index of the packet in its frame, from 0.
    pub index: u16,
    /// Whether it is the last packet of its frame.
    pub last: bool,
}

impl Fragment {
    /// Returns whether the packet is a complete frame.
    #[inline]
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.index == 0 && self.last
    }
}

/// Numbers the frames of a flow and the packets in each frame. Frames of different media kinds may be interleaved; the
/// packets of one kind belong to one frame after another.
#[derive(Clone, Debug, Default)]
pub struct Framing {
    /// Frame and index of the next packet, for each kind.
    next: [(u32, u16); MediaKind::ALL.len()],
}

impl Framing {
    /// Returns the numbers of the next packet of this kind. A frame of more than 65,536 packets is split into several
    /// frames.
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

    /// An audio packet between the packets of a video frame is not part of that frame.
    #[test]
    fn each_kind_is_numbered_separately() {
        let mut framing = Framing::default();
        assert_eq!(numbers(&mut framing, MediaKind::Video, false), (0, 0, false));
        assert_eq!(numbers(&mut framing, MediaKind::Audio, true), (0, 0, true));
        assert_eq!(numbers(&mut framing, MediaKind::Video, false), (0, 1, false));
        assert_eq!(numbers(&mut framing, MediaKind::Audio, true), (1, 0, true));
        assert_eq!(numbers(&mut framing, MediaKind::Video, true), (0, 2, true));
        assert_eq!(numbers(&mut framing, MediaKind::Video, true), (1, 0, true));
    }

    #[test]
    fn frame_numbers_wrap() {
        let mut framing = Framing { next: [(u32::MAX, 0); 6] };
        assert_eq!(numbers(&mut framing, MediaKind::VideoI, false), (u32::MAX, 0, false));
        assert_eq!(numbers(&mut framing, MediaKind::VideoI, true), (u32::MAX, 1, true));
        assert_eq!(numbers(&mut framing, MediaKind::VideoI, true), (0, 0, true));
    }

    /// The index has two bytes on the wire.
    #[test]
    fn a_frame_has_at_most_65536_packets() {
        let mut framing = Framing::default();
        let all: Vec<_> = (0..=65_536).map(|_| numbers(&mut framing, MediaKind::Data, false)).collect();
        assert_eq!(all[65_534..], [(0, 65_534, false), (0, 65_535, true), (1, 0, false)]);
    }
}
