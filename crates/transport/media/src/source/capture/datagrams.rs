//! UDP datagrams of a capture, and errors of reading a capture.

use headway_units::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;

/// The UDP datagrams of a capture, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// Sender and receiver of each flow.
    flows: Vec<[SocketAddr; 2]>,
    numbers: BTreeMap<[SocketAddr; 2], u32>,
    datagrams: Vec<Datagram>,
    cut: Option<Cut>,
    step_back: Option<StepBack>,
    unread: Unread,
}

/// A UDP datagram of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Index of the datagram's flow: all datagrams of one sender (address and port) to one receiver.
    pub flow: u32,
    /// Time after the first packet of the file, in ns; absent if the file gives none.
    pub at: Option<i64>,
    /// Size of the UDP payload as sent, in bytes, even if not all of it was captured.
    pub bytes: u32,
    /// RTP payload type, if the payload looks like RTP.
    pub payload_type: Option<u8>,
    /// Number of its packet in the file, from 1.
    pub packet: u64,
}

/// Place at which a capture file ends within a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Number of complete packets before the truncated record.
    pub packets: u64,
    /// Offset of the truncated record in the file, in bytes.
    pub offset: u64,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { packets, offset } = self;
        write!(f, "the file was cut within the record at byte {offset}; ")?;
        match packets {
            0 => f.write_str("no packet is before it"),
            1 => f.write_str("the packet before it is used"),
            _ => write!(f, "the {packets} packets before it are used"),
        }
    }
}

/// Packet with an earlier time than its predecessor in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StepBack {
    /// Number of the packet, from 1.
    packet: u64,
    /// Time from the packet to its predecessor, in ns.
    by_ns: i64,
}

impl fmt::Display for StepBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.by_ns as f64 / 1e9;
        write!(
            f,
            "the times step back at packet {} by {seconds} s; datagrams are sent in the order of their times",
            self.packet
        )
    }
}

/// Packets without a UDP header that may be UDP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unread {
    /// Packets by unsupported link type.
    pub(super) link_types: BTreeMap<u16, u64>,
    /// Packets with less captured than the UDP header.
    pub(super) short: u64,
    /// All packets.
    pub(super) packets: u64,
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " among its {} packets", self.packets)?;
        if self.short > 0 {
            write!(f, "; {} were captured without their UDP header: capture 96 bytes or more of each", self.short)?;
        }
        for (link_type, count) in self.link_types.iter().take(3) {
            write!(f, "; {count} have link type {link_type}, which is not supported")?;
        }
        Ok(())
    }
}

impl Capture {
    /// Maximum file size, 64 MiB.
    pub const LARGEST_FILE: Bytes = Bytes::new(64 << 20);

    /// Reads a capture in pcap or pcapng format.
    ///
    /// # Errors
    /// The file is too large, is not a capture, or is damaged.
    #[cfg(feature = "capture")]
    pub fn parse(bytes: &[u8]) -> Result<Self, CaptureError> {
        let length = Bytes::new(bytes.len() as u64);
        if length > Self::LARGEST_FILE {
            return Err(CaptureError { packet: None, offset: 0, problem: CaptureProblem::TooLong(length) });
        }
        let mut capture = Self::default();
        let (mut first, mut before) = (None, None);
        capture.cut = super::file::packets(bytes, |packet| {
            let at = capture.add(packet, &mut first)?;
            if let (Some(at), Some(before)) = (at, before)
                && at < before
            {
                capture.step_back.get_or_insert(StepBack { packet: packet.number, by_ns: before - at });
            }
            before = at.or(before);
            Ok(())
        })?;
        Ok(capture)
    }

    /// Adds a packet and returns its time after the first packet, in ns.
    #[cfg(feature = "capture")]
    fn add(
        &mut self,
        packet: &super::file::Packet<'_>,
        first: &mut Option<i128>,
    ) -> Result<Option<i64>, CaptureProblem> {
        use super::headers::{Contents, contents};
        self.unread.packets += 1;
        let at = match packet.at {
            None => None,
            Some(at) => {
                let at = at.saturating_sub(*first.get_or_insert(at));
                let range = -LATEST_NS..=LATEST_NS;
                Some(i64::try_from(at).ok().filter(|at| range.contains(at)).ok_or(CaptureProblem::Time)?)
            }
        };
        match contents(packet) {
            Contents::Udp { from, to, bytes, payload_type } => {
                let ends = [from, to];
                let flow = *self.numbers.entry(ends).or_insert_with(|| {
                    self.flows.push(ends);
                    self.flows.len() as u32 - 1
                });
                self.datagrams.push(Datagram { flow, at, bytes, payload_type, packet: packet.number });
            }
            Contents::Short => self.unread.short += 1,
            Contents::UnknownLink => *self.unread.link_types.entry(packet.link_type).or_default() += 1,
            Contents::Other => {}
        }
        Ok(at)
    }

