//! Sends datagrams: those of one size to one peer in one system call.

use super::Driver;
use headway_dccp::{Path, Transmit};
use headway_units::{Ecn, Instant};
use std::io;

/// Maximum number of bytes of one send call: an IPv6 datagram without its headers.
const MAX_BATCH: usize = 65_535 - 48;

/// Datagrams of one size to one peer.
#[derive(Debug)]
pub(super) struct SendBatch {
    pub(super) path: Path,
    pub(super) ecn: Ecn,
    pub(super) segment: usize,
    pub(super) bytes: Vec<u8>,
}

impl Driver {
    /// Sends queued datagrams with up to `sends` calls. Returns whether more are queued.
    pub(super) fn transmit(&mut self, now: Instant, sends: &mut usize) -> bool {
        if let Some(batch) = self.pending.take() {
            self.send_batch(batch.path, batch.ecn, batch.segment, &batch.bytes);
        }
        while self.pending.is_none() {
            if *sends == 0 {
                return true;
            }
            *sends -= 1;
            if let Some(secure) = &mut self.secure {
                let mut datagram = std::mem::take(&mut self.sealed);
                let path = secure.poll_transmit(now, &mut datagram);
                if let Some(path) = path {
                    self.send_batch(path, Ecn::NotEct, datagram.len(), &datagram);
                }
                self.sealed = datagram;
                if path.is_some() {
                    continue;
                }
            }
            let Some(out) = self.endpoint.poll_transmit(now, &mut self.packets) else {
                if let Some(traces) = &mut self.traces {
                    traces.finish_ended();
                }
                return false;
            };
            let packets = std::mem::take(&mut self.packets);
            let bytes = packets.get(..out.len).unwrap_or_default();
            if let Some(traces) = &self.traces {
                traces.sent(&self.endpoint, &out, bytes);
            }
            if self.secure.is_some() {
                self.seal(now, &out, bytes);
            } else {
                self.send_batch(out.path, out.ecn, out.segment_size, bytes);
            }
            self.packets = packets;
        }
        false
    }

    /// Encrypts each packet into a datagram and sends those of one size together.
    pub(super) fn seal(&mut self, now: Instant, out: &Transmit, packets: &[u8]) {
        let mut sealed = std::mem::take(&mut self.sealed);
        sealed.clear();
        let mut batch: Option<(Path, usize)> = None;
        // A Sync that probes a new path goes there only.
        let asked = self.migrations.get(&out.path).filter(|to| out.probe == Some(to.id));
        let elsewhere = asked.map(|to| to.path);
        let also = self
            .migrations
            .get(&out.path)
            .filter(|to| elsewhere.is_none() && now < to.duplicate_until)
            .map(|to| to.path);
        for packet in packets.chunks(out.segment_size.max(1)) {
            let before = sealed.len();
            let Some(secure) = &mut self.secure else { break };
            let path = match elsewhere {
                Some(path) => secure.seal_to(now, out.path, path, packet, &mut sealed),
                None => secure.seal(now, out.path, packet, &mut sealed),
            };
            let Some(path) = path else { continue };
            let len = sealed.len() - before;
            if let Some((same, segment)) = batch
                && (same != path || len > segment || !before.is_multiple_of(segment) || sealed.len() > MAX_BATCH)
            {
                let before = sealed.get(..before).unwrap_or_default();
                std::iter::once(same).chain(also).for_each(|path| self.send_batch(path, out.ecn, segment, before));
                let before = before.len();
                sealed.drain(..before);
                batch = None;
            }
            batch.get_or_insert((path, len));
        }
        if let Some((path, segment)) = batch {
            std::iter::once(path).chain(also).for_each(|path| self.send_batch(path, out.ecn, segment, &sealed));
        }
        self.sealed = sealed;
    }

    pub(super) fn send_batch(&mut self, path: Path, ecn: Ecn, segment: usize, datagrams: &[u8]) {
        let count = datagrams.len().div_ceil(segment.max(1)) as u64;
        match self.socket.send(path, ecn, datagrams, segment) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                // If two batches of one `seal` block, the second is lost, as on a path.
                if self.pending.is_none() {
                    self.pending = Some(SendBatch { path, ecn, segment, bytes: datagrams.to_vec() });
                }
            }
            // A system without GSO fails at the first batch; quinn-udp then stops using it.
            Err(_) if count > 1 => {
                for datagram in datagrams.chunks(segment) {
                    let sent = self.socket.send(path, ecn, datagram, segment).is_ok();
                    self.count(sent, 1);
                }
            }
            sent => self.count(sent.is_ok(), count),
        }
    }

    pub(super) fn count(&mut self, sent: bool, datagrams: u64) {
        let count = if sent { &mut self.counters.sent_datagrams } else { &mut self.counters.unsendable_datagrams };
        *count += datagrams;
    }
}
