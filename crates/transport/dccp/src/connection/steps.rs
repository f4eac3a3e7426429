//! What a received packet does: RFC 4340 section 8.5, a function for each step.
//!
//! Step 1, the header's basics, is [`Packet::decode`]; step 3, LISTEN, is the [`Listener`](super::Listener).

use super::Connection;
use super::event::{Closed, Delivery, Event, Ignored, Step};
use super::heard::Heard;
use super::pending::{Control, Due};
use super::refusal;
use super::state::State;
use super::timers::Timer;
use super::transitions::Cause;
use crate::{Body, Decoded, DropCode, Packet, PacketType, Reset, ResetCode, crc32c};
use headway_rate::{Received, Timing};
use headway_units::{Bytes, Ecn, Instant};
use std::ops::ControlFlow;

const fn drop_packet<T>(why: Ignored) -> Step<T> {
    ControlFlow::Break(Delivery::Dropped(why))
}
const NEXT: Step<()> = ControlFlow::Continue(());

impl Connection {
    /// A packet for this connection has come, with this ECN field. Answers what is to be done with its data.
    #[inline]
    pub fn handle(&mut self, now: Instant, ecn: Ecn, packet: &Decoded<'_>) -> Delivery {
        self.forward.forget_arrivals();
        let (ControlFlow::Break(delivery) | ControlFlow::Continue(delivery)) = match packet {
            Decoded::Long(packet) => self.process(now, ecn, packet),
            // Step 6: this end never allows short sequence numbers.
            Decoded::Short(_) => drop_packet(Ignored::ShortNumbers),
        };
        match delivery {
            Delivery::Data => {
                self.counters.delivered_packets += 1;
                if let Decoded::Long(packet) = packet {
                    self.counters.delivered_data += packet.data.len() as u64;
                }
            }
            Delivery::Dropped(_) => self.counters.dropped_packets += 1,
            Delivery::Nothing => {}
        }
        self.refresh(now);
        delivery
    }

    fn process(&mut self, now: Instant, ecn: Ecn, packet: &Packet<'_>) -> Step<Delivery> {
        let ecn = if self.options.ecn { ecn } else { Ecn::NotEct };
        self.step_2_check_state(now, packet)?;
        self.step_4_prepare_request(now, packet)?;
        let before = self.windows.gar();
        self.step_5_prepare_sync(now, packet)?;
        self.step_6_check_sequence_numbers(now, packet)?;
        self.step_7_check_type(now, packet)?;
        // It acknowledges more than any before.
        let advanced = self.windows.gar() != before || self.machine.state() < State::PartOpen;
        let mut heard = Heard::default();
        self.step_8_process_options(now, ecn, packet, advanced, &mut heard)?;
        self.step_9_process_reset(now, packet)?;
        self.step_10_process_request(now);
        self.step_11_process_respond(now, packet);
        self.step_12_process_partopen(now, packet, &heard);
        self.answer_partopen(now, packet);
        let intact = heard.data_checksum.is_none_or(|crc| crc == crc32c(packet.data));
        self.measure_delay(now, packet, &heard);
        self.tell_receiver(now, ecn, packet, &heard, intact);
        self.step_13_process_close_req(now, packet);
        self.step_14_process_close(now, packet)?;
        self.step_15_process_sync(packet);
        ControlFlow::Continue(self.step_16_process_data(packet, intact))
    }

    /// Step 2: in TIMEWAIT, and where there is no connection, anything but a Reset is answered by a Reset.
    fn step_2_check_state(&mut self, now: Instant, packet: &Packet<'_>) -> Step<()> {
        // A client ignores Listens, which open ways through middleboxes (RFC 5596 section 2.2.1).
        if packet.kind() == PacketType::Listen {
            return drop_packet(Ignored::Unexpected(PacketType::Listen));
        }
        if matches!(self.machine.state(), State::Closed | State::Listen | State::TimeWait) {
            self.refuse(now, packet);
            return drop_packet(Ignored::NoConnection);
        }
        NEXT
    }

    /// Step 4: in REQUEST, a Response or Reset that acknowledges a Request of ours begins the peer's sequence numbers.
    fn step_4_prepare_request(&mut self, now: Instant, packet: &Packet<'_>) -> Step<()> {
        if self.machine.state() == State::Request { self.prepare_request(now, packet) } else { NEXT }
    }

