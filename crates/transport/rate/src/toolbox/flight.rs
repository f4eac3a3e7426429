//! Record of sent packets and the packets received of them.
//!
//! A packet is open until a report lists it as received, or until three packets sent after it are received, which makes
//! it lost (NUMDUPACK, RFC 4341 section 5). Packets older than the third newest received one are settled and removed;
//! reports on them are ignored, as RFC 4340 section 11.4.1 requires.

use crate::report::{Arrival, Run, TimedArrival, TimedReport};
use headway_units::{Bytes, Ecn, Instant};
use std::collections::VecDeque;

/// Number of later packets received after which a packet is lost.
const NUMDUPACK: u32 = 3;

/// New information of a report about a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketUpdate {
    /// Packet number.
    pub number: u64,
    /// Sending time.
    pub sent: Instant,
    /// Size of the data of the packet.
    pub size: Bytes,
    /// New state.
    pub outcome: PacketOutcome,
    /// Arrival time by the receiver's clock, if reported.
    pub arrived: Option<Instant>,
    /// ECN field on arrival, if reported.
    pub ecn: Option<Ecn>,
}

/// New state of a data packet; each is returned once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketOutcome {
    /// The packet was received without an ECN mark.
    Received,
    /// The packet was received with the ECN mark Congestion Experienced.
    Marked,
    /// The packet was reported as received before, and now as received with an ECN mark, so that a marked duplicate has
    /// arrived (the free cell of the table in RFC 4340 section 11.4.1).
    MarkedLater,
    /// The packet was lost: it is missing, and three later packets were received.
    Lost,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Instant,
    size: u32,
    data: bool,
    state: Arrival,
}

/// Record of sent packets of which it is not yet known whether they were received or lost, for a controller whose
/// reports list packets.
#[derive(Clone, Debug)]
pub struct Flight {
    first: u64,
    packets: VecDeque<Sent>,
    /// Index of the newest packet received plus 1; 0 if none.
    received_end: usize,
    capacity: usize,
}

