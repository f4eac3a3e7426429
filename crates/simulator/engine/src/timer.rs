//! Deadlines as events.

use crate::{Actor, Class, EventQueue, Moment, Ties};
use headway_units::Instant;

/// A deadline in the event queue, re-armed lazily: the event of a deadline that moves away stays where it is, and a later event replaces it when it
/// fires.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Timer {
    /// The deadline; far in the future if there is none.
    due: Instant,
    /// The next of its events; far in the future if there is none.
    next: Instant,
    /// When the deadline was set, with its place in the order of scheduling, if ties go by that. ns-2 adds the wait to that
    /// time, however late the event is put into the queue.
    set: Moment,
    /// Hardly ever any: an earlier deadline gets an event before the others, a later one waits for the event that comes first.
    others: Option<Box<Others>>,
}

/// The events after the next, the last one first.
#[derive(Clone, Debug, Default)]
struct Others(Vec<Instant>);

impl Default for Timer {
    fn default() -> Self {
        Self { due: Instant::FAR_FUTURE, set: Moment::new(Instant::ZERO), next: Instant::FAR_FUTURE, others: None }
    }
}

/// The actor that a timer belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Owner {
    /// The class of its events.
    pub class: Class,
    /// The number of the actor.
    pub number: u32,
    /// Sets its events apart from those of others of its class, where ties are drawn.
    pub salt: u32,
}

impl Timer {
    /// Sets the timer to a deadline, or to none.
    #[inline]
    pub fn arm(&mut self, now: Moment, deadline: Option<Instant>, owner: Owner, events: &mut EventQueue) {
        self.arm_after(now, deadline, None, owner, events);
    }

    /// Sets the timer to a deadline after an exact wait in seconds, if the wait is not a whole number of nanoseconds.
    #[inline(always)]
    pub fn arm_after(
        &mut self,
        now: Moment,
        deadline: Option<Instant>,
        wait_s: Option<f64>,
        owner: Owner,
        events: &mut EventQueue,
    ) {
        let due = deadline.unwrap_or(Instant::FAR_FUTURE);
        if self.due != due {
            self.due = due;
            self.set = now;
            if events.ties == Ties::Scheduled {
                self.set.turn = events.places.next();
            }
        }
        if due < self.next {
            let wait_s = wait_s.unwrap_or_else(|| due.since(self.set.at).as_secs_f64());
            self.push(now, wait_s, owner, events);
        }
    }

    /// Sets the timer to a deadline that was set at `set`; without `set`, a deadline that differs from the one before is set now.
    #[inline]
    pub fn arm_set(
        &mut self,
        now: Moment,
        deadline: Option<Instant>,
        set: Option<Moment>,
        owner: Owner,
        events: &mut EventQueue,
    ) {
        let (Some(due), Some(set)) = (deadline, set) else { return self.arm(now, deadline, owner, events) };
        self.due = due;
        self.set = set;
        if due < self.next {
            self.push(now, due.since(set.at).as_secs_f64(), owner, events);
        }
    }

    /// Sets the timer for a time that was fixed before the run: ns-2's `at`.
    pub fn arm_at(&mut self, due: Instant, place: u64, owner: Owner, events: &mut EventQueue) {
        let start = Moment::new(Instant::ZERO);
        self.due = due;
        self.set = Moment { turn: place, ..start };
        if due < self.next {
            self.push(start, due.as_secs_f64(), owner, events);
        }
    }

    /// Puts the deadline, so long after it was set, into the queue.
    #[inline]
    fn push(&mut self, now: Moment, wait_s: f64, owner: Owner, events: &mut EventQueue) {
        if self.next != Instant::FAR_FUTURE {
            self.others.get_or_insert_default().0.push(self.next);
        }
        self.next = self.due;
        let sum_s = self.set.sum_s + wait_s;
        let due = match events.ties {
            Ties::Scheduled => Moment::scheduled(sum_s, self.set.turn),
            Ties::Drawn => Moment::drawn(self.due, sum_s, self.set.fraction_ns(), owner.class, owner.salt),
        };
        // Not before now, also within the nanosecond.
        events.push(due.max(now), Actor::new(owner.class, owner.number as usize));
    }

    /// Removes the next event, which has fired. Returns its deadline; in the order of scheduling the time of the event may differ from it by a nanosecond.
    pub fn fired(&mut self) -> Instant {
        let next = self.others.as_mut().and_then(|others| others.0.pop()).unwrap_or(Instant::FAR_FUTURE);
        std::mem::replace(&mut self.next, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Duration;

    /// A release between two retransmission deadlines, again and again: the far deadline keeps its one event.
    #[test]
    fn a_deadline_that_is_put_off_leaves_no_trail_of_events() {
        const END: Moment = Moment::after_all(Instant::FAR_FUTURE);
        let (mut timer, mut events) = (Timer::default(), EventQueue::new(Ties::Drawn));
        let owner = Owner { class: Class::SenderTimer, number: 0, salt: 0 };
        let arm = |timer: &mut Timer, events: &mut EventQueue, now, deadline| {
            timer.arm(Moment::new(now), Some(deadline), owner, events);
        };
        for millis in 0..1000 {
            let now = Instant::from_millis(2 * millis);
            arm(&mut timer, &mut events, now, Instant::from_secs(60) + Duration::from_millis(millis));
            arm(&mut timer, &mut events, now, Instant::from_millis(2 * millis + 1));
            assert_eq!(events.pop_before(END).unwrap().0.at, Instant::from_millis(2 * millis + 1));
            timer.fired();
        }
        assert_eq!(events.pop_before(END).unwrap().0.at, Instant::from_secs(60));
        assert_eq!(events.pop_before(END), None);
    }
}
