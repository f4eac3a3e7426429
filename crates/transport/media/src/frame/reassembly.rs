//! Making frames of the packets that come.

use super::Fragment;
use std::cmp::Reverse;
use std::collections::VecDeque;

/// So many frames back from the newest it is known which are closed: complete, or given up. What belongs to an older one is refused.
const WINDOW: u32 = 4096;
/// Room that is kept for frames to come: for so many at most, of so many packets at most.
const SPARE: usize = 8;
const SPARE_PACKETS: usize = 256;

type Window = [u64; (WINDOW / 64) as usize];

/// How much a [`Reassembly`] keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReassemblyOptions {
    /// Frames that lack packets, at most; at least 1.
    pub frames: usize,
    /// What these hold in bytes, at most: sizes as [`Reassembly::insert`] is told them, and for each packet up to the last one that has
    /// come the place that it takes.
    pub bytes: usize,
}

impl Default for ReassemblyOptions {
    /// 64 frames and 4 MiB: seconds of video.
    fn default() -> Self {
        Self { frames: 64, bytes: 4 << 20 }
    }
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// Its frame is complete: [`Reassembly::take`] hands it out.
    Complete,
    /// It is kept. Its frame lacks others.
    Kept,
    /// It is dropped: a copy, a packet of a frame that was complete or given up, or is too old to know, one that contradicts what came
    /// before of its frame, or one that there is no room for.
    Refused,
}

/// Makes frames of packets that come in any order, several times, or not at all. One is for the frames of one flow and one kind.
///
/// A frame is complete when each of its packets has come, and is so once: a copy that comes later makes no second one. Frames are handed
/// out as they become complete, which need not be their order. Where there is no room the oldest frame that lacks packets is given up.
/// Numbers go in a circle: a frame is newer than another if it is less than 2^31 ahead of it (RFC 1982). Who may invent packets may close frames, so
/// that their origin is for the transport to check.
///
/// ```
/// use headway_media::{Fragment, Inserted, Reassembly, ReassemblyOptions};
///
/// let mut frames = Reassembly::new(ReassemblyOptions::default());
/// let packet = |index, last| Fragment { frame: 0, index, last };
/// assert_eq!(frames.insert(packet(2, true), 1, "c"), Inserted::Kept);
/// assert_eq!(frames.insert(packet(0, false), 1, "a"), Inserted::Kept);
/// assert_eq!(frames.insert(packet(0, false), 1, "a"), Inserted::Refused);
/// assert_eq!(frames.insert(packet(1, false), 1, "b"), Inserted::Complete);
/// assert_eq!(frames.take().collect::<String>(), "abc");
/// ```
#[derive(Debug)]
pub struct Reassembly<T> {
    options: ReassemblyOptions,
    /// The newest frame of which anything has come.
    newest: u32,
    /// A bit for each frame of the window, by its number modulo the window; none before the first packet.
    closed: Option<Box<Window>>,
    /// Those that lack packets, the oldest first.
    open: VecDeque<Open<T>>,
    /// What these hold.
    bytes: usize,
    /// Of the frame that was complete last.
    complete: Vec<Option<T>>,
    spare: Vec<Vec<Option<T>>>,
}

/// A frame that lacks packets.
#[derive(Debug)]
struct Open<T> {
    frame: u32,
    /// By their places, as far as the last one that has come.
    packets: Vec<Option<T>>,
    came: usize,
    /// How many there are, once that is known.
    of: Option<usize>,
    bytes: usize,
}

