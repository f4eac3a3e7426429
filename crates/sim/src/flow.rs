//! A flow's two ends: a source and its transport at one node, a sink at the other.

use crate::arena::Handle;
use crate::event_queue::{Actor, Class, EventQueue};
use crate::network::{Envelope, Network};
use crate::observe::Observer;
use crate::packet::{Body, Datagram};
use headway_media::{Backlog, Source, UdpOptions, Write, datagrams};
use headway_tcp::{Sender, Sink};
use headway_units::{Bytes, Ecn, FlowId, Instant, Moment};

/// Segments that no run ever sends.
const ENDLESS: u64 = u64::MAX / 2;

/// The two ends of a flow.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) id: FlowId,
    /// Where its routes start: towards the sink, and back.
    pub(crate) forward: u32,
    pub(crate) reverse: u32,
    pub(crate) start: Instant,
    pub(crate) stop: Option<Instant>,
    pub(crate) source: Source,
    pub(crate) transport: Transport,
    pub(crate) source_timer: Timer,
    pub(crate) sender_timer: Timer,
    pub(crate) sink_timer: Timer,
}

/// What carries a flow.
#[derive(Debug)]
pub(crate) enum Transport {
    Udp { options: UdpOptions, next_sequence: u64 },
    Tcp { sender: Box<Sender>, sink: Box<Sink> },
}

/// A deadline in the event queue, re-armed lazily: a deadline that moves away leaves its event where it is, and the
/// event, when it comes, is put off.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timer {
    armed: Option<Instant>,
}

impl Timer {
    pub(crate) fn arm(
        &mut self,
        now: Moment,
        deadline: Option<Moment>,
        class: Class,
        flow: FlowId,
        events: &mut EventQueue,
    ) {
        if let Some(deadline) = deadline
            && self.armed.is_none_or(|armed| deadline.at < armed)
        {
            self.armed = Some(deadline.at);
            // Not before now, also within the nanosecond.
            events.push(deadline.max(now), Actor::new(class, flow.0 as usize));
        }
    }

    /// Whether the event at `now` is the one that counts, and not one that an earlier deadline has replaced.
    pub(crate) fn fires(&mut self, now: Instant) -> bool {
        let fires = self.armed == Some(now);
        if fires {
            self.armed = None;
        }
        fires
    }
}

impl Flow {
    /// When the source must be asked next: its own time, or the start and stop of a backlog.
    pub(crate) fn source_due(&self, now: Option<Instant>) -> Option<Instant> {
        if self.source.backlog() == Backlog::None {
            return self.source.poll_timeout();
        }
        match now {
            None => Some(self.start),
            Some(now) => self.stop.filter(|stop| *stop > now),
        }
    }

    /// The source's time has come.
    pub(crate) fn on_source<O: Observer>(&mut self, now: Moment, network: &mut Network<O>) {
        match self.source.backlog() {
            Backlog::None => {
                while let Some(write) = self.source.poll(now.at) {
                    self.write(now, &write, network);
                }
            }
            backlog => {
                if let Transport::Tcp { sender, .. } = &mut self.transport {
                    match backlog {
                        _ if self.stop.is_some_and(|stop| stop <= now.at) => sender.stop(),
                        Backlog::Segments(segments) => sender.write(now.at, segments),
                        Backlog::Endless | Backlog::None => sender.write(now.at, ENDLESS),
                    }
                }
            }
        }
        // Each write is an interval after the one before: ns-2 adds these up too.
        let due = self.source_due(Some(now.at)).map(|at| match self.source.backlog() {
            Backlog::None => Moment { sum_s: now.sum_s + at.since(now.at).as_secs_f64(), ..Moment::new(at) },
            _ => Moment::new(at),
        });
        self.source_timer.arm(now, due, Class::Source, self.id, &mut network.events);
        self.transmit(now, network);
    }

