//! Who talks to a flow's listener besides its client: addresses that an attacker made up. Nobody is there, so that what answers
//! them ends where the attacker sits.

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
pub(crate) struct Strangers {
    /// The address of the flow's client, who is none.
    pub(crate) client: Ipv4Addr,
    server: Ipv4Addr,
    /// Where the route back to them starts.
    pub(crate) route: u32,
    connections: BTreeMap<Peer, Box<Connection>>,
    /// Who may have something to say.
    talking: Option<Peer>,
    reply: Option<Envelope>,
}

impl Strangers {
    pub(crate) fn new(client: Ipv4Addr, server: Ipv4Addr, route: u32) -> Self {
        Self { client, server, route, connections: BTreeMap::new(), talking: None, reply: None }
    }

    /// Connections that are kept for them.
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
        self.talking = Some(peer);
        if let Some(connection) = self.connections.get_mut(&peer) {
            return connection.handle(now, ecn, packet);
        }
        let (local, remote) = (self.server, peer.0);
        match listener.handle(now, Path::Ipv4 { local, remote }, ecn, packet) {
            Outcome::Ignored(why) => Delivery::Dropped(why),
            Outcome::Reply(outgoing) => {
                self.reply = Some(to_nobody(local, remote, &outgoing));
                Delivery::Dropped(Ignored::NoConnection)
            }
            Outcome::Accepted(accepted, delivery) => {
                self.connections.insert(peer, accepted);
                delivery
            }
        }
    }

    /// The next packet to send now, if any.
    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Envelope> {
        if let Some(reply) = self.reply.take() {
            return Some(reply);
        }
        let peer = self.talking?;
        let connection = self.connections.get_mut(&peer)?;
        let envelope =
            connection.poll_transmit(now, &mut NoData).map(|outgoing| to_nobody(self.server, peer.0, &outgoing));
        while connection.poll_event().is_some() {}
        if envelope.is_none() {
            self.talking = None;
            if connection.state() == State::Closed {
                self.connections.remove(&peer);
            }
        }
        envelope
    }

    /// One of those whose time has come acts; [`Self::poll_timeout`] then says when the next one does.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        let due = |connection: &Connection| connection.poll_timeout().is_some_and(|at| at <= now);
        if let Some((peer, connection)) = self.connections.iter_mut().find(|(_, connection)| due(connection)) {
            connection.handle_timeout(now);
            self.talking = Some(*peer);
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.connections.values().filter_map(|connection| connection.poll_timeout()).min()
    }
}

/// A packet to an address that an attacker made up.
fn to_nobody(source: Ipv4Addr, destination: Ipv4Addr, outgoing: &Outgoing<'_>) -> Envelope {
    let mut bytes = vec![0; outgoing.packet.encoded_len()];
    let written = outgoing.packet.encode(&mut bytes, Network::Ip(Addresses::V4 { source, destination }));
    debug_assert!(written.is_ok(), "{written:?}");
    let size = (IP_HEADER + bytes.len()) as u32;
    let packet = RawPacket { source, destination, bytes, to: RawEnd::Nobody, attacker: 0, data: Data::NONE };
    Envelope { size, ecn: outgoing.ecn, body: Body::Raw(Box::new(packet)) }
}
