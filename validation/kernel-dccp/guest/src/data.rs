//! Data that an application sends, and verification of received data.

use headway_dccp::Outbox;
use headway_units::Instant;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

/// Data of an endpoint.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Sending {
    /// Maximum number of datagrams.
    pub(crate) packets: u32,
    /// Length of a datagram in bytes, at least 4.
    pub(crate) bytes: usize,
    /// Interval of datagrams in us; 0 for no limit.
    interval_us: u64,
    /// Pause before the second half, in us.
    gap_us: u64,
    /// Maximum time of a datagram after the first, in ms; 0 for no limit.
    within_ms: u64,
}

impl Sending {
    /// Returns the time of datagram `index` after the first; `None` if there is no such datagram.
    pub(crate) fn due(&self, index: u32) -> Option<Duration> {
        let gap = if index > self.packets / 2 { self.gap_us } else { 0 };
        (index < self.packets).then(|| Duration::from_micros(u64::from(index) * self.interval_us + gap))
    }

    /// Returns whether the time for sending has ended.
    pub(crate) fn is_over(&self, since_first: Duration) -> bool {
        self.within_ms > 0 && since_first >= Duration::from_millis(self.within_ms)
    }

    /// Returns a datagram: its index, and bytes derived from the index.
    pub(crate) fn datagram(&self, index: u32) -> Vec<u8> {
        fill(index, self.bytes)
    }
}

fn fill(index: u32, bytes: usize) -> Vec<u8> {
    let mut datagram = index.to_be_bytes().to_vec();
    datagram.extend((4..bytes).map(|place| (index as usize).wrapping_mul(31).wrapping_add(place) as u8));
    datagram.truncate(bytes);
    datagram
}

/// Outbox of an application over Headway, with datagrams at their due times.
#[derive(Debug)]
pub(crate) struct Data {
    spec: Sending,
    /// Time of the first datagram.
    begun: Option<Instant>,
    index: u32,
    back: VecDeque<Vec<u8>>,
    taken: Vec<u8>,
}

impl Data {
    /// Creates the outbox; `begun` is the time of the first datagram, if that has passed.
    pub(crate) fn new(spec: Sending, begun: Option<Instant>) -> Self {
        Self { spec, begun, index: 0, back: VecDeque::new(), taken: Vec::new() }
    }
    /// Starts the schedule, unless it has started.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.begun = self.begun.or(Some(now));
    }
    /// Queues a received datagram to be sent back.
    pub(crate) fn send_back(&mut self, datagram: &[u8]) {
        self.back.push_back(datagram.to_vec());
    }
    /// Returns whether no received datagram is queued.
    pub(crate) fn is_empty(&self) -> bool {
        self.back.is_empty()
    }
    /// Returns when the next datagram is due; `None` if there are no more.
    pub(crate) fn due(&self, now: Instant) -> Option<Instant> {
        let begun = self.begun?;
        let since = Duration::from_nanos(now.since(begun).as_nanos());
        let due = self.spec.due(self.index).filter(|_| !self.spec.is_over(since))?;
        Some(Instant::from_nanos(begun.as_nanos() + due.as_nanos() as u64))
    }
}

impl Outbox for Data {
    fn next_len(&mut self, now: Instant) -> Option<usize> {
        let own = self.due(now).is_some_and(|due| due <= now);
        self.back.front().map(Vec::len).or_else(|| own.then_some(self.spec.bytes))
    }
    fn take(&mut self, now: Instant) -> Option<&[u8]> {
        self.taken = match self.back.pop_front() {
            Some(datagram) => datagram,
            None => {
                self.due(now)?;
                self.index += 1;
                self.spec.datagram(self.index - 1)
            }
        };
        Some(&self.taken)
    }
}

/// Counts of received datagrams.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Tally {
    received: u32,
    bytes: usize,
    /// Duplicates.
    twice: u32,
    /// Datagrams that arrived after one with a greater index.
    overtaken: u32,
    /// Datagrams with wrong bytes.
    spoilt: u32,
    #[serde(skip)]
    seen: BTreeSet<u32>,
}

impl Tally {
    pub(crate) fn count(&mut self, datagram: &[u8]) {
        self.received += 1;
        self.bytes += datagram.len();
        let index = datagram.first_chunk().map_or(u32::MAX, |bytes| u32::from_be_bytes(*bytes));
        if datagram != fill(index, datagram.len()) {
            self.spoilt += 1;
            return;
        }
        self.overtaken += u32::from(self.seen.last().is_some_and(|last| index < *last));
        self.twice += u32::from(!self.seen.insert(index));
    }
}
