//! One end of a connection, without I/O (RFC 4340).
//!
//! Its driver (a simulator, a socket) hands it what comes, and asks for what goes: in, drain, next deadline. After each
//! [`Connection::handle`], [`Connection::handle_timeout`] or call of the application, ask [`Connection::poll_transmit`] until
//! there is nothing, [`Connection::poll_event`] likewise, and then [`Connection::poll_timeout`] for when to come back.
//!
//! - What a received packet does stands in `steps`, a function for each step of section 8.5; what goes out in `transmit`.
//! - The states and their transitions are a table in `transitions`; the windows of sequence numbers are in `windows`.
//! - Feature negotiation is `negotiation`, what this end would have `wishes`.
//! - Congestion control is the business of `headway_rate`: the connection numbers packets, measures round trips, and brings
//!   reports from one half to the other in the options of the CCIDs.

mod acknowledge;

mod cookie;
mod event;
mod feature_slot;
mod feedback;
mod handshake;
mod heard;
mod honesty;
mod listener;
mod mtu;
mod negotiation;
mod options;
mod outbox;
mod rate_limit;
mod refusal;
mod seen;
mod state;
mod steps;
mod timers;
mod timing;
mod transitions;
mod transmit;
mod windows;
mod wishes;

pub use event::{Closed, Counters, Delivery, Event, Ignored, Outgoing, Status};
pub use listener::{Listener, Outcome};
pub use options::{CcidController, ConnectionOptions, InitCookies};
pub use outbox::{NoData, Outbox};
pub(crate) use rate_limit::RateLimit;
pub use refusal::refusal;
pub use state::State;

use crate::ccid::Said;
use crate::feature::{Ccid, Feature};
use crate::{Packet, Path, Reset, ResetCode, ServiceCode, Timestamp};
use acknowledge::Acknowledge;
use event::Events;
use feature_slot::Side;
use headway_rate::{Inbound, LossForm, Outbound, Receiver, ReceiverContext, Run, Sender, SenderContext, Wrapped};
use headway_units::{Bytes, Duration, Entropy, Instant, Random, Seq48};
use heard::Scratch;
use honesty::Honesty;
use mtu::PathMtu;
use negotiation::Negotiation;
use seen::Seen;
use std::collections::VecDeque;
use std::sync::Arc;
use timers::{Timer, Timers};
use transitions::{Cause, Machine};
use transmit::Control;
use windows::SeqWindows;
use wishes::Agreed;

/// The longest options: what Data Offset can say, less the shortest header (section 5.1).
const BUFFER: usize = 1020;
/// Timers are no finer.
const LEAST_RTT: Duration = Duration::from_millis(1);
/// Answers to other packets that wait at most. The driver drains them after each packet.
const MOST_CONTROL: usize = 16;

/// The DCCP ports of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ports {
    /// This end's.
    pub local: u16,
    /// The other end's.
    pub remote: u16,
}

