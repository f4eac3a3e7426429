//! Counts at a host with a modeled receive CPU.

use super::measured::Measured;
use headway_units::{HostDrop, Instant};
use serde::{Deserialize, Serialize};

/// Numbers of packets dropped by a host, by the buffer that was full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostDrops {
    /// Packets dropped because the receive ring of the interface was full.
    pub ring: u64,
    /// Packets dropped because the queue in front of the application was full.
    pub queue: u64,
}

/// A host's entry in [`Summary`](crate::Summary). Events count from `measure_from` on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostSummary {
    /// Name of the node.
    pub name: String,
    /// Packets that arrived at the host.
    pub arrived_packets: u64,
    /// Packets delivered to their receivers.
    pub delivered_packets: u64,
    /// Packets dropped by the host.
    pub dropped_packets: HostDrops,
    /// Mean time from the arrival of a packet at the host to its delivery, in s; `None` without delivered packets.
    pub mean_wait_s: Option<f64>,
    /// Fraction of the measured interval in which the CPU of the host was busy, from 0 to 1.
    pub utilisation: f64,
}

/// Meter of the packets at a host with a modeled receive CPU.
#[derive(Clone, Debug, Default)]
pub struct HostMeter {
    arrived: u64,
    delivered: u64,
    dropped: HostDrops,
    waited_nanos: u128,
    busy_nanos: u64,
    busy_since: Option<Instant>,
}

impl HostMeter {
    /// Records the arrival of a packet at `now`, including packets dropped there. The CPU is busy from `now`.
    pub fn arrived(&mut self, measured: &Measured, now: Instant) {
        self.arrived += u64::from(measured.contains(now));
        self.busy_since.get_or_insert(now);
    }

    /// Records that the packet that arrived at `now` was dropped.
    pub fn dropped(&mut self, measured: &Measured, now: Instant, place: HostDrop) {
        let count = match place {
            HostDrop::Ring => &mut self.dropped.ring,
            HostDrop::Queue => &mut self.dropped.queue,
        };
        *count += u64::from(measured.contains(now));
    }

    /// Records the delivery at `now` of a packet that arrived at `arrived`. With `was_last`, no other packet waits and
    /// the CPU becomes idle.
    pub fn delivered(&mut self, measured: &Measured, arrived: Instant, now: Instant, was_last: bool) {
        if measured.contains(now) {
            self.delivered += 1;
            self.waited_nanos += u128::from(now.since(arrived).as_nanos());
        }
        if was_last && let Some(since) = self.busy_since.take() {
            self.busy_nanos += measured.overlap(since, now);
        }
    }

    /// Returns the counts until `end`, which must not be before the last event.
    #[must_use]
    pub fn summary(&self, measured: &Measured, name: String, end: Instant) -> HostSummary {
        let busy = self.busy_nanos + self.busy_since.map_or(0, |since| measured.overlap(since, end));
        let time = end.since(measured.from).as_nanos();
        HostSummary {
            name,
            arrived_packets: self.arrived,
            delivered_packets: self.delivered,
            dropped_packets: self.dropped,
            mean_wait_s: (self.delivered > 0).then(|| self.waited_nanos as f64 / self.delivered as f64 / 1e9),
            utilisation: if time > 0 { busy as f64 / time as f64 } else { 0.0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measured from 10 to 30 ms. Of the busy times 5 to 15 ms and from 25 ms on, 5 ms each are in the interval: 10 of
    /// 20 ms.
    #[test]
    fn only_the_measured_interval_counts() {
        let at = Instant::from_millis;
        let measured = Measured::between(at(10), at(30));
        let mut meter = HostMeter::default();
        for (arrived, dropped) in [(5, None), (6, Some(HostDrop::Queue)), (12, Some(HostDrop::Ring))] {
            meter.arrived(&measured, at(arrived));
            dropped.into_iter().for_each(|place| meter.dropped(&measured, at(arrived), place));
        }
        meter.delivered(&measured, at(5), at(9), false);
        meter.delivered(&measured, at(6), at(15), true);
        meter.arrived(&measured, at(25));
        meter.dropped(&measured, at(25), HostDrop::Queue);
        let expected = HostSummary {
            name: "sink".to_owned(),
            arrived_packets: 2,
            delivered_packets: 1,
            dropped_packets: HostDrops { ring: 1, queue: 1 },
            mean_wait_s: Some(0.009),
            utilisation: 0.5,
        };
        assert_eq!(meter.summary(&measured, "sink".to_owned(), at(30)), expected);
        let idle = HostMeter::default().summary(&measured, String::new(), at(10));
        assert_eq!((idle.mean_wait_s, idle.utilisation), (None, 0.0));
    }
}
