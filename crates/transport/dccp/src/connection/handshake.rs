//! How a connection begins and ends (RFC 4340 sections 8.1 and 8.3).

use super::event::{Closed, Event};
use super::options::ConnectionOptions;
use super::pending::{Control, Due};
use super::state::State;
use super::timers::Timer;
use super::transitions::Cause;
use super::{Connection, wishes};
use crate::{Body, Packet, PacketType, Ports, Reset, ResetCode, ServiceCode};
use headway_units::{Duration, Entropy, Instant, Seq48};
use std::sync::Arc;

/// The first retransmission of an Ack in PARTOPEN (RFC 4340 section 8.1.5).
pub(super) const PARTOPEN_TIMEOUT: Duration = Duration::from_millis(200);

impl Connection {
    /// A server's end in RESPOND (step 3), to which the Request is then handed.
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

    /// A server's end in RESPOND as a cookie has kept it, to which the packet with the cookie is then handed. `None` if the
    /// cookie's features are nonsense.
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
        // The Request.
        server.seen.insert(0);
        server.counters.received_packets = 1;
        let seq = server.windows.next();
        server.forward.send(kept.response_sent, None, true);
        server.opening.response_goes(seq);
        let changing = server.negotiation.restore(kept.features)?;
        server.apply_features(now);
        server.negotiation.resume(changing, kept.isr, seq);
        if server.negotiation.is_open() {
            // The Response's Changes: who kept nothing has set no timer for them.
            let rtt = server.rtt();
            let longest = server.longest_change_wait();
            server.timers.set(Timer::Change, now + server.pending.changes_went(true, rtt, longest));
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

    /// Whether this end is in RESPOND and the packet is not in its windows, or a Reset has ended it there: a client that gets the
    /// Response to a Request that it has not sent says so (section 8.5 step 4), and then goes on with its own.
    pub(super) fn is_foreign_in_respond(&self, packet: &Packet<'_>) -> bool {
        match self.machine.state() {
            State::Respond => !self.windows.is_valid(packet.kind(), packet.seq, packet.body.ack(), true),
            State::TimeWait => self.is_server && self.windows.osr.is_none(),
            _ => false,
        }
    }

    /// A Request has been processed, and a Response is to answer it: now its Changes are known, and those that the CCIDs
    /// need.
    pub(super) fn prepare_response(&mut self) {
        wishes::for_ccids(&mut self.negotiation, &self.options);
        self.agree();
        self.pending.owe(Due::Response);
    }

    /// REQUEST is over: the Ack that completes the handshake goes.
    pub(super) fn enter_partopen(&mut self, now: Instant) {
        self.timers.stop(Timer::Request);
        self.timers.set(Timer::GiveUp, now + self.options.expert.partopen_give_up);
        self.pending.begin_wait(PARTOPEN_TIMEOUT);
        self.pending.owe(Due::Ack);
        self.apply_features(now);
        self.run_controllers(now);
        self.events.push_back(Event::Connected);
    }

    /// Bytes of Timestamp and Timestamp Echo on a Response, at most.
    pub(super) fn timing_len(&self) -> usize {
        usize::from(self.options.timestamps) * 6 + usize::from(self.acknowledge.owes_echo()) * 10
    }

    /// A packet went in PARTOPEN: should nothing come back, another Ack goes (section 8.1.5).
    pub(super) fn partopen_sent(&mut self, now: Instant) {
        self.timers.set(Timer::PartOpen, now + self.pending.wait());
    }

    /// The handshake is over.
    pub(super) fn enter_open(&mut self, now: Instant, seq: Seq48) {
        self.windows.osr = Some(seq);
        self.timers.stop(Timer::GiveUp);
        self.timers.stop(Timer::PartOpen);
        self.opening.is_over();
        self.timers.arm(Timer::Idle, self.options.idle_give_up.map(|longest| now + longest));
        self.timers.arm(Timer::KeepAlive, self.options.keep_alive.map(|longest| now + longest));
        if self.is_server {
            self.apply_features(now);
            self.run_controllers(now);
            self.events.push_back(Event::Connected);
            self.pending.owe(Due::Ack);
        }
    }

    /// A client leaves PARTOPEN when it hears from the server, which may have nothing to say: an Ack or DataAck that
    /// acknowledges no more than the Response is answered, at most once a round trip (section 8.1.5).
    pub(super) fn answer_partopen(&mut self, now: Instant, packet: &Packet<'_>) {
        let waits = self.opening.is_response(packet.body.ack());
        if self.is_server && self.machine.state() == State::Open && waits && self.acknowledge.age(now) >= self.rtt() {
            self.pending.owe(Due::Ack);
        }
    }

    /// CLOSEREQ or CLOSING has begun.
    pub(super) fn start_closing(&mut self, now: Instant) {
        for timer in [
            Timer::PartOpen,
            Timer::Change,
            Timer::DelayedAck,
            Timer::TailAck,
            Timer::Idle,
            Timer::KeepAlive,
            Timer::MtuProbe,
        ] {
            self.timers.stop(timer);
        }
        // No more data goes, so that its controller has nothing to do.
        self.forward.stop();
        self.pending.owe(Due::Close);
        self.pending.begin_wait(self.options.expert.close_timeout.unwrap_or(self.rtt() * 2));
        self.timers.set(Timer::GiveUp, now + self.options.expert.close_give_up);
    }

    /// Resets the connection, whatever its state (section 8.3.1).
    pub(super) fn reset(&mut self, now: Instant, reset: Reset) {
        self.end(now, Cause::SndReset, reset, Closed::ByUs(reset));
    }

    /// Nobody answers: a Reset with code 2 cleans up at the other end, should there be one.
    pub(super) fn give_up(&mut self, now: Instant) {
        let state = self.machine.state();
        let reset = Reset { code: ResetCode::ABORTED, data: [0; 3] };
        self.end(now, Cause::SndReset, reset, Closed::NoAnswer(state));
    }

    /// Tears the connection down with a Reset.
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

    /// Step 9: the other end has torn the connection down.
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
        self.opening.leave_place();
    }

