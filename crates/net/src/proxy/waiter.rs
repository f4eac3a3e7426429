//! Waiting for sockets and for an instant: epoll and a timerfd, which no timer slack puts off.

use headway_units::Duration;
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
}

impl Waiter {
    pub(super) fn new() -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        // Setting it anew takes back that it has fired: nobody has to read it.
        epoll.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN, TIMER))?;
        Ok(Self { epoll, timer })
    }

    /// Looks at this socket from now on, until it is closed; `key` is what it is called.
    pub(super) fn add(&self, socket: impl AsFd, key: u64) -> io::Result<()> {
        Ok(self.epoll.add(socket, EpollEvent::new(EpollFlags::EPOLLIN, key))?)
    }

    /// Waits until a socket has something to read, or so long; puts the keys of those that have in place of what `ready` holds.
    pub(super) fn wait(&self, longest: Duration, ready: &mut Vec<u64>) -> io::Result<()> {
        ready.clear();
        let mut timeout = EpollTimeout::ZERO;
        if !longest.is_zero() {
            let once =
                Expiration::OneShot(TimeSpec::from_duration(std::time::Duration::from_nanos(longest.as_nanos())));
            self.timer.set(once, TimerSetTimeFlags::empty())?;
            timeout = EpollTimeout::NONE;
        }
        let mut events = [EpollEvent::empty(); AT_ONCE];
        let count = match self.epoll.wait(&mut events, timeout) {
            Ok(count) => count,
            // Signals are for who asks the proxy to go on.
            Err(Errno::EINTR) => 0,
            Err(error) => return Err(error.into()),
        };
        ready.extend(events.iter().take(count).map(EpollEvent::data).filter(|key| *key != TIMER));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Clock;
    use socket2::{Domain, Socket, Type};

    #[test]
    fn waits_as_long_as_it_is_told_and_no_longer_than_until_something_comes() {
        let waiter = Waiter::new().unwrap();
        let clock = Clock::new();
        const NONE: [u64; 0] = [];
        let wait = |longest| {
            let mut ready = vec![99];
            waiter.wait(longest, &mut ready).unwrap();
            ready
        };
        assert_eq!(wait(Duration::from_millis(20)), NONE);
        assert!(clock.now().as_secs_f64() >= 0.02, "{}", clock.now());
        // The timer has fired, and nobody waits for it.
        assert_eq!(wait(Duration::ZERO), NONE);
        let [one, other] = [(); 2].map(|()| Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap());
        one.bind(&std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        waiter.add(&one, 7).unwrap();
        other.send_to(b"x", &one.local_addr().unwrap()).unwrap();
        assert_eq!(wait(Duration::from_secs(600)), [7]);
        // What is closed is not looked at.
        drop(one);
        assert_eq!(wait(Duration::from_millis(1)), NONE);
    }
}
