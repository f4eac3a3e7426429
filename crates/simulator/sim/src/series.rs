//! Time series, sampled at a fixed interval.

use crate::flow::Flow;
use crate::network::Network;
use crate::observe::Observer;
use headway_engine::Moment;
use headway_link::Port;
use headway_record::{ByFlow, DelaySum, SeriesEntity, SeriesId, SeriesMetric, SeriesNames, SeriesWriter, metric};
use headway_scenario::{Link, Scenario};
use headway_units::{Duration, FlowId, Instant, MediaKind};

/// Time series of a run. Rates are means since the previous sample.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) writer: SeriesWriter,
    interval: Duration,
    last: Instant,
    metrics: Metrics,
    flows: Vec<FlowSeries>,
    links: Vec<LinkSeries>,
}

#[derive(Debug)]
struct FlowSeries {
    bytes_before: u64,
    /// Data sent before the last sample, in bytes, with a rate controller.
    data_before: u64,
    delays_before: DelaySum,
    entity: SeriesEntity,
    /// Media kinds, if it has several.
    kinds: Vec<KindSeries>,
    /// Whether it has a congestion window and a slow-start threshold (TCP).
    has_window: bool,
    /// Whether its source opens sessions.
    has_sessions: bool,
    /// Whether it has a sending rate and, once known, an allowed rate, a round-trip time and a loss event rate (rate
    /// controllers).
    has_controller: bool,
    /// Whether its source follows the allowed rate.
    has_encoder: bool,
}

/// Delays of a media kind of a flow.
#[derive(Debug)]
struct KindSeries {
    kind: MediaKind,
    delays_before: DelaySum,
    entity: SeriesEntity,
}

#[derive(Debug)]
struct LinkSeries {
    bytes_before: u64,
    entity: SeriesEntity,
    /// Series that only some links have.
    more: Option<Box<OptionalSeries>>,
}

#[derive(Debug)]
struct OptionalSeries {
    average: Option<SeriesId>,
    varying: Option<Varying>,
    /// Arrivals and drops of each flow if the link counts by flow, from its first packet on.
    by_flow: Vec<[SeriesId; 2]>,
}

/// Sampled metrics of flows and links. Those of any flow or link are listed in the file.
#[derive(Debug, Default)]
struct Metrics {
    throughput: Option<SeriesMetric>,
    one_way_delay: Option<SeriesMetric>,
    loss: Option<SeriesMetric>,
    cwnd: Option<SeriesMetric>,
    ssthresh: Option<SeriesMetric>,
    open_sessions: Option<SeriesMetric>,
    allowed_rate: Option<SeriesMetric>,
    sending_rate: Option<SeriesMetric>,
    encoder_rate: Option<SeriesMetric>,
    rtt: Option<SeriesMetric>,
    loss_event_rate: Option<SeriesMetric>,
    queue: Option<SeriesMetric>,
    arrived: Option<SeriesMetric>,
    dropped: Option<SeriesMetric>,
}

/// Configured rate and delay of a link, if they vary over time.
#[derive(Debug)]
struct Varying {
    link: Link,
    rate: Option<SeriesId>,
    delay: Option<SeriesId>,
}

