//! Reconnection: a connection that this end opened and that is lost begins again, with the same mailbox and send queue.
//!
//! An open connection is lost if its peer is silent although data is sent, or if the peer ends it. Attempts follow each
//! other without a limit, at a constant rate: handshake messages of an attempt are retransmitted after 125, 375 and
//! 875 ms, and the next attempt begins at 1375 ms, or after two round trips if these are longer. So a peer that returns
//! receives a message within half a second or a round trip. If it answers, the attempt has eight round trips more.

use super::Driver;
use super::entry::{Entry, Stage};
use super::recovery::Recovery;
use crate::breaker::Breaker;
use crate::mailbox::{Closed, Event};
use crate::secure::SecureError;
use headway_dccp::{Path, ResetCode};
use headway_units::{Duration, Instant};

/// Time without any packet from the peer, while data is sent, after which the peer counts as gone; at least
/// [`SILENCE_TRIPS`].
const SILENCE: Duration = Duration::from_secs(1);
const SILENCE_TRIPS: u64 = 4;
/// Interval of the checks for silence. From the second one on each check asks the peer with a Sync.
const CHECK_INTERVAL: Duration = Duration::from_millis(125);
/// Wait before the next attempt after the peer has ended a connection or refused it.
const REFUSED_WAIT: Duration = Duration::from_millis(500);

/// Returns whether the peer may accept another connection. `lost`: whether this was an attempt to reconnect.
fn may_return(why: &Closed, lost: bool) -> bool {
    match why {
        Closed::NoAnswer | Closed::ByPeer => true,
        Closed::Security(why) => {
            matches!(
                why,
                SecureError::NoAnswer | SecureError::ByPeer | SecureError::Replaced | SecureError::Protocol(_)
            )
        }
        // An established connection gets "Too Busy" if the peer serves another client instead.
        Closed::Reset(reset) if reset.code == ResetCode::TOO_BUSY => lost,
        Closed::Reset(reset) => [ResetCode::CLOSED, ResetCode::ABORTED, ResetCode::NO_CONNECTION].contains(&reset.code),
        // RFC 8083 section 4.5: not after the circuit breaker. All others would fail again.
        _ => false,
    }
}

impl Driver {
    /// Records that a connection is established.
    pub(super) fn on_established(&mut self, key: u64) {
        let reconnects = self.common.reconnect;
        if let Some(entry) = self.entries.get_mut(&key).filter(|entry| reconnects && !entry.accepted) {
            let small = self.secure.as_ref().is_some_and(|secure| secure.is_small(entry.path));
            entry.recovery = Recovery::established(small, entry.recovery.rtt);
        }
    }

    /// Ends a connection, or prepares the next attempt if the endpoint reconnects.
    pub(super) fn lose(&mut self, now: Instant, key: u64, why: Closed) {
        let is_closing = self.closing.iter().any(|(closing, _)| *closing == key);
        let returns = |entry: &&mut Entry| {
            entry.recovery.is_enabled && !entry.closed && !is_closing && may_return(&why, entry.recovery.is_lost())
        };
        let Some(entry) = self.entries.get_mut(&key).filter(returns) else { return self.end(key, why) };
        let wait = if why == Closed::NoAnswer { Duration::ZERO } else { REFUSED_WAIT };
        if !entry.recovery.is_lost() {
            entry.mailbox.publish([Event::Interrupted(why.clone())]);
        }
        let at = now + wait;
        entry.recovery.wait_until(at);
        if let Some(traces) = &mut self.traces {
            traces.end(&self.endpoint, entry, &why);
        }
        self.retry_due = Some(self.retry_due.map_or(at, |due| due.min(at)));
        self.take_outbox_back(now, key);
    }

    /// Detaches the entry from its connection. Its queued datagrams wait for the next one.
    fn take_outbox_back(&mut self, now: Instant, key: u64) {
        let Self { entries, endpoint, keys, .. } = self;
        let Some(entry) = entries.get_mut(&key) else { return };
        if let Stage::Running(handle) = entry.stage
            && let Some(mut outbox) = endpoint.outbox_mut(handle).and_then(Option::take)
        {
            outbox.trace = None;
            outbox.start_again();
            entry.deliver_rest();
            keys.remove(&handle);
            entry.stage = Stage::AwaitingSession(Box::new(outbox));
            (entry.breaker, entry.tripped) = (Breaker::new(now), None);
        }
    }

