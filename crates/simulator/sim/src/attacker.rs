//! An attacker at its node: drives an attack of `headway_attack`, and counts what comes of it.

use crate::addresses::{IP_HEADER, address, ports};
use crate::flow::struck::Struck;
use crate::network::Network;
use crate::observe::{Observer, Place};
use crate::packet::{Body, Data, Envelope, Packet, RawEnd, RawPacket};
use crate::transport::{SERVICE, Verdict};
use headway_attack::{Attack, Context, Endpoint, Fate, Shot, Target, Way};
use headway_dccp::{Addresses, Network as Checksummed};
use headway_engine::{Class, Moment, Owner, Timer};
use headway_link::Handle;
use headway_record::AttackerSummary;
use headway_scenario::Scenario;
use headway_units::{DropCause, Ecn, FlowId, Instant, Random, Registry};
use std::collections::BTreeMap;

/// The most packets that one event sends: what is left goes in another event at the same moment.
const BURST: u32 = 1 << 10;

#[derive(Clone, Copy, Debug)]
pub(crate) struct AttackerRoutes {
    /// Where those from its node to the target's server and to its client start.
    pub(crate) to_server: u32,
    pub(crate) to_client: u32,
    /// Where those of the flow end at its node, from the client and from the server, if it is on the path.
    pub(crate) path: Option<[u32; 2]>,
}

#[derive(Debug)]
pub(crate) struct Attacker {
    number: u32,
    /// Its node's.
    at: usize,
    salt: u32,
    attack: Attack,
    target: Target,
    flow: FlowId,
    routes: AttackerRoutes,
    timer: Timer,
    /// Packets held back, by when they go on, their number, and their place, as copies have one number.
    held: BTreeMap<(Instant, u64, usize), Handle>,
    counted: AttackerSummary,
}

impl Attacker {
    pub(crate) fn new(scenario: &Scenario, number: usize, routes: AttackerRoutes) -> Self {
        let described = &scenario.attackers[number];
        let (flow, id) = (&scenario.flows[described.target], FlowId(described.target as u32));
        let [client, server] = ports(id);
        let end = |node, port| Endpoint { address: address(node), port };
        let target = Target { client: end(flow.from, client), server: end(flow.to, server), service: SERVICE };
        let context = Context {
            target,
            start: described.start,
            stop: described.stop.unwrap_or(Instant::FAR_FUTURE),
            random: Random::new(scenario.seed, &format!("attacker {}", described.name)),
        };
        Self {
            number: number as u32,
            at: described.at,
            salt: Random::new(scenario.seed, &format!("attacker {} ties", described.name)).bits() as u32,
            attack: Attack::new(&described.attack, context),
            target,
            flow: id,
            routes,
            timer: Timer::default(),
            held: BTreeMap::new(),
            counted: AttackerSummary {
                name: described.name.clone(),
                at: scenario.nodes[described.at].clone(),
                target: flow.name.clone(),
                kind: described.attack.kind().to_owned(),
                ..AttackerSummary::default()
            },
        }
    }

    pub(crate) fn summary(&self) -> AttackerSummary {
        self.counted.clone()
    }

    /// Packets that it holds back.
    pub(crate) fn held(&self) -> usize {
        self.held.len()
    }

    /// The way of a packet that has come to its node, if it is on that packet's path.
    pub(crate) fn stops(&self, packet: &Packet) -> Option<Way> {
        let [there, back] = self.routes.path?;
        match packet.place {
            place if place == there => Some(Way::ToServer),
            place if place == back => Some(Way::ToClient),
            _ => None,
        }
    }

    const fn onward(&self, way: Way) -> u32 {
        match way {
            Way::ToServer => self.routes.to_server,
            Way::ToClient => self.routes.to_client,
        }
    }

    /// A packet of the flow has come to its node.
    pub(crate) fn handle<O: Observer>(&mut self, now: Moment, way: Way, handle: Handle, network: &mut Network<O>) {
        self.counted.seen_packets += 1;
        let onward = self.onward(way);
        let fate = match self.bytes(way, network.packet(handle)) {
            Some(bytes) => self.attack.handle(now.at, way, &bytes),
            None => Fate::Passes,
        };
        match fate {
            Fate::Passes => network.forward(now, handle, onward),
            Fate::Changed(bytes) => {
                self.counted.changed_packets += 1;
                self.change(way, bytes, network.packet_mut(handle));
                network.forward(now, handle, onward);
            }
            Fate::Later(delay) => {
                self.counted.delayed_packets += 1;
                let packet = network.packet_mut(handle);
                packet.place = onward;
                self.held.insert((now.at + delay, packet.uid, handle.place()), handle);
            }
            Fate::Taken => {
                self.counted.taken_packets += 1;
                network.take(now.at, Place::Node(self.at), handle, DropCause::Channel);
            }
        }
        self.transmit(now, now.at, network);
    }

