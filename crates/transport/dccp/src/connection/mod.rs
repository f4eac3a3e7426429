//! One endpoint of a connection, without I/O (RFC 4340).
//!
//! The driver (a simulator, a socket) passes received packets to [`Connection::handle`]. After each call of `handle`,
//! [`Connection::handle_timeout`] or an application method, it calls [`Connection::poll_transmit`] until there is no
//! packet, [`Connection::poll_event`] until there is no event, and then [`Connection::poll_timeout`] for the next
//! deadline.
//!
//! The files are layers. A file uses only lower layers, and other files of the same layer without cycles:
//!
//! 1. `listener` accepts connections, with `cookie` and `refusal`.
//! 2. `steps` processes a received packet, one function per step of section 8.5. `transmit` builds the next packet,
//!    `timing` handles timeouts, `application` has the other calls of the application and the driver.
//! 3. `handshake`, `features`, `feedback`, `unpacking` (received options) and `packing` (options of the next packet)
//!    change more than one part.
//! 4. This file: a [`Connection`] and its parts.
//! 5. The parts, which do not use `Connection`: `transitions` is the state table, `windows` tracks sequence numbers,
//!    `negotiation` negotiates features, `preferences` holds the local preferences, `forward` the controller of our
//!    data, `reverse` that of the peer's, `acknowledge` the pending acknowledgement options, `pending` the packets that
//!    are due, `opening` the state of a handshake.
//!
//! Syncs have four reasons: an invalid packet (`steps`), a keep-alive (`timing`), the path MTU (`mtu`), and a request of
//! the driver (`sync_probes`). `pending` has the Sync until `transmit` builds it.

mod acknowledge;
mod application;
mod cookie;
mod delays;
mod event;
mod feature_slot;
mod feature_value;
mod features;
mod feedback;
mod forward;
mod handshake;
mod honesty;
mod listener;
mod loss_counter;
mod mtu;
mod negotiation;
mod opening;
mod options;
mod outbox;
mod packing;
mod parsed_options;
mod pending;
mod preferences;
mod presets;
mod rate_limit;
mod refusal;
mod reverse;
mod running;
mod seen;
mod state;
mod steps;
mod sync_probes;
mod tail_probe;
mod timers;
mod timing;
mod transitions;
mod transmit;
mod unpacking;
mod windows;
mod without_data;

pub use event::{Closed, Counters, Delivery, Event, Ignored, Outgoing, Status};
pub use listener::{Listener, Outcome};
pub use options::{ConnectionExpert, ConnectionOptions, InitCookies};
pub use outbox::{NoData, Outbox};
pub(crate) use rate_limit::RateLimit;
pub use refusal::refusal;
pub use state::State;

use crate::{DeliveryOrder, Ports, Repair, ServiceCode};
use acknowledge::Acknowledge;
use delays::Delays;
use event::Events;
use forward::Forward;
use headway_units::{Duration, Entropy, Instant, Seq48};
use mtu::PathMtu;
use negotiation::Negotiation;
use opening::Opening;
use pending::Pending;
use preferences::Agreed;
use reverse::Reverse;
use running::Running;
use seen::Seen;
use std::sync::Arc;
use sync_probes::SyncProbes;
use tail_probe::TailProbe;
use timers::Timers;
use transitions::{Cause, Machine};
use windows::SeqWindows;
use without_data::WithoutData;

/// Maximum size of the options, in bytes: the limit of Data Offset less the shortest header (section 5.1).
const BUFFER: usize = 1020;
const MIN_RTT: Duration = Duration::from_millis(1);

/// One endpoint of a DCCP connection, without I/O.
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
    running: Running,

    seen: Seen,
    without_data: WithoutData,
    acknowledge: Acknowledge,
    mtu: PathMtu,
    sync_probes: SyncProbes,
    tail_probe: TailProbe,
    delays: Delays,
    we_stopped: bool,
    /// Number of packets without data sent just before the next one.
    ndp_run: u64,
    last_valid: Option<Instant>,
    /// Position of the datagram of the last packet received.
    peer_order: Option<DeliveryOrder>,
    /// Option of the next packet, if it is a repair packet, with the number of the first packet of its block.
    repair: Option<Box<(Seq48, Repair)>>,
    /// Number and option of the peer's last repair packet.
    peer_repair: Option<Box<(Seq48, Repair)>>,
    sync_limit: RateLimit,

    pending: Pending,
    opening: Opening,
    /// Time of the last `refresh`; far in the future if a packet has been sent since.
    settled: Instant,

    events: Events,
    counters: Counters,
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
        preferences::set_initial(&mut negotiation, &options);
        if !is_server {
            preferences::set_for_ccids(&mut negotiation, &options);
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
            sync_probes: SyncProbes::default(),
            tail_probe: TailProbe::default(),
            delays: Delays::new(options.one_way_delays),
            we_stopped: false,
            ndp_run: 0,
            last_valid: None,
            peer_order: None,
            repair: None,
            peer_repair: None,
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

    /// Returns the round-trip time for timers. A stopped clock or a peer's Elapsed Times may reduce
    /// the sample to zero, and twice zero would be no wait.
    fn rtt(&self) -> Duration {
        self.forward.round_trip().unwrap_or(forward::DEFAULT_RTT).max(MIN_RTT)
    }

    fn go(&mut self, cause: Cause) -> bool {
        self.machine.go(cause)
    }
}
