//! epoll on the socket, on a timer of nanoseconds (timerfd), and on a call (eventfd).

use crate::Clock;
use crate::socket::Socket;
use headway_units::Instant;
use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::io::{read, write};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime, timerfd_create,
    timerfd_settime,
};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const ZERO: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// No instant.
const NEVER: u64 = u64::MAX;

/// The system's timer, in the clock's instants.
#[derive(Debug)]
struct Timer {
    fd: OwnedFd,
    /// What the system's clock showed at the clock's zero.
    zero: u64,
}

impl Timer {
    fn new(clock: Clock, flags: TimerfdFlags) -> io::Result<Self> {
        let fd = timerfd_create(TimerfdClockId::Monotonic, flags | TimerfdFlags::CLOEXEC)?;
        let system = clock_gettime(ClockId::Monotonic);
        let nanos = (system.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(system.tv_nsec as u64);
        Ok(Self { fd, zero: nanos.saturating_sub(clock.now().as_nanos()) })
    }

    /// Rings then, at once if that is past; `None`: never.
    fn set(&self, at: Option<Instant>) {
        let it_value = at.map_or(ZERO, |at| {
            // Zero would stop it.
            let nanos = self.zero.saturating_add(at.as_nanos()).clamp(1, i64::MAX as u64);
            Timespec { tv_sec: (nanos / 1_000_000_000) as _, tv_nsec: (nanos % 1_000_000_000) as _ }
        });
        // It fails for wrong arguments only.
        drop(timerfd_settime(&self.fd, TimerfdTimerFlags::ABSTIME, &Itimerspec { it_interval: ZERO, it_value }));
    }
}

/// What one thread at a time waits with; any may call it, or set an earlier instant.
#[derive(Debug)]
pub(crate) struct Waiter {
    epoll: OwnedFd,
    timer: Timer,
    /// What the timer is set to, in nanoseconds.
    armed: AtomicU64,
    call: OwnedFd,
    socket: Arc<Socket>,
    writable: AtomicBool,
}

impl Waiter {
    pub(crate) fn new(clock: Clock, socket: Arc<Socket>) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer = Timer::new(clock, TimerfdFlags::NONBLOCK)?;
        let call = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let data = epoll::EventData::new_u64(0);
        epoll::add(&epoll, socket.io(), data, epoll::EventFlags::IN)?;
        epoll::add(&epoll, &timer.fd, data, epoll::EventFlags::IN)?;
        // By edges nobody has to read what was written.
        epoll::add(&epoll, &call, data, epoll::EventFlags::IN | epoll::EventFlags::ET)?;
        Ok(Self { epoll, timer, armed: AtomicU64::new(NEVER), call, socket, writable: AtomicBool::new(false) })
    }

    #[cfg(test)]
    pub(crate) fn wait(&self, until: Option<Instant>, writable: bool) -> io::Result<()> {
        self.set(until);
        self.wait_set(writable)
    }

    /// The next wait ends then. Who sets it and who [arms](Self::arm) it hold one lock.
    pub(crate) fn set(&self, until: Option<Instant>) {
        // A timer that has rung goes on ringing until it is set again.
        let past = self.armed.swap(until.map_or(NEVER, Instant::as_nanos), Ordering::SeqCst);
        if past != NEVER || until.is_some() {
            self.timer.set(until);
        }
    }

    /// Until the instant that is [set](Self::set), or until something has come, or the socket takes more if that is asked for, or somebody
    /// [calls](Self::wake). It may end for no reason.
    pub(crate) fn wait_set(&self, writable: bool) -> io::Result<()> {
        if self.writable.swap(writable, Ordering::SeqCst) != writable {
            let flags = if writable { epoll::EventFlags::IN | epoll::EventFlags::OUT } else { epoll::EventFlags::IN };
            epoll::modify(&self.epoll, self.socket.io(), epoll::EventData::new_u64(0), flags)?;
        }
        let mut events = [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }; 4];
        match epoll::wait(&self.epoll, &mut events[..], None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
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
    pub(crate) fn wake(&self) {
        // A counter that is full is as good as one that counts.
        let _ = write(&self.call, &1u64.to_ne_bytes());
    }
}

/// What a thread waits for that has nothing else to do.
#[derive(Debug)]
pub(crate) struct Alarm(Timer);

impl Alarm {
    pub(crate) fn new(clock: Clock) -> io::Result<Self> {
        Timer::new(clock, TimerfdFlags::empty()).map(Self)
    }
    /// Rings then, instead of whenever it was set to.
    pub(crate) fn set(&self, at: Option<Instant>) {
        self.0.set(at);
    }
    /// Until it rings. It may end for no reason.
    pub(crate) fn wait(&self) {
        let _ = read(&self.0.fd, &mut [0u8; 8]);
    }
}
