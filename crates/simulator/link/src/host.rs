//! The cost of receiving: a host with one CPU.
//!
//! J. C. Mogul, K. K. Ramakrishnan, "Eliminating receive livelock in an interrupt-driven kernel", ACM TOCS 15(3),
//! 1997: taking a packet off the wire has priority over all other work. Each arriving packet uses the CPU for
//! `arrival`, even if it is dropped. In the remaining time, packets are delivered to the application one after the
//! other, in `delivery` each. At an arrival rate L, the delivery rate is
//!
//! ```text
//! L                             if L (arrival + delivery) <= 1
//! (1 - L arrival) / delivery    above
//! 0                             from L = 1 / arrival on: livelock
//! ```
//!
//! Arrival work preempts a delivery, which then resumes. A packet whose arrival work is not done is on the ring of the
//! interface. A packet that finds the ring full is dropped at no cost. After its arrival work a packet waits in the
//! queue until its delivery begins; if the queue is full, it is dropped.
//!
//! No delivery begins while packets are on the ring. The packets that wait when a packet arrives therefore still wait
//! when its arrival work is done, so that its outcome is known at once.

use headway_units::{Duration, HostDrop, Instant, OptionError, QueueSize};
use serde::Serialize;
use std::collections::VecDeque;

/// CPU times and buffers of a host for received packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct HostOptions {
    /// CPU time for each arriving packet, even if the full queue then drops it. This work has priority over all other
    /// work.
    pub arrival: Duration,
    /// CPU time for the delivery of a packet to the application; above 0s.
    pub delivery: Duration,
    /// Maximum number of packets that wait for their delivery to the application, 1 or more; 50 if absent.
    #[schemars(default = "default_queue")]
    pub queue: QueueSize,
    /// Maximum number of packets that the interface holds before the CPU processes them, 1 or more; 256 if absent.
    #[schemars(default = "default_ring")]
    pub ring: QueueSize,
}

/// 4.4BSD's `IFQ_MAXLEN`.
fn default_queue() -> QueueSize {
    QueueSize::Packets(50)
}

/// That of Linux's e1000 (`E1000_DEFAULT_RXD`).
fn default_ring() -> QueueSize {
    QueueSize::Packets(256)
}

impl HostOptions {
    /// Creates options with the queue of 4.4BSD (50 packets) and the ring of Linux's e1000 (256 packets).
    #[must_use]
    pub fn new(arrival: Duration, delivery: Duration) -> Self {
        Self { arrival, delivery, queue: default_queue(), ring: default_ring() }
    }

    /// Checks that all options are in range.
    ///
    /// # Errors
    /// Returns the first key that is out of range.
    pub fn check(&self) -> Result<(), OptionError> {
        if self.delivery.is_zero() {
            let message = "must be above 0s; expected \"1ns\" or more, or no host if receiving has no cost";
            return Err(OptionError::new("delivery", message));
        }
        for (key, size) in [("queue", self.queue), ("ring", self.ring)] {
            if !matches!(size, QueueSize::Packets(1..)) {
                let message = format!("{size} is out of range; expected \"1packets\" or more");
                return Err(OptionError::new(key, message));
            }
        }
        Ok(())
    }
}

/// A host's CPU and the packets (of type `T`) that it has not delivered yet: at most `queue` waiting packets and the
/// one in delivery.
///
/// Call [`deliver`](Self::deliver) at the time of [`poll_timeout`](Self::poll_timeout), and before
/// [`arrive`](Self::arrive) if both are due at the same time. A later call postpones the delivery.
#[derive(Debug)]
pub struct Host<T> {
    arrival: Duration,
    delivery: Duration,
    queue: u64,
    ring: u64,
    /// In order of delivery.
    packets: VecDeque<T>,
    /// When the ring becomes empty, if no other packet arrives.
    ring_until: Instant,
    /// Start and end of the delivery of the first packet, if no other packet arrives.
    begins: Instant,
    ends: Instant,
}

impl<T> Host<T> {
    /// Creates an idle host at time zero.
    #[must_use]
    pub fn new(options: &HostOptions) -> Self {
        let packets = |size| match size {
            QueueSize::Packets(count) => count,
            // Rejected by `check`.
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

    /// Processes the arrival of a packet. Packets must arrive in order of time.
    ///
    /// # Errors
    /// Returns the full buffer because of which the packet is dropped. With a full ring, the packet uses no CPU time;
    /// with a full queue, it uses the CPU time of an arrival.
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

    /// Returns the packet whose delivery has ended by `now`, if there is one.
    pub fn deliver(&mut self, now: Instant) -> Option<T> {
        if self.ends > now {
            return None;
        }
        let packet = self.packets.pop_front()?;
        self.begin(now);
        Some(packet)
    }

    /// Returns when the next delivery ends, if no other packet arrives; `None` if no packet waits for its delivery.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        (!self.packets.is_empty()).then_some(self.ends)
    }

    /// Returns the number of packets that the host has admitted and not delivered yet.
    #[must_use]
    pub fn packets(&self) -> usize {
        self.packets.len()
    }

    fn on_ring(&self, now: Instant) -> u64 {
        let work = self.ring_until.since(now).as_nanos();
        if work == 0 { 0 } else { work.div_ceil(self.arrival.as_nanos().max(1)) }
    }

    fn begin(&mut self, at: Instant) {
        (self.begins, self.ends) = (at, at + self.delivery);
    }
}

#[cfg(test)]
mod tests;
