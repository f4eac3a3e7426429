//! A socket with its thread.
#![expect(clippy::disallowed_types, reason = "a program may have a socket already")]

use crate::Clock;
use crate::connection::Connection;
use crate::driver::{Accepts, Driver, Next, Refused, SocketCounters};
use crate::entropy::SystemEntropy;
use crate::lead::Lead;
use crate::options::Options;
use crate::secure::{Dtls, DtlsOptions, Secure, SecureError};
use crate::socket::{Arrived, Socket};
use crate::wait::Waiter;
use crate::watched::{Watched, lock};
use crate::wire::{Carrier, Wire};
use headway_dccp::Path;
use headway_units::{Duration, Ecn, Instant};
use std::cell::Cell;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;

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
    /// There can be no security.
    #[error(transparent)]
    Security(#[from] SecureError),
    /// The system refuses it.
    #[error(transparent)]
    System(#[from] io::Error),
    /// Nobody can listen.
    #[error(transparent)]
    Listen(#[from] headway_dccp::ListenError),
}

thread_local! {
    /// This thread calls tasks, and may lead meanwhile, or be the socket's own.
    static CALLING: Cell<bool> = const { Cell::new(false) };
}

/// What the socket's thread and the program's threads have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    driver: Mutex<Driver>,
    socket: Arc<Carrier>,
    waiter: Arc<Waiter>,
    lead: Lead,
    /// Whether a message can have its own queueing method.
    pub(crate) accepts_methods: bool,
    /// No endpoint is left.
    over: AtomicBool,
}

impl Shared {
    /// Does something with the driver, sends what may go, and sees to it that the rest is done in time.
    pub(crate) fn with<R>(&self, act: impl FnOnce(Instant, &mut Driver) -> R) -> R {
        self.locked(|now, driver| {
            let result = act(now, driver);
            let more = driver.drain(now) || driver.is_blocked();
            if let Some(at) = if more { Some(now) } else { driver.deadline() } {
                self.lead.arm(&self.waiter, at);
            }
            result
        })
    }

    /// Does something with the driver, and then, without it, calls the tasks for which that has brought something: they may do what they like.
    fn locked<R>(&self, act: impl FnOnce(Instant, &mut Driver) -> R) -> R {
        let mut driver = lock(&self.driver);
        let result = act(self.clock.now(), &mut driver);
        let calls = driver.take_calls();
        drop(driver);
        if !calls.is_empty() {
            let before = CALLING.replace(true);
            calls.into_iter().for_each(Waker::wake);
            CALLING.set(before);
        }
        result
    }

    /// Looks at the driver.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&Driver) -> R) -> R {
        look(&lock(&self.driver))
    }

    /// Waits until `ready` has something, or until that instant: then nothing. Serves the socket meanwhile, if nobody else does.
    pub(crate) fn wait<T, R>(
        &self,
        watched: &Watched<T>,
        until: Option<Instant>,
        mut ready: impl FnMut(&mut T) -> Option<R>,
    ) -> Option<R> {
        if let Some(found) = watched.with(&mut ready) {
            return Some(found);
        }
        if !self.lead.take(&self.waiter) {
            let found = watched.wait(until.map(|until| self.clock.system(until)), ready);
            self.lead.gone();
            return found;
        }
        let (mut readable, mut looked, caller) = (false, false, Waker::from(Arc::clone(&self.waiter)));
        let (next, found) = loop {
            let turned = self.turn(until, readable);
            if turned.is_err() {
                self.fail();
            }
            // Others may change it while this thread waits for the socket.
            let found = watched.lead(&caller, &mut ready);
            let late = until.is_some_and(|until| self.clock.now() >= until);
            if found.is_none() && late && !looked {
                // Who leads, however shortly, looks at the socket: else one that never waits would keep all others from it.
                (readable, looked) = (true, true);
                continue;
            }
            let next = match turned {
                Ok(next) if found.is_none() && !late => next,
                turned => break (turned.map_or(None, Next::at), found),
            };
            if let Next::Wait { writable, .. } = next {
                match self.waiter.wait_set(writable) {
                    Ok(came) => (readable, looked) = (came, looked || !came),
                    Err(_) => self.fail(),
                }
            }
            watched.led();
        };
        watched.led();
        self.lead.leave(next);
        found
    }

    /// One turn; if there is nothing more to do, the waiter is set to the next instant, `until` at the latest.
    fn turn(&self, until: Option<Instant>, readable: bool) -> io::Result<Next> {
        self.locked(|now, driver| {
            let next = driver.turn(now, readable)?;
            if let Next::Wait { until: deadline, .. } = next {
                self.waiter.set(now, deadline.into_iter().chain(until).min());
            }
            Ok(next)
        })
    }

    fn fail(&self) {
        self.locked(|_, driver| driver.fail());
    }

    /// The canonical loop, until nobody has any use for it.
    fn serve(&self) -> io::Result<()> {
        loop {
            self.lead.take_as_thread();
            let mut readable = true;
            loop {
                let next = self.turn(None, readable)?;
                if self.over.load(Ordering::SeqCst) && self.look(Driver::is_idle) {
                    return Ok(());
                }
                if self.lead.leave_as_thread() {
                    break;
                }
                if let Next::Wait { writable, .. } = next {
                    readable = self.waiter.wait_set(writable)?;
                }
            }
        }
    }
}

