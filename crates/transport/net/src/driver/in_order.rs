//! Received datagrams that wait for earlier ones: end of their wait.

use super::Driver;
use super::entry::Entry;
use headway_dccp::ConnectionHandle;
use headway_units::Instant;

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
