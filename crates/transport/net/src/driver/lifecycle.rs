//! Life of a connection, from [`connect`](Driver::connect) or the Request of a peer to its end.

use super::entry::{Entry, Stage};
use super::recovery::REQUEST_TIMEOUT;
use super::{Common, Driver};
use crate::mailbox::{Closed, Event};
use crate::outbox::ConnectionOutbox;
use headway_dccp::{ConnectionHandle, Path};
use headway_units::Instant;
use std::sync::Arc;

impl Driver {
    pub(super) fn insert(&mut self, entry: Entry) -> u64 {
        let key = self.next_key;
        self.next_key += 1;
        if let Stage::Running(handle) = entry.stage {
            self.keys.insert(handle, key);
        }
        self.entries.insert(key, entry);
        key
    }

    /// Begins the connection once its session is established.
    pub(super) fn begin(&mut self, now: Instant, key: u64) {
        let Some(mut entry) = self.entries.remove(&key) else { return };
        let Stage::AwaitingSession(outbox) = entry.stage else {
            self.entries.insert(key, entry);
            return;
        };
        let Common { port, service, connection, .. } = &self.common;
        let mut connection = connection.clone();
        if entry.recovery.is_lost() {
            connection.expert.request_timeout = connection.expert.request_timeout.min(REQUEST_TIMEOUT);
        }
        match self.endpoint.connect(now, entry.path, *port, *service, &connection, Some(*outbox)) {
            Ok(handle) => {
                self.start_small(handle, entry.path);
                // Data is sent before the program is notified of the connection and its largest datagram.
                let largest = self.largest(handle);
                if let (Some(largest), Some(Some(outbox))) = (largest, self.endpoint.outbox_mut(handle)) {
                    outbox.begin(largest);
                }
                entry.stage = Stage::Running(handle);
                entry.trace = self
                    .traces
                    .as_mut()
                    .and_then(|traces| traces.start(&self.endpoint, handle, entry.recovery.is_lost()));
                if entry.trace.is_some()
                    && let Some(Some(outbox)) = self.endpoint.outbox_mut(handle)
                {
                    outbox.trace.clone_from(&entry.trace);
                }
                self.keys.insert(handle, key);
                self.entries.insert(key, entry);
            }
            Err(why) => entry.mailbox.publish([Event::Closed(Closed::Refused(why))]),
        }
    }

    /// Starts path MTU discovery at its minimum if the handshake of the session needed small datagrams.
    fn start_small(&mut self, handle: ConnectionHandle, session: Path) {
        if self.secure.as_ref().is_some_and(|secure| secure.is_small(session))
            && let Some(connection) = self.endpoint.connection_mut(handle)
        {
            connection.start_with_least_mtu();
        }
    }

    /// Ends the connection, notifies the program and removes all state.
    pub(super) fn end(&mut self, key: u64, why: Closed) {
        let Some(mut entry) = self.entries.remove(&key) else { return };
        match &mut entry.stage {
            Stage::AwaitingSession(outbox) => outbox.give_up(),
            Stage::Running(handle) => {
                self.keys.remove(handle);
                if let Some(Some(outbox)) = self.endpoint.outbox_mut(*handle) {
                    outbox.give_up();
                }
            }
        }
        if let Some(traces) = &mut self.traces {
            traces.end(&self.endpoint, &mut entry, &why);
        }
        if entry.unannounced {
            self.record_refused(entry.path, why.clone());
        }
        entry.deliver_rest();
        entry.mailbox.publish([Event::Closed(why)]);
        self.closing.retain(|(other, _)| *other != key);
        if self.secure.is_some() {
            self.unused.push(entry.path);
        }
    }

    /// Closes the sessions of ended connections, once their last packets are sent: a closed session sends none.
    /// Returns whether there was any.
    pub(super) fn close_unused(&mut self, now: Instant) -> bool {
        let unused = std::mem::take(&mut self.unused);
        for path in &unused {
            if let Some(secure) = &mut self.secure
                && !self.entries.values().any(|entry| entry.path == *path)
            {
                secure.close(now, *path);
                self.migrations.remove(path);
            }
        }
        !unused.is_empty()
    }

