//! What receiving costs: a host with one CPU.
//!
//! J. C. Mogul, K. K. Ramakrishnan, "Eliminating receive livelock in an interrupt-driven kernel", ACM TOCS 15(3), 1997: taking a packet
//! off the wire goes before all other work. Each packet that arrives takes the CPU for `arrival`, also if it is dropped then; what is left of the
//! time hands packets to the application, one after the other, each in `delivery`. So of packets that come at a rate L
//!
//! ```text
//! L                             are delivered where L (arrival + delivery) <= 1
//! (1 - L arrival) / delivery    above
//! 0                             from L = 1 / arrival on: livelock
//! ```
//!
//! Arrival work preempts a delivery, which goes on afterwards where it was. A packet whose arrival work has still to be done, or is being done,
//! lies on the ring of the interface; one that finds the ring full is dropped, and costs nothing. Behind its arrival work a packet waits in the
//! queue until its delivery begins; if the queue is full, it is dropped.
//!
//! No delivery begins while packets lie on the ring, so whoever waits when a packet arrives still waits when its arrival work is done: what becomes
//! of it is known at once.

use headway_units::{Duration, HostDrop, Instant, OptionError, QueueSize};
use serde::Serialize;
use std::collections::VecDeque;

/// What receiving costs at a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct HostOptions {
    /// How long each packet that arrives takes the CPU, also one that is dropped then; before all other work.
    pub arrival: Duration,
    /// How long the CPU takes to hand a packet over, more than 0s.
    pub delivery: Duration,
    /// How many packets may wait for their delivery to begin, 1 at least; 50 if absent.
    #[schemars(default = "default_queue")]
    pub queue: QueueSize,
    /// How many packets the interface holds until the CPU has taken them, 1 at least; 256 if absent.
    #[schemars(default = "default_ring")]
    pub ring: QueueSize,
}

/// 4.4BSD's `IFQ_MAXLEN`.
fn default_queue() -> QueueSize {
    QueueSize::Packets(50)
}

/// As many as Linux's e1000 has (`E1000_DEFAULT_RXD`).
fn default_ring() -> QueueSize {
    QueueSize::Packets(256)
}

impl HostOptions {
    /// With the queue of 4.4BSD and the ring of Linux's e1000.
    #[must_use]
    pub fn new(arrival: Duration, delivery: Duration) -> Self {
        Self { arrival, delivery, queue: default_queue(), ring: default_ring() }
    }

    /// Ranges that the types do not already keep.
    ///
    /// # Errors
    /// Names the key, what is wrong with it and what would be right.
    pub fn check(&self) -> Result<(), OptionError> {
        if self.delivery.is_zero() {
            let message = "a delivery takes more than 0s: write at least \"1ns\", or leave host out where receiving costs nothing";
            return Err(OptionError::new("delivery", message));
        }
        for (key, size) in [("queue", self.queue), ("ring", self.ring)] {
            if !matches!(size, QueueSize::Packets(1..)) {
                let message =
                    format!("{size} is out of range: a host counts packets, and has room for \"1packets\" at least");
                return Err(OptionError::new(key, message));
            }
        }
        Ok(())
    }
}

/// A host's CPU and the packets that it has not delivered yet, known to it as values of type `T`: at most `queue` and one.
///
/// To drive it: when [`poll_timeout`](Self::poll_timeout) says, [`deliver`](Self::deliver), also before a packet
/// [arrives](Self::arrive) at that instant. What has not been asked for by then is put off.
#[derive(Debug)]
pub struct Host<T> {
    arrival: Duration,
    delivery: Duration,
    queue: u64,
    ring: u64,
    /// In order: the one that is delivered next, and those behind it.
    packets: VecDeque<T>,
    /// When the ring is empty, if no other packet arrives.
    ring_until: Instant,
    /// From when to when the first packet is delivered, preempted or not, if no other one arrives.
    begins: Instant,
    ends: Instant,
}

impl<T> Host<T> {
    /// A host at time zero, idle.
    #[must_use]
    pub fn new(options: &HostOptions) -> Self {
        let packets = |size| match size {
            QueueSize::Packets(count) => count,
            // What `check` refuses.
            QueueSize::Bytes(_) => 1,
        };
        Self {
            arrival: options.arrival,
            delivery: options.delivery,
            queue: packets(options.queue),
            ring: packets(options.ring),
            packets: VecDeque::new(),
            ring_until: Instant::ZERO,
            begins: Instant::ZERO,
            ends: Instant::ZERO,
        }
    }

    /// A packet arrives, not before those that arrived earlier.
    ///
    /// # Errors
    /// It is dropped, once its arrival work is done unless the ring has no room.
    pub fn arrive(&mut self, now: Instant, packet: T) -> Result<(), HostDrop> {
        if self.on_ring(now) >= self.ring {
            return Err(HostDrop::Ring);
        }
        let begun = self.begins <= now;
        self.ring_until = self.ring_until.max(now) + self.arrival;
        if self.packets.is_empty() {
            self.begin(self.ring_until);
        } else {
            if !begun {
                self.begins = self.ring_until;
            }
            self.ends += self.arrival;
            if self.packets.len() as u64 - u64::from(begun) >= self.queue {
                return Err(HostDrop::Queue);
            }
        }
        self.packets.push_back(packet);
        Ok(())
    }

    /// Takes the packet whose delivery has ended by `now`, if there is one.
    pub fn deliver(&mut self, now: Instant) -> Option<T> {
        if self.ends > now {
            return None;
        }
        let packet = self.packets.pop_front()?;
        self.begin(now);
        Some(packet)
    }

    /// When the next delivery ends, if no other packet arrives.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        (!self.packets.is_empty()).then_some(self.ends)
    }

    /// Packets that it has let in and not delivered yet.
    #[must_use]
    pub fn packets(&self) -> usize {
        self.packets.len()
    }

    /// Packets whose arrival work is not done.
    fn on_ring(&self, now: Instant) -> u64 {
        let work = self.ring_until.since(now).as_nanos();
        if work == 0 { 0 } else { work.div_ceil(self.arrival.as_nanos().max(1)) }
    }

    /// A delivery begins, as far as is known.
    fn begin(&mut self, at: Instant) {
        (self.begins, self.ends) = (at, at + self.delivery);
    }
}

#[cfg(test)]
mod tests;
