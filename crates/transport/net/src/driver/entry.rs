//! State of one connection of an endpoint.

use super::recovery::Recovery;
use crate::breaker::{Breaker, BreakerReason};
use crate::mailbox::Mailbox;
use crate::outbox::ConnectionOutbox;
use crate::qlog::Trace;
use headway_dccp::{ConnectionHandle, Datagram, DeliveryOrder, InOrder, Path, Restorer};
use headway_rate::OneWayDelay;
use headway_units::{Duration, Instant, Seq48};
use std::sync::Arc;

/// Datagrams that wait for earlier ones, each with the delay and the number of its packet.
type Received = InOrder<(Option<OneWayDelay>, Seq48)>;

/// Limits of the datagrams that wait for earlier ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct OrderLimits {
    /// Longest time for which a datagram waits.
    pub(super) wait: Duration,
    /// Maximum number of datagrams. All must fit into the mailbox, with what the program has not read.
    pub(super) most: usize,
}

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
    /// Received datagrams for forward error correction; `None` until both ends agree on it.
    pub(super) restorer: Option<Box<Restorer>>,
    /// Number of lost datagrams that were restored.
    pub(super) restored: u64,
    pub(super) trace: Option<Trace>,
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
            restorer: None,
            restored: 0,
            trace: None,
        }
    }

    /// Delivers a datagram to the program, once earlier ones that may still arrive have arrived. Calls `unread` for each
    /// datagram, by its packet number, for which the program has no space.
    pub(super) fn deliver(
        &mut self,
        now: Instant,
        limits: Option<OrderLimits>,
        datagram: &Datagram<'_>,
        unread: &mut impl FnMut(Seq48),
    ) {
        let Self { mailbox, in_order, restorer, restored, .. } = self;
        let Datagram { seq, one_way_delay, order, is_protected, repair, data, .. } = *datagram;
        let mut deliver = |number, order: Option<DeliveryOrder>, data: &[u8]| {
            // That of a restored datagram is unknown.
            let delay = one_way_delay.filter(|_| number == seq);
            let mut to_program = |data: &[u8], (delay, seq)| {
                if !mailbox.deliver(data, delay) {
                    unread(seq);
                }
            };
            match order.zip(limits) {
                Some((order, OrderLimits { wait, most })) => {
                    let in_order = in_order.get_or_insert_with(|| Box::new(InOrder::new(wait, most)));
                    in_order.receive(now, order, data, (delay, number), &mut to_program);
                }
                None => to_program(data, (delay, number)),
            }
        };
        let mut count = |number, order: Option<DeliveryOrder>, data: &[u8]| {
            *restored += u64::from(number != seq);
            deliver(number, order, data);
        };
        if !is_protected {
            return deliver(seq, order, data);
        }
        let restorer = restorer.get_or_insert_default();
        match repair {
            None => restorer.receive(seq, order, data, &mut count),
            Some(repair) => restorer.receive_repair(seq, &repair, data, &mut count),
        }
    }

    /// Delivers all datagrams that wait, since no more will arrive.
    pub(super) fn deliver_rest(&mut self) {
        self.restorer = None;
        if let Some(mut in_order) = self.in_order.take() {
            in_order.drain(&mut |data, (delay, _)| {
                // The peer can no longer be informed that the program had no space.
                self.mailbox.deliver(data, delay);
            });
        }
    }

    /// Returns when the wait of a held datagram ends.
    pub(super) fn order_due(&self) -> Option<Instant> {
        self.in_order.as_ref()?.poll_timeout()
    }
}

#[derive(Debug)]
pub(super) enum Stage {
    /// The session is not established yet.
    AwaitingSession(Box<ConnectionOutbox>),
    Running(ConnectionHandle),
}
