use super::*;
use crate::{Class, MAX_ACTORS};
use proptest::prelude::*;

const END: Moment = Moment::after_all(Instant::FAR_FUTURE);

const CLASSES: [Class; 8] = [
    Class::Arrival,
    Class::SenderTimer,
    Class::SinkTimer,
    Class::Source,
    Class::Departure,
    Class::Sample,
    Class::Attacker,
    Class::Host,
];

/// Events on the same day and days apart.
#[test]
fn ahead_returns_the_next_events() {
    let mut events = EventQueue::new(Ties::Drawn);
    for (number, micros) in [1, 2, 3, 70, 71, 900, 4000, 9000, 9001].into_iter().enumerate() {
        events.push(Moment::new(Instant::from_micros(micros)), Actor::new(Class::Arrival, number));
    }
    for first in 0..9 {
        let ahead: Vec<_> = events.ahead().into_iter().flatten().map(Actor::number).collect();
        assert_eq!(ahead, (first..9).take(AHEAD).collect::<Vec<_>>());
        assert_eq!(events.pop_before(END).unwrap().1.number(), first);
    }
    assert_eq!(events.ahead(), [None; AHEAD]);
}

proptest! {
    /// Compares the queue with a sorted set. Events are simultaneous or seconds apart, and numerous enough to change
    /// the length of a day. `end` varies; later steps insert events earlier than those still pending.
    #[test]
    fn events_are_popped_in_order(
        steps in prop::collection::vec((0u8..4, 0u32..40, 0usize..3, any::<u16>()), 1..6000),
        far_end: bool,
    ) {
        let mut queue = EventQueue::new(Ties::Drawn);
        let mut reference = std::collections::BTreeSet::new();
        let mut now = Moment::new(Instant::ZERO);
        for (number, (pops, shift, class, spread)) in steps.into_iter().enumerate() {
            let wait = u64::from(spread) << shift.saturating_sub(16) >> 16u32.saturating_sub(shift);
            let at = Moment { turn: u64::from(spread % 3), ..Moment::new(now.at + headway_units::Duration::from_nanos(wait)) };
            let at = at.max(now);
            let actor = Actor::new(CLASSES[class], number);
            queue.push(at, actor);
            reference.insert((at, actor));
            let end = if far_end { END } else { Moment::new(now.at + headway_units::Duration::from_nanos(1 << shift)) };
            for _ in 0..pops {
                let is_due = reference.first().is_some_and(|(at, _)| *at < end);
                let expected = if is_due { reference.pop_first() } else { None };
                prop_assert_eq!(queue.pop_before(end), expected);
                now = expected.map_or(now, |(at, _)| at);
            }
        }
        while let Some(expected) = reference.pop_first() {
            prop_assert_eq!(queue.pop_before(expected.0), None, "the end itself is not before the end");
            prop_assert_eq!(queue.pop_before(END), Some(expected));
        }
        prop_assert_eq!(queue.pop_before(END), None);
    }
}

/// 100,000 simultaneous events, each followed by another at the same time, cost no more than in a heap.
#[test]
fn simultaneous_events_cost_no_more_than_in_a_heap() {
    let mut queue = EventQueue::new(Ties::Drawn);
    let at = Moment::new(Instant::from_secs(1));
    for number in (0..100_000).rev() {
        queue.push(at, Actor::new(Class::Arrival, number));
    }
    for number in 0..100_000 {
        assert_eq!(queue.pop_before(END), Some((at, Actor::new(Class::Arrival, number))));
        queue.push(at, Actor::new(Class::Departure, number));
    }
    assert_eq!(queue.pop_before(at), None);
    assert_eq!(queue.pop_before(END), Some((at, Actor::new(Class::Departure, 0))));
}

/// Few pending events need the smallest ring. A day is about as long as the gap between two events.
#[test]
fn a_day_has_about_one_event_and_the_ring_about_a_day_for_each() {
    for (pending, gap) in [(1, 1_000), (1, 20_000_000), (100, 300), (3000, 1_000), (3000, 1_000_000), (50_000, 50)] {
        let mut queue = EventQueue::new(Ties::Drawn);
        for number in 0..pending {
            queue.push(Moment::new(Instant::from_nanos(number * gap)), Actor::new(Class::Arrival, number as usize));
        }
        for _ in 0..20 * pending + 100_000 {
            let (at, actor) = queue.pop_before(END).unwrap();
            queue.push(Moment::new(at.at + headway_units::Duration::from_nanos(pending * gap)), actor);
        }
        assert_eq!(queue.ring.len(), (pending as usize).next_power_of_two().max(MIN_DAYS), "{pending} of {gap} ns");
        let day = (1_u64 << queue.shift) as f64 / gap as f64;
        assert!((0.25..=4.0).contains(&day), "{pending} of {gap} ns: a day is {day} of it");
    }
}

#[test]
fn equal_moments_are_ordered_by_class_and_number() {
    let mut queue = EventQueue::new(Ties::Drawn);
    let at = Moment::new(Instant::from_millis(1));
    let order: Vec<_> = CLASSES.iter().flat_map(|class| [(*class, 2), (*class, 7)]).collect();
    for (class, number) in order.iter().rev() {
        queue.push(at, Actor::new(*class, *number));
    }
    let earlier = Moment { sum_s: 0.000_999, ..at };
    queue.push(earlier, Actor::new(Class::Sample, 9));
    let popped: Vec<_> = std::iter::from_fn(|| queue.pop_before(END)).map(|(_, a)| (a.class(), a.number())).collect();
    assert_eq!(popped[0], (Class::Sample, 9));
    assert_eq!(popped[1..], order);
}

#[test]
fn the_largest_number_can_be_packed() {
    let actor = Actor::new(Class::Sample, MAX_ACTORS - 1);
    assert_eq!((actor.class(), actor.number()), (Class::Sample, MAX_ACTORS - 1));
}
