//! A socket with its thread.

use crate::Clock;
use crate::connection::Connection;
use crate::driver::{Accepts, Driver, Next, SocketCounters};
use crate::entropy::SystemEntropy;
use crate::options::Options;
use crate::secure::Secure;
use crate::socket::Socket;
use crate::watched::{Watched, lock};
use headway_units::Instant;
use polling::{Event, PollMode, Poller};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::Duration;

/// The only one that a poller waits for.
const SOCKET: usize = 0;

/// A UDP socket, all connections on it, and the thread that serves them.
///
/// The thread lives as long as the endpoint or any of its connections.
#[derive(Debug)]
pub struct Endpoint {
    shared: Arc<Shared>,
    accepts: Arc<Watched<Accepts>>,
    thread: Option<JoinHandle<()>>,
}

/// Why there is no endpoint.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// The options are wrong.
    #[error("{}: {}", .0.key, .0.message)]
    Options(#[from] headway_units::OptionError),
    /// The system refuses it.
    #[error(transparent)]
    System(#[from] io::Error),
    /// Nobody can listen.
    #[error(transparent)]
    Listen(#[from] headway_dccp::ListenError),
}

/// What the socket's thread and the program's threads have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    driver: Mutex<Driver>,
    socket: Arc<Socket>,
    poller: Poller,
    /// When the thread wakes up, in nanoseconds of the clock.
    armed: AtomicU64,
    /// No endpoint is left.
    over: AtomicBool,
}

impl Shared {
    /// Does something with the driver, sends what may go, and sees to it that the thread wakes up in time.
    pub(crate) fn with<R>(&self, act: impl FnOnce(Instant, &mut Driver) -> R) -> R {
        let mut driver = lock(&self.driver);
        let now = self.clock.now();
        let result = act(now, &mut driver);
        let more = driver.drain(now) || driver.is_blocked();
        let deadline = driver.deadline();
        drop(driver);
        if more || deadline.is_some_and(|at| at.as_nanos() < self.armed.load(Ordering::SeqCst)) {
            self.wake();
        }
        result
    }

    /// Looks at the driver.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&Driver) -> R) -> R {
        look(&lock(&self.driver))
    }

    fn wake(&self) {
        // It fails only if the system has no memory for a bit; then the thread wakes up when it would have.
        drop(self.poller.notify());
    }
}

impl Endpoint {
    /// A client's endpoint, on any port: connections go out from it, none come in.
    ///
    /// # Errors
    ///
    /// See [`EndpointError`].
    pub fn client(options: &Options, secure: Option<Box<dyn Secure>>) -> Result<Self, EndpointError> {
        // Systems without IPv6 have IPv4.
        let socket = Socket::bind(SocketAddr::from(([0u16; 8], 0))).or_else(|_| Socket::bind(([0; 4], 0).into()))?;
        Self::start(socket, options, secure, false)
    }

    /// A server's endpoint: peers connect to this address.
    ///
    /// # Errors
    ///
    /// See [`EndpointError`].
    pub fn server(
        local: SocketAddr,
        options: &Options,
        secure: Option<Box<dyn Secure>>,
    ) -> Result<Self, EndpointError> {
        Self::start(Socket::bind(local)?, options, secure, true)
    }

    fn start(
        socket: Socket,
        options: &Options,
        secure: Option<Box<dyn Secure>>,
        listens: bool,
    ) -> Result<Self, EndpointError> {
        let (clock, socket) = (Clock::new(), Arc::new(socket));
        let random = SystemEntropy::new()?;
        let mut driver = Driver::new(options.common()?, options.endpoint, Arc::clone(&socket), secure, random);
        if listens {
            driver.listen(clock.now())?;
        }
        let accepts = driver.accepts();
        let shared = Arc::new(Shared {
            clock,
            driver: Mutex::new(driver),
            socket,
            poller: Poller::new()?,
            armed: AtomicU64::new(0),
            over: AtomicBool::new(false),
        });
        let thread = Some(spawn(Arc::clone(&shared))?);
        Ok(Self { shared, accepts, thread })
    }

