//! Events of one connection.

use super::Qlog;
use super::event::{Event, Header, Metrics, PacketInfo, Role};
use super::in_flight::InFlight;
use super::packet::Acknowledgement;
use crate::Clock;
use crate::mailbox::Closed;
use crate::watched::lock;
use headway_dccp::{Dropped, Fate, Packet, Path, Status};
use headway_units::{Duration, Instant};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// Maximum number of events before a file is open: the handshake of a peer, with retransmissions.
const MAX_EARLY: usize = 64;

/// Log of one connection. A clone is another handle to it.
#[derive(Clone, Debug)]
pub(crate) struct Trace(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    qlog: Qlog,
    clock: Clock,
    /// Time of the creation, and the same in ms since 1970.
    start: Instant,
    reference_time: f64,
    role: Role,
    /// Whether the first packet sent creates the file.
    opens_at_once: bool,
    stage: Stage,
    /// Number of events dropped since the last queued one.
    dropped: u64,
    established: bool,
    in_flight: InFlight,
    metrics: Metrics,
}

#[derive(Debug)]
enum Stage {
    /// The events wait until the peer has completed the handshake: a stranger creates no files.
    Early(Vec<(Duration, Event)>),
    /// The file with this number is open.
    Open(u64),
    Closed,
}

impl Trace {
    /// `opens_at_once`: whether the first packet sent creates the file, or [`open`](Self::open).
    #[expect(clippy::disallowed_methods, reason = "times are relative to a date")]
    pub(crate) fn new(qlog: &Qlog, clock: Clock, role: Role, opens_at_once: bool, path: Path) -> Self {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let trace = Self(Arc::new(Mutex::new(State {
            qlog: qlog.clone(),
            clock,
            start: clock.elapsed(),
            reference_time: since_1970.as_millis() as f64,
            role,
            opens_at_once,
            stage: Stage::Early(Vec::new()),
            dropped: 0,
            established: false,
            in_flight: InFlight::default(),
            metrics: Metrics::default(),
        })));
        lock(&trace.0).push(Event::Started(path));
        trace
    }

    /// Records a packet sent. `status`: state of the connection after it.
    pub(crate) fn sent(&self, packet: &Packet<'_>, status: Option<&Status>) {
        let mut state = lock(&self.0);
        let info = PacketInfo::new(packet, Acknowledgement::of(packet).as_ref());
        let datagram = info.has_datagram().then_some(info.payload);
        state.in_flight.sent(packet.seq, info.kind, datagram);
        state.push(Event::Sent(info));
        if state.opens_at_once {
            state.open();
        }
        // Each packet changes the bytes in flight; they are recorded with the next acknowledgement.
        let metrics = status.map(|status| Metrics {
            bytes_in_flight: state.metrics.bytes_in_flight,
            packets_in_flight: state.metrics.packets_in_flight,
            ..Metrics::of(status)
        });
        state.update_metrics(metrics);
    }

    /// Records a valid packet received. `status`: state of the connection after it.
    pub(crate) fn received(&self, packet: &Packet<'_>, status: Option<&Status>) {
        let mut state = lock(&self.0);
        let acknowledgement = Acknowledgement::of(packet);
        state.push(Event::Received(PacketInfo::new(packet, acknowledgement.as_ref())));
        if let Some(report) = acknowledgement {
            let mut lost = Vec::new();
            state.in_flight.acknowledge(&report, |kind, number| lost.push((kind, number.value())));
            lost.into_iter().for_each(|(kind, number)| state.push(Event::Lost { kind, number }));
        }
        let metrics = status.map(|status| Metrics {
            bytes_in_flight: Some(state.in_flight.bytes()),
            packets_in_flight: Some(state.in_flight.packets()),
            ..Metrics::of(status)
        });
        state.update_metrics(metrics);
    }

    /// Records a received packet without effect.
    pub(crate) fn ignored(&self, packet: &Packet<'_>, why: Dropped) {
        let info = PacketInfo::new(packet, Acknowledgement::of(packet).as_ref());
        lock(&self.0).push(Event::Ignored(info, why));
    }

