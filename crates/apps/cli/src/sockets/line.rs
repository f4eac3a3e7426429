//! Connection with a source, and the delivery of its datagrams.

use super::console::{Console, plural};
use super::delays::DelayMeter;
use super::receiving::ReverseFlow;
use super::recv::{failure, name};
use super::sending::{Sending, Sent};
use crate::error::Failure;
use crate::interrupt;
use headway_media::Fragment;
use headway_net::{Clock, Closed, Connection, Duration, Event, Media, Options, ResetCode, SecureError, SendError};
use headway_record::FlowLabel;
use headway_units::{Probability, QueueSize};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum time between two checks for a signal.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Time between two reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);
/// Time to send queued datagrams after a request to stop, and to wait for events about sent datagrams (plus two round
/// trips).
const DRAIN_TIME: Duration = Duration::from_secs(1);
/// Maximum time to wait for the end of the connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum number of datagrams per call.
const BATCH: usize = 32;
/// Maximum time for which a source waits for the path MTU discovery: some round trips.
const PMTU_SEARCH_TIME: Duration = Duration::from_secs(3);

/// State of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Supply {
    /// The source may have more data.
    Runs,
    /// The source has ended. All queued datagrams are sent.
    Ends,
    /// The source was stopped. Queued datagrams are sent for [`DRAIN_TIME`].
    Stops,
    /// Queued datagrams are discarded.
    Discarded,
}

/// Connection that the thread of the source and the thread of the events share.
pub(super) struct Line {
    pub(super) clock: Clock,
    connection: Arc<Connection>,
    /// Datagrams from the peer, if they are forwarded.
    reverse: Option<ReverseFlow>,
    sending: Mutex<Sending>,
    /// Maximum size of a packet with all headers, in bytes.
    mtu: u64,
    /// Maximum number of queued datagrams for sources that can wait.
    max_queued: usize,
    /// Maximum number of queued events for sources that can wait.
    max_waiting_events: usize,
    /// Whether the source must stop.
    stop: AtomicBool,
    too_long: Mutex<TooLong>,
}

/// Datagrams that were too long for a packet.
#[derive(Clone, Copy, Default)]
struct TooLong {
    datagrams: u64,
    /// Size of the last one, in bytes.
    bytes: usize,
    /// Largest possible size at that time, in bytes.
    largest: usize,
}

impl Line {
    pub(super) fn new(clock: Clock, connection: Connection, label: FlowLabel, options: &Options) -> Self {
        let max_queued = match options.queue.rules.limit {
            QueueSize::Packets(packets) => packets / 2,
            QueueSize::Bytes(bytes) => bytes.count() / 2 / options.connection.mtu.count().max(1),
        };
        Self {
            clock,
            connection: Arc::new(connection),
            reverse: None,
            sending: Mutex::new(Sending::new(clock.now(), label, options.queue.rules.resend)),
            mtu: options.connection.mtu.count(),
            max_queued: usize::try_from(max_queued).unwrap_or(usize::MAX).clamp(1, 128),
            max_waiting_events: options.events / 2,
            stop: AtomicBool::new(false),
            too_long: Mutex::default(),
        }
    }

    /// Counts datagrams from the peer under this label.
    pub(super) fn with_reverse_flow(mut self, label: FlowLabel, delays: Option<Arc<DelayMeter>>) -> Self {
        self.reverse = Some(ReverseFlow::new(self.clock, &self.connection, delays, label));
        self
    }

    pub(super) const fn reverse(&self) -> Option<&ReverseFlow> {
        self.reverse.as_ref()
    }

