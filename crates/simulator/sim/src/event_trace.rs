//! Drops, losses, timeouts and late packets of a run, as they happen.

use crate::observe::{CongestionEvent, LinkEvent, Observer, Place};
use crate::packet::Packet;
use headway_media::Unsent;
use headway_record::{Event, EventCause, EventKind, EventLog, EventNames, EventsError};
use headway_scenario::Scenario;
use headway_units::{DropCause, Duration, Instant};

/// Trace of drops, losses, timeouts and late packets: `events.arrow`. Call [`take`](Self::take) regularly to limit its
/// memory.
#[derive(Debug)]
pub struct EventTrace {
    log: EventLog,
    links: usize,
    nodes: usize,
}

impl EventTrace {
    /// Creates the trace of a run of this scenario.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let flows = || scenario.flows.iter().map(|flow| flow.name.as_str());
        let places = scenario.links.iter().map(|link| &link.name).chain(&scenario.nodes).map(String::as_str);
        let names = EventNames::new(places.chain(flows()), flows(), Packet::KINDS);
        Self { log: EventLog::new(names), links: scenario.links.len(), nodes: scenario.nodes.len() }
    }

    /// Returns the bytes of `events.arrow` that have become complete since the last call.
    ///
    /// # Errors
    /// Returns an error if encoding fails.
    pub fn take(&mut self) -> Result<Vec<u8>, EventsError> {
        self.log.take()
    }

    /// Ends the trace and returns the rest of `events.arrow`.
    ///
    /// # Errors
    /// Returns an error if encoding fails.
    pub fn finish(self) -> Result<Vec<u8>, EventsError> {
        self.log.finish()
    }

    fn of_flow(&self, at: Instant, kind: EventKind, flow: usize) -> Event {
        let entity = (self.links + self.nodes + flow) as u32;
        Event { at, kind, entity, flow: flow as u32, media: None, cause: None, sequence: None, bytes: None, late: None }
    }

    fn of_packet(&self, at: Instant, kind: EventKind, packet: &Packet) -> Event {
        Event {
            media: Some(packet.kind()),
            sequence: packet.trace_number().try_into().ok(),
            bytes: Some(packet.size),
            ..self.of_flow(at, kind, packet.flow.0 as usize)
        }
    }
}

impl Observer for EventTrace {
    const WATCHES: bool = false;
    const FLOW_EVENTS: bool = true;

    fn link_event(&mut self, _: Instant, _: LinkEvent, _: usize, _: &Packet) {}

    fn dropped(&mut self, now: Instant, place: Place, cause: DropCause, packet: &Packet) {
        let entity = match place {
            Place::Link(link) => link,
            Place::Node(node) => self.links + node,
        };
        let event = self.of_packet(now, EventKind::Drop, packet);
        self.log.push(Event { entity: entity as u32, cause: Some(EventCause::Drop(cause)), ..event });
    }

    fn congestion_event(&mut self, now: Instant, flow: usize, congestion_event: CongestionEvent, resent: Option<i64>) {
        let kind = match congestion_event {
            CongestionEvent::Timeout => EventKind::Timeout,
            CongestionEvent::FastRetransmit => EventKind::FastRetransmit,
            CongestionEvent::LossEvent => EventKind::LossEvent,
        };
        let sequence = resent.and_then(|number| number.try_into().ok());
        self.log.push(Event { sequence, ..self.of_flow(now, kind, flow) });
    }

    fn unsent(&mut self, now: Instant, flow: usize, unsent: &Unsent) {
        let Unsent { media, cause, lateness } = unsent;
        self.log.push(Event {
            media: Some(media.kind as u8),
            cause: Some(EventCause::Unsent(*cause)),
            bytes: Some(media.size.count() as u32),
            late: Some(*lateness),
            ..self.of_flow(now, EventKind::Unsent, flow)
        });
    }

    fn late(&mut self, now: Instant, by: Duration, packet: &Packet) {
        self.log.push(Event { late: Some(by), ..self.of_packet(now, EventKind::Late, packet) });
    }
}
