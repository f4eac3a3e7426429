//! A trace of sending opportunities, sorted, with interpolated arrivals for lost ones.

use headway_units::Instant;

/// Time at which the controller permits one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opportunity {
    /// Departure time.
    pub at: Instant,
    /// Arrival time of the packet sent at `at`; `None` if it was lost.
    pub arrives: Option<Instant>,
}

/// Transmission opportunity with a measured or interpolated arrival time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Departure time.
    pub at: Instant,
    /// Measured or interpolated arrival time of a packet sent at `at`.
    pub arrives: Instant,
}

/// Transmission opportunities (slots), sorted by departure time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slots(Vec<Slot>);

impl Slots {
    /// Sorts a trace by departure (stable) and interpolates the arrivals of lost packets:
    ///
    /// - between two known arrivals: linearly, by departure;
    /// - before the first or after the last known arrival: with the delay of that packet;
    /// - in a trace without arrivals: at the departure (no delay), which is the best case, so the bound still holds.
    ///
    /// A packet dropped by a full queue thus has the queueing delay of its neighbors. If the known arrivals are in the
    /// order of departures, so are the interpolated ones.
    #[must_use]
    pub fn new(trace: &[Opportunity]) -> Self {
        let mut trace = trace.to_vec();
        trace.sort_by_key(|one| one.at);
        let known = |one: &Opportunity| one.arrives.map(|arrives| Slot { at: one.at, arrives });
        let mut before = None;
        let mut upcoming = trace.iter().filter_map(known).peekable();
        let slots = trace
            .iter()
            .map(|one| {
                if let Some(slot) = known(one) {
                    before = upcoming.next();
                    slot
                } else {
                    Slot { at: one.at, arrives: interpolated(one.at, before, upcoming.peek().copied()) }
                }
            })
            .collect();
        Self(slots)
    }

    /// Returns the slots in the order of departure.
    #[must_use]
    pub fn as_slice(&self) -> &[Slot] {
        &self.0
    }
}

/// Interpolates the arrival of a packet that leaves at `at` between two known slots.
fn interpolated(at: Instant, before: Option<Slot>, after: Option<Slot>) -> Instant {
    match (before, after) {
        (Some(before), Some(after)) => between(at, before, after),
        // With two clocks, an arrival may be before its departure. One of the two differences is zero.
        (Some(near), None) | (None, Some(near)) => {
            let moved = at + near.arrives.since(near.at);
            moved.checked_sub(near.at.since(near.arrives)).unwrap_or(Instant::ZERO)
        }
        (None, None) => at,
    }
}

fn between(at: Instant, before: Slot, after: Slot) -> Instant {
    let whole = u128::from(after.at.since(before.at).as_nanos());
    let part = u128::from(at.since(before.at).as_nanos());
    // The product of two 64-bit numbers fits, and the quotient is at most the span.
    let share = |span: u64| (u128::from(span) * part).checked_div(whole).unwrap_or(0) as u64;
    let (from, to) = (before.arrives.as_nanos(), after.arrives.as_nanos());
    Instant::from_nanos(if to >= from { from + share(to - from) } else { from - share(from - to) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn arrivals(trace: &[(u64, Option<u64>)]) -> Vec<u64> {
        let trace: Vec<Opportunity> = trace
            .iter()
            .map(|&(at, arrives)| Opportunity {
                at: Instant::from_nanos(at),
                arrives: arrives.map(Instant::from_nanos),
            })
            .collect();
        Slots::new(&trace).as_slice().iter().map(|slot| slot.arrives.as_nanos()).collect()
    }

    #[test]
    fn losses_between_two_arrivals_are_interpolated() {
        assert_eq!(arrivals(&[(0, Some(50)), (10, None), (20, Some(70))]), [50, 60, 70]);
        // Delays 50 and 90 at 0 and 40: 60 at 10, 80 at 30.
        assert_eq!(arrivals(&[(0, Some(50)), (10, None), (30, None), (40, Some(130))]), [50, 70, 110, 130]);
        // Reordered neighbors.
        assert_eq!(arrivals(&[(0, Some(100)), (10, None), (20, Some(60))]), [100, 80, 60]);
        // Simultaneous departures.
        assert_eq!(arrivals(&[(5, Some(50)), (5, None), (5, Some(51))]), [50, 50, 51]);
    }

    #[test]
    fn losses_at_the_ends_get_the_nearest_delay() {
        assert_eq!(arrivals(&[(0, None), (10, Some(30)), (20, Some(50)), (25, None)]), [20, 30, 50, 55]);
        assert_eq!(arrivals(&[(0, None), (3, None)]), [0, 3]);
        // The clock of the receiver is 20 behind.
        assert_eq!(arrivals(&[(10, None), (30, Some(10)), (40, None)]), [0, 10, 20]);
        assert_eq!(arrivals(&[]), [0u64; 0]);
    }

    #[test]
    fn slots_are_sorted_by_departure() {
        assert_eq!(arrivals(&[(20, Some(70)), (0, Some(50)), (10, None)]), [50, 60, 70]);
    }

    proptest! {
        /// Known arrivals are unchanged, sorted arrivals stay sorted, and no trace panics.
        #[test]
        fn interpolation_keeps_arrivals_and_order(
            mut at in prop::collection::vec(any::<u64>(), 0..20),
            mut arrives in prop::collection::vec(any::<u64>(), 20),
            lost in prop::collection::vec(any::<bool>(), 20),
            ordered: bool,
        ) {
            at.sort_unstable();
            if ordered {
                arrives.sort_unstable();
            }
            let trace: Vec<_> = (0..at.len()).map(|i| (at[i], (!lost[i]).then_some(arrives[i]))).collect();
            let got = arrivals(&trace);
            prop_assert_eq!(got.len(), at.len());
            for i in 0..at.len() {
                prop_assert!(lost[i] || got[i] == arrives[i]);
            }
            prop_assert!(!ordered || got.is_sorted());
        }
    }
}
