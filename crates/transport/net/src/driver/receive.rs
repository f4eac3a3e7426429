//! What has come, and who gets it.

use super::Driver;
use crate::mailbox::Closed;
use crate::socket::Arrived;
use headway_dccp::{ConnectionHandle, DropCode, Path, Reset};
use headway_units::{Instant, Seq48};
use std::io;
use std::sync::Arc;

/// Receive calls in a turn: then others have theirs.
const MOST_RECEIVES: usize = 16;

/// What is done once the datagrams are handled.
#[derive(Debug, Default)]
struct Late {
    /// Data of connections of which the program does not know yet.
    early: Vec<(ConnectionHandle, Vec<u8>)>,
    unread: Vec<(ConnectionHandle, Seq48)>,
    /// Peers whose Requests were answered by a Reset.
    refused: Vec<(Path, Reset)>,
}

impl Driver {
    /// Everything that has come, or as much as a turn may take; whether there may be more.
    pub(super) fn receive(&mut self, now: Instant) -> io::Result<bool> {
        let before = self.counters.received_datagrams;
        let more = self.receive_some(now);
        self.queues = self.counters.received_datagrams > before + 1;
        more
    }

    fn receive_some(&mut self, now: Instant) -> io::Result<bool> {
        for _ in 0..MOST_RECEIVES {
            match self.socket.receive(&mut self.batch) {
                Ok(all) => {
                    self.handle_batch(now);
                    if all {
                        return Ok(false);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                // What the network says of a datagram that was sent is of no account here (RFC 5461: it may be forged).
                Err(error) if is_of_a_peer(&error) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn handle_batch(&mut self, now: Instant) {
        let (socket, mut late) = (Arc::clone(&self.socket), Late::default());
        let mut batch = std::mem::take(&mut self.batch);
        socket.datagrams(&mut batch, |arrived, datagram| self.handle(now, arrived, datagram, &mut late));
        self.batch = batch;
        self.finish(now, late);
    }

    /// A datagram that somebody else has received.
    pub(crate) fn handle_datagram(&mut self, now: Instant, arrived: Arrived, datagram: &mut [u8]) {
        let mut late = Late::default();
        self.handle(now, arrived, datagram, &mut late);
        self.finish(now, late);
    }

    fn handle(&mut self, now: Instant, arrived: Arrived, datagram: &mut [u8], late: &mut Late) {
        let Self { endpoint, secure, lines, keys, counters, .. } = self;
        counters.received_datagrams += 1;
        let mut of_use = false;
        let mut deliver = |path: Path, packet: &[u8]| match endpoint.handle_datagram(now, path, arrived.ecn, packet) {
            Ok(None) => of_use = true,
            Ok(Some(came)) => {
                of_use = true;
                match keys.get(&came.handle).and_then(|key| lines.get(key)) {
                    Some(line) if line.mailbox.deliver(came.data, came.one_way_delay) => {}
                    Some(_) => late.unread.push((came.handle, came.seq)),
                    None => late.early.push((came.handle, came.data.to_vec())),
                }
            }
            Err(_) => late.refused.extend(endpoint.take_refused()),
        };
        match secure {
            None => deliver(arrived.path, datagram),
            Some(secure) => {
                secure.handle_datagram(now, arrived.path, datagram, &mut deliver);
                of_use = true; // it counts those for itself
            }
        }
        counters.ignored_datagrams += u64::from(!of_use);
    }

    fn finish(&mut self, now: Instant, late: Late) {
        for (handle, data) in late.early {
            self.accept(now, handle);
            self.tell_largest(handle);
            if let Some(line) = self.keys.get(&handle).and_then(|key| self.lines.get(key)) {
                line.mailbox.deliver(&data, None);
            }
            self.show(now, handle);
        }
        for (path, reset) in late.refused {
            self.note_refused(path, Closed::Aborted(reset));
        }
        for (handle, seq) in late.unread {
            self.drop_unread(now, handle, seq);
        }
    }

    /// The program does not read: the peer's controller is told so (RFC 4340 section 11.7, Drop Code 2).
    pub(super) fn drop_unread(&mut self, now: Instant, handle: ConnectionHandle, seq: Seq48) {
        self.counters.unread_datagrams += 1;
        if let Some(connection) = self.endpoint.connection_mut(handle) {
            connection.report_dropped(now, seq, DropCode::RECEIVE_BUFFER);
        }
    }
}

/// Errors that the system reports for what some peer, or a router, has said.
fn is_of_a_peer(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
    )
}
