//! What goes: round robin among the connections that may have something to say, as many datagrams at once as the system takes.

use super::{Endpoint, Entry};
use crate::connection::Outgoing;
use crate::{NoData, Outbox, Path};
use headway_units::{Ecn, Instant};
use std::collections::VecDeque;

/// Answers without a connection that wait at most: what is beyond them is lost, as it may be on a path.
const MOST_WAITING: usize = 64;
/// What one UDP datagram over IPv4 may have: more segments do not go at once.
const LONGEST_BATCH: usize = 65_535 - 28;

/// Datagrams that are to go now to one peer, one behind another in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// From where to where.
    pub path: Path,
    /// What the IP header says of ECN.
    pub ecn: Ecn,
    /// Bytes of all of them.
    pub len: usize,
    /// Bytes of each but the last, which may be shorter; as many as [`len`](Self::len) if there is one. What generic segmentation
    /// offload is told (`UDP_SEGMENT`).
    pub segment_size: usize,
    /// Whether routers may not fragment them (RFC 4340 section 14.2).
    pub dont_fragment: bool,
    /// It is a connection's [probe](crate::Connection::probe) of this number, alone: the driver may send it to another address, to find out
    /// whether the peer is there.
    pub probe: Option<u64>,
}

/// Packets as bytes that wait for the next call: answers without a connection, and one packet that did not fit its batch.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    packets: VecDeque<(Transmit, Vec<u8>)>,
    /// Used again.
    spare: Vec<Vec<u8>>,
}

impl Waiting {
    /// An answer without a connection.
    pub(super) fn answer(&mut self, path: Path, out: &Outgoing<'_>) {
        if self.packets.len() < MOST_WAITING {
            self.keep(path, out);
        }
    }
    /// The last that a connection has to say, which is kept no longer.
    pub(super) fn last_words(&mut self, now: Instant, path: Path, connection: &mut crate::Connection) {
        while let Some(out) = connection.poll_transmit(now, &mut NoData) {
            self.answer(path, &out);
        }
    }
    fn keep(&mut self, path: Path, out: &Outgoing<'_>) {
        let mut bytes = self.spare.pop().unwrap_or_default();
        self.packets.extend(write(path, out, &mut bytes, 0).map(|transmit| (transmit, bytes)));
    }
    fn next(&mut self, buffer: &mut Vec<u8>) -> Option<Transmit> {
        let (transmit, bytes) = self.packets.pop_front()?;
        let packet = bytes.get(..transmit.len)?;
        if buffer.len() < packet.len() {
            buffer.resize(packet.len(), 0);
        }
        buffer.get_mut(..packet.len())?.copy_from_slice(packet);
        self.spare.push(bytes);
        Some(transmit)
    }
}

/// Writes a packet behind the first `at` bytes of a buffer, which grows where it must.
fn write(path: Path, out: &Outgoing<'_>, buffer: &mut Vec<u8>, at: usize) -> Option<Transmit> {
    let end = at + out.packet.encoded_len();
    if buffer.len() < end {
        buffer.resize(end, 0);
    }
    // What an end sends has a form on the wire.
    let len = out.packet.encode(buffer.get_mut(at..)?, path.outgoing()).ok()?;
    Some(Transmit { path, ecn: out.ecn, len, segment_size: len, dont_fragment: out.dont_fragment, probe: out.probe })
}

impl<O: Outbox + Default> Endpoint<O> {
    /// What is to go now, if anything: ask until there is nothing. Datagrams are in the first [`len`](Transmit::len) bytes of the
    /// buffer, which grows as far as it must, to 64 kB at most, and keeps its length for the next call.
    ///
    /// Connections take turns. In its turn one sends as many datagrams as its controller lets go at this instant, of one size and
    /// [so many](super::EndpointOptions::segments) at most. Where the system takes no more for now, nothing is lost by asking later.
    pub fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
        if let Some(transmit) = self.waiting.next(buffer) {
            return Some(transmit);
        }
        while let Some(index) = self.ready.pop_front() {
            let Some(entry) = self.slots.get_mut(index) else { continue };
            let (transmit, more) = entry.fill(now, buffer, self.options.segments, &mut self.waiting);
            if more {
                self.ready.push_back(index);
            } else {
                entry.ready = false;
                self.rest(index);
            }
            if transmit.is_some() {
                return transmit;
            }
        }
        None
    }
}

impl<O: Outbox> Entry<O> {
    /// A batch of datagrams, and whether there may be more.
    fn fill(
        &mut self,
        now: Instant,
        buffer: &mut Vec<u8>,
        segments: usize,
        waiting: &mut Waiting,
    ) -> (Option<Transmit>, bool) {
        let path = self.path;
        let Some(out) = self.connection.poll_transmit(now, &mut self.outbox) else { return (None, false) };
        let (written, number) = (write(path, &out, buffer, 0), out.packet.seq);
        self.outbox.sent(number);
        let Some(mut batch) = written else { return (None, true) };
        // IP has no such offload.
        let segments = if matches!(path, Path::Udp { .. }) { segments } else { 1 };
        for _ in 1..segments {
            if batch.len + batch.segment_size > LONGEST_BATCH {
                break;
            }
            let Some(out) = self.connection.poll_transmit(now, &mut self.outbox) else { return (Some(batch), false) };
            let alike = (out.ecn, out.dont_fragment, out.probe) == (batch.ecn, batch.dont_fragment, batch.probe);
            let number = out.packet.seq;
            let fits = alike && out.packet.encoded_len() <= batch.segment_size;
            if fits {
                batch.len += write(path, &out, buffer, batch.len).map_or(0, |written| written.len);
            } else {
                waiting.keep(path, &out);
            }
            self.outbox.sent(number);
            if !fits {
                break;
            }
            if batch.len % batch.segment_size != 0 {
                break;
            }
        }
        (Some(batch), true)
    }
}
