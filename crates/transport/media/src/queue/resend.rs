//! What was sent and may have to be sent again: loss as the receiver's reports show it.
//!
//! "A packet P is inferred to be lost, rather than delayed, when at least NUMDUPACK packets transmitted after P have been
//! acknowledged as received", be they data or not (RFC 4341 section 5; RFC 5681 section 3.2 with three duplicates). One rule is
//! stricter than a controller's: a report must have said itself that the packet had not come. A receiver that forgets old packets
//! (RFC 4340 section 11.4.2) says nothing of them, and silence is no reason to send anything twice. So on a path that keeps the
//! order only what is lost is sent again.
//!
//! There is no timer: a packet behind which fewer than three come is not found lost.

use super::Media;
use headway_units::Instant;
use std::collections::VecDeque;
use std::ops::RangeInclusive;

/// So many later packets that have come make one lost.
const NUMDUPACK: usize = 3;

/// Packets at most: what two Ack Vector options tell of (RFC 4340 section 11.4). Of older ones no report speaks any more.
const MOST: usize = 2 * 253 * 64;

/// What a report says of packets with consecutive numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Their numbers.
    pub numbers: RangeInclusive<u64>,
    /// Whether they have come, or not yet.
    pub received: bool,
}

/// Packets that were sent, and whose fate is open: each with what its sender knows it by.
///
/// At most 32,384 are kept, as many as two Ack Vector options tell of: of older ones no report speaks any more.
#[derive(Debug)]
pub struct Outstanding<P> {
    /// By their number.
    packets: VecDeque<Sent<P>>,
    /// The greatest numbers that have come, the greatest first.
    newest: [Option<u64>; NUMDUPACK],
}

/// What became of a packet, as reports tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It has come.
    Received,
    /// A report has said that it had not come, and three later ones have.
    Lost,
    /// Reports no longer speak of it, and none has.
    Untold,
}

#[derive(Debug)]
struct Sent<P> {
    number: u64,
    packet: P,
    fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// No report has spoken of it.
    Open,
    /// A report has said that it had not come.
    Missing,
    Received,
}

impl<P> Default for Outstanding<P> {
    fn default() -> Self {
        Self { packets: VecDeque::new(), newest: [None; NUMDUPACK] }
    }
}

impl<P> Outstanding<P> {
    /// The packet went under this number. Numbers grow: one under a number that does not is handed back, and so is the oldest where there
    /// are too many. Of what is handed back nothing will be told.
    pub fn push(&mut self, number: u64, packet: P) -> Option<P> {
        if self.packets.back().is_some_and(|last| last.number >= number) {
            return Some(packet);
        }
        // Where nothing is reported: the oldest is the likeliest to have expired.
        let oldest = if self.packets.len() == MOST { self.packets.pop_front() } else { None };
        self.packets.push_back(Sent { number, packet, fate: Fate::Open });
        oldest.map(|sent| sent.packet)
    }

    /// A report has come. `settled` hears of each packet whose fate it shows, once, the oldest first. One of which reports no longer speak
    /// stays as long as `waits` says.
    pub fn settle(
        &mut self,
        told: impl IntoIterator<Item = Told>,
        waits: impl Fn(&P) -> bool,
        settled: &mut impl FnMut(P, Settled),
    ) {
        let mut oldest_told = u64::MAX;
        for Told { numbers, received } in told {
            oldest_told = oldest_told.min(*numbers.start());
            if received {
                self.note_newest(&numbers);
            }
            let first = self.packets.partition_point(|sent| sent.number < *numbers.start());
            for sent in self.packets.range_mut(first..).take_while(|sent| sent.number <= *numbers.end()) {
                sent.fate = match sent.fate {
                    _ if received => Fate::Received,
                    Fate::Open => Fate::Missing,
                    // What has come stays come, in whatever order reports come (RFC 4340 section 11.4.1).
                    known => known,
                };
            }
        }
        let [.., third] = self.newest;
        // Once round: who stays goes to the back.
        for _ in 0..self.packets.len() {
            let Some(sent) = self.packets.pop_front() else { break };
            match sent.fate {
                Fate::Received => settled(sent.packet, Settled::Received),
                Fate::Missing if third.is_some_and(|third| sent.number < third) => settled(sent.packet, Settled::Lost),
                // The receiver no longer speaks of it.
                Fate::Open if sent.number < oldest_told && !waits(&sent.packet) => {
                    settled(sent.packet, Settled::Untold);
                }
                Fate::Missing | Fate::Open => self.packets.push_back(sent),
            }
        }
    }

    /// Nothing will be told any more: all that is open, the oldest first.
    pub fn drain(&mut self) -> impl Iterator<Item = P> + '_ {
        self.packets.drain(..).map(|sent| sent.packet)
    }

    fn note_newest(&mut self, numbers: &RangeInclusive<u64>) {
        for number in numbers.clone().rev().take(NUMDUPACK) {
            let mut number = Some(number);
            if self.newest.contains(&number) {
                continue;
            }
            for place in &mut self.newest {
                if number > *place {
                    std::mem::swap(place, &mut number);
                }
            }
        }
    }
}

/// Those of a queue, which keeps what it may have to send again.
impl<T> Outstanding<Media<T>> {
    /// The packet went under this number. What cannot be told of any more is dropped.
    pub(super) fn sent(&mut self, number: u64, media: Media<T>) {
        drop(self.push(number, media));
    }

    /// A report has come. Returns the packets that it shows lost, each once, the oldest first.
    pub(super) fn report(&mut self, now: Instant, told: impl IntoIterator<Item = Told>) -> Vec<Media<T>> {
        let mut lost = Vec::new();
        // What has expired could not be sent again.
        let waits = |media: &Media<T>| media.expires.is_none_or(|expires| expires >= now);
        self.settle(told, waits, &mut |media, settled| {
            if settled == Settled::Lost {
                lost.push(media);
            }
        });
        lost
    }
}

#[cfg(test)]
mod tests;