    /// A Response's cookies take the place of those of the Responses before.
    pub(super) fn forget_cookies(&mut self, packet: &Packet<'_>) {
        if packet.kind() == PacketType::Response && packet.seq == self.windows.gsr() {
            self.opening.forget_cookies();
        }
    }

    /// An Init Cookie option: of a Response it is to be echoed until the handshake has ended (section 8.1.4).
    pub(super) fn keep_cookie(&mut self, packet: &Packet<'_>, cookie: &[u8]) {
        let state = self.machine.state();
        let newest = packet.kind() == PacketType::Response && packet.seq == self.windows.gsr();
        let expected = newest && matches!(state, State::Request | State::PartOpen);
        if expected {
            self.opening.echo(cookie, super::BUFFER);
        }
    }

    /// The answer to a packet that has no connection, by section 8.3.1.
    pub(super) fn refuse(&mut self, now: Instant, packet: &Packet<'_>) {
        if packet.kind() == PacketType::Reset || !self.sync_limit.permits(now) {
            return;
        }
        let (seq, ack) = super::refusal::numbers(packet);
        let reset = Reset { code: ResetCode::NO_CONNECTION, data: [0; 3] };
        self.pending.push(Control::Reset { reset, ack: Some(ack), seq: Some(seq) });
    }
}

/// What an Init Cookie has kept of a connection in RESPOND.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept<'a> {
    pub(super) iss: Seq48,
    pub(super) isr: Seq48,
    pub(super) response_sent: Instant,
    pub(super) features: &'a [u8],
}

/// Whether a packet can follow a Response, which is what a cookie may come back on.
pub(super) const fn follows_response(body: &Body) -> bool {
    !matches!(
        body,
        Body::Request { .. } | Body::Response { .. } | Body::Data | Body::Reset { .. } | Body::Listen { .. }
    )
}