    fn write<O: Observer>(&mut self, now: Moment, write: &Write, network: &mut Network<O>) {
        match &mut self.transport {
            Transport::Udp { options, next_sequence } => {
                for datagram in datagrams(write.size, options) {
                    let body = Body::Datagram(Datagram {
                        sequence: *next_sequence,
                        payload: datagram.payload.count() as u32,
                        kind: write.kind,
                        deadline: write.expires,
                    });
                    *next_sequence += 1;
                    let size = datagram.wire.count() as u32;
                    network.inject(now, self.id, self.forward, true, Envelope { size, ecn: Ecn::NotEct, body });
                }
            }
            Transport::Tcp { sender, .. } => {
                let payload = sender.payload_size().count().max(1);
                let header = sender.segment_size().count() - sender.payload_size().count();
                sender.write(now.at, write.size.payload(Bytes::new(header)).count().div_ceil(payload));
            }
        }
    }

    /// The sender's timer has come.
    pub(crate) fn on_sender_timer<O: Observer>(&mut self, now: Moment, network: &mut Network<O>) {
        if let Transport::Tcp { sender, .. } = &mut self.transport
            && sender.poll_timeout().is_some_and(|deadline| deadline <= now.at)
        {
            sender.handle_timeout(now.at);
        }
        self.transmit(now, network);
    }

    /// The sink's timer has come.
    pub(crate) fn on_sink_timer<O: Observer>(&mut self, now: Moment, network: &mut Network<O>) {
        if let Transport::Tcp { sink, .. } = &mut self.transport
            && sink.poll_timeout().is_some_and(|deadline| deadline <= now.at)
        {
            sink.handle_timeout(now.at);
        }
        self.acknowledge(now, network);
    }

    /// A packet has come to one of the flow's ends.
    pub(crate) fn on_packet<O: Observer>(&mut self, now: Moment, handle: Handle, network: &mut Network<O>) {
        let packet = network.packet(handle);
        let forward = packet.forward;
        let mut goodput = 0;
        match (&packet.body, &mut self.transport) {
            (Body::Datagram(datagram), _) => goodput = datagram.payload,
            (Body::Tcp(segment), Transport::Tcp { sender, sink }) => {
                let mut segment = *segment;
                segment.ecn = packet.ecn;
                if forward {
                    let before = sink.received_payload().count();
                    sink.handle(now.at, &segment);
                    goodput = (sink.received_payload().count() - before) as u32;
                } else {
                    let before = sender.acknowledged();
                    sender.handle(now.at, &segment);
                    if sender.acknowledged() > before {
                        network.flow_meters[self.id.0 as usize].rtt(now.at, now.at.since(segment.echo));
                    }
                }
            }
            (Body::Tcp(_), Transport::Udp { .. }) => {}
        }
        network.delivered(now.at, handle, goodput);
        if forward {
            self.acknowledge(now, network);
        } else {
            self.transmit(now, network);
        }
    }

    /// Sends what the sender may send now.
    fn transmit<O: Observer>(&mut self, now: Moment, network: &mut Network<O>) {
        let Transport::Tcp { sender, .. } = &mut self.transport else { return };
        while let Some(segment) = sender.poll_transmit(now.at) {
            let envelope = Envelope { size: segment.size, ecn: segment.ecn, body: Body::Tcp(segment) };
            network.inject(now, self.id, self.forward, true, envelope);
        }
        network.observer.window(now.at, self.id.0 as usize, sender);
        self.sender_timer.arm(now, sender.poll_timeout().map(Moment::new), Class::SenderTimer, self.id, &mut network.events);
    }

    /// Sends what the sink has to say.
    fn acknowledge<O: Observer>(&mut self, now: Moment, network: &mut Network<O>) {
        let Transport::Tcp { sink, .. } = &mut self.transport else { return };
        while let Some(segment) = sink.poll_transmit(now.at) {
            let envelope = Envelope { size: segment.size, ecn: segment.ecn, body: Body::Tcp(segment) };
            network.inject(now, self.id, self.reverse, false, envelope);
        }
        self.sink_timer.arm(now, sink.poll_timeout().map(Moment::new), Class::SinkTimer, self.id, &mut network.events);
    }
}
