//! A flow's two ends: a source and its transport at one node, a sink at the other.

use crate::event_queue::{Actor, EventQueue};
use crate::network::{Envelope, Network};
use crate::observe::Observer;
use crate::packet::{Body, Datagram, RawEnd};
use crate::send_queue::SendQueue;
use crate::transport::agent::{AgentReceiver, AgentSender};
use crate::transport::dccp::{Client, Server, Verdict};
use headway_link::Handle;
use headway_media::{Backlog, Datagrams, Source, UdpOptions, Write, datagrams};
use headway_prefetch::{fetch, fetch_first};
use headway_rate::Status;
use headway_tcp::{Counters, Sender, Sink};
use headway_units::{Bytes, Class, Ecn, FlowId, Instant, Moment, Ties};

/// The most packets that one event sends, more than any ordinary write or window makes at once. What is left goes out in
/// another event at the same moment, so that no event takes long, whatever the scenario says.
const BURST: u32 = 1 << 14;

/// Segments that no run ever sends.
const ENDLESS: u64 = u64::MAX / 2;

/// The two ends of a flow. Laid out so that data touches the first cache line, an acknowledgement the second too.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Flow {
    pub(crate) id: FlowId,
    /// Where its routes start: towards the sink, and back.
    pub(crate) forward: u32,
    pub(crate) reverse: u32,
    /// Sets its events apart from those of other flows, where ties are drawn.
    pub(crate) salt: u32,
    pub(crate) transport: Transport,
    pub(crate) sink_timer: Timer,
    pub(crate) sender_timer: Timer,
    pub(crate) source_timer: Timer,
    pub(crate) start: Instant,
    pub(crate) stop: Option<Instant>,
    /// Of the stop, in the order of scheduling.
    pub(crate) stop_place: u64,
    pub(crate) source: Source,
    /// The sender's counters when measuring began.
    pub(crate) counted_before: Counters,
}

/// What carries a flow.
#[derive(Debug)]
pub(crate) enum Transport {
    Udp(Box<Udp>),
    Tcp { sender: Sender, sink: Box<Sink> },
    Agent { sender: Box<AgentSender>, receiver: Box<AgentReceiver> },
    Dccp { client: Box<Client>, server: Box<Server> },
}

/// The sending end of plain UDP.
#[derive(Debug)]
pub(crate) struct Udp {
    options: UdpOptions,
    next_sequence: u64,
    /// The write that is being sent, and what is left of it.
    writing: Option<(Write, Datagrams)>,
}

/// A deadline in the event queue, re-armed lazily: a deadline that moves away leaves its event where it is, and the
/// event, when it comes, is put off.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Timer {
    /// The deadline; far in the future if there is none.
    due: Instant,
    /// The next of its events; far in the future if there is none.
    next: Instant,
    /// When the deadline was set, with its place in the order of scheduling, if ties go by that. ns-2 adds the wait to that
    /// time, however late the event is put into the queue.
    set: Moment,
    /// Hardly ever any: an earlier deadline gets an event before the others, a later one waits for the event that comes first.
    others: Option<Box<Others>>,
}

/// The events after the next, the last one first.
#[derive(Clone, Debug, Default)]
struct Others(Vec<Instant>);

impl Default for Timer {
    fn default() -> Self {
        Self { due: Instant::FAR_FUTURE, set: Moment::new(Instant::ZERO), next: Instant::FAR_FUTURE, others: None }
    }
}

/// Whose timer it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    pub(crate) class: Class,
    pub(crate) number: u32,
    /// Sets its events apart from those of others of its class, where ties are drawn.
    pub(crate) salt: u32,
}

impl Timer {
    #[inline]
    pub(crate) fn arm(&mut self, now: Moment, deadline: Option<Instant>, owner: Owner, events: &mut EventQueue) {
        self.arm_after(now, deadline, None, owner, events);
    }

