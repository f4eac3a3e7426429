//! The segments of a window, each with its last transmission.

use crate::delivery::Sent;
use headway_units::Instant;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    InFlight,
    /// Declared lost, and not sent again.
    Lost,
    Received,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    sent: Sent,
    /// Number of the transmission.
    number: u64,
    status: Status,
}

#[derive(Clone, Debug)]
pub(super) struct Flight {
    /// Segments from number `base`, the first unacknowledged one.
    entries: VecDeque<Entry>,
    base: u64,
    /// Transmissions in order: segment and number.
    order: VecDeque<(u64, u64)>,
    /// Number of the next transmission.
    transmissions: u64,
    /// Lost segments in the order of detection. Those delivered meanwhile are skipped.
    lost: VecDeque<u64>,
    /// Segments in the network: sent, and neither delivered nor lost.
    pub(super) count: u64,
    /// Segments declared lost and not sent again.
    pub(super) waiting: u64,
}

impl Flight {
    pub(super) const fn new() -> Self {
        Self {
            entries: VecDeque::new(),
            base: 0,
            order: VecDeque::new(),
            transmissions: 0,
            lost: VecDeque::new(),
            count: 0,
            waiting: 0,
        }
    }

    fn index(&self, seq: u64) -> Option<usize> {
        usize::try_from(seq.checked_sub(self.base)?).ok()
    }
    fn entry(&mut self, seq: u64) -> Option<&mut Entry> {
        let index = self.index(seq)?;
        self.entries.get_mut(index)
    }

    /// Records a transmission: of the next segment, or of an earlier one again.
    pub(super) fn send(&mut self, seq: u64, sent: Sent) {
        let entry = Entry { sent, number: self.transmissions, status: Status::InFlight };
        self.order.push_back((seq, self.transmissions));
        self.transmissions += 1;
        let Some(known) = self.entry(seq) else {
            self.entries.push_back(entry);
            self.count += 1;
            return;
        };
        if std::mem::replace(known, entry).status == Status::Lost {
            self.waiting -= 1;
            self.count += 1;
            self.drop_stale_losses();
        }
    }

    /// Marks a segment as received. Returns its last transmission and the number of it; `None` if it was received before.
    pub(super) fn deliver(&mut self, seq: u64) -> Option<(Sent, u64)> {
        let entry = self.entry(seq)?;
        let Entry { sent, number, status } = *entry;
        entry.status = Status::Received;
        match status {
            Status::InFlight => self.count -= 1,
            Status::Lost => self.waiting -= 1,
            Status::Received => return None,
        }
        Some((sent, number))
    }

    /// Removes the first segment, which is acknowledged.
    pub(super) fn remove_first(&mut self) {
        self.entries.pop_front();
        self.base += 1;
    }

    /// Declares a segment in flight lost. Returns its transmission.
    pub(super) fn lose(&mut self, seq: u64) -> Option<Sent> {
        let entry = self.entry(seq).filter(|entry| entry.status == Status::InFlight)?;
        entry.status = Status::Lost;
        let sent = entry.sent;
        self.count -= 1;
        self.waiting += 1;
        self.lost.push_back(seq);
        Some(sent)
    }

    /// Returns the first segment to send again.
    pub(super) fn first_lost(&self) -> Option<u64> {
        self.lost.front().copied()
    }

    /// Removes the first lost segments that were delivered or sent again.
    pub(super) fn drop_stale_losses(&mut self) {
        while let Some(&seq) = self.lost.front()
            && self.entry(seq).is_none_or(|entry| entry.status != Status::Lost)
        {
            self.lost.pop_front();
        }
    }

    /// Returns the oldest transmission of a segment in flight if it is before `end`: segment and time.
    pub(super) fn oldest_before(&mut self, end: u64) -> Option<(u64, Instant)> {
        while let Some(&(seq, number)) = self.order.front().filter(|(_, number)| *number < end) {
            if let Some(sent) = self.sent_at(seq, number) {
                return Some((seq, sent));
            }
            self.order.pop_front();
        }
        None
    }

    /// Returns the time of the last transmission before `number` of a segment in flight.
    pub(super) fn last_before(&self, number: u64) -> Option<Instant> {
        let earlier = self.order.partition_point(|&(_, other)| other < number);
        self.order.iter().take(earlier).rev().find_map(|&(seq, number)| self.sent_at(seq, number))
    }

    /// Returns the segments in flight in the order of their transmission, each with its time.
    pub(super) fn transmissions(&self) -> impl Iterator<Item = (u64, Instant)> + '_ {
        self.order.iter().filter_map(|&(seq, number)| Some((seq, self.sent_at(seq, number)?)))
    }

    /// Returns when a segment was sent by this transmission, if it is still in flight.
    fn sent_at(&self, seq: u64, number: u64) -> Option<Instant> {
        let entry = self.entries.get(self.index(seq)?)?;
        (entry.status == Status::InFlight && entry.number == number).then_some(entry.sent.at)
    }
}
