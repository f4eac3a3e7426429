//! Timer of the circuit breakers.

use super::entry::Stage;
use super::{BREAKER_INTERVAL, Driver};
use crate::breaker::{Observed, Step};
use headway_units::Instant;

impl Driver {
    /// Updates the circuit breakers each second while data is sent.
    pub(super) fn update_breakers(&mut self, now: Instant) {
        if self.breakers_due.is_none_or(|at| at > now) {
            return;
        }
        self.breakers_due = None;
        let Self { entries, endpoint, migrations, .. } = self;
        for entry in entries.values_mut() {
            let Stage::Running(handle) = entry.stage else { continue };
            let waits = endpoint.outbox(handle).and_then(Option::as_ref).is_some_and(|outbox| !outbox.is_empty());
            let Some(connection) = endpoint.connection_mut(handle) else { continue };
            let seen = Observed::from(&connection.status());
            if waits || entry.breaker.has_more(seen.data) {
                self.breakers_due = Some(now + BREAKER_INTERVAL);
            }
            match entry.breaker.update(now, seen) {
                Step::Nothing => {}
                // The probe of the migration is also a question to the peer.
                Step::Ask if migrations.contains_key(&entry.path) => {}
                Step::Ask => drop(connection.probe()),
                Step::Trip(why) => {
                    entry.tripped = Some(why);
                    connection.abort(now);
                }
            }
        }
    }
}