    /// The same with the exact wait, if it is no whole number of nanoseconds.
    #[inline(always)]
    fn arm_after(
        &mut self,
        now: Moment,
        deadline: Option<Instant>,
        wait_s: Option<f64>,
        owner: Owner,
        events: &mut EventQueue,
    ) {
        let due = deadline.unwrap_or(Instant::FAR_FUTURE);
        if self.due != due {
            self.due = due;
            self.set = now;
            if events.ties == Ties::Scheduled {
                self.set.turn = events.history.place();
            }
        }
        if due < self.next {
            let wait_s = wait_s.unwrap_or_else(|| due.since(self.set.at).as_secs_f64());
            self.push(now, wait_s, owner, events);
        }
    }

    /// Sets the timer for a time that was fixed before the run: ns-2's `at`.
    pub(crate) fn arm_at(&mut self, due: Instant, place: u64, owner: Owner, events: &mut EventQueue) {
        let start = Moment::new(Instant::ZERO);
        self.due = due;
        self.set = Moment { turn: place, ..start };
        if due < self.next {
            self.push(start, due.as_secs_f64(), owner, events);
        }
    }

    /// Puts the deadline, so long after it was set, into the queue.
    #[inline]
    fn push(&mut self, now: Moment, wait_s: f64, owner: Owner, events: &mut EventQueue) {
        if self.next != Instant::FAR_FUTURE {
            self.others.get_or_insert_default().0.push(self.next);
        }
        self.next = self.due;
        let sum_s = self.set.sum_s + wait_s;
        let due = match events.ties {
            Ties::Scheduled => Moment::scheduled(sum_s, self.set.turn),
            Ties::Drawn => Moment::drawn(self.due, sum_s, self.set.fraction_ns(), owner.class, owner.salt),
        };
        // Not before now, also within the nanosecond.
        events.push(due.max(now), Actor::new(owner.class, owner.number as usize));
    }

    /// Its next event has come: for what deadline. Where the instant comes of a sum, it may be a nanosecond off.
    pub(crate) fn fired(&mut self) -> Instant {
        let next = self.others.as_mut().and_then(|others| others.0.pop()).unwrap_or(Instant::FAR_FUTURE);
        std::mem::replace(&mut self.next, next)
    }
}

/// What came of a packet that an attacker has sent or changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Struck {
    pub(crate) verdict: Verdict,
    /// Syncs, SyncAcks, Resets and Responses that answer it, and their IP bytes.
    pub(crate) answers: u64,
    pub(crate) answer_bytes: u64,
    /// Connections that the server keeps for strangers.
    pub(crate) connections: u64,
}

impl Struck {
    fn count(&mut self, envelope: &Envelope) {
        let answers = match &envelope.body {
            Body::Dccp(packet) => {
                use headway_dccp::Body as B;
                matches!(packet.body, B::Sync { .. } | B::SyncAck { .. } | B::Reset { .. } | B::Response { .. })
            }
            // To a stranger nothing else goes.
            Body::Raw(_) => true,
            _ => false,
        };
        self.answers += u64::from(answers);
        self.answer_bytes += if answers { u64::from(envelope.size) } else { 0 };
    }
}

impl Udp {
    pub(crate) fn new(options: &UdpOptions) -> Self {
        Self { options: options.clone(), next_sequence: 0, writing: None }
    }

    /// The next datagram of what the source has written by `now`.
    #[inline]
    fn next(&mut self, source: &mut Source, now: Instant) -> Option<Envelope> {
        loop {
            if let Some((write, left)) = &mut self.writing
                && let Some(datagram) = left.next()
            {
                let body = Body::Datagram(Datagram {
                    sequence: self.next_sequence,
                    payload: datagram.payload.count() as u32,
                    kind: write.kind,
                    deadline: write.expires,
                });
                self.next_sequence += 1;
                return Some(Envelope { size: datagram.wire.count() as u32, ecn: Ecn::NotEct, body });
            }
            // To ask when is cheaper than to ask what.
            if source.poll_timeout().is_none_or(|due| due > now) {
                return None;
            }
            let write = source.poll(now)?;
            self.writing = Some((write, datagrams(write.size, &self.options)));
        }
    }
}

impl Flow {
    /// Fetches what is touched of itself.
    pub(crate) fn fetch(&self) {
        fetch_first(self);
        fetch_first(&self.sender_timer);
    }

