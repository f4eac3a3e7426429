//! The two ends of a connection, around the state machines of `headway_dccp`.

use super::strangers::Strangers;
use super::wire::{ends, envelope, zeroes};
use crate::addresses::ports;
use crate::clocks::Meter;
use crate::observe::{RoundTrip, Setbacks};
use crate::packet::{Body, Data, DccpPacket, Envelope, RawPacket};
use crate::send_queue::SendQueue;
use headway_dccp::{
    Closed, Connection, ConnectionOptions, Decoded, Delivery, Event, Ignored, Listener, NoData, Outbox, Outcome, Path,
    Ports, ResetCode, ServiceCode, State,
};
use headway_media::{Media, SendQueueOptions, UdpOptions};
use headway_rate::{Judgement, Next, Status};
use headway_scenario::{Controlled, DccpOptions};
use headway_units::{Bytes, Ecn, FlowId, Instant, Random, Seq48};
use std::net::Ipv4Addr;

/// IPv4's header and that of a Data packet without options: what a size on the wire counts besides the data.
const DATA_HEADERS: u64 = 36;
/// The service that all flows ask for: data to be thrown away (RFC 4340 section 8.1.2).
pub(crate) const SERVICE: ServiceCode = ServiceCode(u32::from_be_bytes(*b"DISC"));
/// Each flow has a listener of its own, with one client, whose address is none that a node has or an attacker makes up.
const TO_CLIENT: Path = Path::Ipv4 { local: Ipv4Addr::new(192, 0, 2, 2), remote: Ipv4Addr::new(192, 0, 2, 1) };

/// The data's sender, which opens the connection.
#[derive(Debug)]
pub(crate) struct Client {
    connection: Connection,
    pub(crate) queue: SendQueue,
    /// The number of the first packet, from which the send queue counts.
    first: Option<Seq48>,
    /// Those of what comes.
    ports: [u16; 2],
    codec: bool,
    connected: bool,
    /// The flow has stopped while the connection was there.
    stopped: bool,
    closed: Option<Closed>,
}

/// The data's receiver, which waits for it.
#[derive(Debug)]
pub(crate) struct Server {
    listener: Listener,
    connection: Option<Box<Connection>>,
    /// What the listener answers without a connection.
    reply: Option<Envelope>,
    /// Who else talks to the listener: addresses that an attacker made up.
    pub(crate) strangers: Option<Box<Strangers>>,
    /// Those of what comes.
    ports: [u16; 2],
    codec: bool,
}

/// Both ends of a flow that starts then, by the clock of each.
pub(crate) fn pair(
    options: &Controlled<DccpOptions>,
    send_queue: &SendQueueOptions,
    flow: FlowId,
    starts: [Instant; 2],
    random: impl Fn(&str) -> Random,
) -> (Client, Server) {
    let DccpOptions { codec, connection } = &options.carrier;
    let [local, remote] = ports(flow);
    let client = Connection::connect(starts[0], connection, Ports { local, remote }, SERVICE, random("client"));
    let queue = SendQueue::new(cut_for(&client), send_queue);
    let client = Client {
        connection: client,
        queue,
        first: None,
        ports: [remote, local],
        codec: *codec,
        connected: false,
        stopped: false,
        closed: None,
    };
    let listener = Listener::new(starts[1], connection, &[SERVICE], random("server"));
    (client, Server { listener, connection: None, reply: None, strangers: None, ports: [local, remote], codec: *codec })
}

/// How what a source writes is cut into packets of a connection with these options, and what a size on the wire counts beside the data.
#[must_use]
pub fn dccp_cut(connection: &ConnectionOptions) -> UdpOptions {
    let ports = Ports { local: 0, remote: 0 };
    cut_for(&Connection::connect(Instant::ZERO, connection, ports, SERVICE, Random::new(0, "cut")))
}

fn cut_for(client: &Connection) -> UdpOptions {
    let full = client.status().maximum_packet_size as u64;
    UdpOptions { datagram: Bytes::new(full + DATA_HEADERS), header: Bytes::new(DATA_HEADERS) }
}

/// The send queue as a connection sees it: it says how long data are, and that they are zeroes.
struct Zeroes<'q> {
    queue: &'q mut SendQueue,
    taken: Option<Media>,
}