    fn sending(&self) -> MutexGuard<'_, Sending> {
        self.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn peer(&self) -> String {
        name(&self.connection)
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Returns whether the source must stop.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Waits until the connection is established. Then the size of its largest datagram is known.
    pub(super) fn connected(&self) -> Result<(), Closed> {
        self.connection.connected()
    }

    /// Returns the current maximum size of a datagram, in bytes.
    pub(super) fn largest(&self) -> usize {
        self.connection.largest()
    }

    /// Returns whether a datagram of this size fits in a packet. Waits up to [`PMTU_SEARCH_TIME`] for the path MTU
    /// discovery.
    pub(super) fn fits(&self, bytes: usize) -> bool {
        let until = self.clock.now() + PMTU_SEARCH_TIME;
        while bytes > self.connection.largest() {
            if bytes as u64 > self.mtu || self.clock.now() >= until || self.is_stopped() {
                return false;
            }
            std::thread::park_timeout(std::time::Duration::from_millis(10));
        }
        true
    }

    /// Waits until the send queue and the queue of events have room. Returns the number of datagrams that fit.
    pub(super) fn wait_for_room(&self) -> usize {
        self.connection.writable(self.max_queued);
        while self.connection.waiting_events() > self.max_waiting_events && !self.is_stopped() {
            std::thread::park_timeout(std::time::Duration::from_millis(1));
        }
        BATCH.min(self.max_queued)
    }

    /// Enqueues datagrams. Counts and drops a datagram that does not fit in a packet.
    ///
    /// # Errors
    ///
    /// The connection is closed.
    pub(super) fn send(&self, all: &[Media<'_>]) -> Result<(), Closed> {
        self.send_frames(all, &[])
    }

    /// Enqueues datagrams of frames, like [`Self::send`]. The n-th fragment belongs to the n-th datagram.
    pub(super) fn send_frames(&self, all: &[Media<'_>], fragments: &[Fragment]) -> Result<(), Closed> {
        if all.is_empty() {
            return Ok(());
        }
        // Locked before the call, so that no event of these datagrams is processed before they are recorded.
        let mut sending = self.sending();
        let now = self.clock.now();
        for (media, _) in all.iter().zip(fragments).filter(|(_, fragment)| fragment.index == 0) {
            sending.frame_written(now, media.kind);
        }
        match self.connection.send_all(all) {
            Ok(numbers) => {
                for (at, (number, media)) in numbers.zip(all).enumerate() {
                    sending.written(now, number, media, fragments.get(at).copied());
                }
                Ok(())
            }
            Err(SendError::TooLarge { len, largest }) => {
                all.iter().for_each(|media| sending.refused(media));
                let mut too_long = self.too_long.lock().unwrap_or_else(PoisonError::into_inner);
                *too_long = TooLong { datagrams: too_long.datagrams + all.len() as u64, bytes: len, largest };
                Ok(())
            }
            Err(SendError::Closed(why)) => Err(why),
            // Methods have been checked, so that there is no other error.
            Err(_) => Err(Closed::Here),
        }
    }

    /// Processes events and prints reports until the connection or the source (`supply`) ends, or a signal arrives.
    pub(super) fn follow(
        &self,
        console: &Console,
        mut supply: impl FnMut() -> Supply,
        mut each_second: impl FnMut(&Sent) -> Result<(), Failure>,
    ) -> Outcome {
        let now = self.clock.now();
        let mut state = FollowState {
            next_report_at: now + REPORT_INTERVAL,
            last_event_at: now,
            too_long: 0,
            connected: false,
            changes: Vec::new(),
        };
        let (mut stop_requested_at, mut gone_since, mut failed, mut discarded) = (None, None, None, false);
        let why = loop {
            let closed = self.process_events(&mut state);
            for change in state.changes.drain(..) {
                console.note(&change);
            }
            if let Some(why) = closed {
                break Some(why);
            }
            if let Err(failure) = self.report(&mut state, console, &mut each_second) {
                failed = Some(failure);
                break None;
            }
            let (now, supply) = (self.clock.now(), supply());
            if interrupt::stop_requested() || supply == Supply::Stops {
                self.stop();
                if now.since(*stop_requested_at.get_or_insert(now)) >= DRAIN_TIME {
                    break None;
                }
            }
            let ends = supply != Supply::Runs || stop_requested_at.is_some();
            // A source without data also waits for the answer of the peer.
            let answered = state.connected || stop_requested_at.is_some();
            // The peer is gone, and the source is no reason to wait for its return.
            let is_gone = supply == Supply::Ends && self.sending().is_interrupted();
            gone_since = if is_gone { gone_since.or(Some(now)) } else { None };
            if gone_since.is_some_and(|since| now.since(since) >= DRAIN_TIME) {
                break None;
            }
            discarded = supply == Supply::Discarded;
            if ends && answered && self.is_settled(state.last_event_at) || discarded {
                break None;
            }
        };
        self.stop();
        let why = why.unwrap_or_else(|| self.close(&mut state, discarded));
        let total = self.line(self.clock.now(), true);
        let mut ended = Outcome { why, failed, connected: state.connected, total };
        ended.total.flow.connection_failure = ended.failure();
        ended
    }

    /// Processes all queued events. Returns the reason if the connection has ended.
    fn process_events(&self, state: &mut FollowState) -> Option<Closed> {
        let mut event = self.connection.event_timeout(POLL_INTERVAL);
        let mut sending = self.sending();
        while let Some(occurred) = event {
            state.last_event_at = self.clock.now();
            if let Event::Connected | Event::Largest(_) = occurred {
                sending.update_status(state.last_event_at, &self.connection, self.mtu);
            }
            match &occurred {
                Event::Connected if state.connected => state.changes.push(format!("{}: connected again", self.peer())),
                Event::Connected => state.connected = true,
                Event::Interrupted(why) => {
                    state.changes.push(format!("{}: {why}; trying to reconnect", self.peer()));
                }
                _ => {}
            }
            sending.on_event(state.last_event_at, &occurred);
            if let Event::Closed(why) = occurred {
                return Some(why);
            }
            event = self.connection.event_timeout(Duration::ZERO);
        }
        None
    }

    fn report(
        &self,
        state: &mut FollowState,
        console: &Console,
        each_second: &mut impl FnMut(&Sent) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let now = self.clock.now();
        if now < state.next_report_at {
            return Ok(());
        }
        state.next_report_at = (state.next_report_at + REPORT_INTERVAL).max(now);
        self.sending().update_status(now, &self.connection, self.mtu);
        self.reverse.iter().for_each(ReverseFlow::update_status);
        let line = self.line(now, false);
        let TooLong { datagrams, bytes, largest } = *self.too_long.lock().unwrap_or_else(PoisonError::into_inner);
        if datagrams > state.too_long {
            state.too_long = datagrams;
            console.warn(&format!(
                "warning: {} too long for a packet and dropped; the last one has {bytes} bytes, the maximum is {largest}",
                plural(datagrams, "datagram was", "datagrams were"),
            ));
        }
        console.line(&line)?;
        console.status(line.live_text());
        each_second(&line)
    }

    fn line(&self, now: headway_units::Instant, last: bool) -> Sent {
        let reverse = self.reverse.as_ref().map(|reverse| reverse.line(now, last));
        Sent { reverse, ..self.sending().line(now, last) }
    }

    /// Returns whether no datagram is queued and no more events about sent datagrams are expected.
    fn is_settled(&self, last_event_at: headway_units::Instant) -> bool {
        let sending = self.sending();
        let silence = DRAIN_TIME + sending.rtt() + sending.rtt();
        sending.is_settled() || sending.waiting() == 0 && self.clock.now().since(last_event_at) > silence
    }

    /// `discarded`: whether another peer replaces this one.
    fn close(&self, state: &mut FollowState, discarded: bool) -> Closed {
        let now = self.clock.now();
        self.sending().update_status(now, &self.connection, self.mtu);
        self.reverse.iter().for_each(ReverseFlow::update_status);
        if discarded {
            self.connection.refuse();
        } else {
            self.connection.start_close();
        }
        while self.clock.now() < now + CLOSE_TIMEOUT {
            if let Some(why) = self.process_events(state) {
                return why;
            }
        }
        // If each datagram has its outcome, only the answer to the Close is missing, and a peer answers it once.
        if state.connected && self.sending().is_settled() { Closed::Here } else { Closed::NoAnswer }
    }
}

/// State of [`Line::follow`].
struct FollowState {
    next_report_at: headway_units::Instant,
    last_event_at: headway_units::Instant,
    too_long: u64,
    connected: bool,
    /// Losses and returns of the peer that are not yet reported.
    changes: Vec<String>,
}

/// End of a connection.
pub(super) struct Outcome {
    pub(super) why: Closed,
    /// Local error for which the connection was closed.
    pub(super) failed: Option<Failure>,
    /// Whether the connection was established.
    pub(super) connected: bool,
    pub(super) total: Sent,
}

impl Outcome {
    /// Sets an error if the peer closed the connection before the source had ended or before it had acknowledged all
    /// datagrams.
    pub(super) fn check_delivery(&mut self, source_has_ended: bool) {
        let (unaccounted, waiting) = (self.total.unaccounted(), self.total.waiting());
        if !self.connected || self.failed.is_some() || source_has_ended && unaccounted == 0 && waiting == 0 {
            return;
        }
        let early = if source_has_ended { "everything was delivered" } else { "the source had ended" };
        let unsent = if waiting > 0 { format!(", {waiting} not sent") } else { String::new() };
        let failure = format!(
            "the receiver closed the connection before {early}: {} of {} delivered, {unaccounted} unaccounted for{unsent}",
            self.total.flow.received_packets,
            plural(self.total.flow.sent_packets, "datagram", "datagrams"),
        );
        self.total.flow.connection_failure = Some(failure.clone());
        self.failed = Some(Failure::Sockets(failure));
    }

    /// Sets an error if too few datagrams were delivered, see [`Delivery::failure`](super::delivery::Delivery::failure).
    pub(super) fn check_share(&mut self, least: Option<Probability>, stopped: bool) {
        if self.failed.is_none()
            && self.failure().is_none()
            && let Some(failure) = self.total.delivery.failure(least, stopped)
        {
            self.total.flow.connection_failure = Some(failure.clone());
            self.failed = Some(Failure::Sockets(failure));
        }
    }

    /// Sets an error if this endpoint closed the connection before the peer answered.
    pub(super) fn check_answer(&mut self) {
        if self.why == Closed::Here && !self.connected && self.failed.is_none() {
            let failure = "the connection was closed before the peer answered".to_owned();
            self.total.flow.connection_failure = Some(failure.clone());
            self.failed = Some(Failure::Sockets(failure));
        }
    }

    /// Returns an explanation if a relay that listens has replaced one peer by another.
    fn replaced(&self) -> Option<&'static str> {
        match self.why {
            Closed::Aborted(reset) if reset.code == ResetCode::TOO_BUSY => Some("a newer peer replaces this one"),
            Closed::Reset(reset) if self.connected && reset.code == ResetCode::TOO_BUSY => {
                Some("the peer serves a newer relay instead of this one (Too Busy)")
            }
            _ => None,
        }
    }

    /// Returns the reason of the end, for messages.
    pub(super) fn reason(&self) -> String {
        self.replaced().map_or_else(|| self.why.to_string(), str::to_owned)
    }

    /// Returns the error of the connection, or `None` if an endpoint closed it.
    fn failure(&self) -> Option<String> {
        match &self.why {
            _ if self.replaced().is_some() => self.replaced().map(str::to_owned),
            Closed::ByPeer if !self.connected => Some(
                "the server refused the connection; it may require a known fingerprint (--identity of this endpoint, --allow of the server)".to_owned(),
            ),
            Closed::NoAnswer | Closed::Security(SecureError::NoAnswer) if !self.connected => Some(
                "the peer does not answer; it may not be listening, a firewall may block UDP, or only one of the two endpoints has \
                 --insecure".to_owned(),
            ),
            why => failure(why),
        }
    }

    /// Returns the error of the connection, or `Ok` if an endpoint closed it.
    pub(super) fn into_result(self) -> Result<(), Failure> {
        let failure = self.failure().map(Failure::Sockets);
        self.failed.or(failure).map_or(Ok(()), Err)
    }
}