    /// Records the outcome of a datagram.
    pub(crate) fn fate(&self, id: u64, fate: Fate) {
        if let Some(event) = Event::dropped(id, fate) {
            lock(&self.0).push(event);
        }
    }

    /// Creates the file.
    pub(crate) fn open(&self) {
        lock(&self.0).open();
    }

    /// Records that the handshake is complete. A server may still refuse the connection, so this creates the file of a
    /// client only.
    pub(crate) fn established(&self) {
        let mut state = lock(&self.0);
        state.established = true;
        state.push(Event::Established);
        if state.role == Role::Client {
            state.open();
        }
    }

    /// Records the end of the connection. Its last packets may follow.
    pub(crate) fn closed(&self, why: &Closed) {
        let mut state = lock(&self.0);
        let established = state.established;
        state.push(Event::Closed { why: why.clone(), established });
    }

    /// Closes the file.
    pub(crate) fn finish(&self) {
        let mut state = lock(&self.0);
        if let Stage::Open(file) = std::mem::replace(&mut state.stage, Stage::Closed) {
            let (now, dropped) = (state.now(), state.dropped);
            state.qlog.close(file, now, dropped);
        }
    }
}

impl State {
    /// Returns the time since the creation. The clock is read for each event, so times ascend.
    fn now(&self) -> Duration {
        self.clock.elapsed().since(self.start)
    }

    fn push(&mut self, event: Event) {
        let now = self.now();
        self.push_at(now, event);
    }

    fn push_at(&mut self, time: Duration, event: Event) {
        match &mut self.stage {
            Stage::Early(events) if events.len() < MAX_EARLY => events.push((time, event)),
            Stage::Early(_) => self.dropped += 1,
            Stage::Open(file) => {
                let file = *file;
                if self.dropped > 0 && self.qlog.push(file, time, Event::EventsDropped(self.dropped)) {
                    self.dropped = 0;
                }
                if self.dropped > 0 || !self.qlog.push(file, time, event) {
                    self.dropped += 1;
                }
            }
            Stage::Closed => {}
        }
    }

    fn open(&mut self) {
        let Stage::Early(events) = &mut self.stage else { return };
        let events = std::mem::take(events);
        // At both ends it is a packet of the client, whose number is random.
        let first = events.iter().find_map(|(_, event)| match event {
            Event::Sent(packet) | Event::Received(packet) => Some(packet.number),
            _ => None,
        });
        let group = format!("{:012x}", first.unwrap_or_default());
        let name = format!("{group}.{}", self.role.name());
        let header = Header { role: self.role, group, reference_time: self.reference_time };
        self.stage = Stage::Open(self.qlog.open(name, header));
        // Events were dropped after these.
        let dropped = std::mem::take(&mut self.dropped);
        events.into_iter().for_each(|(time, event)| self.push_at(time, event));
        self.dropped += dropped;
    }

    fn update_metrics(&mut self, metrics: Option<Metrics>) {
        if let Some(metrics) = metrics
            && let Some(changes) = metrics.changes_since(&self.metrics)
        {
            self.metrics = metrics;
            self.push(Event::Metrics(changes));
        }
    }
}

impl Metrics {
    /// Returns the metrics of a connection without those of data in flight. A window in packets is converted to bytes
    /// with the mean size of the datagrams sent.
    fn of(status: &Status) -> Self {
        let Status { counters, rtt, sender, .. } = status;
        let size = counters.sent_data as f64 / counters.sent_data_packets.max(1) as f64;
        let bytes = |packets: f64| (packets * size) as u64;
        let sender = sender.unwrap_or_default();
        Self {
            smoothed_rtt: *rtt,
            congestion_window: sender.window.map(|window| window.count()).or(sender.window_packets.map(bytes)),
            ssthresh: sender.ssthresh.map(bytes),
            pacing_rate: sender.pacing_rate,
            target_rate: sender.target_rate,
            loss_event_rate: sender.loss_event_rate,
            ..Self::default()
        }
    }
}

#[cfg(feature = "qlog")]
#[cfg(test)]
mod tests;
