//! HTTP/1.1 server of `headway view` and of `--metrics`: hyper on one thread, with limits for each client.
//!
//! | limit | value | if exceeded |
//! |---|---|---|
//! | connections | [`MAX_CONNECTIONS`] | the oldest connection without an authorized request is closed, or else the connection that has been idle for the longest time |
//! | request head | [`MAX_HEAD_SIZE`] | status 431 |
//! | header fields of a request | [`MAX_FIELDS`] | status 431 |
//! | request body | not read | the connection is closed after the answer |
//! | unauthorized requests | one per connection | the connection is closed after the answer |
//! | time of a connection without an authorized request | [`UNAUTHORIZED_TIME`] | the connection is closed |
//! | idle time of any other connection | [`IDLE_TIME`] | the connection is closed |

mod answer;
mod carrier;
mod hosts;

pub(crate) use answer::Answer;
pub(crate) use hosts::Hosts;
pub(crate) use hyper::http::request::Parts as Head;
pub(crate) use hyper::{Method, StatusCode, header};

use self::answer::Body;
use self::carrier::Carrier;
use crate::error::Failure;
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper::{Request, Response};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::task::{JoinHandle, spawn_blocking, yield_now};
use tokio::time::{Instant, sleep, timeout, timeout_at};

/// Maximum number of connections. A browser opens six.
const MAX_CONNECTIONS: usize = 128;
/// Maximum size of a request line with its header fields, in bytes.
const MAX_HEAD_SIZE: usize = 16 << 10;
/// Maximum number of header fields of a request.
const MAX_FIELDS: usize = 100;
/// Maximum time of a connection without an authorized request.
const UNAUTHORIZED_TIME: Duration = Duration::from_secs(10);
/// Maximum time in which a connection neither reads nor writes a byte.
const IDLE_TIME: Duration = Duration::from_secs(60);
/// Maximum number of threads that compute answers.
const MAX_THREADS: usize = 4;
/// Time between two checks whether the server must stop.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Pause after an error of `accept`, for example without free file descriptors.
const PAUSE: Duration = Duration::from_millis(10);

/// Reply of a site to a request.
pub(crate) enum Reply {
    /// The request is not authorized. The connection is closed after the answer.
    Last(Answer),
    /// The request is authorized. Another thread computes the answer, and the connection stays open.
    Authorized(Box<dyn FnOnce() -> Answer + Send>),
}

/// Request handler. It must not block, because it runs on the thread of all connections.
type Site = Arc<dyn Fn(Head) -> Reply + Send + Sync>;

/// Listening socket with its runtime.
pub(crate) struct Server {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    pub(crate) fn bind(at: SocketAddr) -> Result<Self, Failure> {
        let failed = |error| Failure::Sockets(format!("cannot listen at {at}: {error}"));
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_io().enable_time().max_blocking_threads(MAX_THREADS).build().map_err(failed)?;
        let listener = runtime.block_on(TcpListener::bind(at)).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { runtime, listener, address })
    }

    /// Returns the address, with the port that the system chose.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves requests until `stopped` returns true, and then closes all connections.
    pub(crate) fn serve(self, site: impl Fn(Head) -> Reply + Send + Sync + 'static, stopped: impl Fn() -> bool) {
        self.runtime.block_on(accept(&self.listener, &(Arc::new(site) as Site), stopped));
        // Do not wait for threads that compute answers.
        self.runtime.shutdown_background();
    }
}

/// Open connection.
struct Open {
    task: JoinHandle<()>,
    pace: Arc<Pace>,
}

async fn accept(listener: &TcpListener, site: &Site, stopped: impl Fn() -> bool) {
    let mut open: Vec<Open> = Vec::new();
    while !stopped() {
        let Ok(accepted) = timeout(POLL_INTERVAL, listener.accept()).await else { continue };
        open.retain(|connection| !connection.task.is_finished());
        let is_full = open.len() >= MAX_CONNECTIONS || accepted.is_err();
        if is_full && let Some(oldest) = displaced(open.iter().map(|connection| &*connection.pace)) {
            open.remove(oldest).task.abort();
        }
        match accepted {
            Ok((stream, _)) if open.len() < MAX_CONNECTIONS => {
                let pace = Arc::new(Pace::new());
                let task = tokio::spawn(carry(stream, Arc::clone(site), Arc::clone(&pace)));
                open.push(Open { task, pace });
            }
            // Threads are computing answers for all connections: a client with the token has opened too many.
            Ok(_) => {}
            Err(_) => sleep(PAUSE).await,
        }
        // Read received requests before the next connection can displace theirs.
        yield_now().await;
    }
}

