//! Peers with spoofed addresses at a flow's listener. Replies to them end at the attacker's node.

use crate::addresses::IP_HEADER;
use crate::packet::{Body, Data, Envelope, RawEnd, RawPacket};
use headway_dccp::{
    Addresses, Connection, Decoded, Delivery, Ignored, Listener, Network, NoData, Outcome, Outgoing, Path, State,
};
use headway_units::{Ecn, Instant};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

type Peer = (Ipv4Addr, u16);

#[derive(Debug)]
pub(crate) struct SpoofedPeers {
    /// Address of the flow's client, which is not spoofed.
    pub(crate) client: Ipv4Addr,
    server: Ipv4Addr,
    /// Start of the route for replies.
    pub(crate) route: u32,
    connections: BTreeMap<Peer, Box<Connection>>,
    /// Peer whose connection may have a packet to send.
    to_poll: Option<Peer>,
    reply: Option<Envelope>,
}

impl SpoofedPeers {
    pub(crate) fn new(client: Ipv4Addr, server: Ipv4Addr, route: u32) -> Self {
        Self { client, server, route, connections: BTreeMap::new(), to_poll: None, reply: None }
    }

    pub(crate) fn len(&self) -> usize {
        self.connections.len()
    }

    pub(crate) fn handle(
        &mut self,
        now: Instant,
        listener: &mut Listener,
        ecn: Ecn,
        peer: Peer,
        packet: &Decoded<'_>,
    ) -> Delivery {
        self.to_poll = Some(peer);
        if let Some(connection) = self.connections.get_mut(&peer) {
            return connection.handle(now, ecn, packet);
        }
        let (local, remote) = (self.server, peer.0);
        match listener.handle(now, Path::Ipv4 { local, remote }, ecn, packet) {
            Outcome::Ignored(why) => Delivery::Dropped(why),
            Outcome::Reply(outgoing) => {
                self.reply = Some(to_spoofed(local, remote, &outgoing));
                Delivery::Dropped(Ignored::NoConnection)
            }
            Outcome::Accepted(accepted, delivery) => {
                self.connections.insert(peer, accepted);
                delivery
            }
        }
    }

    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Envelope> {
        if let Some(reply) = self.reply.take() {
            return Some(reply);
        }
        let peer = self.to_poll?;
        let connection = self.connections.get_mut(&peer)?;
        let envelope =
            connection.poll_transmit(now, &mut NoData).map(|outgoing| to_spoofed(self.server, peer.0, &outgoing));
        while connection.poll_event().is_some() {}
        if envelope.is_none() {
            self.to_poll = None;
            if connection.state() == State::Closed {
                self.connections.remove(&peer);
            }
        }
        envelope
    }

    /// Handles the timeout of one due connection. Afterwards, [`Self::poll_timeout`] returns the next deadline.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        let due = |connection: &Connection| connection.poll_timeout().is_some_and(|at| at <= now);
        if let Some((peer, connection)) = self.connections.iter_mut().find(|(_, connection)| due(connection)) {
            connection.handle_timeout(now);
            self.to_poll = Some(*peer);
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.connections.values().filter_map(|connection| connection.poll_timeout()).min()
    }
}

fn to_spoofed(source: Ipv4Addr, destination: Ipv4Addr, outgoing: &Outgoing<'_>) -> Envelope {
    let mut bytes = vec![0; outgoing.packet.encoded_len()];
    let written = outgoing.packet.encode(&mut bytes, Network::Ip(Addresses::V4 { source, destination }));
    debug_assert!(written.is_ok(), "{written:?}");
    let size = (IP_HEADER + bytes.len()) as u32;
    let packet = RawPacket { source, destination, bytes, to: RawEnd::Spoofed, attacker: 0, data: Data::NONE };
    Envelope { size, ecn: outgoing.ecn, body: Body::Raw(Box::new(packet)) }
}
