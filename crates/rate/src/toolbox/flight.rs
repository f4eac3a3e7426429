//! Which of the packets sent have come.
//!
//! A packet is open until a report says that it has come, or until [`NUMDUPACK`] packets sent after it have: then it is
//! lost (RFC 4341 section 5). What is older than the third newest that has come is settled and forgotten; reports on it
//! are ignored, as RFC 4340 section 11.4.1 demands.

use super::options::MAX_WINDOW;
use crate::contract::{Arrival, Run};
use std::collections::VecDeque;

/// So many later packets that have come make one lost.
const NUMDUPACK: u32 = 3;

/// What is kept at most: every data packet of the largest window, and as many packets without data.
const CAPACITY: usize = 2 * MAX_WINDOW as usize;

/// What a report tells of a data packet, once each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    Received,
    /// Come with Congestion Experienced.
    Marked,
    /// It was received, and a copy of it marked (the free cell of RFC 4340 section 11.4.1's table).
    MarkedLater,
    Lost,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    data: bool,
    fate: Arrival,
}

/// The packets that are not settled, from number `first` on.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    first: u64,
    packets: VecDeque<Sent>,
    /// One more than the place of the newest packet that has come; 0 if none has.
    come: usize,
}

impl Ledger {
    /// The number that the next packet takes.
    pub(super) fn next(&self) -> u64 {
        self.first.wrapping_add(self.packets.len() as u64)
    }

    /// A packet goes. Returns the oldest, if it was an open data packet that has to give way.
    pub(super) fn send(&mut self, number: u64, data: bool) -> Option<u64> {
        let mut given_up = None;
        if self.packets.len() >= CAPACITY {
            let oldest = self.packets.pop_front();
            given_up = oldest.filter(|sent| sent.data && sent.fate == Arrival::NotReceived).map(|_| self.first);
            self.first = self.first.wrapping_add(1);
            self.come = self.come.saturating_sub(1);
        }
        if self.packets.is_empty() {
            self.first = number;
        }
        self.packets.push_back(Sent { data, fate: Arrival::NotReceived });
        given_up
    }

    /// Forgets everything sent so far.
    pub(super) fn clear(&mut self) {
        self.first = self.next();
        self.packets.clear();
        self.come = 0;
    }

    /// A report: `runs` from `acknowledged` downwards. Says of each data packet what is new, with its number.
    pub(super) fn report(&mut self, acknowledged: u64, runs: &[Run], mut news: impl FnMut(u64, News)) {
        let place = acknowledged.wrapping_sub(self.first);
        if place >= self.packets.len() as u64 {
            return; // settled already, or never sent
        }
        let mut end = place as usize + 1;
        for run in runs {
            let start = end - run.packets.min(end as u64) as usize;
            if run.arrival != Arrival::NotReceived && start < end {
                self.come = self.come.max(end);
                for place in start..end {
                    let sent = &mut self.packets[place];
                    let new = match (sent.fate, run.arrival) {
                        (Arrival::NotReceived, Arrival::Marked) => News::Marked,
                        (Arrival::NotReceived, _) => News::Received,
                        (Arrival::Received, Arrival::Marked) => News::MarkedLater,
                        _ => continue,
                    };
                    sent.fate = run.arrival;
                    if sent.data {
                        news(self.first.wrapping_add(place as u64), new);
                    }
                }
            }
            end = start;
            if end == 0 {
                break;
            }
        }
        self.settle(&mut news);
    }

    /// Finds the lost, and forgets what is below the third newest that has come.
    fn settle(&mut self, news: &mut impl FnMut(u64, News)) {
        let mut later = 0;
        let third = (0..self.come).rev().find(|&place| {
            later += u32::from(self.packets[place].fate != Arrival::NotReceived);
            later == NUMDUPACK
        });
        let Some(third) = third else { return };
        for (place, sent) in self.packets.drain(..third).enumerate() {
            if sent.data && sent.fate == Arrival::NotReceived {
                news(self.first.wrapping_add(place as u64), News::Lost);
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
            let mut ledger = Ledger::default();
            ledger.send(7, true);
            let mut told = vec![];
            for arrival in [old, new] {
                ledger.report(7, &[Run { arrival, packets: 1 }], |number, news| told.push((number, news)));
            }
            assert_eq!(ledger.packets[0].fate, state, "{old:?}, {new:?}");
            let wanted: &[_] = match (old, new) {
                (Received, Marked) => &[(7, News::Received), (7, News::MarkedLater)],
                _ if state == Received => &[(7, News::Received)],
                _ if state == Marked => &[(7, News::Marked)],
                _ => &[],
            };
            assert_eq!(told, wanted, "{old:?}, {new:?}");
        }
    }
}
