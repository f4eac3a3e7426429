//! qlog of the connections: packets are decoded again where they enter and leave the protocol.

use super::entry::{Entry, Stage};
use crate::Clock;
use crate::mailbox::Closed;
use crate::outbox::ConnectionOutbox;
use crate::qlog::{Qlog, Role, Trace};
use headway_dccp::{Connection, ConnectionHandle, Decoded, Dropped, Endpoint, Ignored, Packet, Path, Ports, Transmit};
use std::collections::BTreeMap;

/// Traces of all connections.
#[derive(Debug)]
pub(super) struct Traces {
    qlog: Qlog,
    clock: Clock,
    traced: BTreeMap<(Path, Ports), Traced>,
    /// Connections that have ended, and whose last packets may still be queued.
    ended: Vec<(Path, Ports)>,
}

#[derive(Debug)]
struct Traced {
    trace: Trace,
    /// `None`: a connection of the listener whose first event has not been handled.
    handle: Option<ConnectionHandle>,
}

impl Traces {
    pub(super) const fn new(qlog: Qlog, clock: Clock) -> Self {
        Self { qlog, clock, traced: BTreeMap::new(), ended: Vec::new() }
    }

    fn insert(&mut self, path: Path, ports: Ports, trace: Trace, handle: Option<ConnectionHandle>) -> &Traced {
        self.traced.entry((path, ports)).insert_entry(Traced { trace, handle }).into_mut()
    }

    /// Starts the trace of a connection that this end opens. `again`: it replaces a lost connection; if the peer does not
    /// answer there is no file.
    pub(super) fn start(
        &mut self,
        endpoint: &Endpoint<Option<ConnectionOutbox>>,
        handle: ConnectionHandle,
        again: bool,
    ) -> Option<Trace> {
        let (path, ports) = (endpoint.path(handle)?, endpoint.connection(handle)?.ports());
        let trace = Trace::new(&self.qlog, self.clock, Role::Client, !again, path);
        self.insert(path, ports, trace.clone(), Some(handle));
        Some(trace)
    }

    /// Returns the trace of a connection that the listener has created.
    pub(super) fn accepted(
        &mut self,
        endpoint: &Endpoint<Option<ConnectionOutbox>>,
        handle: ConnectionHandle,
    ) -> Option<Trace> {
        let (path, ports) = (endpoint.path(handle)?, endpoint.connection(handle)?.ports());
        let traced = self.traced.get_mut(&(path, ports))?;
        traced.handle = Some(handle);
        Some(traced.trace.clone())
    }

    /// Records packets that leave now.
    pub(super) fn sent(&self, endpoint: &Endpoint<Option<ConnectionOutbox>>, out: &Transmit, bytes: &[u8]) {
        for bytes in bytes.chunks(out.segment_size.max(1)) {
            let Some(packet) = decode(out.path, bytes) else { continue };
            let ports = Ports { local: packet.source_port, remote: packet.destination_port };
            if let Some(Traced { trace, handle }) = self.traced.get(&(out.path, ports)) {
                let connection = handle.and_then(|handle| endpoint.connection(handle));
                trace.sent(&packet, connection.map(Connection::status).as_ref());
            }
        }
    }

    /// Records a packet that the endpoint has handled.
    pub(super) fn received(
        &mut self,
        endpoint: &Endpoint<Option<ConnectionOutbox>>,
        path: Path,
        bytes: &[u8],
        dropped: Option<Dropped>,
    ) {
        let Some(packet) = decode(path, bytes) else { return };
        let path = path.without_flow();
        let ports = Ports { local: packet.destination_port, remote: packet.source_port };
        let traced = match self.traced.get(&(path, ports)) {
            Some(traced) => traced,
            // The listener has created a connection.
            None if dropped.is_none() => {
                let trace = Trace::new(&self.qlog, self.clock, Role::Server, false, path);
                self.insert(path, ports, trace, None)
            }
            None => return,
        };
        match dropped.filter(is_without_effect) {
            Some(why) => traced.trace.ignored(&packet, why),
            None => {
                let connection = traced.handle.and_then(|handle| endpoint.connection(handle));
                traced.trace.received(&packet, connection.map(Connection::status).as_ref());
            }
        }
    }

    /// Records the end of a connection.
    pub(super) fn end(&mut self, endpoint: &Endpoint<Option<ConnectionOutbox>>, entry: &mut Entry, why: &Closed) {
        let (Stage::Running(handle), Some(trace)) = (&entry.stage, entry.trace.take()) else { return };
        trace.closed(why);
        let ports = endpoint.connection(*handle).map(Connection::ports);
        self.ended.extend(endpoint.path(*handle).zip(ports));
    }

    /// Closes the files of ended connections, once their last packets have been sent.
    pub(super) fn finish_ended(&mut self) {
        for ended in self.ended.drain(..) {
            if let Some(traced) = self.traced.remove(&ended) {
                traced.trace.finish();
            }
        }
    }
}

fn decode(path: Path, bytes: &[u8]) -> Option<Packet<'_>> {
    match Packet::decode(bytes, path.incoming()) {
        Ok(Decoded::Long(packet)) => Some(packet),
        _ => None,
    }
}

/// Returns whether the packet was ignored. Otherwise only its data was (RFC 4340 section 8.5 steps 8 and 16).
const fn is_without_effect(why: &Dropped) -> bool {
    !matches!(
        why,
        Dropped::Ignored(
            Ignored::OptionError | Ignored::ProtocolConstraints | Ignored::Corrupt | Ignored::NotListening
        )
    )
}
