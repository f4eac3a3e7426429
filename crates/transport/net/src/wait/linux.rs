//! epoll on the socket, on a timer of nanoseconds (timerfd), and on a call (eventfd).

use crate::Clock;
use crate::wire::Carrier;
use headway_units::Instant;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// What the socket is called.
const SOCKET: u64 = 1;
/// No instant.
const NEVER: u64 = u64::MAX;

/// The system's timer, in the clock's instants.
#[derive(Debug)]
struct Timer {
    fd: TimerFd,
    clock: Clock,
    /// What the system's clock showed when ours began.
    zero: Duration,
}

impl Timer {
    fn new(clock: Clock, flags: TimerFlags) -> io::Result<Self> {
        let fd = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags | TimerFlags::TFD_CLOEXEC)?;
        // In this order it never rings too early.
        let ours = Duration::from_nanos(clock.elapsed().as_nanos());
        let system = Duration::from(nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC)?);
        Ok(Self { fd, clock, zero: system.saturating_sub(ours) })
    }

    /// Rings then, at once if that is past; `None`: never.
    fn set(&self, at: Option<Instant>) {
        // It fails for wrong arguments only.
        let _ = match at {
            None => self.fd.unset(),
            Some(at) => {
                let elapsed = Duration::from_nanos(self.clock.elapsed_at(at).as_nanos());
                // Zero would stop it.
                let system = self.zero.saturating_add(elapsed).max(Duration::from_nanos(1));
                self.fd.set(Expiration::OneShot(TimeSpec::from_duration(system)), TimerSetTimeFlags::TFD_TIMER_ABSTIME)
            }
        };
    }
}

/// What one thread at a time waits with; any may call it, or set an earlier instant.
#[derive(Debug)]
pub(crate) struct Waiter {
    epoll: Epoll,
    timer: Timer,
    /// What the timer is set to, in nanoseconds.
    armed: AtomicU64,
    call: EventFd,
    socket: Arc<Carrier>,
    writable: AtomicBool,
}

impl Waiter {
    pub(crate) fn new(clock: Clock, socket: Arc<Carrier>) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = Timer::new(clock, TimerFlags::TFD_NONBLOCK)?;
        let call = EventFd::from_value_and_flags(0, EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        if let Some(io) = socket.io() {
            epoll.add(io, EpollEvent::new(EpollFlags::EPOLLIN, SOCKET))?;
        }
        epoll.add(&timer.fd, EpollEvent::new(EpollFlags::EPOLLIN, 0))?;
        // By edges nobody has to read what was written.
        epoll.add(&call, EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, 0))?;
        Ok(Self { epoll, timer, armed: AtomicU64::new(NEVER), call, socket, writable: AtomicBool::new(false) })
    }

    #[cfg(test)]
    pub(crate) fn wait(&self, now: Instant, until: Option<Instant>, writable: bool) -> io::Result<bool> {
        self.set(now, until);
        self.wait_set(writable)
    }

    /// The next wait ends then, or before. Who sets it and who [arms](Self::arm) it hold one lock.
    pub(crate) fn set(&self, now: Instant, until: Option<Instant>) {
        let (at, armed) = (until.map_or(NEVER, Instant::as_nanos), self.armed.load(Ordering::SeqCst));
        // One that rings too early costs a look, seldom; to set it costs more, each time. One that has rung goes on ringing until it is set.
        if at < armed || armed <= now.as_nanos() {
            self.armed.store(at, Ordering::SeqCst);
            self.timer.set(until);
        }
    }

    /// Until the instant that is [set](Self::set), or until something has come, or the socket takes more if that is asked for, or somebody
    /// [calls](Self::call). It may end for no reason. Returns whether something has come.
    pub(crate) fn wait_set(&self, writable: bool) -> io::Result<bool> {
        if let Some(io) = self.socket.io()
            && self.writable.swap(writable, Ordering::SeqCst) != writable
        {
            let flags = if writable { EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT } else { EpollFlags::EPOLLIN };
            self.epoll.modify(io, &mut EpollEvent::new(flags, SOCKET))?;
        }
        let mut events = [EpollEvent::empty(); 4];
        match self.epoll.wait(&mut events, EpollTimeout::NONE) {
            Ok(many) => Ok(events.iter().take(many).any(|event| event.data() == SOCKET)),
            Err(Errno::EINTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Who waits, or waits next, does so until this instant at most.
    pub(crate) fn arm(&self, at: Instant) {
        if at.as_nanos() < self.armed.fetch_min(at.as_nanos(), Ordering::SeqCst) {
            self.timer.set(Some(at));
        }
    }

    /// Ends the wait, or the next one.
    pub(crate) fn call(&self) {
        // A counter that is full is as good as one that counts.
        let _ = self.call.write(1);
    }
}

/// What a thread waits for that has nothing else to do.
#[derive(Debug)]
pub(crate) struct Alarm(Timer);

impl Alarm {
    pub(crate) fn new(clock: Clock) -> io::Result<Self> {
        Timer::new(clock, TimerFlags::empty()).map(Self)
    }
    /// Rings then, instead of whenever it was set to.
    pub(crate) fn set(&self, at: Option<Instant>) {
        self.0.set(at);
    }
    /// Until it rings. It may end for no reason.
    pub(crate) fn wait(&self) {
        let _ = self.0.fd.wait();
    }
}