impl Flight {
    /// Creates an empty record of at most `capacity` packets, 16 B each.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { first: 0, packets: VecDeque::new(), received_end: 0, capacity }
    }

    /// Returns the number that follows that of the newest packet.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.first.wrapping_add(self.packets.len() as u64)
    }

    /// Adds a sent packet. `data` is the number of application bytes, if it carries any. If there is no space, removes
    /// the oldest packet, and returns its number if it is a data packet whose outcome is not known.
    pub fn send(&mut self, now: Instant, number: u64, data: Option<Bytes>) -> Option<u64> {
        let mut removed = None;
        if self.packets.len() >= self.capacity {
            let oldest = self.packets.pop_front();
            removed = oldest.filter(|sent| sent.data && sent.state == Arrival::NotReceived).map(|_| self.first);
            self.first = self.first.wrapping_add(1);
            self.received_end = self.received_end.saturating_sub(1);
        }
        if self.packets.is_empty() {
            self.first = number;
        }
        let size = data.map_or(0, |size| u32::try_from(size.count()).unwrap_or(u32::MAX));
        self.packets.push_back(Sent { at: now, size, data: data.is_some(), state: Arrival::NotReceived });
        removed
    }

    /// Removes all packets.
    pub fn clear(&mut self) {
        self.first = self.next();
        self.packets.clear();
        self.received_end = 0;
    }

    /// Returns the index of a number, if it was sent and is not settled.
    fn place(&self, number: u64) -> Option<usize> {
        let place = number.wrapping_sub(self.first);
        (place < self.packets.len() as u64).then_some(place as usize)
    }

    /// Marks a packet as received and reports the change, if any.
    fn mark_received(
        &mut self,
        place: usize,
        marked: bool,
        (arrived, ecn): (Option<Instant>, Option<Ecn>),
        on_update: &mut impl FnMut(PacketUpdate),
    ) {
        let Some(sent) = self.packets.get_mut(place) else { return };
        let outcome = match (sent.state, marked) {
            (Arrival::NotReceived, true) => PacketOutcome::Marked,
            (Arrival::NotReceived, false) => PacketOutcome::Received,
            (Arrival::Received, true) => PacketOutcome::MarkedLater,
            _ => return,
        };
        sent.state = if marked { Arrival::Marked } else { Arrival::Received };
        if sent.data {
            let (number, size) = (self.first.wrapping_add(place as u64), Bytes::new(sent.size.into()));
            on_update(PacketUpdate { number, sent: sent.at, size, outcome, arrived, ecn });
        }
    }

    /// Processes a report of arrivals, `runs` from `acknowledged` downwards, and calls `on_update` for each new state.
    pub fn report(&mut self, acknowledged: u64, runs: &[Run], mut on_update: impl FnMut(PacketUpdate)) {
        let Some(place) = self.place(acknowledged) else { return };
        let mut end = place + 1;
        for run in runs {
            let start = end - run.packets.min(end as u64) as usize;
            if run.arrival != Arrival::NotReceived && start < end {
                self.received_end = self.received_end.max(end);
                (start..end).for_each(|place| {
                    self.mark_received(place, run.arrival == Arrival::Marked, (None, None), &mut on_update);
                });
            }
            end = start;
            if end == 0 {
                break;
            }
        }
        self.settle(&mut on_update);
    }

    /// Processes a report of arrivals with times, like [`report`](Self::report).
    pub fn report_timed(
        &mut self,
        acknowledged: u64,
        report: &TimedReport<'_>,
        mut on_update: impl FnMut(PacketUpdate),
    ) {
        let Some(newest) = self.place(acknowledged) else { return };
        for (place, arrival) in (0..=newest).rev().zip(report.arrivals) {
            if let TimedArrival::Received { ecn, before } = arrival {
                self.received_end = self.received_end.max(place + 1);
                let arrived = before.and_then(|before| report.clock.checked_sub(before));
                self.mark_received(place, *ecn == Ecn::Ce, (arrived, Some(*ecn)), &mut on_update);
            }
        }
        self.settle(&mut on_update);
    }

    /// Finds lost packets and removes those below the third newest received one.
    fn settle(&mut self, on_update: &mut impl FnMut(PacketUpdate)) {
        let mut later = 0;
        let third = (0..self.received_end).rev().find(|&place| {
            later += u32::from(self.packets.get(place).is_some_and(|sent| sent.state != Arrival::NotReceived));
            later == NUMDUPACK
        });
        let Some(third) = third else { return };
        for (place, sent) in self.packets.drain(..third).enumerate() {
            if sent.data && sent.state == Arrival::NotReceived {
                let (number, size) = (self.first.wrapping_add(place as u64), Bytes::new(sent.size.into()));
                let (outcome, arrived, ecn) = (PacketOutcome::Lost, None, None);
                on_update(PacketUpdate { number, sent: sent.at, size, outcome, arrived, ecn });
            }
        }
        self.first = self.first.wrapping_add(third as u64);
        self.received_end -= third;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Arrival::{Marked, NotReceived, Received};
    use headway_units::Duration;

    /// Sender's table of RFC 4340 section 11.4.1, row by row, with 1 in its free cell.
    #[test]
    fn table_of_ack_vector_consistency() {
        for (old, new, state) in [
            (Received, Received, Received),
            (Received, Marked, Marked),
            (Received, NotReceived, Received),
            (Marked, Received, Marked),
            (Marked, Marked, Marked),
            (Marked, NotReceived, Marked),
            (NotReceived, Received, Received),
            (NotReceived, Marked, Marked),
            (NotReceived, NotReceived, NotReceived),
        ] {
            let mut flight = Flight::new(10);
            flight.send(Instant::ZERO, 7, Some(Bytes::new(1000)));
            let mut updates = vec![];
            for arrival in [old, new] {
                flight
                    .report(7, &[Run { arrival, packets: 1 }], |update| updates.push((update.number, update.outcome)));
            }
            assert_eq!(flight.packets[0].state, state, "{old:?}, {new:?}");
            let wanted: &[_] = match (old, new) {
                (Received, Marked) => &[(7, PacketOutcome::Received), (7, PacketOutcome::MarkedLater)],
                _ if state == Received => &[(7, PacketOutcome::Received)],
                _ if state == Marked => &[(7, PacketOutcome::Marked)],
                _ => &[],
            };
            assert_eq!(updates, wanted, "{old:?}, {new:?}");
        }
    }

    /// A report on 14 with six entries: arrival times are the receiver's clock minus the ages.
    #[test]
    fn times_of_arrival() {
        let mut flight = Flight::new(10);
        for number in 10..16 {
            let at = Instant::from_millis(number);
            flight.send(at, number, (number != 12).then_some(Bytes::new(number * 100)));
        }
        let before = |millis| TimedArrival::Received { ecn: Ecn::Ect1, before: Some(Duration::from_millis(millis)) };
        let marked = TimedArrival::Received { ecn: Ecn::Ce, before: None };
        let arrivals = [before(0), marked, before(3), TimedArrival::NotReceived, before(9), before(20)];
        let report = TimedReport { clock: Instant::from_millis(1000), arrivals: &arrivals };
        let mut updates = vec![];
        flight.report_timed(14, &report, |update| {
            let ms = |at: Instant| at.as_nanos() / 1_000_000;
            updates.push((update.number, ms(update.sent), update.size.count(), update.outcome, update.arrived.map(ms)));
        });
        assert_eq!(
            updates,
            [
                (14, 14, 1400, PacketOutcome::Received, Some(1000)),
                (13, 13, 1300, PacketOutcome::Marked, None),
                (10, 10, 1000, PacketOutcome::Received, Some(991)),
                (11, 11, 1100, PacketOutcome::Lost, None),
            ]
        );
        assert_eq!(flight.next(), 16);
    }
}
