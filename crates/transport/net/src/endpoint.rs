//! UDP endpoint and its thread.
#![expect(clippy::disallowed_types, reason = "a program may have a socket already")]

use crate::Clock;
use crate::connection::Connection;
use crate::driver::{AcceptQueue, Driver, Next, Refused, SocketCounters};
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
    accepts: Arc<Watched<AcceptQueue>>,
    thread: Option<JoinHandle<()>>,
}

/// Reason why an [`Endpoint`] cannot be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// An option is out of range.
    #[error("{}: {}", .0.key, .0.message)]
    Options(#[from] headway_units::OptionError),
    /// DTLS cannot be set up.
    #[error(transparent)]
    Security(#[from] SecureError),
    /// The operating system refused the socket, the thread or another resource.
    #[error(transparent)]
    System(#[from] io::Error),
    /// The endpoint cannot listen.
    #[error(transparent)]
    Listen(#[from] headway_dccp::ListenError),
}

thread_local! {
    /// Whether this thread is waking tasks. It may lead, or be the socket's thread, at the same time.
    static WAKING: Cell<bool> = const { Cell::new(false) };
}

/// State shared by the socket's thread and the program's threads.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    driver: Mutex<Driver>,
    socket: Arc<Carrier>,
    waiter: Arc<Waiter>,
    lead: Lead,
    /// Whether a message can have its own queueing method.
    pub(crate) accepts_methods: bool,
    /// Whether the endpoint was dropped.
    over: AtomicBool,
}

impl Shared {
    /// Acts on the driver, sends what may be sent, and arms the waiter for the rest.
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

    /// Acts on the driver, then wakes tasks without the lock: wakers may do anything.
    fn locked<R>(&self, act: impl FnOnce(Instant, &mut Driver) -> R) -> R {
        let mut driver = lock(&self.driver);
        let result = act(self.clock.now(), &mut driver);
        let wakers = driver.take_wakers();
        drop(driver);
        if !wakers.is_empty() {
            let before = WAKING.replace(true);
            wakers.into_iter().for_each(Waker::wake);
            WAKING.set(before);
        }
        result
    }

    /// Reads the driver.
    pub(crate) fn inspect<R>(&self, inspect: impl FnOnce(&Driver) -> R) -> R {
        inspect(&lock(&self.driver))
    }

    /// Waits until `ready` returns a value, or until `until`. Serves the socket meanwhile unless another thread
    /// does.
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
            self.lead.stop_waiting();
            return found;
        }
        let (mut readable, mut has_read, caller) = (false, false, Waker::from(Arc::clone(&self.waiter)));
        let (next, found) = loop {
            let turned = self.turn(until, readable);
            if turned.is_err() {
                self.fail();
            }
            // Other threads may change the value while this thread waits for the socket.
            let found = watched.poll_as_leader(&caller, &mut ready);
            let late = until.is_some_and(|until| self.clock.now() >= until);
            if found.is_none() && late && !has_read {
                // A leader reads the socket at least once: otherwise a thread that polls without waiting would
                // starve the others.
                (readable, has_read) = (true, true);
                continue;
            }
            let next = match turned {
                Ok(next) if found.is_none() && !late => next,
                turned => break (turned.map_or(None, Next::at), found),
            };
            if let Next::Wait { writable, .. } = next {
                match self.waiter.wait_set(writable) {
                    Ok(is_ready) => (readable, has_read) = (is_ready, has_read || !is_ready),
                    Err(_) => self.fail(),
                }
            }
            watched.clear_leader();
        };
        watched.clear_leader();
        self.lead.leave(next);
        found
    }

    /// Runs one turn. If no work is left, sets the waiter to the next deadline, `until` at the latest.
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

    /// Serves the socket until the endpoint and all connections are gone.
    fn serve(&self) -> io::Result<()> {
        loop {
            self.lead.take_as_thread();
            let mut readable = true;
            loop {
                let next = self.turn(None, readable)?;
                if self.over.load(Ordering::SeqCst) && self.inspect(Driver::is_idle) {
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
    /// Creates a client endpoint on an unused port. It does not accept connections.
    ///
    /// # Errors
    ///
    /// See [`EndpointError`].
    pub fn client(options: &Options) -> Result<Self, EndpointError> {
        // Systems without IPv6 use IPv4.
        let socket = Carrier::bind(([0_u16; 8], 0).into()).or_else(|_| Carrier::bind(([0; 4], 0).into()))?;
        Self::start(socket, options, false)
    }

    /// Creates a server endpoint on this address. It accepts connections.
    ///
    /// # Errors
    ///
    /// See [`EndpointError`].
    pub fn server(local: SocketAddr, options: &Options) -> Result<Self, EndpointError> {
        Self::start(Carrier::bind(local)?, options, true)
    }

    /// Creates an endpoint on a socket of the program, which may have set socket options (a device, a mark, a shared
    /// port). The socket must not be connected. `accepts`: true for a [`server`](Self::server), false for a
    /// [`client`](Self::client).
    ///
    /// # Errors
    ///
    /// See [`EndpointError`].
    pub fn on(socket: UdpSocket, accepts: bool, options: &Options) -> Result<Self, EndpointError> {
        if socket.peer_addr().is_ok() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the socket is connected to one peer; expected an unconnected socket",
            )
            .into());
        }
        Self::start(Carrier::Socket(Box::new(Socket::new(socket)?)), options, accepts)
    }

    /// Creates an endpoint without a socket, which sends through the [`Wire`]. The program passes received datagrams to
    /// [`deliver`](Self::deliver). `accepts`: true for a [`server`](Self::server), false for a
    /// [`client`](Self::client).
    ///
    /// # Errors
    ///
    /// See [`EndpointError`].
    pub fn over(wire: Arc<dyn Wire>, accepts: bool, options: &Options) -> Result<Self, EndpointError> {
        Self::start(Carrier::Wire(wire), options, accepts)
    }

    /// Handles a datagram that the owner of the UDP port received, for an endpoint created by [`over`](Self::over). The
    /// datagram is handled in the calling thread and may be decrypted in place.
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
        } else {
            driver.stop_accepting(clock.now());
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

    /// Returns the address to which the socket is bound; without a socket, [`Wire::local_addr`].
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.shared.socket.local_addr()
    }

    /// Connects to this server and returns at once. Datagrams sent on the connection wait until it is established.
    ///
    /// # Errors
    ///
    /// If there is no route to the address, or it is not the address of a single peer.
    pub fn connect(&self, remote: SocketAddr) -> io::Result<Connection> {
        let path = self.shared.socket.path_to(remote)?;
        let (key, mailbox) = self.shared.with(|now, driver| driver.connect(now, path));
        Ok(Connection::new(Arc::clone(&self.shared), key, path, mailbox))
    }

    /// Waits for a peer to connect. `None`: the socket has failed, the endpoint is a client, or it [accepts no more
    /// connections](Self::stop_accepting).
    #[must_use]
    pub fn accept(&self) -> Option<Connection> {
        self.shared.wait(&self.accepts, None, AcceptQueue::next)?.map(|accepted| self.accepted(accepted))
    }

    /// Waits for a peer to connect, for at most `timeout`. Returns `None` after the timeout, if the socket has failed,
    /// or if the endpoint [accepts no more connections](Self::stop_accepting).
    #[must_use]
    pub fn accept_timeout(&self, timeout: Duration) -> Option<Connection> {
        let until = self.shared.clock.now() + timeout;
        self.shared.wait(&self.accepts, Some(until), AcceptQueue::next)?.map(|accepted| self.accepted(accepted))
    }

    /// Returns a future equivalent to [`accept`](Self::accept).
    pub async fn accept_async(&self) -> Option<Connection> {
        self.accepts.until(AcceptQueue::next).await.map(|accepted| self.accepted(accepted))
    }

    /// Polls for a peer that connects; `None`: the socket has failed, or the endpoint [accepts no more
    /// connections](Self::stop_accepting). Only the task that polled last is woken; several tasks should await
    /// [futures](Self::accept_async) instead.
    pub fn poll_accept(&self, context: &Context<'_>) -> Poll<Option<Connection>> {
        self.accepts.poll(context, AcceptQueue::next).map(|next| next.map(|accepted| self.accepted(accepted)))
    }

    /// Stops accepting connections: calls that wait for one return `None`. Connections of peers that the program has
    /// not accepted are closed. All others continue.
    pub fn stop_accepting(&self) {
        self.shared.with(|now, driver| driver.stop_accepting(now));
    }

    /// Returns the counters of the socket: datagrams and failed handshakes.
    #[must_use]
    pub fn counters(&self) -> SocketCounters {
        self.shared.inspect(Driver::counters)
    }

    /// Returns failed handshakes that peers began and that no call of this method has returned yet, with one reason for
    /// each call. [`SocketCounters::refused_handshakes`] is the number of all.
    #[must_use]
    pub fn take_refused(&self) -> Option<Refused> {
        self.shared.with(|_, driver| driver.take_refused())
    }

    /// Returns the number of connections for which the endpoint keeps state: those in use, those not yet established or
    /// accepted, and those in TIMEWAIT.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.inspect(Driver::connections)
    }

    /// Returns the number of DTLS sessions plus that of DTLS handshakes in progress; 0 without DTLS.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.shared.inspect(Driver::sessions)
    }

    fn accepted(&self, (key, path, mailbox): crate::driver::Accepted) -> Connection {
        Connection::new(Arc::clone(&self.shared), key, path, mailbox)
    }
}

impl Drop for Endpoint {
    /// Closes connections that were not accepted. Connections of the program continue.
    fn drop(&mut self) {
        self.stop_accepting();
        self.shared.over.store(true, Ordering::SeqCst);
        self.shared.lead.notify(&self.shared.waiter);
        // Without connections the thread ends soon. A waker that drops the endpoint must not wait for it: the thread
        // may be waiting for that waker.
        if !WAKING.get()
            && self.shared.inspect(Driver::is_idle)
            && let Some(thread) = self.thread.take()
        {
            drop(thread.join());
        }
    }
}

impl AcceptQueue {
    fn next(&mut self) -> Option<Option<crate::driver::Accepted>> {
        let next = self.waiting.pop_front();
        (next.is_some() || self.is_closed).then_some(next)
    }
}
