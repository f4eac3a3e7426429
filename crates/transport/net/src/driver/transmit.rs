//! What goes: datagrams of one size and one peer with one call of the system.

use super::Driver;
use headway_dccp::{Path, Transmit};
use headway_units::{Ecn, Instant};
use std::io;

/// Bytes that one call of the system takes: a datagram of IPv6 with its headers, whatever it is cut into.
const LONGEST_RUN: usize = 65_535 - 48;

/// Datagrams to one peer.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) path: Path,
    pub(super) ecn: Ecn,
    pub(super) segment: usize,
    pub(super) bytes: Vec<u8>,
}

impl Driver {
    /// Whether there is more than `sends` calls could send.
    pub(super) fn transmit(&mut self, now: Instant, sends: &mut usize) -> bool {
        if let Some(run) = self.pending.take() {
            self.send_run(run.path, run.ecn, run.segment, &run.bytes);
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
                    self.send_run(path, Ecn::NotEct, datagram.len(), &datagram);
                }
                self.sealed = datagram;
                if path.is_some() {
                    continue;
                }
            }
            let Some(out) = self.endpoint.poll_transmit(now, &mut self.packets) else { return false };
            let packets = std::mem::take(&mut self.packets);
            let bytes = packets.get(..out.len).unwrap_or_default();
            if self.secure.is_some() {
                self.seal(now, &out, bytes);
            } else {
                self.send_run(out.path, out.ecn, out.segment_size, bytes);
            }
            self.packets = packets;
        }
        false
    }

    /// Each packet becomes a datagram; those of one size go together.
    pub(super) fn seal(&mut self, now: Instant, out: &Transmit, packets: &[u8]) {
        let mut sealed = std::mem::take(&mut self.sealed);
        sealed.clear();
        let mut run: Option<(Path, usize)> = None;
        // A Sync that asks whether the peer is elsewhere goes there, alone.
        let asked = self.moves.get(&out.path).filter(|to| out.probe == Some(to.id));
        let elsewhere = asked.map(|to| to.path);
        let also = self.moves.get(&out.path).filter(|to| elsewhere.is_none() && now < to.both).map(|to| to.path);
        for packet in packets.chunks(out.segment_size.max(1)) {
            let before = sealed.len();
            let Some(secure) = &mut self.secure else { break };
            let path = match elsewhere {
                Some(path) => secure.seal_to(now, out.path, path, packet, &mut sealed),
                None => secure.seal(now, out.path, packet, &mut sealed),
            };
            let Some(path) = path else { continue };
            let len = sealed.len() - before;
            if let Some((same, segment)) = run
                && (same != path || len > segment || !before.is_multiple_of(segment) || sealed.len() > LONGEST_RUN)
            {
                let before = sealed.get(..before).unwrap_or_default();
                std::iter::once(same).chain(also).for_each(|path| self.send_run(path, out.ecn, segment, before));
                let before = before.len();
                sealed.drain(..before);
                run = None;
            }
            run.get_or_insert((path, len));
        }
        if let Some((path, segment)) = run {
            std::iter::once(path).chain(also).for_each(|path| self.send_run(path, out.ecn, segment, &sealed));
        }
        self.sealed = sealed;
    }

    pub(super) fn send_run(&mut self, path: Path, ecn: Ecn, segment: usize, datagrams: &[u8]) {
        let many = datagrams.len().div_ceil(segment.max(1)) as u64;
        match self.socket.send(path, ecn, datagrams, segment) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                // Two runs of one seal may both have to wait: the second one is lost, as it may be on the path.
                if self.pending.is_none() {
                    self.pending = Some(Run { path, ecn, segment, bytes: datagrams.to_vec() });
                }
            }
            // A system that cannot take runs apart says so with the first one; from then on it is not asked.
            Err(_) if many > 1 => {
                for datagram in datagrams.chunks(segment) {
                    let sent = self.socket.send(path, ecn, datagram, segment).is_ok();
                    self.count(sent, 1);
                }
            }
            sent => self.count(sent.is_ok(), many),
        }
    }

    pub(super) fn count(&mut self, sent: bool, datagrams: u64) {
        let count = if sent { &mut self.counters.sent_datagrams } else { &mut self.counters.unsendable_datagrams };
        *count += datagrams;
    }
}
