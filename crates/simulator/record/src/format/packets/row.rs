//! A packet at a link.

use headway_units::{Bytes, DropCause, Instant, Rate};
use serde::Serialize;

/// A direction of a link, as the file tells of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HopLink {
    /// Its name.
    pub name: String,
    /// The node that sends into it.
    pub from: String,
    /// The node that it leads to.
    pub to: String,
    /// Its propagation, in ns; the first one where it changes.
    pub delay_ns: u64,
    /// Its rate in bit/s: a mean where its capacity was measured, the first one where it changes.
    pub rate_bps: u64,
}

impl HopLink {
    /// One of these.
    #[must_use]
    pub fn new(name: &str, [from, to]: [&str; 2], delay: headway_units::Duration, rate: Rate) -> Self {
        let [name, from, to] = [name, from, to].map(str::to_owned);
        Self { name, from, to, delay_ns: delay.as_nanos(), rate_bps: rate.bits_per_second() }
    }
}

/// A packet that is offered to a link.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// When.
    pub offered: Instant,
    /// To which, in the order of the scenario.
    pub link: u32,
    /// Of which flow, in the order of the scenario.
    pub flow: u32,
    /// What it is: a place in [`PacketNames::kinds`](super::PacketNames::kinds).
    pub kind: u8,
    /// Its IP bytes.
    pub bytes: Bytes,
    /// Its number, as in the other traces.
    pub sequence: u32,
    /// How many packets wait there already.
    pub queue: u64,
    /// When it is of no more use, if ever.
    pub deadline: Option<Instant>,
}

/// What became of a packet at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HopFate {
    /// It came to the far end.
    Delivered,
    /// It was dropped. Of [`DropCause::Host`]: it came to the far end, and the host there had no room for it.
    Dropped(DropCause),
    /// It was still on the link when the run ended.
    InFlight,
}

impl HopFate {
    /// How many there are.
    const COUNT: usize = DropCause::ALL.len() + 2;

    /// As written in the file: its place among [`names`](Self::names).
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Delivered => 0,
            Self::Dropped(cause) => 1 + cause as u8,
            Self::InFlight => Self::COUNT as u8 - 1,
        }
    }

    /// What each is called, in the order of their codes.
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

/// A row as it is kept: about a cache line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) offered: u64,
    /// When transmission began; as long as it has not, [`Row::NOT_YET`].
    pub(super) start: u64,
    pub(super) end: u64,
    /// Since when it is on the link no more.
    pub(super) gone: u64,
    pub(super) link: u32,
    pub(super) flow: u32,
    pub(super) bytes: u32,
    pub(super) sequence: u32,
    /// In ms from the offer on; [`Row::NO_DEADLINE`]: none.
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
            gone: 0,
            link: hop.link,
            flow: hop.flow,
            bytes: hop.bytes.count().try_into().unwrap_or(u32::MAX),
            sequence: hop.sequence,
            deadline: hop.deadline.map_or(Self::NO_DEADLINE, |deadline| until_ms(offered, deadline.as_nanos())),
            queue: hop.queue.try_into().unwrap_or(u16::MAX),
            kind: hop.kind,
            fate: HopFate::InFlight.code(),
            mark: false,
        }
    }

    /// It is on the link no more.
    pub(super) fn leave(&mut self, now: u64, fate: HopFate) {
        self.fate = fate.code();
        self.gone = now;
        // What waited until now is transmitted no more.
        if self.start >= now {
            (self.start, self.end) = (now, now);
        }
    }

    /// From the end of its transmission to the far end.
    pub(super) const fn propagation(&self) -> u64 {
        self.gone.saturating_sub(self.end)
    }
}

/// Whole ms from one instant to another, rounded down; negative if that has passed.
fn until_ms(now: u64, deadline: u64) -> i32 {
    const MS: i128 = 1_000_000;
    let ms = (i128::from(deadline) - i128::from(now)).div_euclid(MS);
    ms.clamp(i128::from(i32::MIN + 1), i128::from(i32::MAX)) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_cache_line() {
        assert!(size_of::<Row>() <= 64, "{}", size_of::<Row>());
    }

    #[test]
    fn fates_are_named_in_the_order_of_their_codes() {
        let names = ["delivered", "queue_full", "early", "channel", "too_big", "host", "policer", "in_flight"];
        assert_eq!(HopFate::names(), names);
        assert_eq!(HopFate::Dropped(DropCause::Policer).code(), 6);
    }

    #[test]
    fn deadlines_are_rounded_down_on_both_sides_of_now() {
        assert_eq!(until_ms(1_000_000, 2_999_999), 1);
        assert_eq!(until_ms(2_000_001, 2_000_000), -1);
        assert_eq!(until_ms(u64::MAX, 0), i32::MIN + 1);
    }
}
