//! A trace of sending opportunities, in order, with the arrivals that lost ones would have had.

use headway_units::Instant;

/// One instant at which the controller permitted one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opportunity {
    /// When the packet may leave.
    pub at: Instant,
    /// When the receiver has it; `None` if it was lost.
    pub arrives: Option<Instant>,
}

/// An opportunity whose arrival is known or supposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// When the packet may leave.
    pub at: Instant,
    /// When it arrives, or would have.
    pub arrives: Instant,
}

/// Slots in the order of their departures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slots(Vec<Slot>);

impl Slots {
    /// Orders a trace by departure (equal instants stay as they stand) and supposes the arrivals of what was lost:
    ///
    /// - between the last arrival before and the next one after, on the straight line through both, by departure;
    /// - before the first or after the last arrival, with the delay of that one;
    /// - in a trace without any arrival, at once. That is the best case, so the bound still holds.
    ///
    /// A packet lost from a queue that was full would thus have found it as full as its neighbours did. Where the known
    /// arrivals keep the order of departures, so do the supposed ones.
    #[must_use]
    pub fn new(trace: &[Opportunity]) -> Self {
        let mut trace = trace.to_vec();
        trace.sort_by_key(|one| one.at);
        let known = |one: &Opportunity| one.arrives.map(|arrives| Slot { at: one.at, arrives });
        let mut before = None;
        let mut coming = trace.iter().filter_map(known).peekable();
        let slots = trace
            .iter()
            .map(|one| {
                if let Some(slot) = known(one) {
                    before = coming.next();
                    slot
                } else {
                    Slot { at: one.at, arrives: supposed(one.at, before, coming.peek().copied()) }
                }
            })
            .collect();
        Self(slots)
    }

    /// The slots in order.
    #[must_use]
    pub fn as_slice(&self) -> &[Slot] {
        &self.0
    }
}

/// The arrival of what leaves at `at`, between two that are known.
fn supposed(at: Instant, before: Option<Slot>, after: Option<Slot>) -> Instant {
    match (before, after) {
        (Some(before), Some(after)) => between(at, before, after),
        // A path measured with two clocks may show arrivals before departures; one of the two terms is zero.
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
    // A product of two 64-bit numbers fits, and the quotient is no larger than the span.
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
    fn between_two_arrivals_on_their_line() {
        assert_eq!(arrivals(&[(0, Some(50)), (10, None), (20, Some(70))]), [50, 60, 70]);
        // Delays 50 and 90 at 0 and 40: 60 at 10, 80 at 30.
        assert_eq!(arrivals(&[(0, Some(50)), (10, None), (30, None), (40, Some(130))]), [50, 70, 110, 130]);
        // Reordered neighbours.
        assert_eq!(arrivals(&[(0, Some(100)), (10, None), (20, Some(60))]), [100, 80, 60]);
        // All at one instant.
        assert_eq!(arrivals(&[(5, Some(50)), (5, None), (5, Some(51))]), [50, 50, 51]);
    }

    #[test]
    fn at_the_ends_with_the_nearest_delay() {
        assert_eq!(arrivals(&[(0, None), (10, Some(30)), (20, Some(50)), (25, None)]), [20, 30, 50, 55]);
        assert_eq!(arrivals(&[(0, None), (3, None)]), [0, 3]);
        // The receiver's clock is 20 behind.
        assert_eq!(arrivals(&[(10, None), (30, Some(10)), (40, None)]), [0, 10, 20]);
        assert_eq!(arrivals(&[]), [0u64; 0]);
    }

    #[test]
    fn in_the_order_of_departure() {
        assert_eq!(arrivals(&[(20, Some(70)), (0, Some(50)), (10, None)]), [50, 60, 70]);
    }

    proptest! {
        /// Knowing nothing of the loss: what arrives stays, order stays order, no trace panics.
        #[test]
        fn losses_disturb_nothing(
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
