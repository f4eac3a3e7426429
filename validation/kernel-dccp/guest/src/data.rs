//! What an application sends, and how it knows what it got.

use headway_dccp::Outbox;
use headway_units::Instant;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

/// What an end sends.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Sending {
    /// Datagrams at most.
    pub(crate) packets: u32,
    /// Bytes of each, four or more.
    pub(crate) bytes: usize,
    /// Microseconds from one to the next; 0: as fast as they go.
    interval_us: u64,
    /// A pause before the second half.
    gap_us: u64,
    /// No datagram later than this after the first, 0: however long it takes.
    within_ms: u64,
}

impl Sending {
    /// When datagram `index` is there, after the first one. `None` if it never is.
    pub(crate) fn due(&self, index: u32) -> Option<Duration> {
        let gap = if index > self.packets / 2 { self.gap_us } else { 0 };
        (index < self.packets).then(|| Duration::from_micros(u64::from(index) * self.interval_us + gap))
    }

    /// Whether the time for sending is over.
    pub(crate) fn is_over(&self, since_first: Duration) -> bool {
        self.within_ms > 0 && since_first >= Duration::from_millis(self.within_ms)
    }

    /// A datagram's bytes: its index, and what follows from the index.
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

/// The data of an application over Headway, of which a datagram is there once its time has come.
#[derive(Debug)]
pub(crate) struct Data {
    spec: Sending,
    /// When the first one was there.
    begun: Option<Instant>,
    index: u32,
    back: VecDeque<Vec<u8>>,
    taken: Vec<u8>,
}

impl Data {
    /// `begun`: the first datagram is there already.
    pub(crate) fn new(spec: Sending, begun: Option<Instant>) -> Self {
        Self { spec, begun, index: 0, back: VecDeque::new(), taken: Vec::new() }
    }
    /// The first datagram is there, unless it has been before.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.begun = self.begun.or(Some(now));
    }
    /// What came goes back.
    pub(crate) fn send_back(&mut self, datagram: &[u8]) {
        self.back.push_back(datagram.to_vec());
    }
    /// Nothing waits to go back.
    pub(crate) fn is_empty(&self) -> bool {
        self.back.is_empty()
    }
    /// When the next datagram is there. `None` if there is no more.
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

/// What an end received.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Tally {
    received: u32,
    bytes: usize,
    /// Datagrams that had come before.
    twice: u32,
    /// Datagrams that came behind one with a greater index.
    overtaken: u32,
    /// Datagrams whose bytes are not those that were sent.
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