    /// Closes connections whose send queue is empty or whose time is over.
    pub(super) fn finish_closing(&mut self, now: Instant) {
        let (mut ready, mut unstarted) = (Vec::new(), Vec::new());
        for (key, at) in &self.closing {
            match self.entries.get(key).map(|entry| &entry.stage) {
                None => {}
                Some(Stage::AwaitingSession(outbox)) if outbox.is_empty() || *at <= now => unstarted.push(*key),
                Some(Stage::Running(handle)) if self.has_sent_all(*handle) || *at <= now => ready.push((*key, *handle)),
                Some(_) => {}
            }
        }
        for (key, handle) in ready {
            self.closing.retain(|(other, _)| *other != key);
            if let Some(connection) = self.endpoint.connection_mut(handle) {
                connection.close(now);
            }
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.closed = true;
            }
        }
        unstarted.into_iter().for_each(|key| self.end(key, Closed::Here));
    }

    pub(super) fn has_sent_all(&self, handle: ConnectionHandle) -> bool {
        let outbox = self.endpoint.outbox(handle).and_then(Option::as_ref);
        outbox.is_none_or(ConnectionOutbox::is_finished)
    }

    /// Ends a connection with the Reset "Too Busy".
    pub(crate) fn refuse(&mut self, now: Instant, key: u64) {
        let Some(entry) = self.entries.get_mut(&key) else { return };
        entry.closed = true;
        match entry.stage {
            Stage::Running(handle) => {
                if let Some(connection) = self.endpoint.connection_mut(handle) {
                    connection.abort_busy(now);
                }
            }
            Stage::AwaitingSession(_) => self.end(key, Closed::Here),
        }
    }

    /// Adds a connection created by the listener, if it is new.
    pub(super) fn accept(&mut self, now: Instant, handle: ConnectionHandle) {
        if self.keys.contains_key(&handle) {
            return;
        }
        if let Some(path) = self.endpoint.path(handle) {
            self.start_small(handle, path);
        }
        let (mailbox, trace) =
            (self.mailbox(), self.traces.as_mut().and_then(|traces| traces.accepted(&self.endpoint, handle)));
        let mut outbox = self.outbox(&mailbox);
        if let Some(largest) = self.largest(handle) {
            outbox.begin(largest);
        }
        let (Some(path), Some(place)) = (self.endpoint.path(handle), self.endpoint.outbox_mut(handle)) else { return };
        outbox.trace.clone_from(&trace);
        *place = Some(outbox);
        let entry = Entry::new(now, mailbox, path, Stage::Running(handle));
        self.insert(Entry { accepted: true, unannounced: true, trace, ..entry });
        self.refuse_if_full(now, handle);
    }

    /// Resets a connection above the limit, with the code "Too Busy". Connections that the peer has not completed do
    /// not count.
    fn refuse_if_full(&mut self, now: Instant, handle: ConnectionHandle) -> bool {
        let Some(most) = self.common.accepted else { return false };
        let is_full = self.entries.values().filter(|entry| entry.accepted && !entry.unannounced).count() >= most;
        if is_full && let Some(connection) = self.endpoint.connection_mut(handle) {
            connection.abort_busy(now);
        }
        is_full
    }

    /// Reports the size of the largest datagram before the program sends.
    pub(super) fn report_largest(&mut self, handle: ConnectionHandle) {
        let entry = self.keys.get(&handle).and_then(|key| self.entries.get(key));
        if let (Some(entry), Some(largest)) = (entry, self.largest(handle)) {
            entry.mailbox.publish([Event::Largest(largest)]);
        }
        self.confirm_largest(handle);
    }

    fn largest(&self, handle: ConnectionHandle) -> Option<usize> {
        let status = self.endpoint.connection(handle)?.status();
        Some(self.common.largest(status.maximum_packet_size))
    }

    /// Lets datagrams that waited for path MTU discovery be sent or discarded.
    pub(super) fn confirm_largest(&mut self, handle: ConnectionHandle) {
        let status = self.endpoint.connection(handle).map(headway_dccp::Connection::status);
        if status.is_some_and(|status| status.maximum_packet_size_is_known)
            && let Some(Some(outbox)) = self.endpoint.outbox_mut(handle)
        {
            outbox.confirm_largest();
        }
    }

    /// Queues the connection for acceptance: it is connected, or data has arrived. After the endpoint is dropped it
    /// is closed, since the program could not close it.
    pub(super) fn announce(&mut self, now: Instant, handle: ConnectionHandle) {
        let Some(key) = self.keys.get(&handle).copied() else { return };
        if !self.entries.get(&key).is_some_and(|entry| entry.unannounced) || self.refuse_if_full(now, handle) {
            return;
        }
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.unannounced = false;
            if let Some(trace) = &entry.trace {
                trace.open();
            }
            let accepted = (key, entry.path, Arc::clone(&entry.mailbox));
            let is_closed = self.accepts.with(|accepts| accepts.is_closed);
            if is_closed {
                self.closing.push((key, Instant::ZERO));
            } else {
                self.accepts.change(|accepts| accepts.waiting.push_back(accepted));
            }
        }
    }
}
