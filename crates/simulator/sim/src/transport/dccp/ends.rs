//! Endpoints of a connection, around the state machines of `headway_dccp`.

use super::spoofed_peers::SpoofedPeers;
use super::wire::{ends, envelope, zeroes};
use crate::addresses::ports;
use crate::clocks::Meter;
use crate::observe::{CongestionEvents, RoundTrip};
use crate::packet::{Body, Data, DccpPacket, Envelope, RawPacket};
use crate::send_queue::SendQueue;
use headway_dccp::{
    Closed, Connection, ConnectionOptions, Decoded, Delivery, Event, Ignored, Listener, NoData, Outbox, Outcome, Path,
    Ports, ResetCode, ServiceCode, State,
};
use headway_media::{Media, SendQueueOptions, UdpOptions};
use headway_rate::{LossClassification, Next, Status};
use headway_scenario::{Controlled, DccpOptions};
use headway_units::{Bytes, Ecn, FlowId, Instant, Random, Seq48};
use std::net::Ipv4Addr;

/// Size of the IPv4 and DCCP-Data headers without options, in bytes. Sizes on the wire include them.
const DATA_HEADERS: u64 = 36;
/// Service code of all flows: discard (RFC 4340 section 8.1.2).
pub(crate) const SERVICE: ServiceCode = ServiceCode(u32::from_be_bytes(*b"DISC"));
/// Path to the client as seen by the flow's own listener. The addresses are not used by nodes or attackers.
const TO_CLIENT: Path = Path::Ipv4 { local: Ipv4Addr::new(192, 0, 2, 2), remote: Ipv4Addr::new(192, 0, 2, 1) };

/// Sender of the data, which opens the connection.
#[derive(Debug)]
pub(crate) struct Client {
    connection: Connection,
    pub(crate) queue: SendQueue,
    /// Sequence number of the first packet; the send queue counts from it.
    first: Option<Seq48>,
    /// Source and destination port of received packets.
    ports: [u16; 2],
    codec: bool,
    connected: bool,
    /// Whether the flow stopped before the connection closed.
    stopped: bool,
    closed: Option<Closed>,
}

/// Receiver of the data, which listens.
#[derive(Debug)]
pub(crate) struct Server {
    listener: Listener,
    connection: Option<Box<Connection>>,
    /// Reply of the listener without a connection.
    reply: Option<Envelope>,
    /// State for spoofed addresses of an attacker.
    pub(crate) spoofed_peers: Option<Box<SpoofedPeers>>,
    /// Source and destination port of received packets.
    ports: [u16; 2],
    codec: bool,
}

/// Creates both endpoints of a flow with these start times, each by its own clock.
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
    (
        client,
        Server { listener, connection: None, reply: None, spoofed_peers: None, ports: [local, remote], codec: *codec },
    )
}

/// Returns the maximum packet size and the header size with which a connection with these options cuts writes into
/// packets.
#[must_use]
pub fn dccp_cut(connection: &ConnectionOptions) -> UdpOptions {
    let ports = Ports { local: 0, remote: 0 };
    cut_for(&Connection::connect(Instant::ZERO, connection, ports, SERVICE, Random::new(0, "cut")))
}

fn cut_for(client: &Connection) -> UdpOptions {
    let full = client.status().maximum_packet_size as u64;
    UdpOptions { datagram: Bytes::new(full + DATA_HEADERS), header: Bytes::new(DATA_HEADERS) }
}

