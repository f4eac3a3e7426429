//! State of one connection of an endpoint.

use super::in_order::Received;
use super::recovery::Recovery;
use crate::breaker::{Breaker, BreakerReason};
use crate::mailbox::Mailbox;
use crate::outbox::ConnectionOutbox;
use headway_dccp::{ConnectionHandle, Path};
use headway_units::Instant;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) path: Path,
    pub(super) stage: Stage,
    /// Whether a peer opened the connection.
    pub(super) accepted: bool,
    /// Whether it is not yet queued for acceptance.
    pub(super) unannounced: bool,
    /// Whether this end has closed it.
    pub(super) closed: bool,
    pub(super) breaker: Breaker,
    pub(super) tripped: Option<BreakerReason>,
    pub(super) recovery: Recovery,
    /// Received datagrams that wait for earlier ones; `None` until there is one.
    pub(super) in_order: Option<Box<Received>>,
}

impl Entry {
    pub(super) fn new(now: Instant, mailbox: Arc<Mailbox>, path: Path, stage: Stage) -> Self {
        Self {
            mailbox,
            path,
            stage,
            accepted: false,
            unannounced: false,
            closed: false,
            breaker: Breaker::new(now),
            tripped: None,
            recovery: Recovery::default(),
            in_order: None,
        }
    }
}

#[derive(Debug)]
pub(super) enum Stage {
    /// The session is not established yet.
    AwaitingSession(Box<ConnectionOutbox>),
    Running(ConnectionHandle),
}