/// Returns the index of the connection that is closed for a new one: the oldest without an authorized request, or else
/// the connection that has been idle for the longest time. Connections that wait for a thread are not closed.
fn displaced<'a>(paces: impl Iterator<Item = &'a Pace>) -> Option<usize> {
    let place = |(number, pace): (usize, &Pace)| {
        let State { since, is_authorized, is_computing } = *pace.state();
        (!is_computing).then_some((is_authorized, since, number))
    };
    paces.enumerate().filter_map(place).min().map(|(.., number)| number)
}

/// Serves a connection until an endpoint closes it or its time limit expires.
async fn carry(stream: TcpStream, site: Site, pace: Arc<Pace>) {
    let answered = Arc::clone(&pace);
    let service = service_fn(move |request| respond(Arc::clone(&site), Arc::clone(&answered), request));
    let mut http = Builder::new();
    let carrier = Carrier::new(stream, Arc::clone(&pace));
    let mut connection =
        pin!(http.max_buf_size(MAX_HEAD_SIZE).max_headers(MAX_FIELDS).serve_connection(carrier, service));
    while pace.deadline() > Instant::now() {
        if timeout_at(pace.deadline(), connection.as_mut()).await.is_ok() {
            return;
        }
    }
}

async fn respond(site: Site, pace: Arc<Pace>, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    let (head, body) = request.into_parts();
    let (answer, is_last) = match site(head) {
        Reply::Last(answer) => (answer, true),
        Reply::Authorized(compute) => {
            pace.compute(true);
            let computed = spawn_blocking(compute).await;
            pace.compute(false);
            (computed.unwrap_or_else(|_| Answer::message(StatusCode::INTERNAL_SERVER_ERROR, "internal error")), false)
        }
    };
    Ok(answer.response(is_last || !body.is_end_stream()))
}

/// Time of the last activity of a connection.
struct Pace(Mutex<State>);

#[derive(Clone, Copy)]
struct State {
    /// Time of `accept`, or of the last read or write of an authorized connection.
    since: Instant,
    is_authorized: bool,
    /// Whether a thread is computing an answer.
    is_computing: bool,
}

impl Pace {
    fn new() -> Self {
        Self(Mutex::new(State { since: Instant::now(), is_authorized: false, is_computing: false }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a read or a write.
    fn progress(&self) {
        let mut state = self.state();
        if state.is_authorized {
            state.since = Instant::now();
        }
    }

    /// Records the start or end of the computation of an answer to an authorized request.
    fn compute(&self, is_computing: bool) {
        *self.state() = State { since: Instant::now(), is_authorized: true, is_computing };
    }

    /// Returns the time at which the connection is closed if it stays idle.
    fn deadline(&self) -> Instant {
        let state = self.state();
        match (state.is_computing, state.is_authorized) {
            (true, _) => Instant::now() + IDLE_TIME,
            (false, true) => state.since + IDLE_TIME,
            (false, false) => state.since + UNAUTHORIZED_TIME,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connection_with_the_longest_idle_time_is_displaced() {
        let paces: Vec<Pace> = (0..4).map(|_| Pace::new()).collect();
        let start = paces[0].state().since;
        for (pace, seconds) in paces.iter().zip([3, 1, 2, 0]) {
            *pace.state() =
                State { since: start + Duration::from_secs(seconds), is_authorized: true, is_computing: false };
        }
        paces[3].state().is_computing = true;
        assert_eq!(displaced(paces.iter()), Some(1));
        // A connection without the token is displaced first, even if it is the newest.
        *paces[0].state() = State { since: start + Duration::from_secs(9), is_authorized: false, is_computing: false };
        assert_eq!(displaced(paces.iter()), Some(0));
        paces.iter().for_each(|pace| pace.state().is_computing = true);
        assert_eq!(displaced(paces.iter()), None);
    }

    #[test]
    fn reads_and_writes_extend_the_time_of_authorized_connections_only() {
        let pace = Pace::new();
        let accepted = pace.state().since;
        pace.progress();
        assert_eq!(pace.deadline(), accepted + UNAUTHORIZED_TIME);
        pace.compute(true);
        // The time of the computation does not count.
        pace.state().since = accepted;
        assert!(pace.deadline() >= accepted + IDLE_TIME);
        pace.compute(false);
        let answered = pace.state().since;
        assert_eq!(pace.deadline(), answered + IDLE_TIME);
        pace.progress();
        assert_eq!(pace.deadline(), pace.state().since + IDLE_TIME);
    }
}
