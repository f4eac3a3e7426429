//! Trace of a run for Perfetto. It has one process for each direction of a link (transmissions, drops and queue), each
//! flow (window, round-trip times, timeouts and loss events) and each node.

use crate::observe::{CongestionEvent, LinkEvent, Observer, OfferedPacket, Place, RoundTrip};
use crate::packet::Packet;
use headway_media::Unsent;
use headway_record::perfetto::PerfettoWriter;
use headway_scenario::Scenario;
use headway_units::{DropCause, Duration, Instant};
use serde_json::{Map, Value, json};

/// Perfetto trace. Call [`take`](Self::take) regularly to limit its memory.
#[derive(Debug)]
pub struct PerfettoTrace {
    writer: PerfettoWriter,
    links: u32,
    flows: Vec<FlowState>,
    /// Last packet offered in each slot.
    offered: Vec<Option<Offered>>,
}

#[derive(Debug)]
struct FlowState {
    name: String,
    cwnd: Option<f64>,
}

#[derive(Debug)]
struct Offered {
    at: Instant,
    link: u32,
    flow: usize,
    about: Map<String, Value>,
}

impl PerfettoTrace {
    /// Creates the trace of a run of this scenario.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let mut writer = PerfettoWriter::default();
        let links = scenario.links.iter().map(|link| (&link.name, ["transmission", "drops"]));
        let flows = scenario.flows.iter().map(|flow| (&flow.name, ["", "events"]));
        let nodes = scenario.nodes.iter().map(|node| (node, ["", "drops"]));
        for (number, (name, tracks)) in (1..).zip(links.chain(flows).chain(nodes)) {
            writer.process(number, name, tracks);
        }
        let flows = scenario.flows.iter().map(|flow| FlowState { name: flow.name.clone(), cwnd: None }).collect();
        Self { writer, links: scenario.links.len() as u32, flows, offered: Vec::new() }
    }

    /// Returns the bytes of the trace since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        self.writer.take()
    }

    fn of_flow(&self, flow: usize) -> u32 {
        1 + self.links + flow as u32
    }

    fn about(&self, packet: &Packet) -> Map<String, Value> {
        let kind = Packet::KINDS.get(usize::from(packet.kind())).copied().unwrap_or_default();
        let flow = self.flows.get(packet.flow.0 as usize).map_or("", |flow| &flow.name);
        object(json!({ "flow": flow, "kind": kind, "sequence": packet.trace_number(), "bytes": packet.size }))
    }
}

impl Observer for PerfettoTrace {
    const WATCHES: bool = false;
    const HOPS: bool = true;
    const FLOW_EVENTS: bool = true;

    fn link_event(&mut self, _: Instant, _: LinkEvent, _: usize, _: &Packet) {}

    fn hop_offered(&mut self, now: Instant, hop: &OfferedPacket<'_>) {
        let &OfferedPacket { slot, link, queue, packet } = hop;
        let (link, about) = (1 + link as u32, self.about(packet));
        self.writer.counter(link, "packets found waiting", now, queue as f64);
        if slot >= self.offered.len() {
            self.offered.resize_with(slot + 1, || None);
        }
        self.offered[slot] = Some(Offered { at: now, link, flow: packet.flow.0 as usize, about });
    }

    fn hop_transmitted(&mut self, slot: usize, start: Instant, end: Instant) {
        let Some(Offered { at, link, flow, mut about }) = self.offered.get_mut(slot).and_then(Option::take) else {
            return;
        };
        about.insert("waited_us".to_owned(), json!((start.as_nanos().saturating_sub(at.as_nanos())) as f64 / 1e3));
        let name = self.flows.get(flow).map_or("", |flow| &flow.name);
        self.writer.slice(link, name, [start, end], &about);
    }

    fn round_trip(&mut self, now: Instant, flow: usize, trip: RoundTrip) {
        self.writer.counter(self.of_flow(flow), "round trip in ms", now, trip.sample.as_secs_f64() * 1e3);
    }

    fn window(&mut self, now: Instant, flow: usize, sender: &headway_tcp::Sender) {
        let (process, cwnd) = (self.of_flow(flow), sender.cwnd());
        let Some(flow) = self.flows.get_mut(flow) else { return };
        if flow.cwnd != Some(cwnd) {
            flow.cwnd = Some(cwnd);
            self.writer.counter(process, "congestion window in packets", now, cwnd);
        }
    }

    fn dropped(&mut self, now: Instant, place: Place, cause: DropCause, packet: &Packet) {
        let process = match place {
            Place::Link(link) => 1 + link as u32,
            Place::Node(node) => self.of_flow(self.flows.len() + node),
        };
        let about = self.about(packet);
        self.writer.instant(process, cause.name(), now, &about);
    }

    fn congestion_event(&mut self, now: Instant, flow: usize, congestion_event: CongestionEvent, resent: Option<i64>) {
        let name = match congestion_event {
            CongestionEvent::Timeout => "timeout",
            CongestionEvent::FastRetransmit => "fast-retransmit",
            CongestionEvent::LossEvent => "loss-event",
        };
        let about = object(resent.map_or_else(|| json!({}), |number| json!({ "sends again": number })));
        self.writer.instant(self.of_flow(flow), name, now, &about);
    }

    fn unsent(&mut self, now: Instant, flow: usize, unsent: &Unsent) {
        let Unsent { media, cause, lateness } = unsent;
        let late_ms = lateness.as_secs_f64() * 1e3;
        let about = object(json!({ "kind": media.kind.name(), "bytes": media.size.count(), "late_ms": late_ms }));
        self.writer.instant(self.of_flow(flow), cause.name(), now, &about);
    }

    fn late(&mut self, now: Instant, by: Duration, packet: &Packet) {
        let mut about = self.about(packet);
        about.insert("late_ms".to_owned(), json!(by.as_secs_f64() * 1e3));
        self.writer.instant(self.of_flow(packet.flow.0 as usize), "late", now, &about);
    }

    fn ended(&mut self, _: Instant) {
        self.writer.finish();
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