impl Outbox for Zeroes<'_> {
    fn next_len(&mut self, now: Instant) -> Option<usize> {
        self.queue.next(now).map(|next| next.size.count() as usize)
    }
    fn next(&mut self, now: Instant) -> Option<Next> {
        self.queue.next(now)
    }

    fn discard(&mut self, now: Instant) -> bool {
        self.queue.discard_head(now)
    }

    fn take(&mut self, now: Instant) -> Option<&[u8]> {
        self.taken = self.queue.take(now);
        self.taken.as_ref().map(|media| zeroes(media.size.count() as u32))
    }
}

impl Client {
    /// The next packet to send now, if any.
    pub(crate) fn poll_transmit(&mut self, now: Instant, meter: &Meter<'_>) -> Option<Envelope> {
        let mut outbox = Zeroes { queue: &mut self.queue, taken: None };
        let outgoing = self.connection.poll_transmit(now, &mut outbox)?;
        let first = *self.first.get_or_insert(outgoing.packet.seq);
        let mut envelope = envelope(&outgoing);
        if let (Some(media), Body::Dccp(packet)) = (outbox.taken, &mut envelope.body) {
            self.queue.sent(packet.seq.distance_from(first), media);
            packet.data = Data { payload: packet.data.payload, ..meter.data(&media) };
        }
        Some(envelope)
    }

    /// A packet has come from the server; returns the round trip that it lets measure, if any.
    pub(crate) fn handle(&mut self, now: Instant, ecn: Ecn, packet: &DccpPacket) -> Option<RoundTrip> {
        packet.received(self.ports, self.codec, |packet| self.connection.handle(now, ecn, packet));
        self.learn(now)
    }

    /// Bytes have come in the server's name.
    pub(crate) fn handle_bytes(&mut self, now: Instant, ecn: Ecn, raw: &RawPacket) -> (Verdict, Option<RoundTrip>) {
        match raw.decode() {
            Some(packet) if ends(&packet) == self.ports => {
                let delivery = self.connection.handle(now, ecn, &packet);
                (Verdict::of(delivery), self.learn(now))
            }
            Some(_) => (Verdict::Rejected, None),
            None => (Verdict::Malformed, None),
        }
    }

    /// What the last packet has changed.
    fn learn(&mut self, now: Instant) -> Option<RoundTrip> {
        self.take_events();
        let trip = self.connection.take_rtt_sample().map(|sample| {
            let trip = RoundTrip { sample, smoothed: self.connection.round_trip(), one_way: None };
            self.queue.on_round_trip(&trip);
            trip
        });
        if let (true, Some(first), Some(told)) = (self.queue.resends(), self.first, self.connection.take_arrivals()) {
            self.queue.on_arrivals(now, told.newest.distance_from(first), told.runs);
        }
        trip
    }

