//! What was sent when: for round trips, and to judge what comes back about it.

use crate::report::{Arrival, Run, TimedArrival};
use headway_units::{Bytes, Duration, Instant};

/// Entries at most, 16 MiB: as many as a Sequence Window grows to by itself.
const MOST: usize = 1 << 20;

/// So many packets behind the newest one that has come, another may still come and count as delivered.
const REORDERED: u64 = 128;

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Instant,
    /// Data in bytes.
    size: u32,
    /// It is acknowledged soon: data, and what a packet answers at once.
    prompt: bool,
    /// Its receiver has said that its buffer dropped it (Drop Code 2).
    dropped: bool,
    /// It is known to have come.
    delivered: bool,
}

impl Entry {
    const NONE: Self = Self { at: Instant::ZERO, size: 0, prompt: false, dropped: false, delivered: false };
}

/// Entries of a new one: connections that do little are many.
const FIRST: usize = 16;

/// The newest packets sent, as many as an acknowledgement number can name.
#[derive(Clone, Debug)]
pub struct Ledger {
    ring: Vec<Entry>,
    /// Entries that the ring grows to, as packets go.
    most: usize,
    /// The number of the next packet.
    next: u64,
    /// Packets below are too old to count as delivered.
    settled: u64,
}

impl Ledger {
    /// For a window of so many packets.
    #[must_use]
    pub fn new(window: u64) -> Self {
        Self { ring: vec![Entry::NONE; FIRST], most: Self::len(window), next: 0, settled: 0 }
    }
    fn len(window: u64) -> usize {
        usize::try_from(window).unwrap_or(MOST).clamp(64, MOST).next_power_of_two()
    }

    /// Makes room for a wider window. What was kept of older packets stays.
    pub fn widen(&mut self, window: u64) {
        self.most = self.most.max(Self::len(window));
    }

    /// The ring is full, and may be larger.
    #[cold]
    fn grow(&mut self) {
        let old = std::mem::take(&mut self.ring);
        self.ring = vec![Entry::NONE; (2 * old.len()).min(self.most)];
        for number in self.next.saturating_sub(old.len() as u64)..self.next {
            let place = self.place(number);
            self.ring[place] = old[number as usize & (old.len() - 1)];
        }
    }

    const fn place(&self, number: u64) -> usize {
        number as usize & (self.ring.len() - 1)
    }

    /// A packet goes, with so much data: its number.
    #[inline]
    pub fn push(&mut self, at: Instant, data: Bytes, prompt: bool) -> u64 {
        let number = self.next;
        if number >= self.ring.len() as u64 && self.ring.len() < self.most {
            self.grow();
        }
        let place = self.place(number);
        let size = u32::try_from(data.count()).unwrap_or(u32::MAX);
        self.ring[place] = Entry { at, size, prompt, dropped: false, delivered: false };
        self.next = number.saturating_add(1);
        number
    }

    /// The number of the next packet.
    #[must_use]
    pub const fn upcoming(&self) -> u64 {
        self.next
    }

    fn find(&self, number: u64) -> Option<&Entry> {
        let known = number < self.next && self.next - number <= self.ring.len() as u64;
        if known { self.ring.get(self.place(number)) } else { None }
    }

    /// How long ago the packet went, if that is still known.
    #[must_use]
    pub fn age(&self, number: u64, now: Instant) -> Option<Duration> {
        self.find(number).map(|entry| now.since(entry.at))
    }

    /// How long after the packet the next one went, if it did.
    #[must_use]
    pub fn until_next(&self, number: u64) -> Option<Duration> {
        let at = self.find(number)?.at;
        self.find(number.checked_add(1)?).map(|next| next.at.since(at))
    }

    /// Whether an acknowledgement of the packet followed it closely. That of an Ack rides on whatever comes.
    #[must_use]
    pub fn is_prompt(&self, number: u64) -> bool {
        self.find(number).is_some_and(|entry| entry.prompt)
    }

    /// Packets from `acknowledged` down, so many in a row, have come: the data that is news. What is older than the ring is not asked for.
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

    /// A report of arrivals from `acknowledged` downwards: the data that is newly known to have come.
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

    /// What came so much later than others does not count: otherwise each report would go back to the last packet that was lost.
    fn settle(&mut self, acknowledged: u64) {
        self.settled = self.settled.max(acknowledged.min(self.next).saturating_sub(REORDERED));
    }

    /// The same of one with times.
    pub(super) fn deliver_timed(&mut self, acknowledged: u64, arrivals: &[TimedArrival]) -> Bytes {
        let came = (0..=acknowledged).rev().zip(arrivals).filter(|(_, arrival)| **arrival != TimedArrival::NotReceived);
        let bytes = came.map(|(number, _)| self.deliver(number, 1)).sum();
        self.settle(acknowledged);
        Bytes::new(bytes)
    }

    /// Its receiver's buffer dropped it; whether that is news.
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
        let mut ledger = Ledger::new(100);
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

    /// Packet n has n bytes. Each counts once, from whatever report; what was never sent does not.
    #[test]
    fn data_is_delivered_once() {
        let mut ledger = Ledger::new(100);
        for number in 0..20 {
            ledger.push(Instant::ZERO, Bytes::new(number), true);
        }
        let mut told = |acknowledged, runs: &[(char, u64)]| {
            let run = |(come, packets): &(char, u64)| Run {
                arrival: match come {
                    '+' => Arrival::Received,
                    'm' => Arrival::Marked,
                    _ => Arrival::NotReceived,
                },
                packets: *packets,
            };
            ledger.deliver_runs(acknowledged, &runs.iter().map(run).collect::<Vec<_>>()).count()
        };
        assert_eq!(told(3, &[('+', 4)]), 6);
        assert_eq!(told(3, &[('+', 4)]), 0);
        assert_eq!(told(8, &[('m', 1), ('-', 2), ('+', 6)]), 8 + 5 + 4);
        assert_eq!(told(8, &[('+', 9)]), 7 + 6);
        assert_eq!(told(30, &[('+', 12), ('-', 1), ('+', 18)]), 19 + 17 + 16 + 15 + 14 + 13 + 12 + 11 + 10 + 9);
        assert_eq!(told(u64::MAX, &[('+', u64::MAX)]), 18);
        let come = TimedArrival::Received { ecn: headway_units::Ecn::NotEct, before: None };
        ledger.push(Instant::ZERO, Bytes::new(20), true);
        ledger.push(Instant::ZERO, Bytes::new(21), true);
        assert_eq!(ledger.deliver_timed(21, &[come, TimedArrival::NotReceived, come]), Bytes::new(21));
        assert_eq!(ledger.deliver_timed(21, &[come, come]), Bytes::new(20));
    }
}