    /// Finds peers that have not answered data for too long.
    pub(super) fn check_silence(&mut self, now: Instant) {
        if self.silence_due.is_none_or(|at| at > now) {
            return;
        }
        self.silence_due = None;
        let mut silent = Vec::new();
        let Self { entries, endpoint, migrations, .. } = self;
        for (key, entry) in entries.iter_mut().filter(|(_, entry)| entry.recovery.is_enabled) {
            let Stage::Running(handle) = entry.stage else { continue };
            let waits = endpoint.outbox(handle).and_then(Option::as_ref).is_some_and(|outbox| !outbox.is_empty());
            let (Some(connection), false) = (endpoint.connection_mut(handle), entry.recovery.is_lost()) else {
                continue;
            };
            let status = connection.status();
            let recovery = &mut entry.recovery;
            recovery.rtt = status.rtt.unwrap_or(recovery.rtt);
            let silence = recovery.silence(now, status.counters.received_packets, status.counters.sent_data_packets);
            match silence {
                Some(silence) if silence >= SILENCE.max(recovery.rtt * SILENCE_TRIPS) => silent.push(*key),
                // The probe of the migration is also a question to the peer.
                Some(silence) if silence >= CHECK_INTERVAL && !migrations.contains_key(&entry.path) => {
                    let _ = connection.probe();
                }
                _ => {}
            }
            if waits || silence.is_some() {
                self.silence_due = Some(now + CHECK_INTERVAL);
            }
        }
        for key in silent {
            self.abort_connection(now, key);
            self.lose(now, key, Closed::NoAnswer);
        }
    }

    /// Starts the attempts that are due, in place of earlier ones without an answer.
    pub(super) fn retry_lost(&mut self, now: Instant) {
        if self.retry_due.is_none_or(|at| at > now) {
            return;
        }
        let due = |entry: &&Entry| entry.recovery.retry_at.is_some_and(|at| at <= now);
        let paths: Vec<Path> = self.entries.values().filter(due).map(|entry| entry.path).collect();
        for path in paths {
            self.retry(now, path);
        }
        self.retry_due = self.entries.values().filter_map(|entry| entry.recovery.retry_at).min();
    }

    /// Starts an attempt for all lost connections of a path, which share a session.
    fn retry(&mut self, now: Instant, path: Path) {
        let all = self.keys_of_session(path);
        let is_lost = |key: &u64| self.entries.get(key).is_some_and(|entry| entry.recovery.is_lost());
        let (lost, others): (Vec<u64>, Vec<u64>) = all.into_iter().partition(is_lost);
        for key in &lost {
            self.abort_connection(now, *key);
            if let (Some(traces), Some(entry)) = (&mut self.traces, self.entries.get_mut(key)) {
                traces.end(&self.endpoint, entry, &Closed::NoAnswer);
            }
            self.take_outbox_back(now, *key);
            if let Some(Entry { recovery, .. }) = self.entries.get_mut(key) {
                recovery.on_attempt(now);
            }
        }
        let small = lost.iter().any(|key| self.entries.get(key).is_some_and(|entry| entry.recovery.small));
        let session = self.secure.as_mut().map(|secure| {
            if others.is_empty() {
                secure.close(now, path);
            }
            secure.connect(now, path, small)
        });
        self.migrations.remove(&path);
        for key in lost {
            match &session {
                None => self.begin(now, key),
                Some(Ok(())) => {}
                Some(Err(why)) => self.end(key, Closed::Security(why.clone())),
            }
        }
    }

    /// Returns the time of the next check or attempt.
    pub(super) fn recovery_due(&self) -> Option<Instant> {
        self.retry_due.into_iter().chain(self.silence_due).min()
    }

    /// Schedules checks for silence, because data is sent.
    pub(super) fn watch_silence(&mut self, now: Instant) {
        if self.common.reconnect {
            self.silence_due.get_or_insert(now + CHECK_INTERVAL);
        }
    }
}