impl<T> Reassembly<T> {
    /// One to which nothing has come.
    #[must_use]
    pub const fn new(options: ReassemblyOptions) -> Self {
        Self {
            options,
            newest: 0,
            closed: None,
            open: VecDeque::new(),
            bytes: 0,
            complete: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// A packet has come, whose payload takes `size` bytes.
    #[inline]
    pub fn insert(&mut self, fragment: Fragment, size: usize, payload: T) -> Inserted {
        if fragment.is_whole() {
            if !self.insert_whole(fragment.frame) {
                return Inserted::Refused;
            }
            self.complete.clear();
            self.complete.push(Some(payload));
            return Inserted::Complete;
        }
        if !self.is_awaited(fragment.frame) {
            return Inserted::Refused;
        }
        self.insert_part(fragment, size, payload)
    }

    /// A packet has come that is this frame by itself, [`Fragment::is_whole`]; whether it completes the frame. As [`insert`](Self::insert), but the
    /// payload stays where it is.
    #[inline]
    pub fn insert_whole(&mut self, frame: u32) -> bool {
        let completes = self.is_awaited(frame) && (self.open.is_empty() || self.find(frame).is_err());
        if completes {
            self.close(frame);
        }
        completes
    }

    /// The payloads of the frame that was complete last, in their order; nothing if they were taken. The frame that is complete next takes
    /// their place.
    pub fn take(&mut self) -> impl Iterator<Item = T> {
        self.complete.drain(..).flatten()
    }

    /// How many frames lack packets of those that came.
    #[must_use]
    pub fn open_frames(&self) -> usize {
        self.open.len()
    }

    /// What these hold, as [`ReassemblyOptions::bytes`] counts it.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether packets of this frame are wanted. A newer one than all moves the window on.
    #[inline]
    fn is_awaited(&mut self, frame: u32) -> bool {
        if self.closed.is_none() {
            self.newest = frame;
        }
        let word = *self.word(frame);
        let ahead = frame.wrapping_sub(self.newest).cast_signed();
        if ahead > 0 {
            self.move_on(ahead.cast_unsigned());
            return true;
        }
        ahead.unsigned_abs() < WINDOW && word & bit(frame) == 0
    }

    #[inline]
    fn word(&mut self, frame: u32) -> &mut u64 {
        let window = self.closed.get_or_insert_with(|| Box::new([0; (WINDOW / 64) as usize]));
        &mut window[(frame % WINDOW / 64) as usize]
    }

    #[inline]
    fn close(&mut self, frame: u32) {
        *self.word(frame) |= bit(frame);
    }

    #[inline]
    fn move_on(&mut self, ahead: u32) {
        for _ in 0..ahead.min(WINDOW) {
            self.newest = self.newest.wrapping_add(1);
            let newest = self.newest;
            *self.word(newest) &= !bit(newest);
        }
        self.newest = self.newest.wrapping_add(ahead.saturating_sub(WINDOW));
        while self.open.front().is_some_and(|oldest| self.newest.wrapping_sub(oldest.frame) >= WINDOW) {
            self.give_up_oldest();
        }
    }

    /// Where the frame is among those that are open, or would be.
    #[inline]
    fn find(&self, frame: u32) -> Result<usize, usize> {
        let age = |frame: u32| Reverse(self.newest.wrapping_sub(frame));
        self.open.binary_search_by_key(&age(frame), |open| age(open.frame))
    }

    /// A packet of a frame that takes several, or of one that claims so.
    fn insert_part(&mut self, Fragment { frame, index, last }: Fragment, size: usize, payload: T) -> Inserted {
        let index = usize::from(index);
        let found = self.find(frame).unwrap_or_else(|place| {
            let packets = self.spare.pop().unwrap_or_default();
            self.open.insert(place, Open { frame, packets, came: 0, of: None, bytes: 0 });
            place
        });
        let Some(open) = self.open.get_mut(found) else { return Inserted::Refused };
        let too_far = open.of.is_some_and(|of| index >= of || last && index + 1 != of);
        if too_far || last && open.packets.len() > index + 1 || open.packets.get(index).is_some_and(Option::is_some) {
            return Inserted::Refused;
        }
        let places = (index + 1).saturating_sub(open.packets.len());
        let more = places.saturating_mul(size_of::<Option<T>>()).saturating_add(size);
        if open.bytes.saturating_add(more) > self.options.bytes {
            // It would not fit if it were alone.
            self.give_up(found);
            return Inserted::Refused;
        }
        if places > 0 {
            open.packets.resize_with(index + 1, || None);
        }
        if let Some(place) = open.packets.get_mut(index) {
            *place = Some(payload);
        }
        open.came += 1;
        open.bytes += more;
        self.bytes += more;
        if last {
            open.of = Some(index + 1);
        }
        if open.of == Some(open.came) {
            self.complete_frame(found);
            return Inserted::Complete;
        }
        while self.open.len() > self.options.frames.max(1) || self.bytes > self.options.bytes {
            self.give_up_oldest();
        }
        if self.find(frame).is_ok() { Inserted::Kept } else { Inserted::Refused }
    }

    fn complete_frame(&mut self, place: usize) {
        let Some(open) = self.open.remove(place) else { return };
        self.bytes -= open.bytes;
        self.close(open.frame);
        let before = std::mem::replace(&mut self.complete, open.packets);
        self.keep_spare(before);
    }

    fn give_up_oldest(&mut self) {
        self.give_up(0);
    }

    fn give_up(&mut self, place: usize) {
        let Some(open) = self.open.remove(place) else { return };
        self.bytes -= open.bytes;
        // Behind the window its bit is another frame's.
        if self.newest.wrapping_sub(open.frame) < WINDOW {
            self.close(open.frame);
        }
        self.keep_spare(open.packets);
    }

    fn keep_spare(&mut self, mut packets: Vec<Option<T>>) {
        packets.clear();
        if self.spare.len() < SPARE && packets.capacity() <= SPARE_PACKETS {
            self.spare.push(packets);
        }
    }
}

#[inline]
const fn bit(frame: u32) -> u64 {
    1 << (frame % 64)
}
