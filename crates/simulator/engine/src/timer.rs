//! Deadlines as events.

use crate::{Actor, Class, EventQueue, Moment, Ties};
use headway_units::Instant;

/// Timer that inserts few events. When its deadline is postponed, the event of the old deadline stays in the queue.
/// When that event fires, the owner arms the timer again, which inserts an event for the new deadline.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Timer {
    /// Deadline; `FAR_FUTURE` if none.
    due: Instant,
    /// Time of the next event of this timer in the queue; `FAR_FUTURE` if none.
    next: Instant,
    /// Time at which the deadline was set, with its place in the order of scheduling if ties are scheduled. As in ns-2,
    /// the wait is added to this time even if the event is inserted later.
    set: Moment,
    /// Later events of this timer. Rare: only an earlier deadline inserts an event before an existing one.
    others: Option<Box<Others>>,
}

/// Events after the next one, latest first.
#[derive(Clone, Debug, Default)]
struct Others(Vec<Instant>);

impl Default for Timer {
    fn default() -> Self {
        Self { due: Instant::FAR_FUTURE, set: Moment::new(Instant::ZERO), next: Instant::FAR_FUTURE, others: None }
    }
}

/// Actor that a timer belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Owner {
    /// Class of the timer's events.
    pub class: Class,
    /// Number of the link, flow or host that the timer belongs to.
    pub number: u32,
    /// Number that distinguishes this actor from others of its class in the random order of [`Ties::Drawn`].
    pub salt: u32,
}

impl Timer {
    /// Sets the deadline, or clears it with `None`. If the deadline changes, `now` is recorded as the start of the
    /// wait.
    #[inline]
    pub fn arm(&mut self, now: Moment, deadline: Option<Instant>, owner: Owner, events: &mut EventQueue) {
        self.arm_after(now, deadline, None, owner, events);
    }

    /// Sets or clears the deadline, as [`arm`](Self::arm) does. `wait_s` is the exact time from now to the deadline, in
    /// s, for waits that are not whole nanoseconds.
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

    /// Sets or clears the deadline. `set` is the time at which the wait for it began. Without `set`, the wait for a
    /// changed deadline begins at `now`.
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

    /// Sets the deadline to a time fixed before the run (ns-2's `at`). `place` is the sequence number of its event, by
    /// which [`Ties::Scheduled`] orders simultaneous events.
    pub fn arm_at(&mut self, due: Instant, place: u64, owner: Owner, events: &mut EventQueue) {
        let start = Moment::new(Instant::ZERO);
        self.due = due;
        self.set = Moment { turn: place, ..start };
        if due < self.next {
            self.push(start, due.as_secs_f64(), owner, events);
        }
    }

    /// Inserts the deadline, `wait_s` after it was set, into the queue.
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
        // Not before `now`, including within the nanosecond.
        events.push(due.max(now), Actor::new(owner.class, owner.number as usize));
    }

    /// Records that the timer's next event has been removed from the queue, and returns the deadline of this event.
    /// With [`Ties::Scheduled`], the time of the event may differ from the deadline by 1 ns.
    pub fn fired(&mut self) -> Instant {
        let next = self.others.as_mut().and_then(|others| others.0.pop()).unwrap_or(Instant::FAR_FUTURE);
        std::mem::replace(&mut self.next, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Duration;

    /// Alternates between a release and a retransmission deadline far in the future. The far deadline keeps a single
    /// event.
    #[test]
    fn a_postponed_deadline_keeps_a_single_event() {
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
