//! What an endpoint keeps of each connection.

use crate::breaker::{Breaker, Tripped};
use crate::mailbox::Mailbox;
use crate::outbox::LineOutbox;
use headway_dccp::{ConnectionHandle, Path};
use headway_units::Instant;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Line {
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) path: Path,
    pub(super) place: Place,
    /// A peer has begun it.
    pub(super) accepted: bool,
    /// It waits to be shown to whoever accepts.
    pub(super) unseen: bool,
    /// This end has closed.
    pub(super) closed: bool,
    pub(super) breaker: Breaker,
    pub(super) tripped: Option<Tripped>,
}

impl Line {
    pub(super) fn new(now: Instant, mailbox: Arc<Mailbox>, path: Path, place: Place) -> Self {
        Self {
            mailbox,
            path,
            place,
            accepted: false,
            unseen: false,
            closed: false,
            breaker: Breaker::new(now),
            tripped: None,
        }
    }
}

#[derive(Debug)]
pub(super) enum Place {
    /// It waits for its session.
    Session(Box<LineOutbox>),
    Endpoint(ConnectionHandle),
}
