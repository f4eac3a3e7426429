//! An attacker at its node: drives an attack of `headway_attack` and counts its results.

use crate::addresses::{IP_HEADER, address, ports};
use crate::flow::attacked::AttackOutcome;
use crate::network::Network;
use crate::observe::{Observer, Place};
use crate::packet::{Body, Data, Envelope, Packet, RawEnd, RawPacket};
use crate::transport::{SERVICE, Verdict};
use headway_attack::{Attack, Context, Direction, Endpoint, Fate, SentPacket, Target};
use headway_dccp::{Addresses, Network as Checksummed};
use headway_engine::{Class, Moment, Owner, Timer};
use headway_link::Handle;
use headway_record::AttackerSummary;
use headway_scenario::Scenario;
use headway_units::{DropCause, Ecn, FlowId, Instant, Random, Registry};
use std::collections::BTreeMap;

/// Maximum number of packets that one event sends. Another event at the same time sends the rest.
const MAX_BURST_PACKETS: u32 = 1 << 10;

#[derive(Clone, Copy, Debug)]
pub(crate) struct AttackerRoutes {
    /// Starts of the routes from the attacker's node to the target's server and client.
    pub(crate) to_server: u32,
    pub(crate) to_client: u32,
    /// Ends of the flow's routes at the attacker's node, from the client and from the server; `None` if off the path.
    pub(crate) path: Option<[u32; 2]>,
}

#[derive(Debug)]
pub(crate) struct Attacker {
    number: u32,
    /// Number of its node.
    at: usize,
    salt: u32,
    attack: Attack,
    target: Target,
    flow: FlowId,
    routes: AttackerRoutes,
    timer: Timer,
    /// Delayed packets by time, packet number and slot. Copies of a packet share one number.
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

    pub(crate) fn held(&self) -> usize {
        self.held.len()
    }

    /// Returns the direction of a packet that arrives at the attacker's node, if the attacker is on its path.
    pub(crate) fn intercepts(&self, packet: &Packet) -> Option<Direction> {
        let [there, back] = self.routes.path?;
        match packet.place {
            place if place == there => Some(Direction::ToServer),
            place if place == back => Some(Direction::ToClient),
            _ => None,
        }
    }

    const fn onward(&self, direction: Direction) -> u32 {
        match direction {
            Direction::ToServer => self.routes.to_server,
            Direction::ToClient => self.routes.to_client,
        }
    }

    /// Handles a packet of the flow that arrives at the attacker's node.
    pub(crate) fn handle<O: Observer>(
        &mut self,
        now: Moment,
        direction: Direction,
        handle: Handle,
        network: &mut Network<O>,
    ) {
        self.counted.seen_packets += 1;
        let onward = self.onward(direction);
        let fate = match self.bytes(direction, network.packet(handle)) {
            Some(bytes) => self.attack.handle(now.at, direction, &bytes),
            None => Fate::Forwarded,
        };
        match fate {
            Fate::Forwarded => network.forward(now, handle, onward),
            Fate::Changed(bytes) => {
                self.counted.changed_packets += 1;
                self.change(direction, bytes, network.packet_mut(handle));
                network.forward(now, handle, onward);
            }
            Fate::Delayed(delay) => {
                self.counted.delayed_packets += 1;
                let packet = network.packet_mut(handle);
                packet.place = onward;
                self.held.insert((now.at + delay, packet.uid, handle.place()), handle);
            }
            Fate::Dropped => {
                self.counted.dropped_packets += 1;
                network.take(now.at, Place::Node(self.at), handle, DropCause::Channel);
            }
        }
        self.transmit(now, now.at, network);
    }

    /// Encodes the packet.
    fn bytes(&self, direction: Direction, packet: &Packet) -> Option<Vec<u8>> {
        let Body::Dccp(dccp) = &packet.body else { return None };
        let (source, destination) = self.target.ends(direction);
        let wire = dccp.on_wire([source.port, destination.port]);
        let mut bytes = vec![0; wire.encoded_len()];
        let network = Checksummed::Ip(Addresses::V4 { source: source.address, destination: destination.address });
        wire.encode(&mut bytes, network).ok().map(|_| bytes)
    }

    fn change(&self, direction: Direction, bytes: Vec<u8>, packet: &mut Packet) {
        let data = packet.body.data().copied().unwrap_or(Data::NONE);
        packet.size = (IP_HEADER + bytes.len()) as u32;
        let (source, destination) = self.target.ends(direction);
        let raw = RawPacket {
            source: source.address,
            destination: destination.address,
            bytes,
            to: end(direction),
            attacker: self.number,
            data,
        };
        packet.body = Body::Raw(Box::new(raw));
    }

    pub(crate) fn on_timer<O: Observer>(&mut self, now: Moment, network: &mut Network<O>) {
        // The deadline may be 1 ns later than the floating-point sum that orders events as in ns-2.
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

    /// Sends the packets that are due at `at` and arms the timer.
    fn transmit<O: Observer>(&mut self, now: Moment, at: Instant, network: &mut Network<O>) {
        for _ in 0..MAX_BURST_PACKETS {
            let Some(SentPacket { direction, source, bytes }) = self.attack.poll_transmit(at) else { break };
            let size = (IP_HEADER + bytes.len()) as u32;
            self.counted.sent_packets += 1;
            self.counted.sent_bytes += u64::from(size);
            let raw = RawPacket {
                source,
                destination: self.target.ends(direction).1.address,
                bytes,
                to: end(direction),
                attacker: self.number,
                data: Data::NONE,
            };
            let envelope = Envelope { size, ecn: Ecn::NotEct, body: Body::Raw(Box::new(raw)) };
            // Not counted as sent by the flow: its meter counts the packets of the client.
            network.inject(now, self.flow, self.onward(direction), false, envelope);
        }
        self.arm(now, network);
    }

    pub(crate) fn arm_start<O: Observer>(&mut self, network: &mut Network<O>) {
        self.arm(Moment::new(Instant::ZERO), network);
    }

    fn arm<O: Observer>(&mut self, now: Moment, network: &mut Network<O>) {
        let held = self.held.first_key_value().map(|(&(at, ..), _)| at);
        let due = held.into_iter().chain(self.attack.poll_timeout()).min().map(|at| at.max(now.at));
        let owner = Owner { class: Class::Attacker, number: self.number, salt: self.salt };
        self.timer.arm(now, due, owner, network.events());
    }

    /// Counts one of the attacker's packets that arrived at an endpoint of the flow.
    pub(crate) fn on_outcome(&mut self, outcome: &AttackOutcome) {
        let counted = &mut self.counted;
        counted.arrived_packets += 1;
        counted.malformed_packets += u64::from(outcome.verdict == Verdict::Malformed);
        counted.accepted_packets += u64::from(matches!(outcome.verdict, Verdict::Accepted | Verdict::Delivered));
        counted.delivered_packets += u64::from(outcome.verdict == Verdict::Delivered);
        counted.answer_packets += outcome.answers;
        counted.answer_bytes += outcome.answer_bytes;
        counted.peak_connections = counted.peak_connections.max(outcome.connections);
    }
}

const fn end(direction: Direction) -> RawEnd {
    match direction {
        Direction::ToServer => RawEnd::Server,
        Direction::ToClient => RawEnd::Client,
    }
}
