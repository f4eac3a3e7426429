//! A flow's frames at its receiving end.

use crate::packet::Data;
use headway_media::{Inserted, Reassembly, ReassemblyOptions};
use headway_record::WrittenFrame;
use headway_units::MediaKind;

/// More than any receiver would keep: what is measured is the network. Each packet of a frame takes 24 bytes.
const KEPT: ReassemblyOptions = ReassemblyOptions { frames: 256, bytes: 8 << 20 };

/// Makes frames of the packets that come, of each kind for itself.
#[derive(Debug)]
pub(crate) struct Frames {
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
    pub(crate) fn insert(&mut self, data: &Data) -> Option<WrittenFrame> {
        let frames = &mut self.kinds[data.kind as usize];
        let complete = frames.insert(data.fragment?, 0, data.frame()) == Inserted::Complete;
        // A frame is what its first packet was.
        if complete { frames.take().next() } else { None }
    }
}