    /// The packet as it is on the wire.
    fn bytes(&self, way: Way, packet: &Packet) -> Option<Vec<u8>> {
        let Body::Dccp(dccp) = &packet.body else { return None };
        let (source, destination) = self.target.ends(way);
        let wire = dccp.on_wire([source.port, destination.port]);
        let mut bytes = vec![0; wire.encoded_len()];
        let network = Checksummed::Ip(Addresses::V4 { source: source.address, destination: destination.address });
        wire.encode(&mut bytes, network).ok().map(|_| bytes)
    }

    fn change(&self, way: Way, bytes: Vec<u8>, packet: &mut Packet) {
        let data = packet.body.data().copied().unwrap_or(Data::NONE);
        packet.size = (IP_HEADER + bytes.len()) as u32;
        let (source, destination) = self.target.ends(way);
        let raw = RawPacket {
            source: source.address,
            destination: destination.address,
            bytes,
            to: end(way),
            attacker: self.number,
            data,
        };
        packet.body = Body::Raw(Box::new(raw));
    }

    pub(crate) fn on_timer<O: Observer>(&mut self, now: Moment, network: &mut Network<O>) {
        // Its deadline may be a nanosecond later than the sum that ns-2 goes by.
        let at = self.timer.fired().max(now.at);
        while let Some(entry) = self.held.first_entry()
            && entry.key().0 <= at
        {
            let handle = entry.remove();
            let onward = network.packet(handle).place;
            network.forward(now, handle, onward);
        }
        self.transmit(now, at, network);
    }

    /// Sends what goes when its clock says `at`, and sets its alarm.
    fn transmit<O: Observer>(&mut self, now: Moment, at: Instant, network: &mut Network<O>) {
        for _ in 0..BURST {
            let Some(Shot { way, source, bytes }) = self.attack.poll_transmit(at) else { break };
            let size = (IP_HEADER + bytes.len()) as u32;
            self.counted.sent_packets += 1;
            self.counted.sent_bytes += u64::from(size);
            let raw = RawPacket {
                source,
                destination: self.target.ends(way).1.address,
                bytes,
                to: end(way),
                attacker: self.number,
                data: Data::NONE,
            };
            let envelope = Envelope { size, ecn: Ecn::NotEct, body: Body::Raw(Box::new(raw)) };
            // No packet of the flow: its meter counts what its client sends.
            network.inject(now, self.flow, self.onward(way), false, envelope);
        }
        self.arm(now, network);
    }

    /// The run begins.
    pub(crate) fn set_off<O: Observer>(&mut self, network: &mut Network<O>) {
        self.arm(Moment::new(Instant::ZERO), network);
    }

    fn arm<O: Observer>(&mut self, now: Moment, network: &mut Network<O>) {
        let held = self.held.first_key_value().map(|(&(at, ..), _)| at);
        let due = held.into_iter().chain(self.attack.poll_timeout()).min().map(|at| at.max(now.at));
        let owner = Owner { class: Class::Attacker, number: self.number, salt: self.salt };
        self.timer.arm(now, due, owner, network.events());
    }

    /// One of its packets has come to an end of the flow.
    pub(crate) fn struck(&mut self, struck: &Struck) {
        let counted = &mut self.counted;
        counted.arrived_packets += 1;
        counted.malformed_packets += u64::from(struck.verdict == Verdict::Malformed);
        counted.accepted_packets += u64::from(matches!(struck.verdict, Verdict::Accepted | Verdict::Delivered));
        counted.delivered_packets += u64::from(struck.verdict == Verdict::Delivered);
        counted.answer_packets += struck.answers;
        counted.answer_bytes += struck.answer_bytes;
        counted.most_connections = counted.most_connections.max(struck.connections);
    }
}

const fn end(way: Way) -> RawEnd {
    match way {
        Way::ToServer => RawEnd::Server,
        Way::ToClient => RawEnd::Client,
    }
}