impl Varying {
    fn new(link: &Link, entity: SeriesEntity, names: &mut SeriesNames) -> Option<Self> {
        let changes = link.changes.as_ref().map_or(&[][..], |changes| changes.as_slice());
        let rate_varies = link.capacity.is_some() || changes.iter().any(|change| change.rate.is_some());
        let delay_varies = changes.iter().any(|change| change.delay.is_some());
        let mut series = |varies: bool, what| varies.then(|| entity.series(names.metric(what)));
        let [rate, delay] = [series(rate_varies, metric::LINK_RATE), series(delay_varies, metric::LINK_DELAY)];
        (rate_varies || delay_varies).then(|| Self { link: link.clone(), rate, delay })
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
        let (mut names, mut metrics) = (SeriesNames::default(), Metrics::default());
        names.reserve(scenario.flows.len() + scenario.links.len());
        let of_flow = |(described, flow): (&headway_scenario::Flow, &Flow)| {
            let entity = names.entity(&described.name);
            let of_kind = |kind: &MediaKind| KindSeries {
                kind: *kind,
                delays_before: DelaySum::default(),
                entity: names.entity(&format!("{}/{kind}", described.name)),
            };
            let kinds = described.source.media_kinds().iter().map(of_kind).collect();
            let series = FlowSeries {
                bytes_before: 0,
                data_before: 0,
                delays_before: DelaySum::default(),
                entity,
                kinds,
                has_window: flow.transport.ends().tcp().is_some(),
                has_sessions: flow.transport.ends().open_sessions().is_some(),
                has_controller: flow.transport.ends().status().is_some(),
                has_encoder: flow.driver.source.encoder_rate().is_some(),
            };
            metrics.add_flow(&series, &mut names);
            series
        };
        let flows = scenario.flows.iter().zip(flows).map(of_flow).collect();
        let of_link = |link: &Link| {
            let entity = names.entity(&link.name);
            metrics.add_link(&mut names);
            LinkSeries { bytes_before: 0, entity, more: OptionalSeries::new(link, entity, &mut names, scenario) }
        };
        let links = scenario.links.iter().map(of_link).collect();
        Self { writer: names.samples(), interval, last: Instant::ZERO, metrics, flows, links }
    }

    pub(crate) fn interval(&self) -> Duration {
        self.interval
    }

    /// Returns the number of flows, links, and flows at links per sample.
    pub(crate) fn sampled(&self) -> u64 {
        let of_link = |link: &LinkSeries| 1 + link.more.as_ref().map_or(0, |more| more.by_flow.len());
        (self.flows.len() + self.links.iter().map(of_link).sum::<usize>()) as u64
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
        let Self { writer, metrics, flows: of_flows, links, .. } = self;
        let push = |writer: &mut SeriesWriter, entity: SeriesEntity, metric: Option<SeriesMetric>, value: f64| {
            if let Some(metric) = metric {
                writer.push(entity.series(metric), now, value);
            }
        };
        for (series, flow) in of_flows.iter_mut().zip(flows) {
            let meter = &network.flow_meters()[flow.driver.id.0 as usize];
            let entity = series.entity;
            push(writer, entity, metrics.throughput, rate(meter.total_received_bytes(), &mut series.bytes_before));
            let delays = meter.delay_sum();
            if let Some(mean) = delays.mean_since(std::mem::replace(&mut series.delays_before, delays)) {
                push(writer, entity, metrics.one_way_delay, mean);
            }
            for of in &mut series.kinds {
                let delays = meter.delay_sum_of(of.kind);
                if let Some(mean) = delays.mean_since(std::mem::replace(&mut of.delays_before, delays)) {
                    push(writer, of.entity, metrics.one_way_delay, mean);
                }
            }
            push(writer, entity, metrics.loss, meter.total_lost_packets() as f64);
            let ends = flow.transport.ends();
            if series.has_window
                && let Some(sender) = ends.tcp()
            {
                push(writer, entity, metrics.cwnd, sender.cwnd());
                push(writer, entity, metrics.ssthresh, sender.ssthresh());
            }
            if series.has_sessions
                && let Some(open) = ends.open_sessions()
            {
                push(writer, entity, metrics.open_sessions, open as f64);
            }
            if series.has_controller
                && let Some(data) = ends.sent_data()
            {
                push(writer, entity, metrics.sending_rate, rate(data.count(), &mut series.data_before));
            }
            if series.has_controller
                && let Some(status) = ends.status()
            {
                if let Some(rate) = status.target_rate {
                    push(writer, entity, metrics.allowed_rate, rate.bits_per_second() as f64);
                }
                if let Some(rtt) = status.rtt {
                    push(writer, entity, metrics.rtt, rtt.as_secs_f64());
                }
                if let Some(ratio) = status.loss_event_rate {
                    push(writer, entity, metrics.loss_event_rate, ratio.value());
                }
            }
            if series.has_encoder
                && flow.driver.start <= now
                && flow.driver.stop.is_none_or(|stop| now <= stop)
                && let Some(rate) = flow.driver.source.encoder_rate()
            {
                push(writer, entity, metrics.encoder_rate, rate.bits_per_second() as f64);
            }
        }
        for (number, series) in links.iter_mut().enumerate() {
            let sample = network.ports.sample(moment, number);
            let entity = series.entity;
            push(writer, entity, metrics.throughput, rate(sample.sent_bytes, &mut series.bytes_before));
            push(writer, entity, metrics.queue, sample.queue_packets as f64);
            push(writer, entity, metrics.arrived, sample.arrived_packets as f64);
            push(writer, entity, metrics.dropped, sample.dropped_packets as f64);
            if let Some(more) = &series.more {
                let by_flow = network.ports.get(number).and_then(Port::by_flow).into_iter().flat_map(ByFlow::totals);
                more.sample(writer, (before, now), sample.average, by_flow);
            }
        }
    }
}

