//! What a source has written and its carrier has not sent yet.

use headway_media::{Backlog, UdpOptions, Write, datagrams};
use headway_units::{Bytes, Instant, MediaKind, QueueSize};
use std::collections::VecDeque;

/// Packets that no run ever sends.
const ENDLESS: u64 = u64::MAX / 2;

/// A first-in, first-out queue that refuses what comes when it is full, as a socket's send buffer does; or a backlog of
/// full packets, of which there is always a next one.
#[derive(Debug)]
pub(crate) struct SendQueue {
    cut: UdpOptions,
    limit: QueueSize,
    waiting: VecDeque<Piece>,
    waiting_bytes: u64,
    backlog: u64,
    refused: u64,
}

/// One packet's worth of data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) payload: u32,
    pub(crate) kind: MediaKind,
    pub(crate) deadline: Option<Instant>,
}

impl SendQueue {
    /// Writes are cut as `cut` says; `limit` counts data without headers.
    pub(crate) fn new(cut: UdpOptions, limit: QueueSize) -> Self {
        Self { cut, limit, waiting: VecDeque::new(), waiting_bytes: 0, backlog: 0, refused: 0 }
    }

    /// The data of a full packet.
    pub(crate) fn full(&self) -> Bytes {
        Bytes::new(self.cut.datagram.count() - self.cut.header.count())
    }

    /// The source has written something. `refuse` hears of each packet that there is no room for.
    pub(crate) fn write(&mut self, write: &Write, mut refuse: impl FnMut(&Piece)) {
        for datagram in datagrams(write.size, &self.cut) {
            let payload = datagram.payload.count();
            let piece = Piece { payload: payload as u32, kind: write.kind, deadline: write.expires };
            let full = match self.limit {
                QueueSize::Packets(most) => self.waiting.len() as u64 >= most,
                QueueSize::Bytes(most) => self.waiting_bytes + payload > most.count(),
            };
            if full {
                self.refused += 1;
                refuse(&piece);
                continue;
            }
            self.waiting_bytes += payload;
            self.waiting.push_back(piece);
        }
    }

    /// The source hands over a backlog.
    pub(crate) fn set_backlog(&mut self, backlog: Backlog) {
        self.backlog = match backlog {
            Backlog::None => 0,
            Backlog::Segments(packets) => packets,
            Backlog::Endless => ENDLESS,
        };
    }

    /// The data of the packet that goes next.
    #[inline]
    pub(crate) fn next_size(&self) -> Option<Bytes> {
        match self.waiting.front() {
            Some(piece) => Some(Bytes::new(piece.payload.into())),
            None => (self.backlog > 0).then(|| self.full()),
        }
    }

    /// Takes the packet that goes next.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Piece> {
        if let Some(piece) = self.waiting.pop_front() {
            self.waiting_bytes -= u64::from(piece.payload);
            return Some(piece);
        }
        self.backlog = self.backlog.checked_sub(1)?;
        Some(Piece { payload: self.full().count() as u32, kind: MediaKind::Data, deadline: None })
    }

    /// Packets refused so far because the queue was full.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }
}
