//! Reassembly of a flow's frames at the receiver.

use crate::packet::Data;
use headway_media::{Fragment, Inserted, Reassembly, ReassemblyOptions};
use headway_record::WrittenFrame;
use headway_units::MediaKind;

/// Limits above those of any receiver, so that the network is measured. Each packet of a frame uses 24 bytes.
const LIMITS: ReassemblyOptions = ReassemblyOptions { frames: 256, bytes: 8 << 20 };

/// Reassembles frames of media from their packets, separately for each kind of media.
#[derive(Debug)]
pub struct Frames {
    kinds: [Reassembly<WrittenFrame>; MediaKind::ALL.len()],
}

impl Default for Frames {
    fn default() -> Self {
        Self { kinds: MediaKind::ALL.map(|_| Reassembly::new(LIMITS)) }
    }
}

impl Frames {
    /// Adds data delivered to the application. Returns the frame if the data completes it.
    #[inline]
    pub fn insert(&mut self, data: &Data) -> Option<WrittenFrame> {
        self.insert_fragment(data.fragment?, data.frame())
    }

    /// Adds a packet of a frame. Returns the frame if the packet completes it.
    #[inline]
    pub fn insert_fragment(&mut self, fragment: Fragment, frame: WrittenFrame) -> Option<WrittenFrame> {
        let frames = &mut self.kinds[frame.kind as usize];
        if fragment.is_whole() {
            return frames.insert_whole(fragment.frame).then_some(frame);
        }
        Self::insert_part(frames, fragment, frame)
    }

    /// The properties of a frame are those of its first packet.
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
