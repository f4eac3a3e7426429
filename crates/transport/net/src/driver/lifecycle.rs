//! Connections from the call of [`connect`](Driver::connect) or a peer's Request to the end.

use super::line::{Line, Place};
use super::{Common, Driver};
use crate::mailbox::{Closed, Event};
use crate::outbox::LineOutbox;
use headway_dccp::{ConnectionHandle, Path};
use headway_units::Instant;
use std::sync::Arc;

impl Driver {
    pub(super) fn insert(&mut self, line: Line) -> u64 {
        let key = self.next_key;
        self.next_key += 1;
        if let Place::Endpoint(handle) = line.place {
            self.keys.insert(handle, key);
        }
        self.lines.insert(key, line);
        key
    }

    /// The session is there: the connection begins.
    pub(super) fn begin(&mut self, now: Instant, key: u64) {
        let Some(mut line) = self.lines.remove(&key) else { return };
        let Place::Session(outbox) = line.place else {
            self.lines.insert(key, line);
            return;
        };
        let Common { port, service, connection, .. } = &self.common;
        match self.endpoint.connect(now, line.path, *port, *service, connection, Some(*outbox)) {
            Ok(handle) => {
                self.start_small(handle, line.path);
                // Data goes before the program hears that it is connected, and how much a packet takes.
                let largest =
                    self.endpoint.connection(handle).map(|connection| connection.status().maximum_packet_size);
                if let (Some(largest), Some(Some(outbox))) = (largest, self.endpoint.outbox_mut(handle)) {
                    outbox.begin(largest);
                }
                line.place = Place::Endpoint(handle);
                self.keys.insert(handle, key);
                self.lines.insert(key, line);
            }
            Err(why) => line.mailbox.tell([Event::Closed(Closed::Refused(why))]),
        }
    }

    /// Starts the search for the path MTU at its least where the handshake of the session needed small datagrams.
    fn start_small(&mut self, handle: ConnectionHandle, session: Path) {
        if self.secure.as_ref().is_some_and(|secure| secure.is_small(session))
            && let Some(connection) = self.endpoint.connection_mut(handle)
        {
            connection.start_with_least_mtu();
        }
    }

    /// It is over: the program hears it, and nothing is kept.
    pub(super) fn end(&mut self, key: u64, why: Closed) {
        let Some(mut line) = self.lines.remove(&key) else { return };
        match &mut line.place {
            Place::Session(outbox) => outbox.give_up(),
            Place::Endpoint(handle) => {
                self.keys.remove(handle);
                if let Some(Some(outbox)) = self.endpoint.outbox_mut(*handle) {
                    outbox.give_up();
                }
            }
        }
        if line.unseen {
            self.note_refused(line.path, why.clone());
        }
        line.mailbox.tell([Event::Closed(why)]);
        self.closing.retain(|(other, _)| *other != key);
        if self.secure.is_some() {
            self.unused.push(line.path);
        }
    }

    /// Closes the sessions of connections that are over, once their last packets have left: a session that is closed carries none. Returns whether it
    /// closed any.
    pub(super) fn close_unused(&mut self, now: Instant) -> bool {
        let unused = std::mem::take(&mut self.unused);
        for path in &unused {
            if let Some(secure) = &mut self.secure
                && !self.lines.values().any(|line| line.path == *path)
            {
                secure.close(now, *path);
                self.moves.remove(path);
            }
        }
        !unused.is_empty()
    }

    /// Connections without anything left to send are closed, and those that have waited long enough.
    pub(super) fn finish_closing(&mut self, now: Instant) {
        let (mut due, mut gone) = (Vec::new(), Vec::new());
        for (key, at) in &self.closing {
            match self.lines.get(key).map(|line| &line.place) {
                None => {}
                Some(Place::Session(outbox)) if outbox.is_empty() || *at <= now => gone.push(*key),
                Some(Place::Endpoint(handle)) if self.has_sent_all(*handle) || *at <= now => due.push((*key, *handle)),
                Some(_) => {}
            }
        }
        for (key, handle) in due {
            self.closing.retain(|(other, _)| *other != key);
            if let Some(connection) = self.endpoint.connection_mut(handle) {
                connection.close(now);
            }
            if let Some(line) = self.lines.get_mut(&key) {
                line.closed = true;
            }
        }
        gone.into_iter().for_each(|key| self.end(key, Closed::Here));
    }

    pub(super) fn has_sent_all(&self, handle: ConnectionHandle) -> bool {
        let outbox = self.endpoint.outbox(handle).and_then(Option::as_ref);
        outbox.is_none_or(LineOutbox::is_empty)
    }

    /// A listener has made this connection, if it is new.
    pub(super) fn accept(&mut self, now: Instant, handle: ConnectionHandle) {
        if self.keys.contains_key(&handle) {
            return;
        }
        if let Some(path) = self.endpoint.path(handle) {
            self.start_small(handle, path);
        }
        let mailbox = self.mailbox();
        let mut outbox = self.outbox(&mailbox);
        if let Some(connection) = self.endpoint.connection(handle) {
            outbox.begin(connection.status().maximum_packet_size);
        }
        let (Some(path), Some(place)) = (self.endpoint.path(handle), self.endpoint.outbox_mut(handle)) else { return };
        *place = Some(outbox);
        let line = Line::new(now, mailbox, path, Place::Endpoint(handle));
        self.insert(Line { accepted: true, unseen: true, ..line });
        self.refuse_if_full(now, handle);
    }

    /// Resets a connection for which there is no room, with the code "Too Busy". Connections that a peer has not completed leave room for
    /// others.
    fn refuse_if_full(&mut self, now: Instant, handle: ConnectionHandle) -> bool {
        let Some(most) = self.common.accepted else { return false };
        let is_full = self.lines.values().filter(|line| line.accepted && !line.unseen).count() >= most;
        if is_full && let Some(connection) = self.endpoint.connection_mut(handle) {
            connection.abort_busy(now);
        }
        is_full
    }

    /// What the program must know before it sends, as long as it has not changed.
    pub(super) fn tell_largest(&mut self, handle: ConnectionHandle) {
        let line = self.keys.get(&handle).and_then(|key| self.lines.get(key));
        if let (Some(line), Some(connection)) = (line, self.endpoint.connection(handle)) {
            line.mailbox.tell([Event::Largest(connection.status().maximum_packet_size)]);
        }
        self.know_largest(handle);
    }

    /// What has waited for that goes, or is refused.
    pub(super) fn know_largest(&mut self, handle: ConnectionHandle) {
        let status = self.endpoint.connection(handle).map(headway_dccp::Connection::status);
        if status.is_some_and(|status| status.maximum_packet_size_is_known)
            && let Some(Some(outbox)) = self.endpoint.outbox_mut(handle)
        {
            outbox.know();
        }
    }

    /// Whoever accepts may have it: it is connected, or has brought something. If nobody does any more, nobody would ever close it.
    pub(super) fn show(&mut self, now: Instant, handle: ConnectionHandle) {
        let Some(key) = self.keys.get(&handle).copied() else { return };
        if !self.lines.get(&key).is_some_and(|line| line.unseen) || self.refuse_if_full(now, handle) {
            return;
        }
        if let Some(line) = self.lines.get_mut(&key) {
            line.unseen = false;
            let accepted = (key, line.path, Arc::clone(&line.mailbox));
            let is_over = self.accepts.with(|accepts| accepts.over);
            if is_over {
                self.closing.push((key, Instant::ZERO));
            } else {
                self.accepts.change(|accepts| accepts.waiting.push_back(accepted));
            }
        }
    }
}