impl Endpoint {
    /// A client's endpoint, on any port: connections go out from it, none come in.
    ///
    /// # Errors
    ///
    /// See [`EndpointError`].
    pub fn client(options: &Options) -> Result<Self, EndpointError> {
        // Systems without IPv6 have IPv4.
        let socket = Carrier::bind(([0_u16; 8], 0).into()).or_else(|_| Carrier::bind(([0; 4], 0).into()))?;
        Self::start(socket, options, false)
    }

    /// A server's endpoint: peers connect to this address.
    ///
    /// # Errors
    ///
    /// See [`EndpointError`].
    pub fn server(local: SocketAddr, options: &Options) -> Result<Self, EndpointError> {
        Self::start(Carrier::bind(local)?, options, true)
    }

    /// An endpoint on a socket of the program, which may have options of its own (a device, a mark, a shared port); it must not be connected.
    /// `accepts`: as [`server`](Self::server), else as [`client`](Self::client).
    ///
    /// # Errors
    ///
    /// See [`EndpointError`].
    pub fn on(socket: UdpSocket, accepts: bool, options: &Options) -> Result<Self, EndpointError> {
        if socket.peer_addr().is_ok() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the socket is connected: it reaches one peer only",
            )
            .into());
        }
        Self::start(Carrier::Socket(Box::new(Socket::new(socket)?)), options, accepts)
    }

    /// An endpoint without a socket: see [`Wire`]. What comes is to be [delivered](Self::deliver).
    ///
    /// # Errors
    ///
    /// See [`EndpointError`].
    pub fn over(wire: Arc<dyn Wire>, accepts: bool, options: &Options) -> Result<Self, EndpointError> {
        Self::start(Carrier::Wire(wire), options, accepts)
    }

    /// A datagram has come to whoever owns the port. It is handled at once, in this thread, and may be changed where it lies.
    pub fn deliver(&self, from: SocketAddr, ecn: Ecn, datagram: &mut [u8]) {
        let path = Path::Udp { local: self.local_addr(), remote: from };
        self.shared.with(|now, driver| driver.handle_datagram(now, Arrived { path, ecn }, datagram));
    }

    fn start(socket: Carrier, options: &Options, listens: bool) -> Result<Self, EndpointError> {
        let (clock, socket) = (options.clock, Arc::new(socket));
        let dtls = options.dtls.clone().map(|dtls| Dtls::new(DtlsOptions { accept: listens, ..dtls }, clock));
        let secure = dtls.transpose()?.map(|dtls| Box::new(dtls) as Box<dyn Secure>);
        let random = SystemEntropy::new()?;
        let mut driver = Driver::new(options.common()?, options.endpoint, Arc::clone(&socket), secure, random);
        if listens {
            driver.listen(clock.now())?;
        }
        let accepts = driver.accepts();
        let waiter = Arc::new(Waiter::new(clock, Arc::clone(&socket))?);
        let shared = Arc::new(Shared {
            clock,
            driver: Mutex::new(driver),
            socket,
            waiter,
            lead: Lead::new(clock)?,
            accepts_methods: options.queue.accepts_methods(),
            over: AtomicBool::new(false),
        });
        let served = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("headway".into()).spawn(move || {
            if served.serve().is_err() {
                served.fail();
            }
            served.lead.leave(None);
        });
        let thread = Some(thread?);
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
    /// If there is no route to that address, or it is no single peer's.
    pub fn connect(&self, remote: SocketAddr) -> io::Result<Connection> {
        let path = self.shared.socket.path_to(remote)?;
        let (key, mailbox) = self.shared.with(|now, driver| driver.connect(now, path));
        Ok(Connection::new(Arc::clone(&self.shared), key, path, mailbox))
    }

    /// Waits for a peer that connects. `None`: the socket has failed, or this is no server.
    #[must_use]
    pub fn accept(&self) -> Option<Connection> {
        self.shared.wait(&self.accepts, None, Accepts::next)?.map(|accepted| self.accepted(accepted))
    }

    /// The same, for so long at most.
    #[must_use]
    pub fn accept_timeout(&self, timeout: Duration) -> Option<Connection> {
        let until = self.shared.clock.now() + timeout;
        self.shared.wait(&self.accepts, Some(until), Accepts::next)?.map(|accepted| self.accepted(accepted))
    }

    /// The same as a future.
    pub async fn accept_async(&self) -> Option<Connection> {
        self.accepts.until(Accepts::next).await.map(|accepted| self.accepted(accepted))
    }

    /// The same for a task. Of several that ask, the last is called: they had better wait for [futures](Self::accept_async).
    pub fn poll_accept(&self, context: &Context<'_>) -> Poll<Option<Connection>> {
        self.accepts.poll(context, Accepts::next).map(|next| next.map(|accepted| self.accepted(accepted)))
    }

    /// What the socket has counted.
    #[must_use]
    pub fn counters(&self) -> SocketCounters {
        self.shared.look(Driver::counters)
    }

    /// Returns the newest failed handshake of a peer since the last call; [`counters`](Self::counters) has the number of all.
    #[must_use]
    pub fn take_refused(&self) -> Option<Refused> {
        self.shared.with(|_, driver| driver.take_refused())
    }

    /// Connections that the socket keeps something of: those that go on, those that nobody has accepted, those in TIMEWAIT.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.look(Driver::connections)
    }

    /// Sessions of DTLS, and handshakes under way.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.shared.look(Driver::sessions)
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
        self.shared.lead.call(&self.shared.waiter);
        // Who holds no connection has none left that could keep the thread for long; but for a task's waker, which that thread would wait for.
        if !CALLING.get()
            && self.shared.look(Driver::is_idle)
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
