//! Selection and construction of the next packet (RFC 4340 sections 8.1 to 8.3, 11.2, 14.2).

use super::Connection;
use super::event::{Event, Events, Outgoing};
use super::handshake::PARTOPEN_TIMEOUT;
use super::outbox::{NoData, Outbox};
use super::packing::OnDatagram;
use super::pending::{Control, Due};
use super::state::State;
use super::tail_probe::SYNCS;
use super::timers::Timer;
use crate::{Body, CcVal, CsCov, DeliveryOrder, OptionArea, Packet, PacketType, crc32c};
use headway_rate::{Next, Stamp};
use headway_units::{Bytes, Ecn, Instant, Seq48};

static PADDING: [u8; 9216] = [0; 9216];
/// Maximum size of a datagram: an IPv4 packet less the headers of IPv4 and UDP and the longest DCCP header.
const MAX_DATAGRAM: Bytes = Bytes::new(65_535 - 28 - 1020);
/// Maximum number of oversized datagrams discarded in one call.
const MAX_DISCARDED: usize = 64;

enum Source {
    None,
    Outbox(usize),
    Handshake,
    Padding(usize),
    /// No data; the driver's probe with this number.
    Probe(u64),
}

struct Plan {
    body: Body,
    source: Source,
    seq: Option<Seq48>,
}

impl Plan {
    const fn bare(body: Body) -> Self {
        Self { body, source: Source::None, seq: None }
    }
}

impl Connection {
    /// Returns the next packet to be sent now, if any. Call it until it returns `None`, then [`Self::poll_timeout`].
    ///
    /// Data is taken from the outbox when the controller permits it.
    #[inline]
    pub fn poll_transmit<'a>(&'a mut self, now: Instant, outbox: &'a mut impl Outbox) -> Option<Outgoing<'a>> {
        let mut plan = self.plan_or_settle(now, outbox);
        while matches!(plan, Some(Plan { source: Source::Outbox(_), .. })) && outbox.discard(now) {
            self.forward.on_discard(now);
            plan = self.plan_or_settle(now, outbox);
        }
        let (mut data, mut order): (&[u8], _) = (&[], None);
        if let Some(Plan { source: Source::Outbox(len), .. }) = plan {
            if let Some(repair) = outbox.next_repair(now) {
                self.repair = Some(Box::new(repair));
            }
            match outbox.take_ordered(now) {
                Some((taken, position)) => (data, order) = (taken.get(..len).unwrap_or(taken), position),
                // Without data, an acknowledgement that is due is sent alone.
                None => {
                    self.repair = None;
                    plan = self.plan_or_settle(now, &mut NoData);
                }
            }
        }
        Some(self.build(now, plan?, data, order))
    }

    /// Builds the packet: options, number, and all effects of sending it.
    fn build<'a>(&'a mut self, now: Instant, plan: Plan, data: &'a [u8], order: Option<DeliveryOrder>) -> Outgoing<'a> {
        self.settled = Instant::FAR_FUTURE;
        let Plan { body, source, seq: foreign } = plan;
        let data = match source {
            Source::Padding(len) => PADDING.get(..len).unwrap_or(&PADDING),
            _ => data,
        };
        let kind = body.kind();
        let is_handshake = matches!(source, Source::Handshake);
        let is_datagram = matches!(source, Source::Outbox(_));
        let len = if is_handshake { self.opening.data().len() } else { data.len() };
        let checksum = self.options.data_checksum && is_datagram;
        let (options, seq, stamp) = match foreign {
            Some(seq) => (0, seq, Stamp::default()),
            None => {
                if is_datagram {
                    let rtt = self.rtt();
                    for _ in 0..self.forward.numbers_to_skip(now, rtt, self.random.as_mut()) {
                        self.skip_number(now);
                    }
                }
                let payload = is_datagram.then_some(Bytes::new(len as u64));
                let prompt = kind.is_data() || kind == PacketType::Sync;
                let stamp = self.forward.send(now, payload, prompt);
                let options = self.write_options(
                    now,
                    &body,
                    len,
                    OnDatagram { crc: checksum.then(|| crc32c(data)), order },
                    &stamp,
                );
                let seq = self.commit(now, &body, payload);
                (options, seq, stamp)
            }
        };
        let whole = kind.header_len(true) + options + len;
        if is_datagram {
            self.watch_size(now, seq, whole);
        }
        self.counters.sent_bytes += whole as u64;
        let handshake = matches!(kind, PacketType::Request | PacketType::Response | PacketType::Reset);
        let padded = matches!(source, Source::Padding(_));
        let probe = if let Source::Probe(id) = source { Some(id) } else { None };
        let cscov = CsCov::new(if is_datagram { self.agreed.send_coverage } else { 0 });
        let cscov = cscov.filter(|cscov| cscov.covered(len).is_some()).unwrap_or(CsCov::ALL);
        let ect = self.agreed.ect && self.machine.state().is_synchronized();
        let packet = Packet {
            source_port: self.ports.local,
            destination_port: self.ports.remote,
            ccval: CcVal::new(stamp.ccval & 15).unwrap_or_default(),
            cscov,
            seq,
            body,
            options: OptionArea::of_header(self.buffer.get(..options).unwrap_or_default()),
            data: if is_handshake { self.opening.data() } else { data },
        };
        // "It MAY send these packets as fragmentable ...; it MUST NOT send them as unfragmentable" (section 14.2).
        let dont_fragment = !handshake && (padded || whole <= self.mtu.packet());
        Outgoing { packet, ecn: if ect { stamp.ecn } else { Ecn::NotEct }, dont_fragment, probe }
    }