    fn take_events(&mut self) {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Connected => self.connected = true,
                Event::Closed(why) => self.closed = Some(why),
                _ => {}
            }
        }
    }

    /// Why there is no connection, or why it ended before anybody wanted it to.
    pub(crate) fn failure(&self) -> Option<String> {
        match self.closed {
            Some(Closed::ByPeer(reset) | Closed::ByUs(reset)) if reset.code == ResetCode::CLOSED => {
                (!self.stopped).then(|| "the other end closed the connection".to_owned())
            }
            Some(Closed::ByPeer(reset)) => Some(format!("the other end reset the connection: {}", reset.code)),
            Some(Closed::ByUs(reset)) => Some(format!("this end reset the connection: {}", reset.code)),
            Some(Closed::NoAnswer(state)) => Some(format!("the other end did not answer in {state}")),
            None if !self.connected && self.connection.status().counters.sent_packets > 0 => {
                Some(format!("not connected at the end of the run, in {}", self.connection.state()))
            }
            None => None,
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.connection.poll_timeout().is_some_and(|at| at <= now) {
            self.connection.handle_timeout(now);
            self.take_events();
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.connection.poll_timeout()
    }

    /// The flow stops: the connection is closed.
    #[cold]
    pub(crate) fn close(&mut self, now: Instant) {
        self.stopped |= self.closed.is_none();
        self.connection.close(now);
    }

    pub(crate) fn setbacks(&self) -> Setbacks {
        self.connection.setbacks().into()
    }

    pub(crate) fn status(&self) -> Status {
        let status = self.connection.status();
        // A controller that has ended lets nothing go.
        let mut sender = status.sender.filter(|_| status.state <= State::Open).unwrap_or_default();
        sender.rtt = status.rtt;
        sender
    }
}

impl Server {
    /// The next packet to send now, if any.
    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Envelope> {
        if let Some(reply) = self.reply.take() {
            return Some(reply);
        }
        let connection = self.connection.as_mut()?;
        connection.poll_transmit(now, &mut NoData).as_ref().map(envelope)
    }

    /// A packet has come from the client; returns the data bytes that are the application's.
    pub(crate) fn handle(&mut self, now: Instant, ecn: Ecn, packet: &DccpPacket) -> u32 {
        let (ports, codec) = (self.ports, self.codec);
        match packet.received(ports, codec, |packet| self.process(now, ecn, packet)) {
            Delivery::Data => packet.data.payload,
            Delivery::Nothing | Delivery::Dropped(_) => 0,
        }
    }

    /// Bytes have come in the client's name, or in that of a stranger; returns the data bytes that are the application's, too.
    pub(crate) fn handle_bytes(&mut self, now: Instant, ecn: Ecn, raw: &RawPacket) -> (Verdict, u32) {
        let Some(packet) = raw.decode() else { return (Verdict::Malformed, 0) };
        let Some(strangers) = &mut self.strangers else { return (Verdict::Rejected, 0) };
        let [source, destination] = ends(&packet);
        let delivery = if destination != self.ports[1] {
            return (Verdict::Rejected, 0);
        } else if (raw.source, source) == (strangers.client, self.ports[0]) {
            self.process(now, ecn, &packet)
        } else {
            strangers.handle(now, &mut self.listener, ecn, (raw.source, source), &packet)
        };
        let verdict = Verdict::of(delivery);
        let payload = match packet {
            Decoded::Long(packet) if matches!(verdict, Verdict::Delivered) => packet.data.len() as u32,
            _ => 0,
        };
        (verdict, payload)
    }

    /// What the receiver has made of losses, under the sequence numbers of the client's packets.
    pub(crate) fn poll_judgement(&mut self) -> Option<Judgement> {
        self.connection.as_mut()?.poll_judgement()
    }

    fn process(&mut self, now: Instant, ecn: Ecn, packet: &Decoded<'_>) -> Delivery {
        let delivery = match &mut self.connection {
            Some(connection) if !self.listener.is_contested(connection, packet) => connection.handle(now, ecn, packet),
            _ => self.listen(now, ecn, packet),
        };
        while self.connection.as_mut().is_some_and(|connection| connection.poll_event().is_some()) {}
        delivery
    }

    /// The listener handles a packet for which there is no connection, or that contests the one there is.
    #[cold]
    fn listen(&mut self, now: Instant, ecn: Ecn, packet: &Decoded<'_>) -> Delivery {
        let outcome = if self.connection.is_some() {
            self.listener.contest(now, TO_CLIENT, ecn, packet)
        } else {
            self.listener.handle(now, TO_CLIENT, ecn, packet)
        };
        match outcome {
            Outcome::Ignored(why) => Delivery::Dropped(why),
            Outcome::Reply(outgoing) => {
                self.reply = Some(envelope(&outgoing));
                // Nothing is kept.
                Delivery::Dropped(Ignored::NoConnection)
            }
            Outcome::Accepted(accepted, delivery) => {
                self.connection = Some(accepted);
                delivery
            }
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if let Some(connection) = &mut self.connection
            && connection.poll_timeout().is_some_and(|at| at <= now)
        {
            connection.handle_timeout(now);
        }
        if let Some(strangers) = &mut self.strangers {
            strangers.handle_timeout(now);
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let connection = self.connection.as_ref().and_then(|connection| connection.poll_timeout());
        match &self.strangers {
            None => connection,
            Some(strangers) => connection.into_iter().chain(strangers.poll_timeout()).min(),
        }
    }
}

/// What became of bytes that an attacker has sent or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// They are no packet.
    Malformed,
    /// They did not pass step 7 of RFC 4340 section 8.5, or are a duplicate.
    Rejected,
    /// They did.
    Accepted,
    /// And their data went to the application.
    Delivered,
}

impl Verdict {
    const fn of(delivery: Delivery) -> Self {
        match delivery {
            Delivery::Data => Self::Delivered,
            Delivery::Nothing
            | Delivery::Dropped(
                Ignored::OptionError | Ignored::ProtocolConstraints | Ignored::Corrupt | Ignored::NotListening,
            ) => Self::Accepted,
            Delivery::Dropped(
                Ignored::ShortNumbers
                | Ignored::NoConnection
                | Ignored::NotInRequest
                | Ignored::SequenceInvalid
                | Ignored::Unexpected(_)
                | Ignored::Duplicate,
            ) => Self::Rejected,
        }
    }
}