impl Ports {
    /// Those of the end that a packet comes to.
    pub(crate) const fn of_receiver<N>(packet: &Packet<'_, N>) -> Self {
        Self { local: packet.destination_port, remote: packet.source_port }
    }
}

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

    /// Our packets, with the controller of our data once its CCID is agreed.
    outbound: Outbound,
    /// The peer's, with the controller of its data.
    inbound: Inbound,
    /// Under which CCIDs they run.
    running: Option<(u8, u8)>,
    /// When a CCID last changed after the handshake.
    ccid_changed: Option<Instant>,

    honesty: Honesty,
    seen: Seen,
    acknowledge: Acknowledge,
    mtu: PathMtu,
    /// The newest sample that nobody has taken.
    rtt_sample: Option<Duration>,
    /// Of which of our packets down the last packet's Ack Vector told, and nobody has taken it.
    arrivals_from: Option<Seq48>,
    /// What is known of the peer's clock.
    peer_clock: Wrapped,
    /// The Timestamp that went last, and when.
    stamped: Option<(Timestamp, Instant)>,
    /// The number of the packet whose acknowledgement ends the present round trip.
    round_trip_began: u64,
    /// The peer has reported dropped data, and goes on until that is acknowledged.
    drops_heard: bool,
    slow_receiver_until: Option<Instant>,
    /// The peer's application no longer listens; ours does not.
    peer_stopped: bool,
    we_stopped: bool,
    /// Packets without data sent just before the next one.
    ndp_run: u64,
    /// When the last valid packet came.
    last_valid: Option<Instant>,
    sync_limit: RateLimit,

    control: VecDeque<Control>,
    due: Due,
    /// The wait of the present retransmission timer, and that of Changes.
    wait: Duration,
    change_wait: Duration,
    /// When a packet last went for negotiation's sake.
    negotiated: Option<Instant>,
    /// The last Response, of a server.
    response: Seq48,
    /// Data on the Request or Response, kept for its repetition.
    handshake_data: Vec<u8>,
    /// A Request's or Response's data has been delivered or refused.
    handshake_data_seen: bool,
    /// Init Cookies: those of a Response to make, or those of a Response received to echo.
    cookies: Vec<Vec<u8>>,
    /// A Response with cookies must not be longer.
    response_limit: Option<usize>,
    /// The listener's place for connections in RESPOND.
    place_in_backlog: Option<Arc<()>>,

    events: Events,
    counters: Counters,
    scratch: Scratch,
    /// What the options of its CCID have said on the last packet.
    said: Said,
    /// The options of the last packet sent.
    buffer: Box<[u8; BUFFER]>,
    /// The options of a report that waits for its packet.
    report: Box<[u8; 512]>,
    report_len: usize,
}

/// What goes as soon as it is asked for.
#[derive(Clone, Copy, Debug, Default)]
struct Due {
    request: bool,
    response: bool,
    close: bool,
    ack: bool,
}

impl Connection {
    /// A client's end: the Request goes with the first [`Self::poll_transmit`].
    ///
    /// From `random` come the initial sequence number (section 7.2), far from those before a boot (section 7.3), and the numbers
    /// that are passed over (RFC 4342 section 9): where the network can be attacked, nobody can guess its bits.
    #[must_use]
    pub fn connect(
        now: Instant,
        options: &ConnectionOptions,
        ports: Ports,
        service: ServiceCode,
        random: impl Entropy + 'static,
    ) -> Self {
        Self::active(now, options, ports, service, Box::new(random))
    }