    /// Where the socket is bound.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.shared.socket.local_addr()
    }

    /// A connection to this server. It is there at once: what is sent on it waits until there is an answer.
    ///
    /// # Errors
    ///
    /// If there is no route to that address.
    pub fn connect(&self, remote: SocketAddr) -> io::Result<Connection> {
        let path = self.shared.socket.path_to(remote)?;
        let (key, mailbox) = self.shared.with(|now, driver| driver.connect(now, path));
        Ok(Connection::new(Arc::clone(&self.shared), key, path, mailbox))
    }

    /// Waits for a peer that connects. `None`: the socket has failed, or this is no server.
    #[must_use]
    pub fn accept(&self) -> Option<Connection> {
        self.accepts.wait(None, Accepts::next)?.map(|accepted| self.accepted(accepted))
    }

    /// The same, for so long at most.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the program waits")]
    pub fn accept_timeout(&self, timeout: Duration) -> Option<Connection> {
        let until = std::time::Instant::now().checked_add(timeout);
        self.accepts.wait(until, Accepts::next)?.map(|accepted| self.accepted(accepted))
    }

    /// The same for a task.
    pub fn poll_accept(&self, context: &Context<'_>) -> Poll<Option<Connection>> {
        self.accepts.poll(context, Accepts::next).map(|next| next.map(|accepted| self.accepted(accepted)))
    }

    /// What the socket has counted.
    #[must_use]
    pub fn counters(&self) -> SocketCounters {
        self.shared.look(Driver::counters)
    }

    fn accepted(&self, (key, path, mailbox): crate::driver::Accepted) -> Connection {
        Connection::new(Arc::clone(&self.shared), key, path, mailbox)
    }
}

impl Drop for Endpoint {
    /// What nobody has accepted is closed. Connections that the program has go on.
    fn drop(&mut self) {
        self.shared.with(|now, driver| driver.stop_accepting(now));
        self.shared.over.store(true, Ordering::SeqCst);
        self.shared.wake();
        // Who holds no connection has none left that could keep the thread for long.
        if self.shared.look(Driver::is_idle)
            && let Some(thread) = self.thread.take()
        {
            drop(thread.join());
        }
    }
}

impl Accepts {
    fn next(&mut self) -> Option<Option<crate::driver::Accepted>> {
        let next = self.waiting.pop_front();
        (next.is_some() || self.over).then_some(next)
    }
}

fn spawn(shared: Arc<Shared>) -> io::Result<JoinHandle<()>> {
    // SAFETY: the thread takes the socket out of the poller before it drops its share of both.
    #[expect(unsafe_code, reason = "a poller does not own what it waits for")]
    unsafe {
        shared.poller.add_with_mode(shared.socket.io(), Event::readable(SOCKET), PollMode::Level)?;
    }
    std::thread::Builder::new().name("headway".into()).spawn(move || {
        if serve(&shared).is_err() {
            shared.with(|now, driver| driver.fail(now));
        }
        drop(shared.poller.delete(shared.socket.io()));
    })
}

/// The canonical loop, until nobody has any use for it.
fn serve(shared: &Shared) -> io::Result<()> {
    let (mut events, mut was_writable) = (polling::Events::new(), false);
    loop {
        let mut driver = lock(&shared.driver);
        let next = driver.turn(shared.clock.now())?;
        if shared.over.load(Ordering::SeqCst) && driver.is_idle() {
            return Ok(());
        }
        let Next::Wait { until, writable } = next else { continue };
        shared.armed.store(until.map_or(u64::MAX, Instant::as_nanos), Ordering::SeqCst);
        drop(driver);
        if writable != was_writable {
            let interest = if writable { Event::all(SOCKET) } else { Event::readable(SOCKET) };
            shared.poller.modify_with_mode(shared.socket.io(), interest, PollMode::Level)?;
            was_writable = writable;
        }
        events.clear();
        let waited = match until {
            Some(at) => shared.poller.wait_deadline(&mut events, shared.clock.system(at)),
            None => shared.poller.wait(&mut events, None),
        };
        if let Err(error) = waited
            && error.kind() != io::ErrorKind::Interrupted
        {
            return Err(error);
        }
        // Awake: nobody need call.
        shared.armed.store(0, Ordering::SeqCst);
    }
}
