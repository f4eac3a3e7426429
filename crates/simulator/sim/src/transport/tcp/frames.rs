//! Frames in a stream of segments, which say of no frame: one is complete when all before its end have come in order.

use headway_record::WrittenFrame;
use headway_units::MediaKind;
use std::collections::VecDeque;

/// Frames that are waited for, at most. What is written behind so many, for a network that never keeps up, is never complete.
const MOST: usize = 1 << 20;

/// The frames that were written and are not complete.
#[derive(Debug, Default)]
pub(super) struct StreamFrames {
    /// Segments of data so far.
    written: u64,
    /// Of each kind the frame that is begun and has not ended.
    begun: [Option<WrittenFrame>; MediaKind::ALL.len()],
    /// The last segment of each frame that has ended, counted from 1.
    ends: VecDeque<(u64, WrittenFrame)>,
}

impl StreamFrames {
    /// So many segments were written, of this frame or another of its kind that is begun. Returns whether it begins with them.
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
            if self.ends.len() < MOST {
                self.ends.push_back((self.written, frame));
            }
        }
        begins
    }

    /// The next frame that is complete, where all segments before this one have come.
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

    /// A picture in two writes with sound between them is complete behind the sound, and was created when it began.
    #[test]
    fn a_frame_is_complete_behind_its_last_segment() {
        let mut frames = StreamFrames::default();
        let [picture, sound] = [frame(MediaKind::Video, 1), frame(MediaKind::Audio, 2)];
        assert!(frames.write(3, picture, false));
        assert!(frames.write(1, sound, true));
        assert!(!frames.write(2, frame(MediaKind::Video, 3), true));
        assert!(!frames.write(0, frame(MediaKind::Video, 4), true), "what is empty is no frame");
        // Numbers 1 to 3, 4, and 5 to 6.
        assert_eq!(frames.poll_complete(4), None);
        assert_eq!((frames.poll_complete(5), frames.poll_complete(5)), (Some(sound), None));
        assert_eq!(frames.poll_complete(6), None);
        assert_eq!((frames.poll_complete(7), frames.poll_complete(7)), (Some(picture), None));
    }

    /// What fills a gap may complete several.
    #[test]
    fn frames_are_complete_in_the_order_of_their_ends() {
        let mut frames = StreamFrames::default();
        let all = [1, 2, 3].map(|millis| frame(MediaKind::Data, millis));
        assert!(all.iter().all(|frame| frames.write(2, *frame, true)));
        let complete: Vec<_> = std::iter::from_fn(|| frames.poll_complete(6)).collect();
        assert_eq!(complete, all[..2]);
    }
}
