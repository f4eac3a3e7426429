//! One end of a connection, without I/O (RFC 4340).
//!
//! Its driver (a simulator, a socket) hands it what comes, and asks for what goes: in, drain, next deadline. After each
//! [`Connection::handle`], [`Connection::handle_timeout`] or call of the application, ask [`Connection::poll_transmit`] until
//! there is nothing, [`Connection::poll_event`] likewise, and then [`Connection::poll_timeout`] for when to come back.
//!
//! The files are layers. A file uses only the layers below it, and files of its own layer without cycles:
//!
//! 1. `listener` accepts connections, with `cookie` and `refusal`.
//! 2. `steps` processes a received packet, a function for each step of section 8.5. `transmit` builds the next packet, `timing` handles
//!    timeouts, `application` has the other calls of the application and the driver.
//! 3. `handshake`, `features`, `feedback`, `unpacking` (received options) and `packing` (options of the next packet) change more than one
//!    part.
//! 4. This file: a [`Connection`] and its parts.
//! 5. The parts, which know no connection: `transitions` is the table of states, `windows` those of sequence numbers, `negotiation` the
//!    features, `wishes` the preferences of this end, `forward` the controller of our data, `reverse` that of the peer's, `acknowledge`
//!    what is to be acknowledged, `pending` the packets that are due, `opening` what only a handshake needs.

mod acknowledge;
mod application;
mod asking;
mod cookie;
mod delays;
mod event;
mod feature_slot;
mod feature_value;
mod features;
mod feedback;
mod forward;
mod handshake;
mod heard;
mod honesty;
mod listener;
mod mtu;
mod negotiation;
mod opening;
mod options;
mod outbox;
mod packing;
mod pending;
mod presets;
mod rate_limit;
mod refusal;
mod reverse;
mod running;
mod seen;
mod state;
mod steps;
mod timers;
mod timing;
mod told;
mod transitions;
mod transmit;
mod unpacking;
mod windows;
mod wishes;
mod without_data;

pub use event::{Closed, Counters, Delivery, Event, Ignored, Outgoing, Status};
pub use listener::{Listener, Outcome};
pub use options::{ConnectionExpert, ConnectionOptions, InitCookies};
pub use outbox::{NoData, Outbox};
pub(crate) use rate_limit::RateLimit;
pub use refusal::refusal;
pub use state::State;

use crate::{Ports, ServiceCode};
use acknowledge::Acknowledge;
use asking::Asking;
use delays::Delays;
use event::Events;
use forward::Forward;
use headway_units::{Duration, Entropy, Instant, Seq48};
use mtu::PathMtu;
use negotiation::Negotiation;
use opening::Opening;
use pending::Pending;
use reverse::Reverse;
use running::Running;
use seen::Seen;
use std::sync::Arc;
use timers::Timers;
use transitions::{Cause, Machine};
use windows::SeqWindows;
use wishes::Agreed;
use without_data::WithoutData;

/// The longest options: what Data Offset can say, less the shortest header (section 5.1).
const BUFFER: usize = 1020;
/// Timers are no finer.
const LEAST_RTT: Duration = Duration::from_millis(1);

/// One end of a connection.
#[derive(Debug)]
pub struct Connection {
    options: Arc<ConnectionOptions>,
    ports: Ports,
    service: ServiceCode,
    is_server: bool,
    random: Box<dyn Entropy>,

    machine: Machine,
    windows: SeqWindows,
    negotiation: Negotiation,
    agreed: Agreed,
    timers: Timers,

    forward: Forward,
    reverse: Reverse,
    /// Under which CCIDs they run.
    running: Running,

    seen: Seen,
    without_data: WithoutData,
    acknowledge: Acknowledge,
    mtu: PathMtu,
    asking: Asking,
    delays: Delays,
    /// Our application no longer listens.
    we_stopped: bool,
    /// Packets without data sent just before the next one.
    ndp_run: u64,
    /// When the last valid packet came.
    last_valid: Option<Instant>,
    sync_limit: RateLimit,

    pending: Pending,
    opening: Opening,
    /// When `refresh` ran last, unless a packet has gone since; else far in the future.
    settled: Instant,

    events: Events,
    counters: Counters,
    /// The options of the last packet sent.
    buffer: Box<[u8; BUFFER]>,
}

impl Connection {
    fn new(
        now: Instant,
        options: Arc<ConnectionOptions>,
        ports: Ports,
        service: ServiceCode,
        random: Box<dyn Entropy>,
        iss: Seq48,
        is_server: bool,
    ) -> Self {
        let mut negotiation = Negotiation::new(is_server, iss);
        wishes::at_first(&mut negotiation, &options);
        if !is_server {
            wishes::for_ccids(&mut negotiation, &options);
        }
        let windows = SeqWindows::new(iss);
        let lower_headers = (options.expert.lower_headers.count() + options.expert.secure_headers.count()) as usize;
        let mtu = PathMtu::new(options.mtu.count() as usize, lower_headers, options.probe_mtu);
        Self {
            ports,
            service,
            is_server,
            random,
            machine: Machine::new(),
            agreed: Agreed::of(&negotiation, &options),
            negotiation,
            timers: Timers::new(),
            forward: Forward::new(windows.local_window, options.passed_over_interval),
            reverse: Reverse::new(options.expert.report_gap),
            running: Running::default(),
            seen: Seen::new(windows.remote_window),
            without_data: WithoutData::default(),
            windows,
            acknowledge: Acknowledge::new(now),
            mtu,
            asking: Asking::default(),
            delays: Delays::new(options.one_way_delays),
            we_stopped: false,
            ndp_run: 0,
            last_valid: None,
            sync_limit: RateLimit::new(options.syncs_per_second),
            pending: Pending::new(),
            opening: Opening::new(iss),
            settled: Instant::FAR_FUTURE,
            events: Events::default(),
            counters: Counters::default(),
            buffer: Box::new([0; BUFFER]),
            options,
        }
    }

    /// What timers go by: a clock that stands still, or a peer's Elapsed Times, may leave nothing of the round trip, and twice
    /// nothing is no wait.
    fn rtt(&self) -> Duration {
        self.forward.round_trip().unwrap_or(forward::DEFAULT_RTT).max(LEAST_RTT)
    }

    fn go(&mut self, cause: Cause) -> bool {
        self.machine.go(cause)
    }
}
