//! Values over time, pulled at a fixed interval: nothing is recorded between samples.

use crate::flow::Flow;
use crate::network::Network;
use crate::observe::Observer;
use crate::transport::Ends;
use headway_engine::Moment;
use headway_rate::Status;
use headway_record::{ByFlow, SeriesEntity, SeriesId, SeriesNames, SeriesWriter, metric};
use headway_scenario::{Link, Scenario};
use headway_units::{Duration, Instant};

/// The series of a run. Rates are means since the sample before.
#[derive(Debug)]
pub(crate) struct Series {
    writer: SeriesWriter,
    interval: Duration,
    last: Instant,
    flows: Vec<FlowSeries>,
    links: Vec<LinkSeries>,
}

#[derive(Debug)]
struct FlowSeries {
    bytes_before: u64,
    throughput: SeriesId,
    lost: SeriesId,
    /// Congestion window and slow-start threshold, of a TCP.
    window: Option<[SeriesId; 2]>,
    /// Sessions, of a source that makes them.
    open_sessions: Option<SeriesId>,
    /// Allowed rate, round trip and loss event rate, of a rate controller; each from when there is one.
    controller: Option<[SeriesId; 3]>,
}

#[derive(Debug)]
struct LinkSeries {
    bytes_before: u64,
    throughput: SeriesId,
    queue: SeriesId,
    arrived: SeriesId,
    dropped: SeriesId,
    average: Option<SeriesId>,
    varying: Option<Box<Varying>>,
    /// Arrivals and drops of each flow, where the link counts by flow; each from when the flow has come there.
    by_flow: Vec<[SeriesId; 2]>,
}

/// What a link is by its scenario, where that is not the same all the time.
#[derive(Debug)]
struct Varying {
    link: Link,
    rate: Option<SeriesId>,
    delay: Option<SeriesId>,
}

impl Varying {
    fn new(link: &Link, entity: SeriesEntity, names: &mut SeriesNames) -> Option<Box<Self>> {
        let changes = link.changes.as_ref().map_or(&[][..], |changes| changes.as_slice());
        let rate_varies = link.capacity.is_some() || changes.iter().any(|change| change.rate.is_some());
        let delay_varies = changes.iter().any(|change| change.delay.is_some());
        let mut series = |varies: bool, what| varies.then(|| names.of(entity, what));
        let [rate, delay] = [series(rate_varies, metric::LINK_RATE), series(delay_varies, metric::LINK_DELAY)];
        (rate_varies || delay_varies).then(|| Box::new(Self { link: link.clone(), rate, delay }))
    }

    fn sample(&self, writer: &mut SeriesWriter, from: Instant, to: Instant) {
        if let Some(id) = self.rate {
            writer.push(id, to, self.link.mean_rate(from, to));
        }
        if let Some(id) = self.delay {
            writer.push(id, to, self.link.delay_at(to).as_secs_f64());
        }
    }
}

impl Series {
    pub(crate) fn new(scenario: &Scenario, flows: &[Flow], interval: Duration) -> Self {
        let mut names = SeriesNames::default();
        let mut of_flow = |name: &str, flow: &Flow| {
            let entity = names.entity(name);
            let mut of = |what| names.of(entity, what);
            FlowSeries {
                bytes_before: 0,
                throughput: of(metric::THROUGHPUT),
                lost: of(metric::LOSS),
                window: flow.transport.tcp().map(|_| [metric::CWND, metric::SSTHRESH].map(&mut of)),
                open_sessions: flow.transport.open_sessions().map(|_| of(metric::OPEN_SESSIONS)),
                controller: flow
                    .transport
                    .status()
                    .map(|_| [metric::ALLOWED_RATE, metric::RTT, metric::LOSS_EVENT_RATE].map(&mut of)),
            }
        };
        let flows = scenario.flows.iter().zip(flows).map(|(described, flow)| of_flow(&described.name, flow)).collect();
        let of_link = |link: &Link| {
            let entity = names.entity(&link.name);
            LinkSeries {
                bytes_before: 0,
                throughput: names.of(entity, metric::THROUGHPUT),
                queue: names.of(entity, metric::QUEUE),
                arrived: names.of(entity, metric::ARRIVED),
                dropped: names.of(entity, metric::DROPPED),
                average: matches!(*link.queue, headway_link::QueueOptions::Red(_))
                    .then(|| names.of(entity, metric::RED_AVERAGE)),
                varying: Varying::new(link, entity, &mut names),
                by_flow: if link.by_flow { at_link(&mut names, &link.name, scenario) } else { Vec::new() },
            }
        };
        let links = scenario.links.iter().map(of_link).collect();
        Self { writer: names.samples(), interval, last: Instant::ZERO, flows, links }
    }