impl Metrics {
    /// Adds the metrics of a flow. The file lists names in the order of first use.
    fn add_flow(&mut self, flow: &FlowSeries, names: &mut SeriesNames) {
        let mut add = |place: &mut Option<SeriesMetric>, what| {
            place.get_or_insert_with(|| names.metric(what));
        };
        add(&mut self.throughput, metric::THROUGHPUT);
        add(&mut self.one_way_delay, metric::ONE_WAY_DELAY);
        add(&mut self.loss, metric::LOSS);
        if flow.has_window {
            add(&mut self.cwnd, metric::CWND);
            add(&mut self.ssthresh, metric::SSTHRESH);
        }
        if flow.has_sessions {
            add(&mut self.open_sessions, metric::OPEN_SESSIONS);
        }
        if flow.has_controller {
            add(&mut self.allowed_rate, metric::ALLOWED_RATE);
            add(&mut self.rtt, metric::RTT);
            add(&mut self.loss_event_rate, metric::LOSS_EVENT_RATE);
            add(&mut self.sending_rate, metric::SENDING_RATE);
        }
        if flow.has_encoder {
            add(&mut self.encoder_rate, metric::ENCODER_RATE);
        }
    }

    fn add_link(&mut self, names: &mut SeriesNames) {
        let mut add = |place: &mut Option<SeriesMetric>, what| {
            place.get_or_insert_with(|| names.metric(what));
        };
        add(&mut self.throughput, metric::THROUGHPUT);
        add(&mut self.queue, metric::QUEUE);
        add(&mut self.arrived, metric::ARRIVED);
        add(&mut self.dropped, metric::DROPPED);
    }
}

impl OptionalSeries {
    fn new(link: &Link, entity: SeriesEntity, names: &mut SeriesNames, scenario: &Scenario) -> Option<Box<Self>> {
        let keeps_average = matches!(link.queue, headway_link::QueueOptions::Red(_));
        let average = keeps_average.then(|| entity.series(names.metric(metric::RED_AVERAGE)));
        let varying = Varying::new(link, entity, names);
        let mut of_flow = |flow: &headway_scenario::Flow| {
            let entity = names.entity(&format!("{}/{}", link.name, flow.name));
            [metric::ARRIVED, metric::DROPPED].map(|what| entity.series(names.metric(what)))
        };
        let by_flow = if link.by_flow { scenario.flows.iter().map(&mut of_flow).collect() } else { Vec::new() };
        let any = average.is_some() || varying.is_some() || link.by_flow;
        any.then(|| Box::new(Self { average, varying, by_flow }))
    }

    fn sample(
        &self,
        writer: &mut SeriesWriter,
        (before, now): (Instant, Instant),
        average: Option<f64>,
        by_flow: impl Iterator<Item = (FlowId, u64, u64)>,
    ) {
        if let (Some(id), Some(average)) = (self.average, average) {
            writer.push(id, now, average);
        }
        if let Some(varying) = &self.varying {
            varying.sample(writer, before, now);
        }
        for (flow, arrived, dropped) in by_flow {
            if let Some([arrived_id, dropped_id]) = self.by_flow.get(flow.0 as usize) {
                writer.push(*arrived_id, now, arrived as f64);
                writer.push(*dropped_id, now, dropped as f64);
            }
        }
    }
}