    /// Fetches the end that a packet is about to come to: it is itself at hand.
    pub(crate) fn fetch_end(&self, forward: bool) {
        match &self.transport {
            Transport::Tcp { sink, .. } if forward => fetch(&**sink),
            Transport::Tcp { sender, .. } => sender.fetch(),
            _ => {}
        }
    }

    fn owner(&self, class: Class) -> Owner {
        Owner { class, number: self.id.0, salt: self.salt }
    }

    /// Sets the timers of the flow's start, and takes the places of start and stop, which ns-2's scripts schedule in the
    /// order of their flows.
    pub(crate) fn set_off(&mut self, events: &mut EventQueue) {
        let place = events.history.place();
        self.stop_place = events.history.place();
        if let Some(due) = self.source_due(None) {
            self.source_timer.arm_at(due, place, self.owner(Class::Source), events);
        }
        if let Transport::Dccp { .. } = self.transport {
            let place = events.history.place();
            self.sender_timer.arm_at(self.start, place, self.owner(Class::SenderTimer), events);
        }
    }

    /// When the source must be asked next: its own time, or the start and stop of a backlog. A connection is closed at the
    /// stop, whatever its source.
    pub(crate) fn source_due(&self, now: Option<Instant>) -> Option<Instant> {
        let stop = self.stop.filter(|stop| now.is_none_or(|now| *stop > now));
        match (self.source.backlog(), &self.transport) {
            (Backlog::None, Transport::Dccp { .. }) => self.source.poll_timeout().into_iter().chain(stop).min(),
            (Backlog::None, _) => self.source.poll_timeout(),
            _ if now.is_none() => Some(self.start),
            _ => stop,
        }
    }

    /// What the rate controller of the sending end holds, if there is one.
    pub(crate) fn controller_status(&self) -> Option<Status> {
        match &self.transport {
            Transport::Agent { sender, .. } => Some(sender.status()),
            Transport::Dccp { client, .. } => Some(client.status()),
            Transport::Udp(_) | Transport::Tcp { .. } => None,
        }
    }

    /// What waits at the sending end, if it has a queue.
    pub(crate) fn send_queue(&mut self) -> Option<&mut SendQueue> {
        match &mut self.transport {
            Transport::Agent { sender, .. } => Some(&mut sender.queue),
            Transport::Dccp { client, .. } => Some(&mut client.queue),
            Transport::Udp(_) | Transport::Tcp { .. } => None,
        }
    }

    /// The source's time has come, by its own clock at `due`.
    pub(crate) fn on_source<O: Observer>(&mut self, now: Moment, due: Instant, network: &mut Network<O>) {
        let stopped = self.stop.is_some_and(|stop| Moment::new(stop) <= now);
        let base = Moment { at: due, ..now };
        let source = self.owner(Class::Source);
        let backlog = self.source.backlog();
        match backlog {
            // The stop has cancelled the timer.
            Backlog::None if stopped && !self.paced() => return,
            Backlog::None => {
                if self.takes_a_burst(now, due.max(now.at), network) {
                    self.source_timer.arm(base, Some(due), source, &mut network.events);
                }
            }
            backlog => match (&mut self.transport, backlog) {
                (Transport::Tcp { sender, .. }, _) if stopped => sender.stop(),
                (Transport::Tcp { sender, .. }, Backlog::Segments(segments)) => sender.write(now.at, segments),
                (Transport::Tcp { sender, .. }, _) => sender.write(now.at, ENDLESS),
                (_, backlog) => {
                    if let Some(queue) = self.send_queue() {
                        queue.set_backlog(if stopped { Backlog::None } else { backlog });
                    }
                }
            },
        }
        if let (true, Transport::Dccp { client, .. }) = (stopped, &mut self.transport) {
            client.close(now.at);
        }
        match self.source_due(Some(now.at)) {
            Some(stop) if Some(stop) == self.stop && (backlog != Backlog::None || self.paced()) => {
                self.source_timer.arm_at(stop, self.stop_place, source, &mut network.events);
            }
            next => {
                let exact = network.events.ties == Ties::Scheduled;
                let wait_s = if exact { self.source.interval_s() } else { None };
                self.source_timer.arm_after(base, next, wait_s, source, &mut network.events);
            }
        }
        self.transmit(now, network);
    }

