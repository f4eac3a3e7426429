//! Waiting for a socket, for an instant, or to be called.

#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod portable;

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) use linux::{Alarm, Waiter};
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) use portable::{Alarm, Waiter};

impl std::task::Wake for Waiter {
    fn wake(self: std::sync::Arc<Self>) {
        self.call();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Clock;
    use crate::wire::Carrier;
    use headway_units::{Drift, Duration, Ecn, Instant};
    use std::sync::Arc;

    const LONG: Duration = Duration::from_secs(20);

    fn waiter() -> (Clock, Arc<Carrier>, Arc<Waiter>) {
        let clock = Clock::new();
        let socket = Arc::new(Carrier::bind("127.0.0.1:0".parse().unwrap()).unwrap());
        let waiter = Arc::new(Waiter::new(clock, Arc::clone(&socket)).unwrap());
        (clock, socket, waiter)
    }

    /// Never early, whatever stood before.
    #[test]
    fn an_instant_is_waited_for() {
        let (clock, _socket, waiter) = waiter();
        for millis in [5, 1, 0, 3] {
            let at = clock.now() + Duration::from_millis(millis);
            waiter.wait(clock.now(), Some(at), false).unwrap();
            assert!(clock.now() >= at);
        }
        waiter.wait(clock.now(), Some(Instant::ZERO), false).unwrap();
    }

    /// Also by a clock that is a tenth too fast and an hour ahead, and by one that is as slow.
    #[test]
    fn an_instant_of_a_wrong_clock_is_waited_for() {
        for (skew, offset) in [("100000ppm", "1h"), ("-100000ppm", "-1h")] {
            let (offset, skew, drift) = (offset.parse().unwrap(), skew.parse().unwrap(), Drift::default());
            let clock = Clock::new().shown_by(headway_units::Clock::new(offset, skew, drift, Duration::ZERO));
            let socket = Arc::new(Carrier::bind("127.0.0.1:0".parse().unwrap()).unwrap());
            let waiter = Waiter::new(clock, socket).unwrap();
            for millis in [20, 0, 5] {
                let at = clock.now() + Duration::from_millis(millis);
                waiter.wait(clock.now(), Some(at), false).unwrap();
                assert!(clock.now() >= at && clock.now() < at + LONG);
            }
        }
    }

    /// A datagram, a call, an earlier instant that somebody sets: each ends a wait that would last for long.
    #[test]
    fn whatever_comes_first_ends_it() {
        let (clock, socket, waiter) = waiter();
        let late = clock.now() + LONG;
        for turn in 0..3 {
            let (other, waker) = (Arc::clone(&socket), Arc::clone(&waiter));
            let thread = std::thread::Builder::new().spawn(move || {
                std::thread::park_timeout(std::time::Duration::from_millis(20));
                match turn {
                    0 => waker.call(),
                    1 => waker.arm(clock.now() + Duration::from_millis(1)),
                    _ => other.send(other.path_to(other.local_addr()).unwrap(), Ecn::NotEct, &[1], 1).unwrap(),
                }
            });
            waiter.wait(clock.now(), (turn > 0).then_some(late), false).unwrap();
            thread.unwrap().join().unwrap();
        }
        assert!(clock.now() < late);
        // It is still there: a wait that would not end does at once.
        assert!(waiter.wait(clock.now(), None, false).unwrap());
    }

    /// A socket that takes more is waited for only where that is asked for.
    #[test]
    fn room_is_waited_for_on_request() {
        let (clock, _socket, waiter) = waiter();
        let soon = clock.now() + Duration::from_millis(20);
        waiter.wait(clock.now(), Some(soon), false).unwrap();
        assert!(clock.now() >= soon);
        waiter.wait(clock.now(), Some(clock.now() + LONG), true).unwrap();
        assert!(clock.now() < soon + LONG);
    }

    #[test]
    fn an_alarm_rings_when_it_is_set_to() {
        let clock = Clock::new();
        let alarm = Arc::new(Alarm::new(clock).unwrap());
        let at = clock.now() + Duration::from_millis(20);
        alarm.set(Some(clock.now() + LONG));
        alarm.set(Some(at));
        alarm.wait();
        assert!(clock.now() >= at && clock.now() < at + LONG);
    }
}
