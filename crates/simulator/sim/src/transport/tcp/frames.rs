//! Frames in a stream of segments: a frame is complete when all data up to its end have arrived in order.

use headway_record::WrittenFrame;
use headway_units::MediaKind;
use std::collections::VecDeque;

/// Maximum number of incomplete frames. Further frames, on a network that never keeps up, never complete.
const MAX_FRAMES: usize = 1 << 20;

/// Frames that are written and not complete.
#[derive(Debug, Default)]
pub(super) struct StreamFrames {
    /// Number of segments written so far.
    written: u64,
    /// Unfinished frame of each kind of media.
    begun: [Option<WrittenFrame>; MediaKind::ALL.len()],
    /// Last segment of each finished frame, counted from 1.
    ends: VecDeque<(u64, WrittenFrame)>,
}

impl StreamFrames {
    /// Adds segments of this frame, or of the unfinished frame of its kind. Returns whether a new frame begins.
    pub(super) fn write(&mut self, segments: u64, frame: WrittenFrame, ends_frame: bool) -> bool {
        if segments == 0 {
            return false;
        }
        self.written += segments;
        let begun = &mut self.begun[frame.kind as usize];
        let begins = begun.is_none();
        let frame = *begun.get_or_insert(frame);
        if ends_frame {
            *begun = None;
            if self.ends.len() < MAX_FRAMES {
                self.ends.push_back((self.written, frame));
            }
        }
        begins
    }

    /// Returns the next frame that is complete once all segments before `next_expected` have arrived.
    #[inline]
    pub(super) fn poll_complete(&mut self, next_expected: u64) -> Option<WrittenFrame> {
        self.ends.pop_front_if(|(last, _)| *last < next_expected).map(|(_, frame)| frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Instant;

    fn frame(kind: MediaKind, millis: u64) -> WrittenFrame {
        WrittenFrame { kind, created: Instant::from_millis(millis), deadline: Instant::FAR_FUTURE }
    }

    /// A video frame in two writes completes after an audio frame between them. It is created by its first write.
    #[test]
    fn a_frame_completes_after_its_last_segment() {
        let mut frames = StreamFrames::default();
        let [picture, sound] = [frame(MediaKind::Video, 1), frame(MediaKind::Audio, 2)];
        assert!(frames.write(3, picture, false));
        assert!(frames.write(1, sound, true));
        assert!(!frames.write(2, frame(MediaKind::Video, 3), true));
        assert!(!frames.write(0, frame(MediaKind::Video, 4), true), "an empty write is not a frame");
        // Segments 1 to 3, 4, and 5 to 6.
        assert_eq!(frames.poll_complete(4), None);
        assert_eq!((frames.poll_complete(5), frames.poll_complete(5)), (Some(sound), None));
        assert_eq!(frames.poll_complete(6), None);
        assert_eq!((frames.poll_complete(7), frames.poll_complete(7)), (Some(picture), None));
    }

    /// A segment that fills a gap may complete several frames.
    #[test]
    fn frames_complete_in_the_order_of_their_ends() {
        let mut frames = StreamFrames::default();
        let all = [1, 2, 3].map(|millis| frame(MediaKind::Data, millis));
        assert!(all.iter().all(|frame| frames.write(2, *frame, true)));
        let complete: Vec<_> = std::iter::from_fn(|| frames.poll_complete(6)).collect();
        assert_eq!(complete, all[..2]);
    }
}
