//! Invariants of any bytes that are decoded as media headers, and of the reassembly of their frames. Shared by the
//! fuzz target and the test that replays `fuzz/corpus`.

use headway_media::{HeaderError, Inserted, MediaHeader, Reassembly, ReassemblyOptions};
use headway_units::MediaKind;
use std::collections::{BTreeMap, BTreeSet};

/// Input: a byte of options, then eight bytes per packet.
pub(crate) fn check(bytes: &[u8]) {
    let Some((&small, mut rest)) = bytes.split_first() else { return };
    let options = ReassemblyOptions { frames: usize::from(small & 3) + 1, bytes: 32 << (small >> 2 & 15) };
    let mut kinds = MediaKind::ALL.map(|_| Ledger::new(options));
    loop {
        match MediaHeader::decode(rest) {
            Ok((header, remaining)) => {
                let mut buffer = [0xaa; MediaHeader::LEN + 1];
                assert_eq!(header.encode(&mut buffer), Ok(&mut [0xaa][..]));
                assert_eq!(buffer.split_last(), Some((&0xaa, &rest[..MediaHeader::LEN])), "it is written as it was");
                kinds[header.kind as usize].insert(header);
                rest = remaining;
            }
            Err(HeaderError::TooShort(len)) => return assert!(len == rest.len() && len < MediaHeader::LEN),
            Err(HeaderError::Reserved(first)) => {
                assert!(first == rest[0] && first & 0x78 != 0);
                rest = &rest[1..];
            }
            Err(HeaderError::UnknownKind(kind)) => {
                assert!(kind == rest[0] & 7 && kind > 5);
                rest = &rest[1..];
            }
        }
    }
}

/// Reference model of the reassembly.
struct Ledger {
    options: ReassemblyOptions,
    frames: Reassembly<(u16, u8)>,
    /// Stored packets of each incomplete frame.
    kept: BTreeMap<u32, BTreeSet<(u16, u8)>>,
    complete: BTreeSet<u32>,
    newest: Option<u32>,
}

impl Ledger {
    fn new(options: ReassemblyOptions) -> Self {
        Self {
            options,
            frames: Reassembly::new(options),
            kept: BTreeMap::new(),
            complete: BTreeSet::new(),
            newest: None,
        }
    }

    fn insert(&mut self, header: MediaHeader) {
        let (frame, index) = (header.fragment.frame, header.fragment.index);
        let newest = self.newest.filter(|newest| frame.wrapping_sub(*newest).cast_signed() <= 0).unwrap_or(frame);
        self.newest = Some(newest);
        // Numbers outside of the window may be reused.
        self.complete.retain(|known| newest.wrapping_sub(*known) < 4096);
        self.kept.retain(|known, _| newest.wrapping_sub(*known) < 4096);
        // The payload identifies the packet.
        let payload = (index, header.priority);
        match self.frames.insert(header.fragment, usize::from(header.priority), payload) {
            Inserted::Complete => {
                let mut all = self.kept.remove(&frame).unwrap_or_default();
                assert!(all.insert(payload), "a copy completes nothing");
                assert_eq!(
                    self.frames.take().collect::<Vec<_>>(),
                    Vec::from_iter(all.clone()),
                    "its packets, in order"
                );
                assert!(all.iter().zip(0..).all(|((index, _), place)| *index == place), "each of them");
                assert!(self.complete.insert(frame), "a frame is complete once");
            }
            Inserted::Kept => assert!(self.kept.entry(frame).or_default().insert(payload), "a copy is kept"),
            Inserted::Refused => {}
        }
        assert_eq!(self.frames.take().next(), None, "a frame is returned once");
        assert!(self.frames.open_frames() <= self.options.frames);
        assert!(self.frames.bytes() <= self.options.bytes);
    }
}
