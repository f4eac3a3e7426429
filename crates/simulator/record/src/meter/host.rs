//! What happened at a host whose CPU takes time to receive.

use super::measured::Measured;
use headway_units::{HostDrop, Instant};
use serde::{Deserialize, Serialize};

/// Packets that a host dropped, by where it had no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostDrops {
    /// On the ring of its interface.
    pub ring: u64,
    /// In its queue.
    pub queue: u64,
}

/// A host's entry in [`Summary`](crate::Summary). Events count from `measure_from` on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostSummary {
    /// The name of its node.
    pub name: String,
    /// Packets that reached it.
    pub arrived_packets: u64,
    /// Packets that it handed over.
    pub delivered_packets: u64,
    /// Packets that it dropped.
    pub dropped_packets: HostDrops,
    /// From the arrival of a packet to its delivery, of those delivered; none without one.
    pub mean_wait_s: Option<f64>,
    /// The part of the time in which its CPU worked, from 0 to 1.
    pub utilisation: f64,
}

/// Counts what happens at a host.
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
    /// A packet arrived at `now`, whatever becomes of it: the CPU works.
    pub fn arrived(&mut self, measured: &Measured, now: Instant) {
        self.arrived += u64::from(measured.holds(now));
        self.busy_since.get_or_insert(now);
    }

    /// The packet that arrived at `now` was dropped.
    pub fn dropped(&mut self, measured: &Measured, now: Instant, place: HostDrop) {
        let count = match place {
            HostDrop::Ring => &mut self.dropped.ring,
            HostDrop::Queue => &mut self.dropped.queue,
        };
        *count += u64::from(measured.holds(now));
    }

    /// The packet that arrived at `arrived` was delivered at `now`; with the last one that there was, the CPU has no more work.
    pub fn delivered(&mut self, measured: &Measured, arrived: Instant, now: Instant, was_last: bool) {
        if measured.holds(now) {
            self.delivered += 1;
            self.waited_nanos += u128::from(now.since(arrived).as_nanos());
        }
        if was_last && let Some(since) = self.busy_since.take() {
            self.busy_nanos += measured.shared(since, now);
        }
    }

    /// What was counted until `end`, which no event has passed.
    #[must_use]
    pub fn summary(&self, measured: &Measured, name: String, end: Instant) -> HostSummary {
        let busy = self.busy_nanos + self.busy_since.map_or(0, |since| measured.shared(since, end));
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

    /// Measured from 10 to 30 ms: of a busy time from 5 to 15 ms half, and of one from 25 ms on 5 ms; 10 of 20 ms.
    #[test]
    fn events_and_work_count_while_it_is_measured() {
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
