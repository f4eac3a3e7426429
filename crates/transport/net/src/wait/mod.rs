//! Waits for the endpoint's socket, a deadline or a notification. The emulator's proxy has its own waiter for
//! several sockets.

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
        self.notify();
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

    /// A wait never ends early, whatever was set before.
    #[test]
    fn a_wait_does_not_end_early() {
        let (clock, _socket, waiter) = waiter();
        for millis in [5, 1, 0, 3] {
            let at = clock.now() + Duration::from_millis(millis);
            waiter.wait(clock.now(), Some(at), false).unwrap();
            assert!(clock.now() >= at);
        }
        waiter.wait(clock.now(), Some(Instant::ZERO), false).unwrap();
    }

    /// The same for a clock that is 10 % fast and an hour ahead, and for one that is 10 % slow and an hour behind.
    #[test]
    fn a_wait_follows_a_clock_with_errors() {
        for (skew, offset) in [("100000ppm", "1h"), ("-100000ppm", "-1h")] {
            let (offset, skew, drift) = (offset.parse().unwrap(), skew.parse().unwrap(), Drift::default());
            let clock = Clock::new().with_model(headway_units::Clock::new(offset, skew, drift, Duration::ZERO));
            let socket = Arc::new(Carrier::bind("127.0.0.1:0".parse().unwrap()).unwrap());
            let waiter = Waiter::new(clock, socket).unwrap();
            for millis in [20, 0, 5] {
                let at = clock.now() + Duration::from_millis(millis);
                waiter.wait(clock.now(), Some(at), false).unwrap();
                assert!(clock.now() >= at && clock.now() < at + LONG);
            }
        }
    }

    /// A datagram, a notification and an earlier expiry end a long wait.
    #[test]
    fn the_first_event_ends_a_wait() {
        let (clock, socket, waiter) = waiter();
        let late = clock.now() + LONG;
        for turn in 0..3 {
            let (other, waker) = (Arc::clone(&socket), Arc::clone(&waiter));
            let thread = std::thread::Builder::new().spawn(move || {
                std::thread::park_timeout(std::time::Duration::from_millis(20));
                match turn {
                    0 => waker.notify(),
                    1 => waker.arm(clock.now() + Duration::from_millis(1)),
                    _ => other.send(other.path_to(other.local_addr()).unwrap(), Ecn::NotEct, &[1], 1).unwrap(),
                }
            });
            waiter.wait(clock.now(), (turn > 0).then_some(late), false).unwrap();
            thread.unwrap().join().unwrap();
        }
        assert!(clock.now() < late);
        // The datagram is still there: a wait without an end returns at once.
        assert!(waiter.wait(clock.now(), None, false).unwrap());
    }

    /// Space in the send buffer ends a wait only on request.
    #[test]
    fn writability_ends_a_wait_on_request() {
        let (clock, _socket, waiter) = waiter();
        let soon = clock.now() + Duration::from_millis(20);
        waiter.wait(clock.now(), Some(soon), false).unwrap();
        assert!(clock.now() >= soon);
        waiter.wait(clock.now(), Some(clock.now() + LONG), true).unwrap();
        assert!(clock.now() < soon + LONG);
    }

    #[test]
    fn an_alarm_expires_when_it_is_set_to() {
        let clock = Clock::new();
        let alarm = Arc::new(Alarm::new(clock).unwrap());
        let at = clock.now() + Duration::from_millis(20);
        alarm.set(Some(clock.now() + LONG));
        alarm.set(Some(at));
        alarm.wait();
        assert!(clock.now() >= at && clock.now() < at + LONG);
    }
}