    /// Whether the transport paces itself.
    const fn paced(&self) -> bool {
        matches!(self.transport, Transport::Agent { .. } | Transport::Dccp { .. })
    }

    /// Hands to the transport what the source has written by `due`, up to [`BURST`]; whether there may be more.
    fn takes_a_burst<O: Observer>(&mut self, now: Moment, due: Instant, network: &mut Network<O>) -> bool {
        for _ in 0..BURST {
            match &mut self.transport {
                Transport::Udp(udp) => {
                    let Some(envelope) = udp.next(&mut self.source, due) else { return false };
                    if let Body::Datagram(Datagram { kind, deadline, .. }) = envelope.body {
                        network.flow_meters[self.id.0 as usize].written(kind, deadline);
                    }
                    network.inject(now, self.id, self.forward, true, envelope);
                }
                Transport::Tcp { sender, .. } => {
                    let Some(write) = self.source.poll(due) else { return false };
                    let payload = sender.payload_size().count().max(1);
                    let header = sender.segment_size().count() - sender.payload_size().count();
                    sender.write(now.at, write.size.payload(Bytes::new(header)).count().div_ceil(payload));
                }
                Transport::Agent { sender, .. } => {
                    let Some(write) = self.source.poll(due) else { return false };
                    sender.queue.write(now.at, &write, &mut network.flow_meters[self.id.0 as usize]);
                }
                Transport::Dccp { client, .. } => {
                    let Some(write) = self.source.poll(due) else { return false };
                    client.queue.write(now.at, &write, &mut network.flow_meters[self.id.0 as usize]);
                }
            }
        }
        true
    }

    /// The sender's timer has come, for what was due at `due`.
    pub(crate) fn on_sender_timer<O: Observer>(&mut self, now: Moment, due: Instant, network: &mut Network<O>) {
        let at = now.at.max(due);
        match &mut self.transport {
            Transport::Tcp { sender, .. } if sender.poll_timeout().is_some_and(|deadline| deadline <= at) => {
                sender.handle_timeout(at);
            }
            Transport::Agent { sender, .. } => sender.handle_timeout(at),
            Transport::Dccp { client, .. } => client.handle_timeout(at),
            Transport::Udp(_) | Transport::Tcp { .. } => {}
        }
        // The sum that ns-2 goes by may come a nanosecond before the deadline: for the sender it is the deadline.
        self.transmit_at(now, at, network);
    }

    /// The sink's timer has come, for what was due at `due`.
    pub(crate) fn on_sink_timer<O: Observer>(&mut self, now: Moment, due: Instant, network: &mut Network<O>) {
        let at = now.at.max(due);
        match &mut self.transport {
            Transport::Tcp { sink, .. } if sink.poll_timeout().is_some_and(|deadline| deadline <= at) => {
                sink.handle_timeout(at);
            }
            Transport::Agent { receiver, .. } => receiver.handle_timeout(at),
            Transport::Dccp { server, .. } => server.handle_timeout(at),
            Transport::Udp(_) | Transport::Tcp { .. } => {}
        }
        self.acknowledge_at(now, at, network);
    }