    /// Returns the reply of a stateless server: its Response, or the Reset caused by an option.
    pub(super) fn stateless_reply(&mut self, now: Instant) -> Option<Outgoing<'_>> {
        let ack = self.windows.gsr();
        let plan = match self.pending.pop() {
            Some(control) => self.plan_control(control),
            // The state is no longer relevant.
            None if self.pending.is_scheduled(Due::Response) => {
                Plan::bare(Body::Response { ack, service: self.service })
            }
            None => return None,
        };
        Some(self.build(now, plan, &[], None))
    }

    /// Returns the next packet. If there is none, the effects of sent packets are evaluated once
    /// for all of them, and an acknowledgement may become due.
    #[inline(always)]
    fn plan_or_settle(&mut self, now: Instant, outbox: &mut impl Outbox) -> Option<Plan> {
        let plan = self.plan(now, outbox);
        if plan.is_some() {
            return plan;
        }
        self.settle(now);
        if self.pending.is_scheduled(Due::Ack) { self.plan(now, outbox) } else { None }
    }

    fn plan(&mut self, now: Instant, outbox: &mut impl Outbox) -> Option<Plan> {
        if let Some(control) = self.pending.pop() {
            return Some(self.plan_control(control));
        }
        match self.machine.state() {
            State::PartOpen | State::Open => self.plan_open(now, outbox),
            state => self.plan_handshake_or_close(now, state, outbox),
        }
    }

    fn plan_handshake_or_close(&mut self, now: Instant, state: State, outbox: &mut impl Outbox) -> Option<Plan> {
        let ack = self.windows.gsr();
        match state {
            State::Request if self.pending.is_scheduled(Due::Request) => Some(self.plan_request(now, outbox)),
            State::Respond if self.pending.is_scheduled(Due::Response) => Some(self.plan_response(now, outbox)),
            State::CloseReq | State::Closing if self.pending.is_scheduled(Due::Close) => {
                self.pending.unschedule(Due::Close);
                self.arm_retransmission(now, Timer::Close);
                let body = if state == State::CloseReq { Body::CloseReq { ack } } else { Body::Close { ack } };
                Some(Plan::bare(body))
            }
            _ => None,
        }
    }

    fn plan_control(&mut self, control: Control) -> Plan {
        match control {
            Control::Sync { ack } => Plan::bare(Body::Sync { ack }),
            Control::SyncAck { ack } => Plan::bare(Body::SyncAck { ack }),
            Control::Probe => {
                let plan = Plan::bare(Body::Sync { ack: self.windows.gsr() });
                let id = self.sync_probes.probe_sent(self.windows.upcoming());
                Plan { source: id.map_or(Source::None, Source::Probe), ..plan }
            }
            Control::Reset { reset, ack, seq } => {
                Plan { body: Body::Reset { ack: ack.unwrap_or(self.windows.gsr()), reset }, source: Source::None, seq }
            }
        }
    }

    fn plan_request(&mut self, now: Instant, outbox: &mut impl Outbox) -> Plan {
        self.pending.unschedule(Due::Request);
        self.arm_retransmission(now, Timer::Request);
        self.keep_handshake_data(now, outbox);
        Plan { body: Body::Request { service: self.service }, source: Source::Handshake, seq: None }
    }

    fn plan_response(&mut self, now: Instant, outbox: &mut impl Outbox) -> Plan {
        self.pending.unschedule(Due::Response);
        self.opening.set_response(self.windows.upcoming());
        self.keep_handshake_data(now, outbox);
        let body = Body::Response { ack: self.windows.gsr(), service: self.service };
        Plan { body, source: Source::Handshake, seq: None }
    }

    fn keep_handshake_data(&mut self, now: Instant, outbox: &mut impl Outbox) {
        let first = self.windows.upcoming_number() == 0;
        let fits = |len: &usize| (1..=self.mtu.mps()).contains(len);
        if self.options.handshake_data && first && outbox.next_len(now).is_some_and(|len| fits(&len)) {
            self.opening.keep_data(outbox.take(now).unwrap_or_default());
        }
    }

    /// Returns the next packet in PARTOPEN and OPEN: data, an acknowledgement, or both in one.
    fn plan_open(&mut self, now: Instant, outbox: &mut impl Outbox) -> Option<Plan> {
        let ack = self.windows.gsr();
        let data = self.sendable_datagram(now, outbox);
        // The controller is polled only once: a due acknowledgement stays due until a packet carries it.
        let timer_is_due = self.timers.is_due(Timer::Receiver, now);
        if self.reverse.has_report(now, self.agreed.receiving, timer_is_due) {
            self.pending.schedule(Due::Ack);
        }
        let due = self.pending.is_scheduled(Due::Ack);
        let Some(len) = data else {
            if due {
                return Some(Plan::bare(Body::Ack { ack }));
            }
            return self.plan_tail_probe(now, outbox, ack).or_else(|| self.plan_mtu_probe(ack));
        };
        let source = Source::Outbox(len);
        let room = self.mtu.packet().saturating_sub(PacketType::DataAck.header_len(true) + len);
        // A stateless server needs the cookies on every packet (section 8.1.5). If data does not
        // fit next to them, it waits for the answer to the first Ack. If there is none, as a server
        // without data need not answer, it is sent in fragments.
        if self.least_options() > room && self.pending.wait() <= PARTOPEN_TIMEOUT {
            return due.then_some(Plan::bare(Body::Ack { ack }));
        }
        if due && room < self.options_needed() {
            return Some(Plan::bare(Body::Ack { ack })); // "either send the options on a separate packet" (section 14)
        }
        // Acknowledgements of acknowledgements: about one per round trip, if the peer repeats its reports until then
        // (section 11.1; RFC 4342 section 6.3 for CCIDs 3 and 4 with Ack Vectors or Data Dropped).
        let acknowledges_acks = self.acknowledge.is_repeated(now, self.agreed.peer_sends_vectors, self.rtt());
        let negotiates = self.negotiation.changes_due() || self.negotiation.confirms_due();
        let more = (acknowledges_acks || negotiates) && room >= self.options_needed();
        let body =
            if due || self.machine.state() == State::PartOpen || more { Body::DataAck { ack } } else { Body::Data };
        Some(Plan { body, source, seq: None })
    }

    /// Tests the packet size if needed, which cancels the wait for the next search.
    fn watch_size(&mut self, now: Instant, seq: Seq48, packet: usize) {
        if self.mtu.on_data(now, self.rtt(), seq, packet) && !self.mtu.is_probing() {
            self.timers.stop(Timer::MtuProbe);
        }
    }

    /// Returns the first Sync of a due probe for the loss of the last datagrams. The others follow it.
    fn plan_tail_probe(&mut self, now: Instant, outbox: &mut impl Outbox, ack: Seq48) -> Option<Plan> {
        if !self.tail_probe.is_due() || !outbox.has_outstanding() || outbox.next_len(now).is_some() {
            return None;
        }
        self.tail_probe.on_probe(now);
        let wait = self.tail_probe_wait()?;
        self.timers.set(Timer::TailProbe, self.tail_probe.at(wait));
        (1..SYNCS).for_each(|_| self.pending.push(Control::Sync { ack }));
        Some(Plan::bare(Body::Sync { ack }))
    }

    /// Returns the next probe of the path MTU, a padded Sync, if one is due.
    fn plan_mtu_probe(&mut self, ack: Seq48) -> Option<Plan> {
        if self.machine.state() != State::Open || self.timers.is_running(Timer::MtuProbe) {
            return None;
        }
        let size = self.mtu.next_probe()?;
        let options = if self.agreed.we_count && self.ndp_run > 0 { ndp_words(self.ndp_run) * 4 } else { 0 };
        let data = size.saturating_sub(PacketType::Sync.header_len(true) + options);
        self.mtu.probe_sent(self.windows.upcoming(), size);
        // Its answer shows whether the size is the cause or the probe is lost.
        self.pending.push(Control::Sync { ack });
        Some(Plan { body: Body::Sync { ack }, source: Source::Padding(data), seq: None })
    }

    /// Returns the size of the next datagram if it may be sent now. Otherwise the controller's timer is set.
    fn sendable_datagram(&mut self, now: Instant, outbox: &mut impl Outbox) -> Option<usize> {
        self.widen_early();
        if !self.agreed.can_send_data || !self.forward.is_open() || self.is_window_full() {
            self.forward.hold();
            return None;
        }
        let next = next_datagram(now, outbox, &mut self.events);
        let may_go = self.forward.may_send(now, next.as_ref());
        next.filter(|_| may_go).map(|next| next.size.count() as usize)
    }

    /// Skips the next sequence number, as if a data packet with it was lost: otherwise the next NDP Count would cover
    /// it (section 7.7), and the receiver would not count it as lost (RFC 4342 section 6.1).
    #[cold]
    fn skip_number(&mut self, now: Instant) {
        self.ndp_run = 0;
        self.windows.next();
        self.forward.skip_number(now);
    }

    /// Assigns the next sequence number to the packet, and updates all parts of the connection.
    fn commit(&mut self, now: Instant, body: &Body, data: Option<Bytes>) -> Seq48 {
        let (kind, seq) = (body.kind(), self.windows.next());
        self.forward.reserve(self.windows.local_window, self.windows.unacknowledged());
        self.ndp_run = if kind.is_data() { 0 } else { self.ndp_run.saturating_add(1) };
        self.counters.sent_packets += 1;
        if let Some(bytes) = data {
            self.counters.sent_data_packets += 1;
            self.counters.sent_data += bytes.count();
            self.await_tail_probe(now);
        }
        if kind.has_ack() && body.ack() == Some(self.windows.gsr()) {
            self.acknowledge.on_sent(now, !matches!(kind, PacketType::Sync | PacketType::SyncAck));
            self.pending.unschedule(Due::Ack);
            self.timers.stop(Timer::DelayedAck);
        }
        // The Sync may probe for the loss of the last data, which only an Ack Vector reports.
        if kind == PacketType::SyncAck && self.options.expert.tail_ack.is_some() && self.agreed.we_send_vectors {
            self.pending.schedule(Due::Ack);
        }
        if self.machine.state() == State::PartOpen {
            self.partopen_sent(now);
        }
        seq
    }

    fn arm_retransmission(&mut self, now: Instant, timer: Timer) {
        self.timers.set(timer, now + self.pending.wait());
        self.pending.back_off();
    }
}

/// Returns the datagram at the head of the outbox. Datagrams that exceed any packet are discarded.
fn next_datagram(now: Instant, outbox: &mut impl Outbox, events: &mut Events) -> Option<Next> {
    for _ in 0..MAX_DISCARDED {
        let next = outbox.next(now)?;
        if next.size <= MAX_DATAGRAM {
            return Some(next);
        }
        if outbox.take(now).is_some() {
            outbox.too_large();
        }
        events.push_back(Event::DatagramTooLarge(usize::try_from(next.size.count()).unwrap_or(usize::MAX)));
    }
    None
}

const fn ndp_words(count: u64) -> usize {
    if count < 1 << 16 { 1 } else { 2 }
}
