//! Which of the packets sent have come.
//!
//! A packet is open until a report says that it has come, or until three packets sent after it have: then it is lost
//! (NUMDUPACK, RFC 4341 section 5). What is older than the third newest that has come is settled and forgotten; reports on it
//! are ignored, as RFC 4340 section 11.4.1 demands.

use crate::report::{Arrival, Run, TimedArrival, TimedReport};
use headway_units::{Bytes, Ecn, Instant};
use std::collections::VecDeque;

/// So many later packets that have come make one lost.
const NUMDUPACK: u32 = 3;

/// What a report newly tells of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// Its number.
    pub number: u64,
    /// When it went.
    pub sent: Instant,
    /// Its data.
    pub size: Bytes,
    /// What is new.
    pub news: News,
    /// When it came, by the receiver's clock, if the report says so.
    pub came: Option<Instant>,
}

/// What has become of a data packet; each is told once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// It has come.
    Received,
    /// It has come with Congestion Experienced.
    Marked,
    /// It was received, and a copy of it marked (the free cell of RFC 4340 section 11.4.1's table).
    MarkedLater,
    /// It is lost.
    Lost,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Instant,
    size: u32,
    data: bool,
    fate: Arrival,
}

/// The packets that are not settled: what a controller that goes by arrivals keeps of what it sent.
#[derive(Clone, Debug)]
pub struct Flight {
    /// The number of the first one.
    first: u64,
    packets: VecDeque<Sent>,
    /// One more than the place of the newest packet that has come; 0 if none has.
    come: usize,
    capacity: usize,
}

impl Flight {
    /// An empty one, which will hold so many packets at most, 16 B each.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { first: 0, packets: VecDeque::new(), come: 0, capacity }
    }

    /// The number that the next packet takes.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.first.wrapping_add(self.packets.len() as u64)
    }

    /// A packet goes. `data`: the bytes of the application on it, if it carries any. Returns the oldest, if it was an open data packet that
    /// has to give way.
    pub fn send(&mut self, now: Instant, number: u64, data: Option<Bytes>) -> Option<u64> {
        let mut given_up = None;
        if self.packets.len() >= self.capacity {
            let oldest = self.packets.pop_front();
            given_up = oldest.filter(|sent| sent.data && sent.fate == Arrival::NotReceived).map(|_| self.first);
            self.first = self.first.wrapping_add(1);
            self.come = self.come.saturating_sub(1);
        }
        if self.packets.is_empty() {
            self.first = number;
        }
        let size = data.map_or(0, |size| u32::try_from(size.count()).unwrap_or(u32::MAX));
        self.packets.push_back(Sent { at: now, size, data: data.is_some(), fate: Arrival::NotReceived });
        given_up
    }

    /// Forgets everything sent so far.
    pub fn clear(&mut self) {
        self.first = self.next();
        self.packets.clear();
        self.come = 0;
    }

    /// The place of a number, if it is neither settled nor yet to be sent.
    fn place(&self, number: u64) -> Option<usize> {
        let place = number.wrapping_sub(self.first);
        (place < self.packets.len() as u64).then_some(place as usize)
    }

    /// A packet has come: says so, if that is new.
    fn come(&mut self, place: usize, marked: bool, came: Option<Instant>, told: &mut impl FnMut(Told)) {
        let Some(sent) = self.packets.get_mut(place) else { return };
        let news = match (sent.fate, marked) {
            (Arrival::NotReceived, true) => News::Marked,
            (Arrival::NotReceived, false) => News::Received,
            (Arrival::Received, true) => News::MarkedLater,
            _ => return,
        };
        sent.fate = if marked { Arrival::Marked } else { Arrival::Received };
        if sent.data {
            let (number, size) = (self.first.wrapping_add(place as u64), Bytes::new(sent.size.into()));
            told(Told { number, sent: sent.at, size, news, came });
        }
    }

    /// A report of arrivals: `runs` from `acknowledged` downwards. Says of each data packet what is new.
    pub fn report(&mut self, acknowledged: u64, runs: &[Run], mut told: impl FnMut(Told)) {
        let Some(place) = self.place(acknowledged) else { return };
        let mut end = place + 1;
        for run in runs {
            let start = end - run.packets.min(end as u64) as usize;
            if run.arrival != Arrival::NotReceived && start < end {
                self.come = self.come.max(end);
                (start..end).for_each(|place| self.come(place, run.arrival == Arrival::Marked, None, &mut told));
            }
            end = start;
            if end == 0 {
                break;
            }
        }
        self.settle(&mut told);
    }

    /// A report of arrivals with their times: the same.
    pub fn report_timed(&mut self, acknowledged: u64, report: &TimedReport<'_>, mut told: impl FnMut(Told)) {
        let Some(newest) = self.place(acknowledged) else { return };
        for (place, arrival) in (0..=newest).rev().zip(report.arrivals) {
            if let TimedArrival::Received { ecn, before } = arrival {
                self.come = self.come.max(place + 1);
                let came = before.and_then(|before| report.clock.checked_sub(before));
                self.come(place, *ecn == Ecn::Ce, came, &mut told);
            }
        }
        self.settle(&mut told);
    }

    /// Finds the lost, and forgets what is below the third newest that has come.
    fn settle(&mut self, told: &mut impl FnMut(Told)) {
        let mut later = 0;
        let third = (0..self.come).rev().find(|&place| {
            later += u32::from(self.packets.get(place).is_some_and(|sent| sent.fate != Arrival::NotReceived));
            later == NUMDUPACK
        });
        let Some(third) = third else { return };
        for (place, sent) in self.packets.drain(..third).enumerate() {
            if sent.data && sent.fate == Arrival::NotReceived {
                let (number, size) = (self.first.wrapping_add(place as u64), Bytes::new(sent.size.into()));
                told(Told { number, sent: sent.at, size, news: News::Lost, came: None });
            }
        }
        self.first = self.first.wrapping_add(third as u64);
        self.come -= third;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Arrival::{Marked, NotReceived, Received};
    use headway_units::Duration;

    /// The sender's table of RFC 4340 section 11.4.1, row by row, with 1 in its free cell.
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
            let mut told = vec![];
            for arrival in [old, new] {
                flight.report(7, &[Run { arrival, packets: 1 }], |this| told.push((this.number, this.news)));
            }
            assert_eq!(flight.packets[0].fate, state, "{old:?}, {new:?}");
            let wanted: &[_] = match (old, new) {
                (Received, Marked) => &[(7, News::Received), (7, News::MarkedLater)],
                _ if state == Received => &[(7, News::Received)],
                _ if state == Marked => &[(7, News::Marked)],
                _ => &[],
            };
            assert_eq!(told, wanted, "{old:?}, {new:?}");
        }
    }

    /// Numbers 10 to 15; the report names 14 and tells of five: when each came is its own clock less what had passed.
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
        let mut told = vec![];
        flight.report_timed(14, &report, |this| {
            let ms = |at: Instant| at.as_nanos() / 1_000_000;
            told.push((this.number, ms(this.sent), this.size.count(), this.news, this.came.map(ms)));
        });
        assert_eq!(
            told,
            [
                (14, 14, 1400, News::Received, Some(1000)),
                (13, 13, 1300, News::Marked, None),
                (10, 10, 1000, News::Received, Some(991)),
                (11, 11, 1100, News::Lost, None),
            ]
        );
        assert_eq!(flight.next(), 16);
    }
}
