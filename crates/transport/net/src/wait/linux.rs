//! Waits with epoll for the socket, a nanosecond timer (timerfd) and a notification (eventfd).

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

/// Epoll data of the socket.
const SOCKET: u64 = 1;
/// Value of a timer that is off, in nanoseconds.
const NEVER: u64 = u64::MAX;

/// System timer that is set in the clock's readings.
#[derive(Debug)]
struct Timer {
    fd: TimerFd,
    clock: Clock,
    /// Reading of the system's clock when ours began.
    zero: Duration,
}

impl Timer {
    fn new(clock: Clock, flags: TimerFlags) -> io::Result<Self> {
        let fd = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags | TimerFlags::TFD_CLOEXEC)?;
        // Read in this order, the timer never expires early.
        let ours = Duration::from_nanos(clock.elapsed().as_nanos());
        let system = Duration::from(nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC)?);
        Ok(Self { fd, clock, zero: system.saturating_sub(ours) })
    }

    /// Sets the expiry, immediate if it is past; `None` stops the timer.
    fn set(&self, at: Option<Instant>) {
        // It fails only for invalid arguments.
        let _ = match at {
            None => self.fd.unset(),
            Some(at) => {
                let elapsed = Duration::from_nanos(self.clock.elapsed_at(at).as_nanos());
                // Zero would stop the timer.
                let system = self.zero.saturating_add(elapsed).max(Duration::from_nanos(1));
                self.fd.set(Expiration::OneShot(TimeSpec::from_duration(system)), TimerSetTimeFlags::TFD_TIMER_ABSTIME)
            }
        };
    }
}

/// Waiter of one thread at a time; any thread may notify it or set an earlier expiry.
#[derive(Debug)]
pub(crate) struct Waiter {
    epoll: Epoll,
    timer: Timer,
    /// Expiry of the timer, in nanoseconds.
    armed: AtomicU64,
    notification: EventFd,
    socket: Arc<Carrier>,
    writable: AtomicBool,
}

impl Waiter {
    pub(crate) fn new(clock: Clock, socket: Arc<Carrier>) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = Timer::new(clock, TimerFlags::TFD_NONBLOCK)?;
        let notification = EventFd::from_value_and_flags(0, EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        if let Some(io) = socket.io() {
            epoll.add(io, EpollEvent::new(EpollFlags::EPOLLIN, SOCKET))?;
        }
        epoll.add(&timer.fd, EpollEvent::new(EpollFlags::EPOLLIN, 0))?;
        // Edge-triggered, so that the counter need not be read.
        epoll.add(&notification, EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, 0))?;
        Ok(Self { epoll, timer, armed: AtomicU64::new(NEVER), notification, socket, writable: AtomicBool::new(false) })
    }

    #[cfg(test)]
    pub(crate) fn wait(&self, now: Instant, until: Option<Instant>, writable: bool) -> io::Result<bool> {
        self.set(now, until);
        self.wait_set(writable)
    }

    /// Sets the latest end of the next wait. Callers of this method and of [`arm`](Self::arm) hold the same lock.
    pub(crate) fn set(&self, now: Instant, until: Option<Instant>) {
        let (at, armed) = (until.map_or(NEVER, Instant::as_nanos), self.armed.load(Ordering::SeqCst));
        // An early expiry rarely happens and costs one turn; setting the timer costs more, each time. An expired
        // timer stays readable until it is set.
        if at < armed || armed <= now.as_nanos() {
            self.armed.store(at, Ordering::SeqCst);
            self.timer.set(until);
        }
    }

    /// Waits until the expiry that is [set](Self::set), a datagram, a [notification](Self::notify), or, if
    /// `writable`, space in the send buffer. It may end spuriously. Returns whether the socket is ready.
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

    /// Ends the present or next wait at this time at the latest.
    pub(crate) fn arm(&self, at: Instant) {
        if at.as_nanos() < self.armed.fetch_min(at.as_nanos(), Ordering::SeqCst) {
            self.timer.set(Some(at));
        }
    }

    /// Ends the present wait, or the next one.
    pub(crate) fn notify(&self) {
        // A full counter is readable, too.
        let _ = self.notification.write(1);
    }
}

/// Timer of an idle thread.
#[derive(Debug)]
pub(crate) struct Alarm(Timer);

impl Alarm {
    pub(crate) fn new(clock: Clock) -> io::Result<Self> {
        Timer::new(clock, TimerFlags::empty()).map(Self)
    }
    /// Replaces the expiry.
    pub(crate) fn set(&self, at: Option<Instant>) {
        self.0.set(at);
    }
    /// Waits for the expiry. It may end spuriously.
    pub(crate) fn wait(&self) {
        let _ = self.0.fd.wait();
    }
}
