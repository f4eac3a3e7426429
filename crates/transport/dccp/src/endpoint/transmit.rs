//! Transmission: round robin among connections with packets to send, in batches for segmentation offload.

use super::{Endpoint, Entry};
use crate::connection::Outgoing;
use crate::{NoData, Outbox, Path};
use headway_units::{Ecn, Instant};
use std::collections::VecDeque;

/// Maximum number of queued answers without a connection; more are lost, as on a path.
const MAX_WAITING: usize = 64;
/// Maximum size of a batch, in bytes: the payload of one UDP datagram over IPv4.
const MAX_BATCH: usize = 65_535 - 28;

/// Datagrams to be sent now to one peer, consecutive in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Source and destination.
    pub path: Path,
    /// ECN codepoint of the IP header.
    pub ecn: Ecn,
    /// Size of all datagrams, in bytes.
    pub len: usize,
    /// Size of each datagram, in bytes, except the last, which may be shorter; equal to [`len`](Self::len) for a single
    /// one. This is the segment size of generic segmentation offload (`UDP_SEGMENT`).
    pub segment_size: usize,
    /// Whether routers must not fragment them (RFC 4340 section 14.2).
    pub dont_fragment: bool,
    /// Number of a connection's [probe](crate::Connection::probe) if the only datagram is the Sync of this probe. The
    /// driver may send it to another address, to test whether the peer is reachable there.
    pub probe: Option<u64>,
}

/// Encoded packets for the next call: answers without a connection, and one packet that did not fit its batch.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    packets: VecDeque<(Transmit, Vec<u8>)>,
    spare: Vec<Vec<u8>>,
}

impl Waiting {
    pub(super) fn answer(&mut self, path: Path, out: &Outgoing<'_>) {
        if self.packets.len() < MAX_WAITING {
            self.keep(path, out);
        }
    }
    pub(super) fn queue_final_packets(&mut self, now: Instant, path: Path, connection: &mut crate::Connection) {
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

/// Writes a packet after the first `at` bytes of a buffer, which grows as needed.
fn write(path: Path, out: &Outgoing<'_>, buffer: &mut Vec<u8>, at: usize) -> Option<Transmit> {
    let end = at + out.packet.encoded_len();
    if buffer.len() < end {
        buffer.resize(end, 0);
    }
    // Own packets can always be encoded.
    let len = out.packet.encode(buffer.get_mut(at..)?, path.outgoing()).ok()?;
    Some(Transmit { path, ecn: out.ecn, len, segment_size: len, dont_fragment: out.dont_fragment, probe: out.probe })
}

impl<O: Outbox + Default> Endpoint<O> {
    /// Returns the next datagrams to be sent now, if any. Call it until it returns `None`. The
    /// datagrams are in the first [`len`](Transmit::len) bytes of the buffer, which grows as
    /// needed, to at most 64 kB, and keeps its length for the next call.
    ///
    /// Connections take turns. In its turn a connection sends the datagrams that its controller permits now: at most
    /// [`segments`](super::EndpointOptions::segments), of one size except a shorter last one. If the system cannot send
    /// more, call it again later; nothing is lost.
    pub fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
        if let Some(transmit) = self.waiting.next(buffer) {
            return Some(transmit);
        }
        while let Some(index) = self.ready.pop_front() {
            let Some(entry) = self.slots.get_mut(index) else { continue };
            let (transmit, more) = entry.fill(now, buffer, self.options.segments, &mut self.waiting);
            entry.read_first_rate(now);
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
    fn read_first_rate(&mut self, now: Instant) {
        if !self.has_sent_data && self.connection.has_sent_data() {
            self.has_sent_data = true;
            self.outbox.timer_expired(now, &self.connection);
        }
    }

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
        // Raw IP has no segmentation offload.
        let segments = if matches!(path, Path::Udp { .. }) { segments } else { 1 };
        for _ in 1..segments {
            if batch.len + batch.segment_size > MAX_BATCH {
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
