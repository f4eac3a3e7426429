//! The circuit breakers' clock.

use super::line::Place;
use super::{Driver, LOOK};
use crate::breaker::{Observed, Step};
use headway_units::Instant;

impl Driver {
    /// Each second, while data goes: whether a connection harms the network, or reaches nobody.
    pub(super) fn look_at_breakers(&mut self, now: Instant) {
        if self.look.is_none_or(|at| at > now) {
            return;
        }
        self.look = None;
        let Self { lines, endpoint, moves, .. } = self;
        for line in lines.values_mut() {
            let Place::Endpoint(handle) = line.place else { continue };
            let waits = endpoint.outbox(handle).and_then(Option::as_ref).is_some_and(|outbox| !outbox.is_empty());
            let Some(connection) = endpoint.connection_mut(handle) else { continue };
            let seen = Observed::from(&connection.status());
            if waits || line.breaker.has_more(&seen) {
                self.look = Some(now + LOOK);
            }
            match line.breaker.update(now, seen) {
                Step::Nothing => {}
                // Its own question is an answer to this one, too.
                Step::Ask if moves.contains_key(&line.path) => {}
                Step::Ask => drop(connection.probe()),
                Step::Trip(why) => {
                    line.tripped = Some(why);
                    connection.abort(now);
                }
            }
        }
    }
}
