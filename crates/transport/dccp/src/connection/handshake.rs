//! Start and end of a connection (RFC 4340 sections 8.1 and 8.3).

use super::event::{Closed, Event};
use super::options::ConnectionOptions;
use super::pending::{Control, Due};
use super::state::State;
use super::timers::Timer;
use super::transitions::Cause;
use super::{Connection, preferences};
use crate::{Body, Packet, PacketType, Ports, Reset, ResetCode, ServiceCode};
use headway_units::{Duration, Entropy, Instant, Seq48};
use std::sync::Arc;

/// Delay of the first retransmission of an Ack in PARTOPEN (RFC 4340 section 8.1.5).
pub(super) const PARTOPEN_TIMEOUT: Duration = Duration::from_millis(200);

impl Connection {
    /// Creates a server connection in RESPOND (step 3). The caller then passes the Request to it.
    pub(super) fn respond(
        now: Instant,
        options: Arc<ConnectionOptions>,
        request: &Packet<'_>,
        service: ServiceCode,
        random: Box<dyn Entropy>,
        iss: Seq48,
    ) -> Self {
        let mut server = Self::passive(now, options, request, service, random, iss);
        server.go(Cause::RcvRequest);
        server.windows.start_receiving(request.seq);
        server
    }

    /// Restores a server connection in RESPOND from an Init Cookie. The caller then passes the
    /// packet with the cookie to it. `None` if the cookie's features are invalid.
    pub(super) fn resume(
        now: Instant,
        options: Arc<ConnectionOptions>,
        packet: &Packet<'_>,
        service: ServiceCode,
        random: Box<dyn Entropy>,
        kept: Kept<'_>,
    ) -> Option<Self> {
        let mut server = Self::passive(now, options, packet, service, random, kept.iss);
        server.go(Cause::RcvInitCookie);
        server.windows.start_receiving(kept.isr);
        server.seen.insert(0);
        server.counters.received_packets = 1;
        let seq = server.windows.next();
        server.forward.send(kept.response_sent, None, true);
        server.opening.set_response(seq);
        let changing = server.negotiation.restore(kept.features)?;
        server.apply_features(now);
        server.negotiation.resume(changing, kept.isr, seq);
        if server.negotiation.is_open() {
            // The Response's Changes have no timer yet, since no state was kept.
            let rtt = server.rtt();
            let longest = server.longest_change_wait();
            server.timers.set(Timer::Change, now + server.pending.on_changes_sent(true, rtt, longest));
        }
        server.agree();
        Some(server)
    }

    fn passive(
        now: Instant,
        options: Arc<ConnectionOptions>,
        packet: &Packet<'_>,
        service: ServiceCode,
        random: Box<dyn Entropy>,
        iss: Seq48,
    ) -> Self {
        let ports = Ports::of_receiver(packet);
        let give_up = options.expert.respond_give_up;
        let mut server = Self::new(now, options, ports, service, random, iss, true);
        server.go(Cause::PassiveOpen);
        server.timers.set(Timer::GiveUp, now + give_up);
        server
    }

    /// Returns whether this endpoint is in RESPOND and the packet is outside its windows, or a
    /// Reset has ended it in that state. A client that receives the Response to a Request that it
    /// has not sent resets it (section 8.5 step 4) and then continues with its own.
    pub(super) fn is_foreign_in_respond(&self, packet: &Packet<'_>) -> bool {
        match self.machine.state() {
            State::Respond => !self.windows.is_valid(packet.kind(), packet.seq, packet.body.ack(), true),
            State::TimeWait => self.is_server && self.windows.osr.is_none(),
            _ => false,
        }
    }

    /// Prepares the Response after a Request was processed, with the Changes that the CCIDs need.
    pub(super) fn prepare_response(&mut self) {
        preferences::set_for_ccids(&mut self.negotiation, &self.options);
        self.agree();
        self.pending.schedule(Due::Response);
    }

    /// Enters PARTOPEN and schedules the Ack that completes the handshake.
    pub(super) fn enter_partopen(&mut self, now: Instant) {
        self.timers.stop(Timer::Request);
        self.timers.set(Timer::GiveUp, now + self.options.expert.partopen_give_up);
        self.pending.begin_wait(PARTOPEN_TIMEOUT);
        self.pending.schedule(Due::Ack);
        self.apply_features(now);
        self.run_controllers(now);
        self.events.push_back(Event::Connected);
    }

    /// Returns the maximum size of Timestamp and Timestamp Echo on a Response, in bytes.
    pub(super) fn timing_len(&self) -> usize {
        usize::from(self.options.timestamps) * 6 + usize::from(self.acknowledge.has_pending_echo()) * 10
    }

    /// Schedules another Ack after a packet in PARTOPEN, unless the server answers (section 8.1.5).
    pub(super) fn partopen_sent(&mut self, now: Instant) {
        self.timers.set(Timer::PartOpen, now + self.pending.wait());
    }

