//! What was sent when: for round trips, and to judge what comes back about it.

use headway_units::{Duration, Instant};

/// Entries at most, 16 MiB: as many as a Sequence Window grows to by itself.
const MOST: usize = 1 << 20;

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Instant,
    /// It is acknowledged soon: data, and what a packet answers at once.
    prompt: bool,
    /// Its receiver has said that its buffer dropped it (Drop Code 2).
    dropped: bool,
}

impl Entry {
    const NONE: Self = Self { at: Instant::ZERO, prompt: false, dropped: false };
}

/// The newest packets sent, as many as an acknowledgement number can name.
#[derive(Clone, Debug)]
pub struct Ledger {
    ring: Vec<Entry>,
    /// The number of the next packet.
    next: u64,
}

impl Ledger {
    /// For a window of so many packets.
    #[must_use]
    pub fn new(window: u64) -> Self {
        Self { ring: vec![Entry::NONE; Self::len(window)], next: 0 }
    }
    fn len(window: u64) -> usize {
        usize::try_from(window).unwrap_or(MOST).clamp(64, MOST).next_power_of_two()
    }

    /// Makes room for a wider window. What was kept of older packets stays.
    pub fn widen(&mut self, window: u64) {
        let len = Self::len(window);
        if len <= self.ring.len() {
            return;
        }
        let mut wider = Self { ring: vec![Entry::NONE; len], next: self.next };
        for number in self.next.saturating_sub(self.ring.len() as u64)..self.next {
            let (from, to) = (self.place(number), wider.place(number));
            wider.ring[to] = self.ring[from];
        }
        *self = wider;
    }

    const fn place(&self, number: u64) -> usize {
        number as usize & (self.ring.len() - 1)
    }

    /// A packet goes: its number.
    pub fn push(&mut self, at: Instant, prompt: bool) -> u64 {
        let number = self.next;
        let place = self.place(number);
        self.ring[place] = Entry { at, prompt, dropped: false };
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
            assert_eq!(ledger.push(Instant::from_millis(number), number % 2 == 0), number);
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
}
