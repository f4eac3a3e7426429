//! The link between the ends of all flows, and the meters of the packets on it.

use crate::time::Time;
use headway_emulator::{DatagramInfo, Direction, Observer, PortSample, Proxy, ProxyError};
use headway_record::{FlowMeter, FlowPacket, Measured};
use headway_units::{DropCause, Duration, Instant, MediaKind};
use std::sync::Arc;

/// Counters of all flows and of both directions of the link at one time.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) at: Instant,
    /// Bytes received and packets lost, by flow.
    pub(crate) flows: Vec<(u64, u64)>,
    /// State of each direction.
    pub(crate) directions: [PortSample; 2],
}

/// Meters of the packets towards each server, one per flow and listening socket of the proxy.
#[derive(Debug)]
pub(crate) struct Flows(pub(crate) Vec<FlowMeter>);

impl Flows {
    pub(crate) fn new(flows: usize, measured: &Arc<Measured>) -> Self {
        Self((0..flows).map(|_| FlowMeter::new(measured)).collect())
    }

    fn of(&mut self, datagram: &DatagramInfo) -> Option<(&mut FlowMeter, FlowPacket)> {
        let meter = self.0.get_mut(datagram.listener).filter(|_| datagram.direction == Direction::ToServer)?;
        let DatagramInfo { bytes, arrived_at, .. } = *datagram;
        Some((meter, FlowPacket { sent_at: arrived_at, wire_bytes: bytes, kind: MediaKind::Data, deadline: None }))
    }
}

impl Observer for Flows {
    fn on_arrival(&mut self, datagram: &DatagramInfo) {
        if let Some((meter, packet)) = self.of(datagram) {
            meter.sent(&packet);
        }
    }
    fn on_departure(&mut self, now: Instant, datagram: &DatagramInfo) {
        if let Some((meter, packet)) = self.of(datagram) {
            meter.received(now, &packet, 0);
        }
    }
    fn on_drop(&mut self, _: Instant, datagram: &DatagramInfo, cause: DropCause) {
        if let Some((meter, packet)) = self.of(datagram) {
            meter.lost(&packet, cause);
        }
    }
}

/// Runs the link until the end of the run. Returns the samples, which are taken once per `interval`.
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
        proxy.turn_observed(time.wait(now, next), flows)?;
    }
}

fn sample(proxy: &mut Proxy, flows: &Flows, at: Instant) -> Sample {
    let directions = Direction::BOTH.map(|direction| proxy.sample(direction));
    let of_flow = |meter: &FlowMeter| (meter.total_received_bytes(), meter.total_lost_packets());
    Sample { at, flows: flows.0.iter().map(of_flow).collect(), directions }
}