    /// Enters OPEN: the handshake is complete.
    pub(super) fn enter_open(&mut self, now: Instant, seq: Seq48) {
        self.windows.osr = Some(seq);
        self.timers.stop(Timer::GiveUp);
        self.timers.stop(Timer::PartOpen);
        self.opening.finish();
        self.timers.arm(Timer::Idle, self.options.idle_give_up.map(|longest| now + longest));
        self.timers.arm(Timer::KeepAlive, self.options.keep_alive.map(|longest| now + longest));
        if self.is_server {
            self.apply_features(now);
            self.run_controllers(now);
            self.events.push_back(Event::Connected);
            self.pending.schedule(Due::Ack);
        }
    }

    /// Schedules an Ack that lets a client leave PARTOPEN. The server answers an Ack or DataAck
    /// that acknowledges no more than the Response, at most once per round trip (section 8.1.5).
    pub(super) fn answer_partopen(&mut self, now: Instant, packet: &Packet<'_>) {
        let waits = self.opening.is_response(packet.body.ack());
        if self.is_server && self.machine.state() == State::Open && waits && self.acknowledge.age(now) >= self.rtt() {
            self.pending.schedule(Due::Ack);
        }
    }

    /// Starts the exchange of CloseReq, Close and Reset.
    pub(super) fn start_closing(&mut self, now: Instant) {
        for timer in [
            Timer::PartOpen,
            Timer::Change,
            Timer::DelayedAck,
            Timer::TailAck,
            Timer::TailProbe,
            Timer::Idle,
            Timer::KeepAlive,
            Timer::MtuProbe,
        ] {
            self.timers.stop(timer);
        }
        // No more data is sent, so that the controller is not needed.
        self.forward.stop();
        self.pending.schedule(Due::Close);
        self.pending.begin_wait(self.options.expert.close_timeout.unwrap_or(self.rtt() * 2));
        self.timers.set(Timer::GiveUp, now + self.options.expert.close_give_up);
    }

    /// Resets the connection in any state (section 8.3.1).
    pub(super) fn reset(&mut self, now: Instant, reset: Reset) {
        self.end(now, Cause::SndReset, reset, Closed::ByUs(reset));
    }

    /// Closes an unanswered connection. A Reset with code 2 cleans up at the peer, if there is one.
    pub(super) fn give_up(&mut self, now: Instant) {
        let state = self.machine.state();
        let reset = Reset { code: ResetCode::ABORTED, data: [0; 3] };
        self.end(now, Cause::SndReset, reset, Closed::NoAnswer(state));
    }

    pub(super) fn end(&mut self, _now: Instant, cause: Cause, reset: Reset, closed: Closed) {
        let (state, sent) = (self.machine.state(), self.windows.upcoming_number() > 0);
        if !self.go(cause) {
            return;
        }
        self.tear_down();
        // "A client in REQUEST state has never received an initial sequence number from its peer, so the DCCP-Reset's
        // Acknowledgement Number MUST be set to zero" (section 8.1.1).
        let ack = (self.counters.received_packets == 0).then_some(Seq48::ZERO);
        if sent || state != State::Request {
            self.pending.push(Control::Reset { reset, ack, seq: None });
        }
        self.events.push_back(Event::Closed(closed));
    }

    /// Step 9: the peer has reset the connection.
    pub(super) fn enter_time_wait(&mut self, now: Instant, reset: Reset) {
        self.tear_down();
        self.timers.set(Timer::TimeWait, now + self.options.expert.time_wait);
        self.events.push_back(Event::Closed(Closed::ByPeer(reset)));
    }

    fn tear_down(&mut self) {
        self.timers.stop_all();
        self.pending.clear();
        self.forward.stop();
        self.reverse.stop();
        self.opening.leave_backlog();
    }

    pub(super) fn forget_cookies(&mut self, packet: &Packet<'_>) {
        if packet.kind() == PacketType::Response && packet.seq == self.windows.gsr() {
            self.opening.forget_cookies();
        }
    }

    /// Stores an Init Cookie of a Response, which is echoed until the handshake has ended (section 8.1.4).
    pub(super) fn keep_cookie(&mut self, packet: &Packet<'_>, cookie: &[u8]) {
        let state = self.machine.state();
        let newest = packet.kind() == PacketType::Response && packet.seq == self.windows.gsr();
        let expected = newest && matches!(state, State::Request | State::PartOpen);
        if expected {
            self.opening.echo(cookie, super::BUFFER);
        }
    }

    /// Resets a packet without a connection by section 8.3.1.
    pub(super) fn refuse(&mut self, now: Instant, packet: &Packet<'_>) {
        if packet.kind() == PacketType::Reset || !self.sync_limit.permits(now) {
            return;
        }
        let (seq, ack) = super::refusal::numbers(packet);
        let reset = Reset { code: ResetCode::NO_CONNECTION, data: [0; 3] };
        self.pending.push(Control::Reset { reset, ack: Some(ack), seq: Some(seq) });
    }
}

/// State of a connection in RESPOND stored in an Init Cookie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept<'a> {
    pub(super) iss: Seq48,
    pub(super) isr: Seq48,
    pub(super) response_sent: Instant,
    pub(super) features: &'a [u8],
}

/// Returns whether a packet can follow a Response, and thus carry an echoed cookie.
pub(super) const fn follows_response(body: &Body) -> bool {
    !matches!(
        body,
        Body::Request { .. } | Body::Response { .. } | Body::Data | Body::Reset { .. } | Body::Listen { .. }
    )
}
