//! Waiting for sockets and for a time with epoll and a timerfd, which timer slack does not delay.

use headway_units::Instant;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::io;
use std::os::fd::AsFd;

/// Key of the timer.
const TIMER: u64 = u64::MAX;
/// Maximum number of events per wait; further events are returned by the next wait.
const MAX_EVENTS: usize = 64;

#[derive(Debug)]
pub(super) struct Waiter {
    epoll: Epoll,
    timer: TimerFd,
    /// Expiration time of the timer, if it is set and has not fired.
    armed: Option<Instant>,
}

impl Waiter {
    pub(super) fn new() -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        // Setting the timer again clears its expiration, so that it need not be read.
        epoll.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN, TIMER))?;
        Ok(Self { epoll, timer, armed: None })
    }

    /// Adds a socket with its key. It is removed when it is closed.
    pub(super) fn add(&self, socket: impl AsFd, key: u64) -> io::Result<()> {
        Ok(self.epoll.add(socket, EpollEvent::new(EpollFlags::EPOLLIN, key))?)
    }

    /// Waits until a socket is readable or the time is at least `until`. Replaces `ready` by the keys of the readable
    /// sockets. A timer that is already set for `until` is not set again, which would cost more than reading the clock.
    pub(super) fn wait(&mut self, now: Instant, until: Instant, ready: &mut Vec<u64>) -> io::Result<()> {
        ready.clear();
        let timeout = if until <= now { EpollTimeout::ZERO } else { EpollTimeout::NONE };
        if until > now && self.armed != Some(until) {
            let timeout = std::time::Duration::from_nanos(until.since(now).as_nanos());
            self.timer.set(Expiration::OneShot(TimeSpec::from_duration(timeout)), TimerSetTimeFlags::empty())?;
            self.armed = Some(until);
        }
        let mut events = [EpollEvent::empty(); MAX_EVENTS];
        let count = match self.epoll.wait(&mut events, timeout) {
            Ok(count) => count,
            // The caller handles signals.
            Err(Errno::EINTR) => 0,
            Err(error) => return Err(error.into()),
        };
        for key in events.iter().take(count).map(EpollEvent::data) {
            if key == TIMER {
                self.armed = None;
            } else {
                ready.push(key);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_net::Clock;
    use headway_units::Duration;
    use socket2::{Domain, Socket, Type};

    #[test]
    fn wait_ends_at_the_timeout_or_when_a_socket_is_readable() {
        let mut waiter = Waiter::new().unwrap();
        let clock = Clock::new();
        const NONE: [u64; 0] = [];
        let wait = |waiter: &mut Waiter, timeout| {
            let mut ready = vec![99];
            let now = clock.now();
            waiter.wait(now, now + timeout, &mut ready).unwrap();
            ready
        };
        assert_eq!(wait(&mut waiter, Duration::from_millis(20)), NONE);
        assert!(clock.now().as_secs_f64() >= 0.02, "{}", clock.now());
        // The timer has fired before this wait.
        assert_eq!(wait(&mut waiter, Duration::ZERO), NONE);
        let [one, other] = [(); 2].map(|()| Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap());
        one.bind(&std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        waiter.add(&one, 7).unwrap();
        other.send_to(b"x", &one.local_addr().unwrap()).unwrap();
        assert_eq!(wait(&mut waiter, Duration::from_secs(600)), [7]);
        // A closed socket is removed.
        drop(one);
        assert_eq!(wait(&mut waiter, Duration::from_millis(1)), NONE);
    }
}
