//! Processing of a received packet: RFC 4340 section 8.5, one function per step.
//!
//! Step 1, header checks, is [`Packet::decode`]; step 3, LISTEN, is the [`Listener`](super::Listener).

use super::Connection;
use super::event::{Closed, Delivery, Event, Ignored, Step};
use super::parsed_options::ParsedOptions;
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
    /// Handles a received packet of this connection; `ecn` is the codepoint of its IP header. Returns what to do with
    /// its data.
    #[inline]
    pub fn handle(&mut self, now: Instant, ecn: Ecn, packet: &Decoded<'_>) -> Delivery {
        self.forward.clear_arrivals();
        let (ControlFlow::Break(delivery) | ControlFlow::Continue(delivery)) = match packet {
            Decoded::Long(packet) => self.process(now, ecn, packet),
            // Step 6: this endpoint never allows short sequence numbers.
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
        // The acknowledgement number is greater than any before.
        let advanced = self.windows.gar() != before || self.machine.state() < State::PartOpen;
        let mut parsed = ParsedOptions::default();
        self.step_8_process_options(now, ecn, packet, advanced, &mut parsed)?;
        self.step_9_process_reset(now, packet)?;
        self.step_10_process_request(now);
        self.step_11_process_respond(now, packet);
        self.step_12_process_partopen(now, packet, &parsed);
        self.answer_partopen(now, packet);
        let intact = parsed.data_checksum.is_none_or(|crc| crc == crc32c(packet.data));
        self.measure_delay(now, packet, &parsed);
        self.update_receiver(now, ecn, packet, &parsed, intact);
        self.step_13_process_close_req(now, packet);
        self.step_14_process_close(now, packet)?;
        self.step_15_process_sync(packet);
        ControlFlow::Continue(self.step_16_process_data(packet, intact))
    }

    /// Step 2: without a connection, or in TIMEWAIT, answers every packet except a Reset with a Reset.
    fn step_2_check_state(&mut self, now: Instant, packet: &Packet<'_>) -> Step<()> {
        // A client ignores Listen packets, which open middlebox bindings (RFC 5596 section 2.2.1).
        if packet.kind() == PacketType::Listen {
            return drop_packet(Ignored::Unexpected(PacketType::Listen));
        }
        if matches!(self.machine.state(), State::Closed | State::Listen | State::TimeWait) {
            self.refuse(now, packet);
            return drop_packet(Ignored::NoConnection);
        }
        NEXT
    }

    /// Step 4: in REQUEST, starts the peer's sequence numbers at a Response or Reset that acknowledges our Request.
    fn step_4_prepare_request(&mut self, now: Instant, packet: &Packet<'_>) -> Step<()> {
        if self.machine.state() == State::Request { self.prepare_request(now, packet) } else { NEXT }
    }

    #[cold]
    #[inline(never)]
    fn prepare_request(&mut self, now: Instant, packet: &Packet<'_>) -> Step<()> {
        let acknowledges = packet.body.ack().is_some_and(|ack| self.windows.is_acknowledgement_valid(ack));
        match packet.body {
            Body::Response { .. } if acknowledges => self.windows.start_receiving(packet.seq),
            // "So P will pass the tests in Step 6", which require a Reset's number to be greater than GSR.
            Body::Reset { .. } if acknowledges => self.windows.start_receiving(packet.seq - 1),
            Body::Reset { .. } => return drop_packet(Ignored::NotInRequest),
            _ => {
                if self.sync_limit.permits(now) && self.windows.upcoming_number() > 0 {
                    let reset = Reset { code: ResetCode::PACKET_ERROR, data: [packet.kind().number(), 0, 0] };
                    // A packet that acknowledges an unknown number belongs to an earlier connection that the peer still
                    // considers open. Only these numbers end it (section 7.5.4, section 8.3.1).
                    let (seq, ack) = refusal::numbers(packet);
                    let foreign = packet.body.ack().is_some() && !acknowledges;
                    self.pending.push(Control::Reset { reset, ack: Some(ack), seq: foreign.then_some(seq) });
                }
                return drop_packet(Ignored::NotInRequest);
            }
        }
        NEXT
    }

    /// Step 5: updates the windows for a valid Sync or SyncAck, so that it passes step 6. Ignores an invalid one.
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

    /// Step 6: answers a packet outside the windows with a Sync, up to a rate limit.
    fn step_6_check_sequence_numbers(&mut self, now: Instant, packet: &Packet<'_>) -> Step<()> {
        let (kind, ack) = (packet.kind(), packet.body.ack());
        if self.windows.is_valid(kind, packet.seq, ack, true) {
            self.windows.update(packet.seq, ack, kind == PacketType::Sync);
            return NEXT;
        }
        let ack = if kind == PacketType::Reset { self.windows.gsr() } else { packet.seq };
        let near = self.windows.is_near(packet.seq);
        self.send_sync(now, ack, near);
        drop_packet(Ignored::SequenceInvalid)
    }

    /// Sends a Sync. Half of the limit is reserved for packets with near numbers: after a burst of
    /// losses the peer's packets have such numbers, while blindly forged ones rarely do and would
    /// otherwise use up the limit (section 7.5.4).
    #[cold]
    #[inline(never)]
    fn send_sync(&mut self, now: Instant, ack: headway_units::Seq48, near: bool) {
        let permitted = if near { self.sync_limit.permits(now) } else { self.sync_limit.permits_half(now) };
        if permitted {
            self.counters.syncs += 1;
            self.pending.push(Control::Sync { ack });
        }
    }

    /// Step 7: answers unexpected packet types with a Sync.
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
            self.send_sync(now, packet.seq, true);
            return drop_packet(Ignored::Unexpected(kind));
        }
        NEXT
    }

    /// Step 8: processes the options in order; then the packet is acknowledgeable.
    fn step_8_process_options(
        &mut self,
        now: Instant,
        ecn: Ecn,
        packet: &Packet<'_>,
        advanced: bool,
        parsed: &mut ParsedOptions,
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
        self.process_options(now, packet, parsed)?;
        self.peer_order = parsed.order;
        if self.agreed.peer_counts {
            self.without_data.on_packet(number, parsed.ndp_count.unwrap_or(0), &self.seen);
        }
        self.acknowledge.on_packet(packet.seq, ecn);
        match packet.body.ack() {
            Some(seq) => self.on_acknowledgement(now, packet, seq, ecn, advanced, parsed),
            None => NEXT,
        }
    }

    /// Step 9: a Reset ends the connection. This endpoint holds TIMEWAIT.
    fn step_9_process_reset(&mut self, now: Instant, packet: &Packet<'_>) -> Step<()> {
        if let Body::Reset { mut reset, .. } = packet.body {
            // A peer that has answered a Close keeps no state (section 8.3). If its Reset was lost, it answers the next
            // Close as a host without this connection.
            if self.machine.state() == State::Closing && reset.code == ResetCode::NO_CONNECTION {
                reset.code = ResetCode::CLOSED;
            }
            if self.go(Cause::RcvReset) {
                self.enter_time_wait(now, reset);
            }
            return ControlFlow::Break(Delivery::Nothing);
        }
        NEXT
    }

    /// Step 10: the Response has arrived. Step 12 acknowledges it.
    fn step_10_process_request(&mut self, now: Instant) {
        if self.machine.state() == State::Request && self.go(Cause::RcvResponse) {
            self.enter_partopen(now);
        }
    }

    /// Step 11: answers each Request with a Response. Any other packet shows that the client has received one.
    fn step_11_process_respond(&mut self, now: Instant, packet: &Packet<'_>) {
        if self.machine.state() != State::Respond {
            return;
        }
        if packet.kind() == PacketType::Request {
            // A client retransmits its Request at most once per second. More of them may be forged to cause traffic.
            if self.windows.upcoming_number() == 0 || self.sync_limit.permits(now) {
                self.prepare_response();
            }
        } else if self.go(Cause::RcvPacket) {
            self.enter_open(now, packet.seq);
        }
    }

    /// Step 12: answers each Response with an Ack. Any other packet but a Sync shows that the server has received one.
    /// After a Sync the server no longer answers Acks, because they acknowledge more than the Response. If its first Ack
    /// was lost, the answer to a Sync of the client ends PARTOPEN; the timer sends this Sync.
    fn step_12_process_partopen(&mut self, now: Instant, packet: &Packet<'_>, parsed: &ParsedOptions) {
        if self.machine.state() != State::PartOpen {
            return;
        }
        match packet.kind() {
            PacketType::Response => self.pending.schedule(Due::Ack),
            PacketType::Sync => self.opening.sync_seen(),
            _ => {
                if self.go(Cause::RcvPacket) {
                    if !parsed.negotiated {
                        self.negotiation.confirms_are_sent();
                    }
                    self.enter_open(now, packet.seq);
                }
            }
        }
    }

    /// Passes an acknowledgeable packet to the controller of the peer's data.
    fn update_receiver(&mut self, now: Instant, ecn: Ecn, packet: &Packet<'_>, parsed: &ParsedOptions, intact: bool) {
        let data = matches!(packet.kind(), PacketType::Data | PacketType::DataAck);
        let ndp_count = if self.agreed.peer_counts { Some(parsed.ndp_count.unwrap_or(0)) } else { parsed.ndp_count };
        let size = data.then(|| Bytes::new(packet.data.len() as u64));
        let mut received = Received::new(self.windows.number_received(packet.seq), size);
        // Drop Codes 3 and 7 "MUST cause the relevant CCID to behave as if the relevant packets
        // were ECN marked" (section 11.7.2). Under CCID 3 the receiver derives loss events from
        // marks; under CCID 2 the sender reads the codes.
        received.ecn = if data && !intact { Ecn::Ce } else { ecn };
        (received.ccval, received.ndp_count) = (packet.ccval.value(), ndp_count);
        (received.own, received.rtt) = (parsed.on_data.own, parsed.on_data.rtt);
        received.timing = self.sender_clock(now, parsed);
        self.reverse.on_packet(now, &received);
        if data {
            self.await_tail(now);
        }
    }

    /// Returns the send time of data whose CCID requires Timestamps. With one-way delay measurement, it is the local
    /// clock less the delay, without skew and offset, from the first round trip on.
    fn sender_clock(&mut self, now: Instant, parsed: &ParsedOptions) -> Option<Timing> {
        let timestamp = parsed.timestamp.filter(|_| self.agreed.receiving.stamps_data())?;
        if self.delays.measures() {
            return self.delays.sent(now).map(Timing::new);
        }
        Some(self.reverse.sent(timestamp))
    }

    /// Measures the one-way delay of data. A Timestamp on an acknowledgement requests Timestamps on
    /// our data, unless the CCID requires it anyway.
    fn measure_delay(&mut self, now: Instant, packet: &Packet<'_>, parsed: &ParsedOptions) {
        if parsed.timestamp.is_none() && !self.delays.measures() {
            return;
        }
        let kind = packet.kind();
        if parsed.timestamp.is_some()
            && matches!(kind, PacketType::Ack | PacketType::DataAck)
            && !self.agreed.receiving.stamps_data()
        {
            self.delays.on_peer_measures();
        }
        if matches!(kind, PacketType::Data | PacketType::DataAck) {
            let echo = parsed.echo.map(|(echo, elapsed)| (echo, elapsed.duration()));
            self.delays.on_data(now, parsed.timestamp, echo);
            if self.delays.is_due(now) && self.machine.state() == State::Open {
                self.pending.schedule(Due::Ack);
            }
        }
    }

    /// Step 13: the server requests a Close.
    fn step_13_process_close_req(&mut self, now: Instant, packet: &Packet<'_>) {
        let asked = packet.kind() == PacketType::CloseReq && self.machine.state() < State::CloseReq;
        if asked && self.go(Cause::RcvCloseReq) {
            self.start_closing(now);
        }
    }

    /// Step 14: answers a Close with a Reset of code 1. The connection is closed.
    fn step_14_process_close(&mut self, now: Instant, packet: &Packet<'_>) -> Step<()> {
        if packet.kind() == PacketType::Close {
            let reset = Reset { code: ResetCode::CLOSED, data: [0; 3] };
            self.end(now, Cause::RcvClose, reset, Closed::ByUs(reset));
            return ControlFlow::Break(Delivery::Nothing);
        }
        NEXT
    }

    /// Step 15: answers a Sync with a SyncAck. The answer to our padded Sync confirms the path MTU.
    fn step_15_process_sync(&mut self, packet: &Packet<'_>) {
        match packet.body {
            Body::Sync { .. } => self.pending.push(Control::SyncAck { ack: packet.seq }),
            Body::SyncAck { ack } => match self.mtu.on_sync_ack(ack) {
                Some(changed) => {
                    if changed {
                        self.events.push_back(Event::MaximumPacketSize(self.mtu.mps()));
                    }
                    self.timers.stop(Timer::MtuProbe); // `refresh` sets it for the next probe or search.
                }
                None => {
                    if let Some(id) = self.sync_probes.answered(ack) {
                        self.events.push_back(Event::ProbeAnswered(id));
                    }
                }
            },
            _ => {}
        }
    }

    /// Step 16: delivers data to the application, but only from one Request or Response.
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
            self.options.accept_handshake_data && self.opening.accept_data()
        } else {
            self.reverse.runs() && self.agreed.can_receive_data
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