    #[cold]
    #[inline(never)]
    fn prepare_request(&mut self, now: Instant, packet: &Packet<'_>) -> Step<()> {
        let acknowledges = packet.body.ack().is_some_and(|ack| self.windows.is_acknowledgement_valid(ack));
        match packet.body {
            Body::Response { .. } if acknowledges => self.windows.start_receiving(packet.seq),
            // "So P will pass the tests in Step 6", which want a Reset's number to be greater than GSR.
            Body::Reset { .. } if acknowledges => self.windows.start_receiving(packet.seq - 1),
            Body::Reset { .. } => return drop_packet(Ignored::NotInRequest),
            _ => {
                if self.sync_limit.permits(now) && self.windows.upcoming_number() > 0 {
                    let reset = Reset { code: ResetCode::PACKET_ERROR, data: [packet.kind().number(), 0, 0] };
                    // What names a packet that is not ours comes from a connection that this one follows, and that the
                    // other end still believes in: only these numbers end it (section 7.5.4, section 8.3.1).
                    let (seq, ack) = refusal::numbers(packet);
                    let foreign = packet.body.ack().is_some() && !acknowledges;
                    self.pending.push(Control::Reset { reset, ack: Some(ack), seq: foreign.then_some(seq) });
                }
                return drop_packet(Ignored::NotInRequest);
            }
        }
        NEXT
    }

    /// Step 5: a valid Sync or SyncAck moves the windows, so that it passes step 6; an invalid one is ignored.
    fn step_5_prepare_sync(&mut self, now: Instant, packet: &Packet<'_>) -> Step<()> {
        let kind = packet.kind();
        if matches!(kind, PacketType::Sync | PacketType::SyncAck) { self.prepare_sync(now, packet, kind) } else { NEXT }
    }

    #[cold]
    #[inline(never)]
    fn prepare_sync(&mut self, now: Instant, packet: &Packet<'_>, kind: PacketType) -> Step<()> {
        // "A connection is considered active if it has received valid packets from the other endpoint within the last three
        // round-trip times" (section 7.5.3).
        let active = self.last_valid.is_some_and(|at| now.since(at) <= self.rtt() * 3);
        if !self.windows.is_valid(kind, packet.seq, packet.body.ack(), active) {
            return drop_packet(Ignored::SequenceInvalid);
        }
        self.windows.update(packet.seq, None, true);
        NEXT
    }

    /// Step 6: what is not in the windows is answered by a Sync, at most so often.
    fn step_6_check_sequence_numbers(&mut self, now: Instant, packet: &Packet<'_>) -> Step<()> {
        let (kind, ack) = (packet.kind(), packet.body.ack());
        if self.windows.is_valid(kind, packet.seq, ack, true) {
            self.windows.update(packet.seq, ack, kind == PacketType::Sync);
            return NEXT;
        }
        let ack = if kind == PacketType::Reset { self.windows.gsr() } else { packet.seq };
        let near = self.windows.is_near(packet.seq);
        self.challenge(now, ack, near);
        drop_packet(Ignored::SequenceInvalid)
    }

    /// Half of the Syncs are for packets whose numbers are near: after a burst of loss the peer's own are, and blind ones are
    /// not, which would otherwise use up all (section 7.5.4).
    #[cold]
    #[inline(never)]
    fn challenge(&mut self, now: Instant, ack: headway_units::Seq48, near: bool) {
        let permitted = if near { self.sync_limit.permits(now) } else { self.sync_limit.permits_half(now) };
        if permitted {
            self.counters.syncs += 1;
            self.pending.push(Control::Sync { ack });
        }
    }

    /// Step 7: types that should not come here, or not any more.
    fn step_7_check_type(&mut self, now: Instant, packet: &Packet<'_>) -> Step<()> {
        let (kind, state) = (packet.kind(), self.machine.state());
        let since_open = state >= State::Open && self.windows.osr.is_some_and(|osr| !packet.seq.is_before(osr));
        let unexpected = match kind {
            PacketType::CloseReq => self.is_server,
            PacketType::Response => self.is_server || since_open,
            PacketType::Request => !self.is_server || since_open,
            PacketType::Data => state == State::Respond,
            _ => false,
        };
        if unexpected {
            self.challenge(now, packet.seq, true);
            return drop_packet(Ignored::Unexpected(kind));
        }
        NEXT
    }

