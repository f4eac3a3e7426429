//! A flow's frames at its receiving end.

use crate::packet::Data;
use headway_media::{Fragment, Inserted, Reassembly, ReassemblyOptions};
use headway_record::WrittenFrame;
use headway_units::MediaKind;

/// More than any receiver would keep: what is measured is the network. Each packet of a frame takes 24 bytes.
const KEPT: ReassemblyOptions = ReassemblyOptions { frames: 256, bytes: 8 << 20 };

/// Makes frames of the packets that come, of each kind for itself.
#[derive(Debug)]
pub struct Frames {
    kinds: [Reassembly<WrittenFrame>; MediaKind::ALL.len()],
}

impl Default for Frames {
    fn default() -> Self {
        Self { kinds: MediaKind::ALL.map(|_| Reassembly::new(KEPT)) }
    }
}

impl Frames {
    /// Data have come to the application; the frame that they complete, if they do.
    #[inline]
    pub fn insert(&mut self, data: &Data) -> Option<WrittenFrame> {
        self.insert_fragment(data.fragment?, data.frame())
    }

    /// Adds a packet of a frame; returns the frame if the packet completes it.
    #[inline]
    pub fn insert_fragment(&mut self, fragment: Fragment, frame: WrittenFrame) -> Option<WrittenFrame> {
        let frames = &mut self.kinds[frame.kind as usize];
        if fragment.is_whole() {
            return frames.insert_whole(fragment.frame).then_some(frame);
        }
        Self::insert_part(frames, fragment, frame)
    }

    /// A frame is what its first packet was.
    #[inline(never)]
    fn insert_part(
        frames: &mut Reassembly<WrittenFrame>,
        fragment: Fragment,
        frame: WrittenFrame,
    ) -> Option<WrittenFrame> {
        let complete = frames.insert(fragment, 0, frame) == Inserted::Complete;
        if complete { frames.take().next() } else { None }
    }
}
