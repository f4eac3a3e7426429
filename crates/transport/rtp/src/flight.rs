//! Sent packets of all streams in the carrier's numbering, and what feedback has reported about each.

use headway_rate::{Arrival, Run, Stamp, TimedArrival};
use headway_units::{Bytes, Duration, Ecn, Instant};
use std::collections::VecDeque;

/// Maximum number of packets: a round trip of 2 s at 80 Mb/s.
const MAX_PACKETS: usize = 1 << 14;
/// Packets older than the newest acknowledged one that can still be reported.
const MAX_REORDERING: u64 = 1024;
/// Number of later packets after which a packet is lost (RFC 4341 section 5).
const REORDERED: u64 = 3;

/// Sent packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) ssrc: u32,
    pub(crate) sent: Instant,
    pub(crate) size: Bytes,
    /// Fields of the controller, for a receiver half in this process.
    pub(crate) stamp: Stamp,
    pub(crate) state: State,
}

/// What feedback has reported about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// No feedback covers it.
    Unreported,
    NotReceived,
    /// No feedback covers it, but a later one of its stream. The feedback between them was lost.
    Assumed,
    /// It was received, at this time of the receiver's clock if known.
    Received {
        ecn: Ecn,
        at: Option<Instant>,
    },
}

impl State {
    const fn is_received(self) -> bool {
        matches!(self, Self::Received { .. } | Self::Assumed)
    }
}

/// The newest packets sent.
#[derive(Debug, Default)]
pub(crate) struct Flight {
    first: u64,
    packets: VecDeque<Packet>,
    /// Number below which packets that are not received count as lost.
    judged: u64,
    lost: u64,
}

impl Flight {
    pub(crate) fn push(&mut self, packet: Packet) {
        if self.packets.len() >= MAX_PACKETS {
            self.pop();
        }
        self.packets.push_back(packet);
    }

    fn pop(&mut self) {
        self.packets.pop_front();
        self.first += 1;
    }

    fn judge(&mut self, end: u64) {
        while self.judged < end {
            self.lost += u64::from(self.get(self.judged).is_some_and(|packet| !packet.state.is_received()));
            self.judged += 1;
        }
    }

    /// Counts the packets below `acknowledged` that are lost, and removes those far below.
    pub(crate) fn settle(&mut self, acknowledged: u64) {
        self.judge(acknowledged.saturating_sub(REORDERED - 1));
        while self.first.saturating_add(MAX_REORDERING) < acknowledged {
            self.pop();
        }
    }

    /// Sets the state of a packet. Returns the packet if it is newly received.
    pub(crate) fn set(&mut self, number: u64, state: State) -> Option<Packet> {
        let judged = number < self.judged;
        let packet = self.packets.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)?;
        let was = packet.state;
        match (was, state) {
            // A packet that was received stays so; a mark of a copy is added (RFC 8888 section 3.1).
            (State::Received { at, .. }, State::Received { ecn: Ecn::Ce, .. }) => {
                packet.state = State::Received { ecn: Ecn::Ce, at };
            }
            (State::Received { .. }, _) | (State::Assumed, State::NotReceived) => {}
            _ => packet.state = state,
        }
        let is_new = !was.is_received() && packet.state.is_received();
        let packet = *packet;
        if is_new && judged {
            self.lost = self.lost.saturating_sub(1);
        }
        is_new.then_some(packet)
    }

    /// Returns the number of lost packets: not received, although one sent three or more packets later was.
    pub(crate) const fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns the number of the oldest packet.
    pub(crate) const fn first(&self) -> u64 {
        self.first
    }

    pub(crate) fn get(&self, number: u64) -> Option<&Packet> {
        self.packets.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// Returns the greatest number that was received and below which every packet is known, as far as it can be, and
    /// whether it is the greatest of all. A packet above `passed` of a stream that is not `covered` by the present
    /// feedback, and that was sent less than `patience` before the newest received one, may be in feedback that follows.
    pub(crate) fn acknowledged(
        &self,
        passed: Option<u64>,
        covered: impl Fn(u32) -> bool,
        patience: Duration,
    ) -> Option<(u64, bool)> {
        let is_received = |packet: &Packet| packet.state.is_received();
        let newest = self.packets.iter().rposition(is_received)?;
        let sent = self.packets.get(newest)?.sent;
        let start = passed.map_or(0, |passed| usize::try_from(passed.saturating_sub(self.first)).unwrap_or(usize::MAX));
        let is_open = |packet: &Packet| {
            packet.state == State::Unreported && !covered(packet.ssrc) && sent.since(packet.sent) < patience
        };
        let open =
            self.packets.iter().take(newest).skip(start).position(is_open).map_or(newest + 1, |open| start + open);
        let last = self.packets.iter().take(open).rposition(is_received)?;
        Some((self.first + last as u64, last == newest))
    }

    /// Returns the state of each packet from `acknowledged` downwards to `last` in a report at `clock`, the receiver's.
    pub(crate) fn timed(&self, acknowledged: u64, last: u64, clock: Instant) -> impl Iterator<Item = TimedArrival> {
        self.states(acknowledged, last).map(move |state| match state {
            State::Unreported | State::NotReceived => TimedArrival::NotReceived,
            State::Assumed => TimedArrival::Received { ecn: Ecn::NotEct, before: None },
            State::Received { ecn, at } => TimedArrival::Received { ecn, before: at.map(|at| clock.since(at)) },
        })
    }

    /// Returns the runs of packets from `acknowledged` downwards to `last`.
    pub(crate) fn runs(&self, acknowledged: u64, last: u64) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for state in self.states(acknowledged, last) {
            let arrival = match state {
                State::Unreported | State::NotReceived => Arrival::NotReceived,
                State::Received { ecn: Ecn::Ce, .. } => Arrival::Marked,
                State::Assumed | State::Received { .. } => Arrival::Received,
            };
            match runs.last_mut() {
                Some(run) if run.arrival == arrival => run.packets += 1,
                _ => runs.push(Run { arrival, packets: 1 }),
            }
        }
        runs
    }

    fn states(&self, acknowledged: u64, last: u64) -> impl Iterator<Item = State> {
        (last..=acknowledged).rev().map_while(|number| self.get(number)).map(|packet| packet.state)
    }
}