    /// Step 8: the options, in order; then the packet is acknowledgeable.
    fn step_8_process_options(
        &mut self,
        now: Instant,
        ecn: Ecn,
        packet: &Packet<'_>,
        advanced: bool,
        heard: &mut Heard,
    ) -> Step<()> {
        let number = self.windows.number_received(packet.seq);
        if !self.seen.insert(number) {
            return drop_packet(Ignored::Duplicate);
        }
        self.last_valid = Some(now);
        self.counters.received_packets += 1;
        self.counters.received_bytes += packet.encoded_len() as u64;
        self.counters.received_marked_packets += u64::from(ecn == Ecn::Ce);
        self.forget_cookies(packet);
        self.process_options(now, packet, heard)?;
        if self.agreed.peer_counts {
            self.without_data.on_packet(number, heard.ndp_count.unwrap_or(0), &self.seen);
        }
        self.acknowledge.on_packet(packet.seq, ecn);
        match packet.body.ack() {
            Some(seq) => self.on_acknowledgement(now, packet, seq, ecn, advanced, heard),
            None => NEXT,
        }
    }

    /// Step 9: a Reset ends the connection. This end holds TIMEWAIT.
    fn step_9_process_reset(&mut self, now: Instant, packet: &Packet<'_>) -> Step<()> {
        if let Body::Reset { reset, .. } = packet.body {
            if self.go(Cause::RcvReset) {
                self.enter_time_wait(now, reset);
            }
            return ControlFlow::Break(Delivery::Nothing);
        }
        NEXT
    }

    /// Step 10: the Response has come, and step 12 acknowledges it.
    fn step_10_process_request(&mut self, now: Instant) {
        if self.machine.state() == State::Request && self.go(Cause::RcvResponse) {
            self.enter_partopen(now);
        }
    }

    /// Step 11: each Request gets a Response; anything else shows that the client has one.
    fn step_11_process_respond(&mut self, now: Instant, packet: &Packet<'_>) {
        if self.machine.state() != State::Respond {
            return;
        }
        if packet.kind() == PacketType::Request {
            // A client repeats its Request once a second at most; more of them may be forged, to make this end answer.
            if self.windows.upcoming_number() == 0 || self.sync_limit.permits(now) {
                self.prepare_response();
            }
        } else if self.go(Cause::RcvPacket) {
            self.enter_open(now, packet.seq);
        }
    }

    /// Step 12: each Response gets an Ack; anything else but a Sync shows that the server has one.
    fn step_12_process_partopen(&mut self, now: Instant, packet: &Packet<'_>, heard: &Heard) {
        if self.machine.state() != State::PartOpen {
            return;
        }
        match packet.kind() {
            PacketType::Response => self.pending.owe(Due::Ack),
            PacketType::Sync => {}
            _ => {
                if self.go(Cause::RcvPacket) {
                    if !heard.negotiated {
                        self.negotiation.confirms_are_sent();
                    }
                    self.enter_open(now, packet.seq);
                }
            }
        }
    }

    /// The controller of the peer's data learns of every acknowledgeable packet of the half-connection.
    fn tell_receiver(&mut self, now: Instant, ecn: Ecn, packet: &Packet<'_>, heard: &Heard, intact: bool) {
        let data = matches!(packet.kind(), PacketType::Data | PacketType::DataAck);
        let ndp_count = if self.agreed.peer_counts { Some(heard.ndp_count.unwrap_or(0)) } else { heard.ndp_count };
        let size = data.then(|| Bytes::new(packet.data.len() as u64));
        let mut received = Received::new(self.windows.number_received(packet.seq), size);
        // Drop Codes 3 and 7 "MUST cause the relevant CCID to behave as if the relevant packets were ECN marked" (section
        // 11.7.2). Under CCID 3 it is the receiver that makes loss events of marks; under CCID 2 the sender reads the codes.
        received.ecn = if data && !intact { Ecn::Ce } else { ecn };
        (received.ccval, received.ndp_count) = (packet.ccval.value(), ndp_count);
        (received.own, received.rtt) = (heard.on_data.own, heard.on_data.rtt);
        received.timing = self.sender_clock(now, heard);
        self.reverse.on_packet(now, &received);
        if data {
            self.await_tail(now);
        }
    }

