//! Delivery of received datagrams to the program, in the order in which the peer first sent them.

use super::Driver;
use super::entry::Entry;
use headway_dccp::{ConnectionHandle, Datagram, InOrder};
use headway_rate::OneWayDelay;
use headway_units::{Duration, Instant, Seq48};

/// Datagrams that wait for earlier ones, each with the delay and the number of its packet.
pub(super) type Received = InOrder<(Option<OneWayDelay>, Seq48)>;

impl Entry {
    /// Delivers a datagram to the program, once earlier ones that may still arrive have arrived. Calls `unread` for each
    /// datagram, by its packet number, for which the program has no space.
    pub(super) fn deliver(
        &mut self,
        now: Instant,
        wait: Option<Duration>,
        datagram: &Datagram<'_>,
        unread: &mut impl FnMut(Seq48),
    ) {
        let Self { mailbox, in_order, .. } = self;
        let Datagram { seq, one_way_delay, order, data, .. } = *datagram;
        let mut deliver = |data: &[u8], (delay, seq)| {
            if !mailbox.deliver(data, delay) {
                unread(seq);
            }
        };
        match order.zip(wait) {
            Some((order, wait)) => {
                let in_order = in_order.get_or_insert_with(|| Box::new(InOrder::new(wait)));
                in_order.receive(now, order, data, (one_way_delay, seq), &mut deliver);
            }
            None => deliver(data, (one_way_delay, seq)),
        }
    }

    /// Delivers all datagrams that wait, since no more will arrive.
    pub(super) fn deliver_rest(&mut self) {
        if let Some(mut in_order) = self.in_order.take() {
            in_order.drain(&mut |data, (delay, _)| {
                // The peer can no longer be informed that the program had no space.
                self.mailbox.deliver(data, delay);
            });
        }
    }

    fn order_due(&self) -> Option<Instant> {
        self.in_order.as_ref()?.poll_timeout()
    }
}

impl Driver {
    /// Updates the time of [`deliver_held`](Self::deliver_held) for a connection that has received a datagram.
    pub(super) fn watch_order(&mut self, handle: ConnectionHandle) {
        let entry = self.keys.get(&handle).and_then(|key| self.entries.get(key));
        if let Some(due) = entry.and_then(Entry::order_due) {
            self.order_due = Some(self.order_due.map_or(due, |before| before.min(due)));
        }
    }

    /// Delivers datagrams that have waited for too long.
    pub(super) fn deliver_held(&mut self, now: Instant) {
        if self.order_due.is_none_or(|due| due > now) {
            return;
        }
        let mut dropped = Vec::new();
        for (key, entry) in &mut self.entries {
            let Entry { mailbox, in_order: Some(in_order), .. } = entry else { continue };
            in_order.handle_timeout(now, &mut |data, (delay, seq)| {
                if !mailbox.deliver(data, delay) {
                    dropped.push((*key, seq));
                }
            });
        }
        self.order_due = self.entries.values().filter_map(Entry::order_due).min();
        for (key, seq) in dropped {
            if let Some(super::Stage::Running(handle)) = self.entries.get(&key).map(|entry| &entry.stage) {
                self.drop_unread(now, *handle, seq);
            }
        }
    }
}
