//! The link between the ends of all flows, with what goes through it.

use crate::time::Time;

use headway_emulator::{PortSample, Proxy, ProxyError, Seen, Watch, Way};
use headway_record::{FlowMeter, FlowPacket, Measured};
use headway_units::{DropCause, Duration, Instant, MediaKind};
use std::sync::Arc;

/// What is counted of a flow and of the link's directions at one instant.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) at: Instant,
    /// Of each flow: bytes that have come, packets that were lost.
    pub(crate) flows: Vec<(u64, u64)>,
    /// Of each direction.
    pub(crate) ways: [PortSample; 2],
}

/// What goes through each door towards the servers: a flow's packets, whatever they carry.
#[derive(Debug)]
pub(crate) struct Flows(pub(crate) Vec<FlowMeter>);

impl Flows {
    pub(crate) fn new(flows: usize, measured: &Arc<Measured>) -> Self {
        Self((0..flows).map(|_| FlowMeter::new(measured)).collect())
    }

    fn of(&mut self, seen: &Seen) -> Option<(&mut FlowMeter, FlowPacket)> {
        let meter = self.0.get_mut(seen.door).filter(|_| seen.way == Way::ToServer)?;
        Some((meter, FlowPacket { sent_at: seen.came, wire_bytes: seen.bytes, kind: MediaKind::Data, deadline: None }))
    }
}

impl Watch for Flows {
    fn came(&mut self, seen: &Seen) {
        if let Some((meter, packet)) = self.of(seen) {
            meter.sent(&packet);
        }
    }
    fn left(&mut self, now: Instant, seen: &Seen) {
        if let Some((meter, packet)) = self.of(seen) {
            meter.received(now, &packet, 0);
        }
    }
    fn dropped(&mut self, _: Instant, seen: &Seen, cause: DropCause) {
        if let Some((meter, packet)) = self.of(seen) {
            meter.lost(&packet, cause);
        }
    }
}

/// Serves the link until the run is over; with samples, if they are to be taken each so long.
pub(crate) fn serve(
    proxy: &mut Proxy,
    flows: &mut Flows,
    time: &Time,
    interval: Option<Duration>,
) -> Result<Vec<Sample>, ProxyError> {
    let mut samples = Vec::new();
    let mut next = interval.map(|interval| Instant::ZERO + interval);
    loop {
        let now = time.now();
        if let (Some(at), Some(interval)) = (next, interval)
            && (now >= at || time.is_over(now))
        {
            samples.push(sample(proxy, flows, now));
            next = Some(at + interval);
        }
        if time.is_over(now) {
            return Ok(samples);
        }
        proxy.turn_watched(time.wait(now, next), flows)?;
    }
}

fn sample(proxy: &mut Proxy, flows: &Flows, at: Instant) -> Sample {
    let ways = Way::BOTH.map(|way| proxy.sample(way));
    let of_flow = |meter: &FlowMeter| (meter.total_received_bytes(), meter.total_lost_packets());
    Sample { at, flows: flows.0.iter().map(of_flow).collect(), ways }
}