    /// The sender's clock, where its CCID puts it on data. If this end measures one-way delays, it is this end's clock less the delay, without
    /// skew and offset, from the first round trip on.
    fn sender_clock(&mut self, now: Instant, heard: &Heard) -> Option<Timing> {
        let timestamp = heard.timestamp.filter(|_| self.agreed.receiving.stamps_data())?;
        if self.delays.measures() {
            return self.delays.sent(now).map(Timing::new);
        }
        Some(self.reverse.sent(timestamp))
    }

    /// Data has a one-way delay. A Timestamp on an acknowledgement asks for those of this end's data, unless its CCID needs it anyway.
    fn measure_delay(&mut self, now: Instant, packet: &Packet<'_>, heard: &Heard) {
        if heard.timestamp.is_none() && !self.delays.measures() {
            return;
        }
        let kind = packet.kind();
        if heard.timestamp.is_some()
            && matches!(kind, PacketType::Ack | PacketType::DataAck)
            && !self.agreed.receiving.stamps_data()
        {
            self.delays.on_peer_measures();
        }
        if matches!(kind, PacketType::Data | PacketType::DataAck) {
            let echo = heard.echo.map(|(echo, elapsed)| (echo, elapsed.duration()));
            self.delays.on_data(now, heard.timestamp, echo);
            if self.delays.is_due(now) && self.machine.state() == State::Open {
                self.pending.owe(Due::Ack);
            }
        }
    }

    /// Step 13: the server asks the client to close.
    fn step_13_process_close_req(&mut self, now: Instant, packet: &Packet<'_>) {
        let asked = packet.kind() == PacketType::CloseReq && self.machine.state() < State::CloseReq;
        if asked && self.go(Cause::RcvCloseReq) {
            self.start_closing(now);
        }
    }

    /// Step 14: a Close is answered by a Reset with code 1, and the connection is over.
    fn step_14_process_close(&mut self, now: Instant, packet: &Packet<'_>) -> Step<()> {
        if packet.kind() == PacketType::Close {
            let reset = Reset { code: ResetCode::CLOSED, data: [0; 3] };
            self.end(now, Cause::RcvClose, reset, Closed::ByUs(reset));
            return ControlFlow::Break(Delivery::Nothing);
        }
        NEXT
    }

    /// Step 15: a Sync is answered by a SyncAck. The answer to a padded Sync of ours proves the path's MTU.
    fn step_15_process_sync(&mut self, packet: &Packet<'_>) {
        match packet.body {
            Body::Sync { .. } => self.pending.push(Control::SyncAck { ack: packet.seq }),
            Body::SyncAck { ack } => match self.mtu.on_sync_ack(ack) {
                Some(tells) => {
                    if tells {
                        self.events.push_back(Event::MaximumPacketSize(self.mtu.mps()));
                    }
                    self.timers.stop(Timer::MtuProbe); // `refresh` sets it again, for the next probe or a rest.
                }
                None => {
                    if let Some(id) = self.asking.answered(ack) {
                        self.events.push_back(Event::ProbeAnswered(id));
                    }
                }
            },
            _ => {}
        }
    }

    /// Step 16: data goes to the application, but never that of more than one Request or Response.
    fn step_16_process_data(&mut self, packet: &Packet<'_>, intact: bool) -> Delivery {
        let kind = packet.kind();
        let handshake = matches!(kind, PacketType::Request | PacketType::Response);
        if !kind.is_data() || handshake && packet.data.is_empty() {
            if !intact {
                self.acknowledge.on_dropped(packet.seq, DropCode::CORRUPT);
            }
            return Delivery::Nothing;
        }
        let allowed = if handshake {
            self.options.accept_handshake_data && self.opening.takes_data()
        } else {
            self.reverse.runs() && self.agreed.data_may_come
        };
        let coverage = packet.cscov.number();
        let covered = coverage == 0 || self.agreed.minimum_coverage > 0 && coverage >= self.agreed.minimum_coverage;
        let (code, delivery) = if !allowed || !covered {
            (DropCode::PROTOCOL_CONSTRAINTS, Delivery::Dropped(Ignored::ProtocolConstraints))
        } else if self.we_stopped {
            (DropCode::APPLICATION_NOT_LISTENING, Delivery::Dropped(Ignored::NotListening))
        } else if intact {
            return Delivery::Data;
        } else {
            (DropCode::CORRUPT, Delivery::Dropped(Ignored::Corrupt))
        };
        self.acknowledge.on_dropped(packet.seq, code);
        delivery
    }
}