    pub(crate) fn active(
        now: Instant,
        options: &ConnectionOptions,
        ports: Ports,
        service: ServiceCode,
        mut random: Box<dyn Entropy>,
    ) -> Self {
        let iss = Seq48::new(random.bits() >> 16);
        let mut client = Self::new(now, Arc::new(options.clone()), ports, service, random, iss, false);
        client.go(Cause::ActiveOpen);
        client.due.request = true;
        client.wait = client.options.request_timeout;
        let give_up = client.options.request_give_up;
        client.timers.set(Timer::GiveUp, now + give_up);
        client
    }

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
        let mtu = PathMtu::new(options.mtu.count() as usize, options.lower_headers.count() as usize, options.probe_mtu);
        Self {
            ports,
            service,
            is_server,
            random,
            machine: Machine::new(),
            agreed: Agreed::of(&negotiation, &options),
            negotiation,
            timers: Timers::new(),
            outbound: Outbound::new(windows.local_window),
            inbound: Inbound::default(),
            running: None,
            ccid_changed: None,
            honesty: Honesty::new(options.passed_over_interval),
            seen: Seen::new(windows.remote_window),
            windows,
            acknowledge: Acknowledge::new(now),
            mtu,
            rtt_sample: None,
            arrivals_from: None,
            peer_clock: Wrapped::default(),
            stamped: None,
            round_trip_began: 0,
            drops_heard: false,
            slow_receiver_until: None,
            peer_stopped: false,
            we_stopped: false,
            ndp_run: 0,
            last_valid: None,
            sync_limit: RateLimit::new(options.syncs_per_second),
            control: VecDeque::new(),
            due: Due::default(),
            wait: Duration::ZERO,
            change_wait: Duration::ZERO,
            negotiated: None,
            response: iss,
            handshake_data: Vec::new(),
            handshake_data_seen: false,
            cookies: Vec::new(),
            response_limit: None,
            place_in_backlog: None,
            events: Events::default(),
            counters: Counters::default(),
            scratch: Scratch::default(),
            said: Said::default(),
            buffer: Box::new([0; BUFFER]),
            report: Box::new([0; 512]),
            report_len: 0,
            options,
        }
    }

    /// The next thing that happened, if any. While nobody asks, 64 events are kept, the oldest, and of the later ones those that
    /// happen once: [`Event::Connected`], [`Event::PeerNotListening`] and [`Event::Closed`] always come.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    pub(crate) fn has_events(&self) -> bool {
        self.events.has_some()
    }

    /// Its packets go this way: headers below DCCP leave them so much less room (section 14).
    pub(crate) fn set_path(&mut self, path: Path) {
        self.mtu.leave(path.lower_headers());
    }

    /// The newest round trip measured since the last call, for statistics.
    pub fn take_rtt_sample(&mut self) -> Option<Duration> {
        self.rtt_sample.take()
    }

    /// Of each of our packets, from the returned number downwards, whether it has come: the Ack Vector of the packet that was
    /// [handled](Self::handle) last, once; `None` if it had none that counts. A packet whose data the peer's buffer dropped has
    /// come. Under which number data went says [`Outgoing::packet`].
    pub fn take_arrivals(&mut self) -> Option<(Seq48, &[Run])> {
        Some((self.arrivals_from.take()?, &self.scratch.runs))
    }

    /// When [`Self::handle_timeout`] is to be called.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// The application closes (section 8.3): no more data goes. A client sends Close, a server CloseReq.
    pub fn close(&mut self, now: Instant) {
        let cause = if self.is_server && !self.options.server_time_wait {
            Cause::ServerActiveClose
        } else {
            Cause::ActiveClose
        };
        if self.machine.state() < State::PartOpen {
            self.abort(now);
        } else if self.go(cause) {
            self.start_closing(now);
            self.refresh(now);
        }
    }

    /// The application gives the connection up: a Reset goes with code 2, "Aborted".
    pub fn abort(&mut self, now: Instant) {
        self.reset(now, Reset { code: ResetCode::ABORTED, data: [0; 3] });
        self.refresh(now);
    }

    /// The application no longer listens: data that comes is dropped, and the peer is told (Drop Code 1, section 11.7.2).
    pub const fn stop_receiving(&mut self) {
        self.we_stopped = true;
    }

    /// The application cannot keep up, or can again: acknowledgements say so (Slow Receiver, section 11.6).
    pub const fn set_slow_receiver(&mut self, slow: bool) {
        self.acknowledge.slow_receiver = slow;
    }

    /// The application dropped data that was delivered to it, and why: the peer is told (Data Dropped, section 11.7).
    pub fn report_dropped(&mut self, now: Instant, seq: Seq48, code: crate::DropCode) {
        let number = self.windows.number_received(seq);
        if seq.is_within(self.windows.swl(), self.windows.gsr()) && self.seen.has_come(number) {
            self.acknowledge.on_dropped(seq, code);
            if code.counts_as_mark() {
                self.inbound.on_corrupt(now, number);
            }
            self.refresh(now);
        }
    }

    /// A router says that a packet was too big for the next hop of `mtu` bytes, 0 if it does not say (section 14.1; RFC
    /// 6773 section 3.6 for ICMP about the UDP packet around it).
    /// `quoted` is the sequence number in the quoted header: a message about a packet that was not sent recently may be
    /// forged, and is ignored.
    pub fn handle_too_big(&mut self, quoted: Seq48, mtu: usize) {
        if self.windows.is_acknowledgement_valid(quoted) && self.mtu.on_too_big(mtu) {
            // Nothing larger is tried for five minutes at least (RFC 1191 section 3): the search rests.
            self.timers.stop(Timer::MtuProbe);
            self.events.push_back(Event::MaximumPacketSize(self.mtu.mps()));
        }
    }

    /// What it holds now.
    #[must_use]
    pub fn status(&self) -> Status {
        Status {
            state: self.machine.state(),
            maximum_packet_size: self.mtu.mps(),
            rtt: self.outbound.round_trip(),
            send_ccid: Ccid(self.agreed.send_ccid),
            receive_ccid: Ccid(self.agreed.receive_ccid),
            sender: self.outbound.status(),
            slow_receiver: self.slow_receiver_until.is_some(),
            counters: self.counters,
        }
    }

    /// The values of a feature that hold now: this end's, and the peer's (section 6); `None` for a feature that this crate
    /// does not know.
    #[must_use]
    pub fn feature_values(&self, feature: Feature) -> Option<[u64; 2]> {
        feature.initial()?;
        Some([Side::Local, Side::Remote].map(|side| self.negotiation.value(side, feature)))
    }

    /// The service code that the client asked for.
    #[must_use]
    pub const fn service(&self) -> ServiceCode {
        self.service
    }

    /// The ports.
    #[must_use]
    pub const fn ports(&self) -> Ports {
        self.ports
    }

    /// The state.
    #[must_use]
    pub const fn state(&self) -> State {
        self.machine.state()
    }

    /// What timers go by: a clock that stands still, or a peer's Elapsed Times, may leave nothing of the round trip, and twice
    /// nothing is no wait.
    fn rtt(&self) -> Duration {
        self.outbound.round_trip().unwrap_or(self.options.default_rtt).max(LEAST_RTT)
    }

    fn go(&mut self, cause: Cause) -> bool {
        self.machine.go(cause)
    }

    fn push_control(&mut self, control: Control) {
        if self.control.len() < MOST_CONTROL {
            self.control.push_back(control);
        }
    }

    /// Values have changed: everything that depends on one learns it.
    fn apply_features(&mut self, now: Instant) {
        use crate::Feature as F;
        let value = |side, feature| self.negotiation.value(side, feature);
        self.windows.local_window = value(Side::Local, F::SEQUENCE_WINDOW).max(32);
        self.windows.remote_window = value(Side::Remote, F::SEQUENCE_WINDOW).max(32);
        let ratio = value(Side::Remote, F::ACK_RATIO) as u16;
        self.outbound.ledger_mut().widen(self.windows.local_window);
        self.seen.widen(self.windows.remote_window / 4);
        wishes::for_ccids(&mut self.negotiation, &self.options);
        self.agree();
        if self.running.is_some() {
            self.run_controllers(now);
        }
        self.inbound.set_ack_ratio(ratio);
    }

    fn agree(&mut self) {
        self.agreed = Agreed::of(&self.negotiation, &self.options);
    }

    /// Starts the controllers of the CCIDs that hold now, unless they run.
    fn run_controllers(&mut self, now: Instant) {
        let (sending, receiving) = (self.agreed.send_ccid, self.agreed.receive_ccid);
        let before = self.running.replace((sending, receiving));
        if before.is_some_and(|before| before != (sending, receiving)) {
            self.ccid_changed = Some(now);
        }
        let packet_size = Bytes::new(self.mtu.mps() as u64);
        if before.is_none_or(|(ccid, _)| ccid != sending) {
            self.honesty.begin_anew();
            let random = Random::new(self.random.bits(), "sender");
            let mut context = SenderContext::new(now, packet_size, random);
            (context.rtt, context.line_rate) = (self.outbound.round_trip(), self.options.line_rate);
            context.tfrc.keeps_losses = self.honesty.verifies();
            self.outbound.stop();
            if let Some(row) = self.options.row(Ccid(sending)) {
                self.outbound.start(Sender::new(&row.controller, context));
            }
        }
        let mut context = ReceiverContext::new(now, packet_size);
        context.tfrc.losses =
            if self.agreed.we_send_loss_event_rate { LossForm::EventRate } else { LossForm::Intervals };
        if before.is_none_or(|(_, ccid)| ccid != receiving) {
            self.inbound.stop();
            if let Some(row) = self.options.row(Ccid(receiving)) {
                self.inbound.start(Receiver::new(&row.controller, context));
            }
            self.inbound.set_ack_ratio(self.negotiation.value(Side::Remote, Feature::ACK_RATIO) as u16);
        }
        self.inbound.on_change(&context);
    }
}