    /// A packet has come to one of the flow's ends.
    pub(crate) fn on_packet<O: Observer>(&mut self, now: Moment, handle: Handle, network: &mut Network<O>) {
        let packet = network.packet(handle);
        let forward = packet.forward;
        let mut goodput = 0;
        match (&packet.body, &mut self.transport) {
            (Body::Datagram(datagram), _) => goodput = datagram.payload,
            (Body::Tcp(tcp), Transport::Tcp { sender, sink }) => {
                let segment = tcp.segment(packet);
                if forward {
                    let before = sink.received_payload().count();
                    sink.handle(now.at, &segment);
                    goodput = (sink.received_payload().count() - before) as u32;
                } else {
                    let before = sender.acknowledged();
                    sender.handle(now.at, &segment);
                    if sender.acknowledged() > before {
                        let rtt = now.at.since(segment.echo);
                        network.flow_meters[self.id.0 as usize].rtt(now.at, rtt);
                    }
                }
            }
            (Body::Numbered(datagram), Transport::Agent { receiver, .. }) => {
                receiver.handle(now.at, packet.sent, packet.ecn, datagram);
                goodput = datagram.payload;
            }
            (Body::Report(report), Transport::Agent { sender, .. }) => {
                let trip = sender.handle(now.at, packet.sent, report);
                network.round_trip(now.at, self.id, trip);
            }
            (Body::Dccp(dccp), Transport::Dccp { client, server }) => {
                if forward {
                    goodput = server.handle(now.at, packet.ecn, dccp);
                } else if let Some(trip) = client.handle(now.at, packet.ecn, dccp) {
                    network.round_trip(now.at, self.id, trip);
                }
            }
            // A flow's packets are its transport's.
            (Body::Tcp(_) | Body::Numbered(_) | Body::Report(_) | Body::Dccp(_) | Body::Raw(_), _) => {}
        }
        network.delivered(now.at, handle, goodput);
        if forward {
            self.acknowledge(now, network);
        } else {
            self.transmit(now, network);
        }
    }

    /// A packet that an attacker has sent or changed has come to one of the flow's ends, or what answers one to where nobody is.
    #[cold]
    pub(crate) fn on_raw<O: Observer>(
        &mut self,
        now: Moment,
        handle: Handle,
        network: &mut Network<O>,
    ) -> Option<Struck> {
        let packet = network.packet(handle);
        let (Body::Raw(raw), Transport::Dccp { client, server }) = (&packet.body, &mut self.transport) else {
            return None;
        };
        let (to, ecn) = (raw.to, packet.ecn);
        let (mut goodput, mut trip) = (0, None);
        let verdict = match to {
            RawEnd::Server => {
                let (verdict, payload) = server.handle_bytes(now.at, ecn, raw);
                goodput = payload;
                verdict
            }
            RawEnd::Client => {
                let (verdict, sample) = client.handle_bytes(now.at, ecn, raw);
                trip = sample;
                verdict
            }
            RawEnd::Nobody => Verdict::Rejected,
        };
        network.delivered(now.at, handle, goodput);
        if to == RawEnd::Nobody {
            return None;
        }
        if let Some(trip) = trip {
            network.round_trip(now.at, self.id, trip);
        }
        let mut struck = Struck { verdict, answers: 0, answer_bytes: 0, connections: 0 };
        let Transport::Dccp { client, server } = &mut self.transport else { return None };
        if to == RawEnd::Server {
            while let Some(envelope) = server.poll_transmit(now.at) {
                struck.count(&envelope);
                network.inject(now, self.id, self.reverse, false, envelope);
            }
            if let Some(strangers) = &mut server.strangers {
                while let Some(envelope) = strangers.poll_transmit(now.at) {
                    struck.count(&envelope);
                    network.inject(now, self.id, strangers.route, false, envelope);
                }
                struck.connections = strangers.len() as u64;
            }
            self.acknowledge(now, network);
        } else {
            for _ in 0..BURST {
                let Some(envelope) = client.poll_transmit(now.at) else { break };
                struck.count(&envelope);
                client.queue.tell(now.at, &mut network.flow_meters[self.id.0 as usize]);
                network.inject(now, self.id, self.forward, true, envelope);
            }
            self.transmit(now, network);
        }
        Some(struck)
    }

    /// Sends what the sender may send now.
    #[inline]
    fn transmit<O: Observer>(&mut self, now: Moment, network: &mut Network<O>) {
        self.transmit_at(now, now.at, network);
    }

    /// Sends what the sender may send when its clock says `at`.
    #[inline]
    fn transmit_at<O: Observer>(&mut self, now: Moment, at: Instant, network: &mut Network<O>) {
        if !matches!(self.transport, Transport::Udp(_)) {
            self.transmit_controlled(now, at, network);
        }
    }