    pub(crate) fn interval(&self) -> Duration {
        self.interval
    }

    /// Flows, links, and flows at links that a sample looks at.
    pub(crate) fn sampled(&self) -> u64 {
        (self.flows.len() + self.links.iter().map(|link| 1 + link.by_flow.len()).sum::<usize>()) as u64
    }

    pub(crate) fn sample<O: Observer>(&mut self, moment: Moment, flows: &[Flow], network: &mut Network<O>) {
        let now = moment.at;
        let seconds = now.since(self.last).as_secs_f64();
        if seconds == 0.0 {
            return;
        }
        let before = std::mem::replace(&mut self.last, now);
        let rate = |bytes: u64, before: &mut u64| {
            let moved = bytes - std::mem::replace(before, bytes);
            moved as f64 * 8.0 / seconds
        };
        for (series, flow) in self.flows.iter_mut().zip(flows) {
            let meter = &network.flow_meters()[flow.driver.id.0 as usize];
            let throughput = rate(meter.total_received_bytes(), &mut series.bytes_before);
            self.writer.push(series.throughput, now, throughput);
            self.writer.push(series.lost, now, meter.total_lost_packets() as f64);
            if let (Some([cwnd, ssthresh]), Some(sender)) = (series.window, flow.transport.tcp()) {
                self.writer.push(cwnd, now, sender.cwnd());
                self.writer.push(ssthresh, now, sender.ssthresh());
            }
            if let (Some(id), Some(open)) = (series.open_sessions, flow.transport.open_sessions()) {
                self.writer.push(id, now, open as f64);
            }
            if let (Some(ids), Some(status)) = (series.controller, flow.transport.status()) {
                let Status { target_rate, rtt, loss_event_rate, .. } = status;
                let values = [
                    target_rate.map(|rate| rate.bits_per_second() as f64),
                    rtt.map(|rtt| rtt.as_secs_f64()),
                    loss_event_rate.map(|p| p.value()),
                ];
                for (id, value) in ids.into_iter().zip(values).filter_map(|(id, value)| Some((id, value?))) {
                    self.writer.push(id, now, value);
                }
            }
        }
        for (number, series) in self.links.iter_mut().enumerate() {
            let sample = network.sample(moment, number);
            self.writer.push(series.throughput, now, rate(sample.sent_bytes, &mut series.bytes_before));
            self.writer.push(series.queue, now, sample.queue_packets as f64);
            self.writer.push(series.arrived, now, sample.arrived_packets as f64);
            self.writer.push(series.dropped, now, sample.dropped_packets as f64);
            if let (Some(id), Some(average)) = (series.average, sample.average) {
                self.writer.push(id, now, average);
            }
            if let Some(varying) = &series.varying {
                varying.sample(&mut self.writer, before, now);
            }
            for (flow, arrived, dropped) in network.by_flow(number).into_iter().flat_map(ByFlow::totals) {
                if let Some([arrived_id, dropped_id]) = series.by_flow.get(flow.0 as usize) {
                    self.writer.push(*arrived_id, now, arrived as f64);
                    self.writer.push(*dropped_id, now, dropped as f64);
                }
            }
        }
    }

    pub(crate) fn writer_mut(&mut self) -> &mut SeriesWriter {
        &mut self.writer
    }

    pub(crate) fn into_writer(self) -> SeriesWriter {
        self.writer
    }
}

/// The series of each flow at a link.
fn at_link(names: &mut SeriesNames, link: &str, scenario: &Scenario) -> Vec<[SeriesId; 2]> {
    let of_flow = |flow: &headway_scenario::Flow| {
        let entity = format!("{link}/{}", flow.name);
        [metric::ARRIVED, metric::DROPPED].map(|what| names.series(&entity, what))
    };
    scenario.flows.iter().map(of_flow).collect()
}