    /// Returns the datagrams, in the order of the file.
    #[must_use]
    pub fn datagrams(&self) -> &[Datagram] {
        &self.datagrams
    }

    /// Returns sender and receiver of the flow with this index; `None` if there is no such flow.
    #[must_use]
    pub fn flow(&self, number: u32) -> Option<[SocketAddr; 2]> {
        self.flows.get(number as usize).copied()
    }

    /// Returns where the file was truncated, if it was.
    #[must_use]
    pub const fn cut(&self) -> Option<Cut> {
        self.cut
    }

    pub(super) const fn step_back(&self) -> Option<StepBack> {
        self.step_back
    }

    pub(super) fn flows(&self) -> impl Iterator<Item = &[SocketAddr; 2]> {
        self.flows.iter()
    }

    pub(super) const fn unread(&self) -> &Unread {
        &self.unread
    }

    pub(super) fn senders(&self) -> usize {
        self.flows.iter().map(|[from, _]| from.ip()).collect::<BTreeSet<_>>().len()
    }

    /// Lists up to `most` flows with their number of datagrams, largest first.
    pub(super) fn list(&self, most: usize) -> String {
        let mut counts = vec![0u64; self.flows.len()];
        self.datagrams.iter().for_each(|datagram| counts[datagram.flow as usize] += 1);
        let mut flows: Vec<_> = self.flows.iter().zip(counts).collect();
        // A stable sort: flows of equal size keep the order of the file.
        flows.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let named = flows.iter().take(most).map(|([from, to], count)| format!("{from} > {to} ({count})"));
        let mut text = named.collect::<Vec<_>>().join(", ");
        if let Some(more) = flows.len().checked_sub(most).filter(|more| *more > 0) {
            text.push_str(&format!(" and {more} more flows"));
        }
        text
    }
}

/// Maximum time, 63 years in ns: sums of four times do not overflow.
#[cfg(feature = "capture")]
const LATEST_NS: i64 = 2_000_000_000_000_000_000;

/// Error of reading a capture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}byte {offset}: {problem}", .packet.map(|packet| format!("packet {packet}, ")).unwrap_or_default())]
pub struct CaptureError {
    /// Number of the packet, from 1; absent if the problem is not in a packet.
    pub packet: Option<u64>,
    /// Offset of the packet's record or the block, in bytes.
    pub offset: u64,
    /// Problem at this place.
    pub problem: CaptureProblem,
}

/// Problem in a capture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CaptureProblem {
    /// The file, of this size, is larger than [`Capture::LARGEST_FILE`].
    #[error("a file of {0} is too long: at most 64MiB are read; editcap -s 96 keeps the headers only")]
    TooLong(Bytes),
    /// The file starts with the magic number of gzip.
    #[error("the file is compressed: decompress it with gunzip")]
    Compressed,
    /// The file starts with no known magic number.
    #[error("the file does not start like a capture: expected pcap or pcapng, as tcpdump and dumpcap write")]
    NotACapture,
    /// The length of a block is impossible.
    #[error("the block has an impossible length of {0} bytes: the file is damaged")]
    Length(u32),
    /// The captured length exceeds the maximum of any packet.
    #[error("the captured length of {0} bytes is above the maximum of 262144 bytes: the file is damaged")]
    Captured(u32),
    /// The captured length exceeds the original length.
    #[error(
        "the captured length of {captured} bytes is above the packet's length of {original} bytes: the file is damaged"
    )]
    Lengths {
        /// Captured length, in bytes.
        captured: u32,
        /// Length as sent, in bytes.
        original: u32,
    },
    /// The last record exceeds both the file and its snap length.
    #[error(
        "the captured length of {captured} bytes is above the file's snap length of {snap} bytes: the file is damaged"
    )]
    SnapLength {
        /// Captured length, in bytes.
        captured: u32,
        /// Snap length of the file, in bytes.
        snap: u32,
    },
    /// The contents of a block contradict its length.
    #[error("the block cannot be read: the file is damaged")]
    Block,
    /// A packet refers to an undescribed interface.
    #[error("the packet refers to interface {0}, which the file does not describe")]
    Interface(u32),
    /// The time of a packet is more than 63 years from that of the first packet.
    #[error("the packet's time is more than 63 years from that of the first packet")]
    Time,
}