/// Adapter of the send queue for a connection; all data bytes are zero.
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

    /// Handles a packet of the server. Returns the measured round trip, if any.
    pub(crate) fn handle(&mut self, now: Instant, ecn: Ecn, packet: &DccpPacket) -> Option<RoundTrip> {
        packet.received(self.ports, self.codec, |packet| self.connection.handle(now, ecn, packet));
        self.after_packet(now)
    }

    /// Handles an encoded packet with the server's source address.
    pub(crate) fn handle_bytes(&mut self, now: Instant, ecn: Ecn, raw: &RawPacket) -> (Verdict, Option<RoundTrip>) {
        match raw.decode() {
            Some(packet) if ends(&packet) == self.ports => {
                let delivery = self.connection.handle(now, ecn, &packet);
                (Verdict::of(delivery), self.after_packet(now))
            }
            Some(_) => (Verdict::Rejected, None),
            None => (Verdict::Malformed, None),
        }
    }

    /// Updates the state after a received packet. Returns the measured round trip, if any.
    fn after_packet(&mut self, now: Instant) -> Option<RoundTrip> {
        self.take_events();
        let trip = self.connection.take_rtt_sample().map(|sample| {
            let trip = RoundTrip { sample, smoothed: self.connection.round_trip(), one_way: None };
            self.queue.on_round_trip(&trip);
            trip
        });
        if let (true, Some(first), Some(arrivals)) = (self.queue.resends(), self.first, self.connection.take_arrivals())
        {
            self.queue.on_arrivals(now, arrivals.newest.distance_from(first), arrivals.runs);
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

    /// Returns why the connection was not established, or why it ended before the flow stopped.
    pub(crate) fn failure(&self) -> Option<String> {
        match self.closed {
            Some(Closed::ByPeer(reset) | Closed::ByUs(reset)) if reset.code == ResetCode::CLOSED => {
                (!self.stopped).then(|| "the peer closed the connection".to_owned())
            }
            Some(Closed::ByPeer(reset)) => Some(format!("the peer reset the connection: {}", reset.code)),
            Some(Closed::ByUs(reset)) => Some(format!("this endpoint reset the connection: {}", reset.code)),
            Some(Closed::NoAnswer(state)) => Some(format!("the peer did not respond in state {state}")),
            None if !self.connected && self.connection.status().counters.sent_packets > 0 => {
                Some(format!("not connected at the end of the run, in state {}", self.connection.state()))
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

    #[cold]
    pub(crate) fn close(&mut self, now: Instant) {
        self.stopped |= self.closed.is_none();
        self.connection.close(now);
    }

    pub(crate) fn congestion_events(&self) -> CongestionEvents {
        self.connection.congestion_events().into()
    }

    pub(crate) fn status(&self) -> Status {
        // A controller that has ended allows no rate.
        let is_open = self.connection.state() <= State::Open;
        let mut sender = self.connection.sender_status().filter(|_| is_open).unwrap_or_default();
        sender.rtt = self.connection.round_trip();
        sender
    }
}

impl Server {
    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Envelope> {
        if let Some(reply) = self.reply.take() {
            return Some(reply);
        }
        let connection = self.connection.as_mut()?;
        connection.poll_transmit(now, &mut NoData).as_ref().map(envelope)
    }

    /// Handles a packet of the client. Returns the number of bytes for the application.
    pub(crate) fn handle(&mut self, now: Instant, ecn: Ecn, packet: &DccpPacket) -> u32 {
        let (ports, codec) = (self.ports, self.codec);
        match packet.received(ports, codec, |packet| self.process(now, ecn, packet)) {
            Delivery::Data => packet.data.payload,
            Delivery::Nothing | Delivery::Dropped(_) => 0,
        }
    }

    /// Handles an encoded packet with the client's or a spoofed source address. Also returns its bytes for the
    /// application.
    pub(crate) fn handle_bytes(&mut self, now: Instant, ecn: Ecn, raw: &RawPacket) -> (Verdict, u32) {
        let Some(packet) = raw.decode() else { return (Verdict::Malformed, 0) };
        let Some(spoofed_peers) = &mut self.spoofed_peers else { return (Verdict::Rejected, 0) };
        let [source, destination] = ends(&packet);
        let delivery = if destination != self.ports[1] {
            return (Verdict::Rejected, 0);
        } else if (raw.source, source) == (spoofed_peers.client, self.ports[0]) {
            self.process(now, ecn, &packet)
        } else {
            spoofed_peers.handle(now, &mut self.listener, ecn, (raw.source, source), &packet)
        };
        let verdict = Verdict::of(delivery);
        let payload = match packet {
            Decoded::Long(packet) if matches!(verdict, Verdict::Delivered) => packet.data.len() as u32,
            _ => 0,
        };
        (verdict, payload)
    }

    /// Returns the receiver's next judgement of losses, by sequence numbers of the client's packets.
    pub(crate) fn poll_loss_classification(&mut self) -> Option<LossClassification> {
        self.connection.as_mut()?.poll_loss_classification()
    }

    fn process(&mut self, now: Instant, ecn: Ecn, packet: &Decoded<'_>) -> Delivery {
        let delivery = match &mut self.connection {
            Some(connection) if !self.listener.is_contested(connection, packet) => connection.handle(now, ecn, packet),
            _ => self.listen(now, ecn, packet),
        };
        while self.connection.as_mut().is_some_and(|connection| connection.poll_event().is_some()) {}
        delivery
    }

    /// Passes a packet without a connection, or one that contests the current connection, to the listener.
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
                // The listener keeps no state.
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
        if let Some(spoofed_peers) = &mut self.spoofed_peers {
            spoofed_peers.handle_timeout(now);
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let connection = self.connection.as_ref().and_then(|connection| connection.poll_timeout());
        match &self.spoofed_peers {
            None => connection,
            Some(spoofed_peers) => connection.into_iter().chain(spoofed_peers.poll_timeout()).min(),
        }
    }
}

/// Result of handling an encoded packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The bytes are not a valid packet.
    Malformed,
    /// The packet failed step 7 of RFC 4340 section 8.5, or is a duplicate.
    Rejected,
    /// The packet was accepted.
    Accepted,
    /// The packet was accepted and its data delivered to the application.
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
