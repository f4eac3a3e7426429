//! A packet at a link.

use headway_units::{Bytes, DropCause, Instant, Rate};
use serde::Serialize;

/// One direction of a link, as described in the file's metadata.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HopLink {
    /// Name of the direction.
    pub name: String,
    /// Name of the sending node.
    pub from: String,
    /// Name of the receiving node.
    pub to: String,
    /// Propagation delay, in ns; the initial one if it changes.
    pub delay_ns: u64,
    /// Rate, in bit/s: the mean of a measured capacity, or the initial rate if it changes.
    pub rate_bps: u64,
}

impl HopLink {
    /// Creates the description of a direction.
    #[must_use]
    pub fn new(name: &str, [from, to]: [&str; 2], delay: headway_units::Duration, rate: Rate) -> Self {
        let [name, from, to] = [name, from, to].map(str::to_owned);
        Self { name, from, to, delay_ns: delay.as_nanos(), rate_bps: rate.bits_per_second() }
    }
}

/// Arrival of a packet at one direction of a link.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// Time of arrival at the link's queue.
    pub offered: Instant,
    /// Number of the link direction, in the order of the scenario.
    pub link: u32,
    /// Number of the flow, in the order of the scenario.
    pub flow: u32,
    /// Kind of the packet: an index of [`PacketNames::kinds`](super::PacketNames::kinds).
    pub kind: u8,
    /// Size of the packet with the IP header.
    pub bytes: Bytes,
    /// Low 32 bits of the packet's number in its flow: of the segment, datagram or DCCP packet, or the number that a
    /// report acknowledges.
    pub sequence: u32,
    /// Number of packets that wait in the link's queue when this packet arrives, without this packet.
    pub queue: u64,
    /// Deadline of the packet's data, if it has one.
    pub deadline: Option<Instant>,
}

/// Outcome of a packet at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraversalOutcome {
    /// The packet arrived at the far end of the link.
    Delivered,
    /// The packet was dropped. With [`DropCause::Host`], it arrived at the far end and the host dropped it.
    Dropped(DropCause),
    /// The packet was still on the link when the run ended.
    InFlight,
}

impl TraversalOutcome {
    /// Number of fates.
    const COUNT: usize = DropCause::ALL.len() + 2;

    /// Returns the code of the outcome in `packets.arrow`: the index of its name in [`names`](Self::names).
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Delivered => 0,
            Self::Dropped(cause) => 1 + cause as u8,
            Self::InFlight => Self::COUNT as u8 - 1,
        }
    }

    /// Returns the outcome with this code; `None` if there is none.
    pub(super) fn of_code(code: u64) -> Option<Self> {
        const IN_FLIGHT: usize = TraversalOutcome::COUNT - 1;
        match usize::try_from(code).ok()? {
            0 => Some(Self::Delivered),
            IN_FLIGHT => Some(Self::InFlight),
            code => DropCause::ALL.get(code - 1).copied().map(Self::Dropped),
        }
    }

    /// Returns the names of all outcomes in the order of their codes.
    #[must_use]
    pub fn names() -> [&'static str; Self::COUNT] {
        let mut names = ["delivered"; Self::COUNT];
        for cause in DropCause::ALL {
            names[usize::from(Self::Dropped(cause).code())] = cause.name();
        }
        names[usize::from(Self::InFlight.code())] = "in_flight";
        names
    }
}

/// A row in memory: at most one cache line. Times are in ns since the start of the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) offered: u64,
    /// Start of the transmission; [`Row::NOT_YET`] before it starts.
    pub(super) start: u64,
    pub(super) end: u64,
    /// Time at which it left the link.
    pub(super) left: u64,
    pub(super) link: u32,
    pub(super) flow: u32,
    pub(super) bytes: u32,
    pub(super) sequence: u32,
    /// Deadline, in ms since its arrival at the link; [`Row::NO_DEADLINE`] without one.
    pub(super) deadline: i32,
    pub(super) queue: u16,
    pub(super) kind: u8,
    pub(super) fate: u8,
    pub(super) mark: bool,
}

impl Row {
    pub(super) const NOT_YET: u64 = u64::MAX;
    pub(super) const NO_DEADLINE: i32 = i32::MIN;

    pub(super) fn new(hop: &Hop) -> Self {
        let offered = hop.offered.as_nanos();
        Self {
            offered,
            start: Self::NOT_YET,
            end: Self::NOT_YET,
            left: 0,
            link: hop.link,
            flow: hop.flow,
            bytes: hop.bytes.count().try_into().unwrap_or(u32::MAX),
            sequence: hop.sequence,
            deadline: hop.deadline.map_or(Self::NO_DEADLINE, |deadline| until_ms(offered, deadline.as_nanos())),
            queue: hop.queue.try_into().unwrap_or(u16::MAX),
            kind: hop.kind,
            fate: TraversalOutcome::InFlight.code(),
            mark: false,
        }
    }

    /// Records that the packet leaves the link at `now`.
    pub(super) fn leave(&mut self, now: u64, fate: TraversalOutcome) {
        self.fate = fate.code();
        self.left = now;
        // A packet still in the queue will not be transmitted.
        if self.start >= now {
            (self.start, self.end) = (now, now);
        }
    }

    /// Returns the time from the end of the transmission to the arrival at the far end, in ns.
    pub(super) const fn propagation(&self) -> u64 {
        self.left.saturating_sub(self.end)
    }
}

/// Returns the time until the deadline in ms, rounded down; negative after the deadline.
fn until_ms(now: u64, deadline: u64) -> i32 {
    const MS: i128 = 1_000_000;
    let ms = (i128::from(deadline) - i128::from(now)).div_euclid(MS);
    ms.clamp(i128::from(i32::MIN + 1), i128::from(i32::MAX)) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_fits_into_a_cache_line() {
        assert!(size_of::<Row>() <= 64, "{}", size_of::<Row>());
    }

    #[test]
    fn fates_are_named_in_the_order_of_their_codes() {
        let names = ["delivered", "queue_full", "early", "channel", "too_big", "host", "policer", "in_flight"];
        assert_eq!(TraversalOutcome::names(), names);
        assert_eq!(TraversalOutcome::Dropped(DropCause::Policer).code(), 6);
    }

    #[test]
    fn past_and_future_deadlines_are_rounded_down() {
        assert_eq!(until_ms(1_000_000, 2_999_999), 1);
        assert_eq!(until_ms(2_000_001, 2_000_000), -1);
        assert_eq!(until_ms(u64::MAX, 0), i32::MIN + 1);
    }
}
