//! Sent packets that may be sent again, and loss detection from the receiver's reports.
//!
//! "A packet P is inferred to be lost, rather than delayed, when at least NUMDUPACK packets transmitted after P have
//! been acknowledged as received", with or without data (RFC 4341 section 5; RFC 5681 section 3.2 with three
//! duplicates). One rule is stricter than in a controller: a report must explicitly state that the packet was not
//! received. A receiver discards the state of old packets (RFC 4340 section 11.4.2), and missing state must not cause a
//! retransmission. On a path that keeps the order, only lost packets are thus sent again.
//!
//! There is no timer: a loss is not detected if fewer than three later packets arrive.

use super::Media;
use headway_units::Instant;
use std::collections::VecDeque;
use std::ops::RangeInclusive;

/// Number of later packets received that makes a packet lost.
const NUMDUPACK: usize = 3;

/// Maximum number of packets: the range of two Ack Vector options (RFC 4340 section 11.4). Reports do not cover older
/// ones.
const MAX_OUTSTANDING: usize = 2 * 253 * 64;

/// Part of a receiver's report: packets with consecutive numbers, all of them received or all not received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedPackets {
    /// Numbers of the packets, both ends included.
    pub numbers: RangeInclusive<u64>,
    /// Whether all these packets were received; otherwise none of them was.
    pub received: bool,
}

/// Record of sent packets that are not yet known to be received or lost, each with data `P` of the sender.
///
/// Keeps at most 32,384 packets, the range of two Ack Vector options; reports do not cover older ones.
#[derive(Debug)]
pub struct Outstanding<P> {
    /// Packets by number.
    packets: VecDeque<Sent<P>>,
    /// Greatest numbers received, in descending order.
    newest: [Option<u64>; NUMDUPACK],
}

/// Fate of a packet according to reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportedFate {
    /// A report stated that the packet was received.
    Received,
    /// A report stated that the packet was not received, and three later packets were received.
    Lost,
    /// No report covered the packet, and newer reports no longer can.
    Unknown,
}

#[derive(Debug)]
struct Sent<P> {
    number: u64,
    packet: P,
    fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// No report covered it.
    Open,
    /// A report stated that it was not received.
    Missing,
    Received,
}

impl<P> Default for Outstanding<P> {
    fn default() -> Self {
        Self { packets: VecDeque::new(), newest: [None; NUMDUPACK] }
    }
}

impl<P> Outstanding<P> {
    /// Adds a packet sent under this number. Numbers must increase. Returns a packet that is not tracked any more: this
    /// one if its number does not increase, or the oldest one if there are too many.
    pub fn push(&mut self, number: u64, packet: P) -> Option<P> {
        if self.packets.back().is_some_and(|last| last.number >= number) {
            return Some(packet);
        }
        // Without reports, the oldest packet is the likeliest to have expired.
        let oldest = if self.packets.len() == MAX_OUTSTANDING { self.packets.pop_front() } else { None };
        self.packets.push_back(Sent { number, packet, fate: Fate::Open });
        oldest.map(|sent| sent.packet)
    }

    /// Processes a report. Removes each packet whose fate it decides and calls `settled` for it, oldest first. A packet
    /// that reports no longer cover, so that its fate is [unknown](ReportedFate::Unknown), is kept while `waits`
    /// returns true for it.
    pub fn settle(
        &mut self,
        reports: impl IntoIterator<Item = ReportedPackets>,
        waits: impl Fn(&P) -> bool,
        settled: &mut impl FnMut(P, ReportedFate),
    ) {
        let mut oldest_reported = u64::MAX;
        for ReportedPackets { numbers, received } in reports {
            oldest_reported = oldest_reported.min(*numbers.start());
            if received {
                self.note_newest(&numbers);
            }
            let first = self.packets.partition_point(|sent| sent.number < *numbers.start());
            for sent in self.packets.range_mut(first..).take_while(|sent| sent.number <= *numbers.end()) {
                sent.fate = match sent.fate {
                    _ if received => Fate::Received,
                    Fate::Open => Fate::Missing,
                    // A received packet stays received, for any order of reports (RFC 4340 section 11.4.1).
                    known => known,
                };
            }
        }
        let [.., third] = self.newest;
        // One pass over the deque; packets that stay are pushed to the back.
        for _ in 0..self.packets.len() {
            let Some(sent) = self.packets.pop_front() else { break };
            match sent.fate {
                Fate::Received => settled(sent.packet, ReportedFate::Received),
                Fate::Missing if third.is_some_and(|third| sent.number < third) => {
                    settled(sent.packet, ReportedFate::Lost);
                }
                // Reports no longer cover it.
                Fate::Open if sent.number < oldest_reported && !waits(&sent.packet) => {
                    settled(sent.packet, ReportedFate::Unknown);
                }
                Fate::Missing | Fate::Open => self.packets.push_back(sent),
            }
        }
    }

    /// Returns whether the fate of each packet is known, so that no packet is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Removes and returns all packets, which are not known to be received or lost, oldest first. For the end of a
    /// connection, when no more reports are expected.
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

/// Sent packets of a queue that may send them again.
impl<T> Outstanding<Media<T>> {
    /// Adds a packet sent under this number. Drops a packet that reports cannot cover any more.
    pub(super) fn sent(&mut self, number: u64, media: Media<T>) {
        drop(self.push(number, media));
    }

    /// Processes a report. Returns the packets that it shows lost, each once, oldest first.
    pub(super) fn report(&mut self, now: Instant, reports: impl IntoIterator<Item = ReportedPackets>) -> Vec<Media<T>> {
        let mut lost = Vec::new();
        // Expired packets cannot be sent again.
        let waits = |media: &Media<T>| media.expires.is_none_or(|expires| expires >= now);
        self.settle(reports, waits, &mut |media, settled| {
            if settled == ReportedFate::Lost {
                lost.push(media);
            }
        });
        lost
    }
}

#[cfg(test)]
mod tests;
