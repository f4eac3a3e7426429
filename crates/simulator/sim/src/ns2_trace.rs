//! Packet traces in the formats of ns-2 (`$ns trace-all`) and nam (`$ns namtrace-all`).

use crate::observe::{LinkEvent, Observer};
use crate::packet::{Body, Packet};
use crate::transport::ns2_types;
use headway_record::nam::{self, NamLink};
use headway_record::ns2::{self, PacketType, TraceAddress, TraceEvent, TracePacket};
use headway_scenario::{Link, Scenario};
use headway_units::Instant;

/// Trace in ns-2's formats. Call [`take`](Self::take) regularly to limit its memory.
#[derive(Debug)]
pub struct Ns2Trace {
    lines: Vec<u8>,
    append: Append,
    /// Nodes at the ends of each link.
    links: Vec<(u32, u32)>,
    flows: Vec<Ends>,
}

type Append = fn(&mut Vec<u8>, TraceEvent, Instant, u32, u32, &TracePacket);

#[derive(Debug)]
struct Ends {
    data: PacketType,
    answer: PacketType,
    source: TraceAddress,
    destination: TraceAddress,
    fid: u32,
}

impl Ns2Trace {
    /// Creates a trace in the format of [`ns2`].
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        Self::in_lines(scenario, ns2::line)
    }

    /// Creates a trace in the format of [`nam`].
    #[must_use]
    pub fn nam(scenario: &Scenario) -> Self {
        let mut trace = Self::in_lines(scenario, nam::line);
        let link = |link: &Link| {
            let [from, to] = [link.from, link.to].map(|node| node as u32);
            NamLink { from, to, rate: link.rate, delay: link.delay }
        };
        let links: Vec<NamLink> = scenario.links.iter().map(link).collect();
        let flows = trace.flows.iter().map(|ends| ends.fid);
        nam::header(&mut trace.lines, scenario.nodes.len() as u32, &links, flows);
        trace
    }

    fn in_lines(scenario: &Scenario, append: Append) -> Self {
        // Each flow attaches an agent to both nodes, in the order of the scenario, as a script would.
        let mut ports = vec![0; scenario.nodes.len()];
        let mut attach = |node: usize| {
            let port = ports[node];
            ports[node] += 1;
            TraceAddress { node: node as u32, port }
        };
        let flows = scenario
            .flows
            .iter()
            .zip(1..)
            .map(|(flow, number)| {
                let [data, answer] = ns2_types(&flow.transport, &flow.source);
                // Scripts number flows from 1; 0 is the default of ns-2.
                let fid = flow.fid.unwrap_or(number);
                Ends { data, answer, source: attach(flow.from), destination: attach(flow.to), fid }
            })
            .collect();
        let links = scenario.links.iter().map(|link| (link.from as u32, link.to as u32)).collect();
        Self { lines: Vec::new(), append, links, flows }
    }

    /// Returns the lines of the trace since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.lines)
    }
}

impl Observer for Ns2Trace {
    const WATCHES: bool = true;

    fn link_event(&mut self, now: Instant, event: LinkEvent, link: usize, packet: &Packet) {
        let event = match event {
            LinkEvent::Enqueue => TraceEvent::Enqueue,
            LinkEvent::Dequeue => TraceEvent::Dequeue,
            LinkEvent::Receive => TraceEvent::Receive,
            LinkEvent::Drop | LinkEvent::Lost => TraceEvent::Drop,
        };
        let (from, to) = self.links[link];
        let ends = &self.flows[packet.flow.0 as usize];
        let (source, destination) =
            if packet.forward { (ends.source, ends.destination) } else { (ends.destination, ends.source) };
        let (ecn_echo, cwr) = match &packet.body {
            Body::Tcp(tcp) => (tcp.ece, tcp.cwr),
            _ => (false, false),
        };
        let traced = TracePacket {
            packet_type: if packet.forward { ends.data } else { ends.answer },
            bytes: packet.size,
            ecn: packet.ecn,
            ecn_echo,
            cwr,
            // A TCP sink replies with the flow id of the packet; a TFRC sink uses its own, which scripts leave at 0.
            flow: if matches!(packet.body, Body::Report(_)) { 0 } else { ends.fid },
            source,
            destination,
            sequence: packet.trace_number(),
            uid: packet.uid,
        };
        (self.append)(&mut self.lines, event, now, from, to, &traced);
    }
}
