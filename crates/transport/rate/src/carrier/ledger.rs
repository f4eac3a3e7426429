//! Record of sent packets, for round trips and for the evaluation of acknowledgements.

use crate::report::{Arrival, Run, TimedArrival};
use headway_units::{Bytes, Duration, Instant};

/// Maximum number of entries, 16 MiB: the size to which a Sequence Window grows by default.
const MAX_ENTRIES: usize = 1 << 20;

/// Reordering distance, in packets, up to which a late packet still counts as delivered.
const MAX_REORDERING: u64 = 128;

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Instant,
    size: u32,
    /// Whether an acknowledgement follows immediately: data packets, and packets that require a response.
    prompt: bool,
    /// Whether the receiver reported a drop in its buffer (Drop Code 2).
    dropped: bool,
    /// Whether the packet is known to have been received.
    delivered: bool,
}

impl Entry {
    const NONE: Self = Self { at: Instant::ZERO, size: 0, prompt: false, dropped: false, delivered: false };
}

/// Initial number of entries, small because many connections send little.
const INITIAL_ENTRIES: usize = 16;

/// Record of the newest packets sent, at most about as many as DCCP's Sequence Window, to which acknowledgements can
/// refer.
#[derive(Clone, Debug)]
pub struct SentPackets {
    ring: Vec<Entry>,
    /// Maximum number of entries of the ring, which grows on demand.
    max_entries: usize,
    next: u64,
    /// Lowest number that may still count as delivered.
    settled: u64,
}

impl SentPackets {
    /// Creates an empty record of the last `window` packets. `window` is clamped to 64 to 2^20 and rounded up to a
    /// power of two.
    #[must_use]
    pub fn new(window: u64) -> Self {
        Self { ring: vec![Entry::NONE; INITIAL_ENTRIES], max_entries: Self::len(window), next: 0, settled: 0 }
    }
    fn len(window: u64) -> usize {
        usize::try_from(window).unwrap_or(MAX_ENTRIES).clamp(64, MAX_ENTRIES).next_power_of_two()
    }

    /// Extends the record to the last `window` packets, if that is more than before, and keeps all entries.
    pub fn widen(&mut self, window: u64) {
        self.max_entries = self.max_entries.max(Self::len(window));
    }

    #[cold]
    fn grow(&mut self) {
        let old = std::mem::take(&mut self.ring);
        self.ring = vec![Entry::NONE; (2 * old.len()).min(self.max_entries)];
        for number in self.next.saturating_sub(old.len() as u64)..self.next {
            let place = self.place(number);
            self.ring[place] = old[number as usize & (old.len() - 1)];
        }
    }

    const fn place(&self, number: u64) -> usize {
        number as usize & (self.ring.len() - 1)
    }

    /// Records a packet sent at `at` with `data` bytes of data and returns its number, counted from 0. `prompt` is
    /// whether the receiver acknowledges it immediately.
    #[inline]
    pub fn push(&mut self, at: Instant, data: Bytes, prompt: bool) -> u64 {
        let number = self.next;
        if number >= self.ring.len() as u64 && self.ring.len() < self.max_entries {
            self.grow();
        }
        let place = self.place(number);
        let size = u32::try_from(data.count()).unwrap_or(u32::MAX);
        self.ring[place] = Entry { at, size, prompt, dropped: false, delivered: false };
        self.next = number.saturating_add(1);
        number
    }

    /// Returns the number that the next packet sent will get.
    #[must_use]
    pub const fn upcoming(&self) -> u64 {
        self.next
    }

    fn find(&self, number: u64) -> Option<&Entry> {
        let known = number < self.next && self.next - number <= self.ring.len() as u64;
        if known { self.ring.get(self.place(number)) } else { None }
    }

    /// Returns the time since packet `number` was sent; `None` if it is not recorded.
    #[must_use]
    pub fn age(&self, number: u64, now: Instant) -> Option<Duration> {
        self.find(number).map(|entry| now.since(entry.at))
    }

    /// Returns the time between the sending of packet `number` and of the next one, if both are recorded.
    #[must_use]
    pub fn until_next(&self, number: u64) -> Option<Duration> {
        let at = self.find(number)?.at;
        self.find(number.checked_add(1)?).map(|next| next.at.since(at))
    }

    /// Returns whether the receiver acknowledges packet `number` immediately, as given to [`push`](Self::push). False
    /// for a DCCP-Ack, whose acknowledgement waits, and for a packet that is not recorded.
    #[must_use]
    pub fn is_prompt(&self, number: u64) -> bool {
        self.find(number).is_some_and(|entry| entry.prompt)
    }

    /// Marks the `packets` packets up to `acknowledged` as delivered and returns the newly delivered bytes. Older
    /// packets are ignored.
    fn deliver(&mut self, acknowledged: u64, packets: u64) -> u64 {
        let oldest = self.settled.max(self.next.saturating_sub(self.ring.len() as u64));
        let first = (acknowledged.saturating_add(1)).saturating_sub(packets).max(oldest);
        let mut bytes = 0;
        for number in first..acknowledged.saturating_add(1).min(self.next) {
            let place = self.place(number);
            if let Some(entry) = self.ring.get_mut(place)
                && !std::mem::replace(&mut entry.delivered, true)
            {
                bytes += u64::from(entry.size);
            }
        }
        bytes
    }