    fn transmit_controlled<O: Observer>(&mut self, now: Moment, at: Instant, network: &mut Network<O>) {
        let mut room = BURST;
        while room > 0 {
            let meter = &mut network.flow_meters[self.id.0 as usize];
            let envelope = match &mut self.transport {
                Transport::Udp(_) => return,
                Transport::Tcp { sender, .. } => sender.poll_transmit(at).map(Envelope::from),
                Transport::Agent { sender, .. } => {
                    let envelope = sender.poll_transmit(at);
                    sender.queue.tell(at, meter);
                    envelope
                }
                Transport::Dccp { client, .. } => {
                    let envelope = client.poll_transmit(at);
                    client.queue.tell(at, meter);
                    envelope
                }
            };
            let Some(envelope) = envelope else { break };
            room -= 1;
            network.inject(now, self.id, self.forward, true, envelope);
        }
        if room == 0 {
            self.sender_timer.arm(now, Some(now.at), self.owner(Class::SenderTimer), &mut network.events);
        }
        let due = match &self.transport {
            Transport::Udp(_) => None,
            Transport::Tcp { sender, .. } => {
                network.observer.window(now.at, self.id.0 as usize, sender);
                sender.poll_timeout()
            }
            Transport::Agent { sender, .. } => sender.poll_timeout(),
            Transport::Dccp { client, .. } => client.poll_timeout(),
        };
        self.sender_timer.arm(now, due, self.owner(Class::SenderTimer), &mut network.events);
    }

    /// Sends what the receiving end has to say.
    #[inline]
    fn acknowledge<O: Observer>(&mut self, now: Moment, network: &mut Network<O>) {
        self.acknowledge_at(now, now.at, network);
    }

    /// Sends what the receiving end has to say when its clock says `at`.
    #[inline]
    fn acknowledge_at<O: Observer>(&mut self, now: Moment, at: Instant, network: &mut Network<O>) {
        if !matches!(self.transport, Transport::Udp(_)) {
            self.answer(now, at, network);
        }
    }

    fn answer<O: Observer>(&mut self, now: Moment, at: Instant, network: &mut Network<O>) {
        loop {
            let envelope = match &mut self.transport {
                Transport::Udp(_) => return,
                Transport::Tcp { sink, .. } => sink.poll_transmit(at).map(Envelope::from),
                Transport::Agent { receiver, .. } => receiver.poll_transmit(at),
                Transport::Dccp { server, .. } => server.poll_transmit(at),
            };
            let Some(envelope) = envelope else { break };
            network.inject(now, self.id, self.reverse, false, envelope);
        }
        if let Transport::Dccp { server, .. } = &mut self.transport
            && let Some(strangers) = &mut server.strangers
        {
            while let Some(envelope) = strangers.poll_transmit(at) {
                network.inject(now, self.id, strangers.route, false, envelope);
            }
        }
        let due = match &self.transport {
            Transport::Udp(_) => None,
            Transport::Tcp { sink, .. } => sink.poll_timeout(),
            Transport::Agent { receiver, .. } => receiver.poll_timeout(),
            Transport::Dccp { server, .. } => server.poll_timeout(),
        };
        self.sink_timer.arm(now, due, self.owner(Class::SinkTimer), &mut network.events);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Duration;

    /// A release between two retransmission deadlines, again and again: the far deadline keeps its one event.
    #[test]
    fn a_deadline_that_is_put_off_leaves_no_trail_of_events() {
        let (mut timer, mut events) = (Timer::default(), EventQueue::new(Ties::Drawn));
        let owner = Owner { class: Class::SenderTimer, number: 0, salt: 0 };
        let arm = |timer: &mut Timer, events: &mut EventQueue, now, deadline| {
            timer.arm(Moment::new(now), Some(deadline), owner, events);
        };
        for millis in 0..1000 {
            let now = Instant::from_millis(2 * millis);
            arm(&mut timer, &mut events, now, Instant::from_secs(60) + Duration::from_millis(millis));
            arm(&mut timer, &mut events, now, Instant::from_millis(2 * millis + 1));
            assert_eq!(events.pop_before(Instant::FAR_FUTURE).unwrap().0.at, Instant::from_millis(2 * millis + 1));
            timer.fired();
        }
        assert_eq!(events.pop_before(Instant::FAR_FUTURE).unwrap().0.at, Instant::from_secs(60));
        assert_eq!(events.pop_before(Instant::FAR_FUTURE), None);
    }
}
