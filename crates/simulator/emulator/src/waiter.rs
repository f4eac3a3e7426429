//! Waiting for sockets and for an instant: epoll and a timerfd, which no timer slack puts off.

use headway_units::Instant;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::io;
use std::os::fd::AsFd;

/// What the timer is called among the sockets.
const TIMER: u64 = u64::MAX;
/// Sockets that are told of at once; the others are told of next time.
const AT_ONCE: usize = 64;

#[derive(Debug)]
pub(super) struct Waiter {
    epoll: Epoll,
    timer: TimerFd,
    /// When the timer fires, if it is set and has not.
    armed: Option<Instant>,
}

impl Waiter {
    pub(super) fn new() -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        // Setting it anew takes back that it has fired: nobody has to read it.
        epoll.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN, TIMER))?;
        Ok(Self { epoll, timer, armed: None })
    }

    /// Looks at this socket from now on, until it is closed; `key` is what it is called.
    pub(super) fn add(&self, socket: impl AsFd, key: u64) -> io::Result<()> {
        Ok(self.epoll.add(socket, EpollEvent::new(EpollFlags::EPOLLIN, key))?)
    }

    /// Waits until a socket has something to read, or until this instant, at least; puts the keys of those that have in place of what
    /// `ready` holds. A timer that is set for that instant already stays as it is: to set it costs more than to look at a clock.
    pub(super) fn wait(&mut self, now: Instant, until: Instant, ready: &mut Vec<u64>) -> io::Result<()> {
        ready.clear();
        let timeout = if until <= now { EpollTimeout::ZERO } else { EpollTimeout::NONE };
        if until > now && self.armed != Some(until) {
            let longest = std::time::Duration::from_nanos(until.since(now).as_nanos());
            self.timer.set(Expiration::OneShot(TimeSpec::from_duration(longest)), TimerSetTimeFlags::empty())?;
            self.armed = Some(until);
        }
        let mut events = [EpollEvent::empty(); AT_ONCE];
        let count = match self.epoll.wait(&mut events, timeout) {
            Ok(count) => count,
            // Signals are for who asks the proxy to go on.
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
    fn waits_as_long_as_it_is_told_and_no_longer_than_until_something_comes() {
        let mut waiter = Waiter::new().unwrap();
        let clock = Clock::new();
        const NONE: [u64; 0] = [];
        let wait = |waiter: &mut Waiter, longest| {
            let mut ready = vec![99];
            let now = clock.now();
            waiter.wait(now, now + longest, &mut ready).unwrap();
            ready
        };
        assert_eq!(wait(&mut waiter, Duration::from_millis(20)), NONE);
        assert!(clock.now().as_secs_f64() >= 0.02, "{}", clock.now());
        // The timer has fired, and nobody waits for it.
        assert_eq!(wait(&mut waiter, Duration::ZERO), NONE);
        let [one, other] = [(); 2].map(|()| Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap());
        one.bind(&std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        waiter.add(&one, 7).unwrap();
        other.send_to(b"x", &one.local_addr().unwrap()).unwrap();
        assert_eq!(wait(&mut waiter, Duration::from_secs(600)), [7]);
        // What is closed is not looked at.
        drop(one);
        assert_eq!(wait(&mut waiter, Duration::from_millis(1)), NONE);
    }
}
