//! Receives datagrams and passes them to their connections.

use super::entry::OrderLimits;
use super::{Common, Driver};
use crate::mailbox::Closed;
use crate::socket::Arrived;
use headway_dccp::{ConnectionHandle, Datagram, DeliveryOrder, DropCode, Path, Reset};
use headway_units::{Instant, Seq48};
use std::io;
use std::sync::Arc;

/// Maximum number of receive calls in a turn, so that sending gets its share.
const MAX_RECEIVES: usize = 16;

/// Work that is deferred until all datagrams of a batch are handled.
#[derive(Debug, Default)]
struct Deferred {
    /// Data of connections that the program has not accepted: number and position of its packet, and the data.
    early: Vec<(ConnectionHandle, Seq48, Option<DeliveryOrder>, Vec<u8>)>,
    unread: Vec<(ConnectionHandle, Seq48)>,
    /// Connections with datagrams that wait for earlier ones.
    in_order: Vec<ConnectionHandle>,
    /// Peers whose Requests were answered by a Reset.
    refused: Vec<(Path, Reset)>,
}

impl Driver {
    /// Receives all waiting datagrams, up to the limit of a turn. Returns whether more may wait.
    pub(super) fn receive(&mut self, now: Instant) -> io::Result<bool> {
        let before = self.counters.received_datagrams;
        let more = self.receive_some(now);
        self.is_backlogged = self.counters.received_datagrams > before + 1;
        more
    }

    fn receive_some(&mut self, now: Instant) -> io::Result<bool> {
        for _ in 0..MAX_RECEIVES {
            match self.socket.receive(&mut self.batch) {
                Ok(all) => {
                    self.handle_batch(now);
                    if all {
                        return Ok(false);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                // ICMP errors of sent datagrams are ignored (RFC 5461: they may be forged).
                Err(error) if is_peer_error(&error) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn handle_batch(&mut self, now: Instant) {
        let (socket, mut deferred) = (Arc::clone(&self.socket), Deferred::default());
        let mut batch = std::mem::take(&mut self.batch);
        socket.datagrams(&mut batch, |arrived, datagram| self.handle(now, arrived, datagram, &mut deferred));
        self.batch = batch;
        self.finish(now, deferred);
    }

    /// Handles a datagram received by the owner of the port.
    pub(crate) fn handle_datagram(&mut self, now: Instant, arrived: Arrived, datagram: &mut [u8]) {
        let mut deferred = Deferred::default();
        self.handle(now, arrived, datagram, &mut deferred);
        self.finish(now, deferred);
    }

    fn handle(&mut self, now: Instant, arrived: Arrived, datagram: &mut [u8], deferred: &mut Deferred) {
        let Self { endpoint, secure, entries, keys, counters, common, traces, retry_due, .. } = self;
        counters.received_datagrams += 1;
        let limits = order_limits(common);
        let mut is_used = false;
        let mut deliver = |path: Path, packet: &[u8]| {
            let handled = endpoint.handle_datagram(now, path, arrived.ecn, packet);
            if let Some(traces) = traces {
                traces.received(endpoint, path, packet, handled.err());
            }
            match handled {
                Ok(None) => is_used = true,
                Ok(Some(received)) => {
                    is_used = true;
                    let Datagram { handle, seq, order, repair, data, .. } = received;
                    match keys.get(&handle).and_then(|key| entries.get_mut(key)) {
                        Some(entry) => {
                            let unread = &mut deferred.unread;
                            entry.deliver(now, limits, &received, &mut |seq| unread.push((handle, seq)));
                            if order.is_some() || repair.is_some() {
                                deferred.in_order.push(handle);
                            }
                        }
                        None if repair.is_some() => {}
                        None => deferred.early.push((handle, seq, order, data.to_vec())),
                    }
                }
                Err(_) => deferred.refused.extend(endpoint.take_refused()),
            }
        };
        match secure {
            None => deliver(arrived.path, datagram),
            Some(secure) => {
                secure.handle_datagram(now, arrived.path, datagram, &mut deliver);
                is_used = true; // DTLS has its own counter of ignored datagrams
                if retry_due.is_some() {
                    let path = arrived.path.without_flow();
                    let answered = entries.values_mut().filter(|entry| entry.path == path);
                    answered.for_each(|entry| entry.recovery.on_answer(now));
                }
            }
        }
        counters.ignored_datagrams += u64::from(!is_used);
    }

    fn finish(&mut self, now: Instant, mut deferred: Deferred) {
        let limits = order_limits(&self.common);
        for (handle, seq, order, data) in deferred.early {
            self.accept(now, handle);
            self.report_largest(handle);
            if let Some(entry) = self.keys.get(&handle).and_then(|key| self.entries.get_mut(key)) {
                let datagram = Datagram {
                    handle,
                    seq,
                    one_way_delay: None,
                    order,
                    is_protected: false,
                    repair: None,
                    data: &data,
                };
                entry.deliver(now, limits, &datagram, &mut |_| {});
                deferred.in_order.push(handle);
            }
            self.announce(now, handle);
        }
        for handle in deferred.in_order {
            self.watch_order(handle);
        }
        for (path, reset) in deferred.refused {
            self.record_refused(path, Closed::Aborted(reset));
        }
        for (handle, seq) in deferred.unread {
            self.drop_unread(now, handle, seq);
        }
    }

    /// Reports a datagram that the program did not read to the peer's controller (RFC 4340 section 11.7, Drop Code
    /// 2).
    pub(super) fn drop_unread(&mut self, now: Instant, handle: ConnectionHandle, seq: Seq48) {
        self.counters.unread_datagrams += 1;
        if let Some(connection) = self.endpoint.connection_mut(handle) {
            connection.report_dropped(now, seq, DropCode::RECEIVE_BUFFER);
        }
    }
}

fn order_limits(common: &Common) -> Option<OrderLimits> {
    common.order_wait.map(|wait| OrderLimits { wait, most: common.unread / 2 })
}

/// Errors that the system reports for a message of a peer or router.
pub(crate) fn is_peer_error(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5461: errors that routers and peers report do not end a connection. Errors of the socket do.
    #[test]
    fn errors_of_peers_are_not_those_of_the_socket() {
        use io::ErrorKind::*;
        for kind in [ConnectionRefused, ConnectionReset, HostUnreachable, NetworkUnreachable] {
            assert!(is_peer_error(&kind.into()), "{kind:?}");
        }
        for kind in [NotConnected, NetworkDown, PermissionDenied, WouldBlock, Interrupted, InvalidInput, Other] {
            assert!(!is_peer_error(&kind.into()), "{kind:?}");
        }
    }
}
