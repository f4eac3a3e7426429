//! Reassembly of frames from packets.

use super::Fragment;
use std::cmp::Reverse;
use std::collections::VecDeque;

/// Number of newest frames whose state, completed or abandoned, is remembered. Packets of older frames are refused.
const WINDOW: u32 = 4096;
/// Maximum number of spare packet lists, and their maximum capacity in packets.
const SPARE: usize = 8;
const SPARE_PACKETS: usize = 256;

type Window = [u64; (WINDOW / 64) as usize];

/// Limits of a [`Reassembly`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReassemblyOptions {
    /// Maximum number of incomplete frames that are kept; 0 counts as 1.
    pub frames: usize,
    /// Maximum memory of incomplete frames, in bytes: the sizes passed to [`Reassembly::insert`], plus in each frame a
    /// slot for each packet up to the last one received.
    pub bytes: usize,
}

impl Default for ReassemblyOptions {
    /// 64 frames and 4 MiB: seconds of video.
    fn default() -> Self {
        Self { frames: 64, bytes: 4 << 20 }
    }
}

/// Result of inserting a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// The packet completed its frame, which is available from [`Reassembly::take`].
    Complete,
    /// The packet is kept; its frame lacks other packets.
    Kept,
    /// The packet is refused. It is a duplicate, belongs to a completed, abandoned or too old frame, contradicts
    /// earlier packets, or exceeds the limits.
    Refused,
}

/// Reassembles the frames of one flow and media kind, despite reordering, duplicates and losses.
///
/// A frame is complete when all its packets have arrived, and only once: late duplicates do not complete it again.
/// Frames are returned in the order of completion. If a limit is exceeded, the oldest incomplete frame is abandoned.
/// Numbers wrap: a frame is newer than another if it is less than 2^31 ahead (RFC 1982). Forged packets may end
/// frames early, so the transport must authenticate them.
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
    /// Newest frame with a packet.
    newest: u32,
    /// One bit for each frame of the window, by number modulo the window: whether it is completed or abandoned. Absent
    /// before the first packet.
    closed: Option<Box<Window>>,
    /// Incomplete frames, oldest first.
    open: VecDeque<Open<T>>,
    /// Memory of incomplete frames, in bytes.
    bytes: usize,
    /// Payloads of the frame completed last.
    complete: Vec<Option<T>>,
    spare: Vec<Vec<Option<T>>>,
}

#[derive(Debug)]
struct Open<T> {
    frame: u32,
    /// Payloads by index, up to the last packet received.
    packets: Vec<Option<T>>,
    received: usize,
    /// Number of packets of the frame, once known.
    total: Option<usize>,
    bytes: usize,
}

impl<T> Reassembly<T> {
    /// Creates an empty reassembly.
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

    /// Inserts a packet whose payload has `size` bytes.
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

    /// Inserts a packet that is a complete frame ([`Fragment::is_whole`]), without its payload. Returns false if
    /// [`insert`](Self::insert) would refuse the packet, such as a duplicate. [`take`](Self::take) does not return it.
    #[inline]
    pub fn insert_whole(&mut self, frame: u32) -> bool {
        let completes = self.is_awaited(frame) && (self.open.is_empty() || self.find(frame).is_err());
        if completes {
            self.close(frame);
        }
        completes
    }

    /// Returns the payloads of the frame completed last, in order; empty if already taken. The next completed frame
    /// replaces them.
    pub fn take(&mut self) -> impl Iterator<Item = T> {
        self.complete.drain(..).flatten()
    }

    /// Returns the number of incomplete frames that are kept.
    #[must_use]
    pub fn open_frames(&self) -> usize {
        self.open.len()
    }

    /// Returns the memory of incomplete frames, as defined by [`ReassemblyOptions::bytes`].
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns whether packets of this frame are accepted. A newer frame advances the window.
    #[inline]
    fn is_awaited(&mut self, frame: u32) -> bool {
        if self.closed.is_none() {
            self.newest = frame;
        }
        let word = *self.word(frame);
        let ahead = frame.wrapping_sub(self.newest).cast_signed();
        if ahead > 0 {
            self.advance(ahead.cast_unsigned());
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
    fn advance(&mut self, ahead: u32) {
        for _ in 0..ahead.min(WINDOW) {
            self.newest = self.newest.wrapping_add(1);
            let newest = self.newest;
            *self.word(newest) &= !bit(newest);
        }
        self.newest = self.newest.wrapping_add(ahead.saturating_sub(WINDOW));
        while self.open.front().is_some_and(|oldest| self.newest.wrapping_sub(oldest.frame) >= WINDOW) {
            self.abandon_oldest();
        }
    }

    /// Returns the index of the frame among the incomplete ones, or its insertion index.
    #[inline]
    fn find(&self, frame: u32) -> Result<usize, usize> {
        let age = |frame: u32| Reverse(self.newest.wrapping_sub(frame));
        self.open.binary_search_by_key(&age(frame), |open| age(open.frame))
    }

    fn insert_part(&mut self, Fragment { frame, index, last }: Fragment, size: usize, payload: T) -> Inserted {
        let index = usize::from(index);
        let found = self.find(frame).unwrap_or_else(|place| {
            let packets = self.spare.pop().unwrap_or_default();
            self.open.insert(place, Open { frame, packets, received: 0, total: None, bytes: 0 });
            place
        });
        let Some(open) = self.open.get_mut(found) else { return Inserted::Refused };
        let too_far = open.total.is_some_and(|total| index >= total || last && index + 1 != total);
        if too_far || last && open.packets.len() > index + 1 || open.packets.get(index).is_some_and(Option::is_some) {
            return Inserted::Refused;
        }
        let places = (index + 1).saturating_sub(open.packets.len());
        let more = places.saturating_mul(size_of::<Option<T>>()).saturating_add(size);
        if open.bytes.saturating_add(more) > self.options.bytes {
            // The frame exceeds the limit even alone.
            self.abandon(found);
            return Inserted::Refused;
        }
        if places > 0 {
            open.packets.resize_with(index + 1, || None);
        }
        if let Some(place) = open.packets.get_mut(index) {
            *place = Some(payload);
        }
        open.received += 1;
        open.bytes += more;
        self.bytes += more;
        if last {
            open.total = Some(index + 1);
        }
        if open.total == Some(open.received) {
            self.complete_frame(found);
            return Inserted::Complete;
        }
        while self.open.len() > self.options.frames.max(1) || self.bytes > self.options.bytes {
            self.abandon_oldest();
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

    fn abandon_oldest(&mut self) {
        self.abandon(0);
    }

    fn abandon(&mut self, place: usize) {
        let Some(open) = self.open.remove(place) else { return };
        self.bytes -= open.bytes;
        // Outside the window its bit belongs to another frame.
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