    /// Marks the packets of a report of arrivals, from `acknowledged` downwards, and returns the newly delivered data.
    pub(super) fn deliver_runs(&mut self, acknowledged: u64, runs: &[Run]) -> Bytes {
        let (mut number, mut bytes) = (Some(acknowledged), 0);
        for run in runs {
            let Some(last) = number.filter(|last| *last >= self.settled) else { break };
            if run.arrival != Arrival::NotReceived {
                bytes += self.deliver(last, run.packets);
            }
            number = last.checked_sub(run.packets);
        }
        self.settle(acknowledged);
        Bytes::new(bytes)
    }

    /// Stops counting packets that are too late, so that a report does not have to reach back to the last lost packet.
    fn settle(&mut self, acknowledged: u64) {
        self.settled = self.settled.max(acknowledged.min(self.next).saturating_sub(MAX_REORDERING));
    }

    /// Marks the packets of a timed report, from `acknowledged` downwards, and returns the newly delivered data.
    pub(super) fn deliver_timed(&mut self, acknowledged: u64, arrivals: &[TimedArrival]) -> Bytes {
        let received =
            (0..=acknowledged).rev().zip(arrivals).filter(|(_, arrival)| **arrival != TimedArrival::NotReceived);
        let bytes = received.map(|(number, _)| self.deliver(number, 1)).sum();
        self.settle(acknowledged);
        Bytes::new(bytes)
    }

    /// Records that the receiver dropped packet `number` because its buffer was full. Returns whether this was not
    /// recorded before; false if the packet is not recorded.
    pub fn drop_in_buffer(&mut self, number: u64) -> bool {
        let place = self.place(number);
        self.find(number).is_some() && !std::mem::replace(&mut self.ring[place].dropped, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_a_window() {
        let mut ledger = SentPackets::new(100);
        for number in 0..1000 {
            assert_eq!(ledger.push(Instant::from_millis(number), Bytes::new(1), number % 2 == 0), number);
        }
        assert_eq!(ledger.age(999, Instant::from_millis(1000)), Some(Duration::from_millis(1)));
        assert_eq!(ledger.age(872, Instant::from_millis(1000)), Some(Duration::from_millis(128)));
        assert_eq!(ledger.age(871, Instant::from_millis(1000)), None);
        assert_eq!(ledger.age(1000, Instant::from_millis(1000)), None);
        assert_eq!(ledger.until_next(998), Some(Duration::from_millis(1)));
        assert_eq!((ledger.until_next(999), ledger.until_next(871)), (None, None));
        assert!(ledger.is_prompt(998) && !ledger.is_prompt(999) && !ledger.is_prompt(2));
        ledger.widen(1000);
        assert_eq!(ledger.age(872, Instant::from_millis(1000)), Some(Duration::from_millis(128)));
        assert!(ledger.drop_in_buffer(999) && !ledger.drop_in_buffer(999));
    }

    /// Packet n has n bytes. Each counts once; numbers that were not sent are ignored.
    #[test]
    fn data_is_delivered_once() {
        let mut ledger = SentPackets::new(100);
        for number in 0..20 {
            ledger.push(Instant::ZERO, Bytes::new(number), true);
        }
        let mut delivered = |acknowledged, runs: &[(char, u64)]| {
            let run = |(outcome, packets): &(char, u64)| Run {
                arrival: match outcome {
                    '+' => Arrival::Received,
                    'm' => Arrival::Marked,
                    _ => Arrival::NotReceived,
                },
                packets: *packets,
            };
            ledger.deliver_runs(acknowledged, &runs.iter().map(run).collect::<Vec<_>>()).count()
        };
        assert_eq!(delivered(3, &[('+', 4)]), 6);
        assert_eq!(delivered(3, &[('+', 4)]), 0);
        assert_eq!(delivered(8, &[('m', 1), ('-', 2), ('+', 6)]), 8 + 5 + 4);
        assert_eq!(delivered(8, &[('+', 9)]), 7 + 6);
        assert_eq!(delivered(30, &[('+', 12), ('-', 1), ('+', 18)]), 19 + 17 + 16 + 15 + 14 + 13 + 12 + 11 + 10 + 9);
        assert_eq!(delivered(u64::MAX, &[('+', u64::MAX)]), 18);
        let received = TimedArrival::Received { ecn: headway_units::Ecn::NotEct, before: None };
        ledger.push(Instant::ZERO, Bytes::new(20), true);
        ledger.push(Instant::ZERO, Bytes::new(21), true);
        assert_eq!(ledger.deliver_timed(21, &[received, TimedArrival::NotReceived, received]), Bytes::new(21));
        assert_eq!(ledger.deliver_timed(21, &[received, received]), Bytes::new(20));
    }
}
