//! Values over time, pulled at a fixed interval: nothing is recorded between samples.

use crate::flow::Flow;
use crate::network::Network;
use crate::observe::Observer;
use headway_rate::Status;
use headway_record::{SeriesId, SeriesNames, SeriesWriter, metric};
use headway_scenario::Scenario;
use headway_units::{Duration, Instant, Moment};

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
    /// Allowed rate, round trip and loss event rate, of a rate controller; each from when there is one.
    controller: Option<[SeriesId; 3]>,
}

#[derive(Debug)]
struct LinkSeries {
    bytes_before: u64,
    throughput: SeriesId,
    queue: SeriesId,
    dropped: SeriesId,
    average: Option<SeriesId>,
}

impl Series {
    pub(crate) fn new(scenario: &Scenario, flows: &[Flow], interval: Duration) -> Self {
        let mut names = SeriesNames::default();
        let mut of_flow = |name: &str, flow: &Flow| FlowSeries {
            bytes_before: 0,
            throughput: names.series(name, metric::THROUGHPUT),
            lost: names.series(name, metric::LOSS),
            window: flow.transport.tcp().map(|_| [metric::CWND, metric::SSTHRESH].map(|what| names.series(name, what))),
            controller: flow.transport.status().map(|_| {
                [metric::ALLOWED_RATE, metric::RTT, metric::LOSS_EVENT_RATE].map(|what| names.series(name, what))
            }),
        };
        let flows = scenario.flows.iter().zip(flows).map(|(described, flow)| of_flow(&described.name, flow)).collect();
        let links = scenario
            .links
            .iter()
            .map(|link| LinkSeries {
                bytes_before: 0,
                throughput: names.series(&link.name, metric::THROUGHPUT),
                queue: names.series(&link.name, metric::QUEUE),
                dropped: names.series(&link.name, metric::DROPPED),
                average: matches!(*link.queue, headway_link::QueueOptions::Red(_))
                    .then(|| names.series(&link.name, metric::RED_AVERAGE)),
            })
            .collect();
        Self { writer: names.samples(), interval, last: Instant::ZERO, flows, links }
    }

    pub(crate) fn interval(&self) -> Duration {
        self.interval
    }

    pub(crate) fn sample<O: Observer>(&mut self, moment: Moment, flows: &[Flow], network: &mut Network<O>) {
        let now = moment.at;
        let seconds = now.since(self.last).as_secs_f64();
        if seconds == 0.0 {
            return;
        }
        self.last = now;
        let rate = |bytes: u64, before: &mut u64| {
            let moved = bytes - std::mem::replace(before, bytes);
            moved as f64 * 8.0 / seconds
        };
        for (series, flow) in self.flows.iter_mut().zip(flows) {
            let meter = &network.flow_meters[flow.id.0 as usize];
            let throughput = rate(meter.total_received_bytes(), &mut series.bytes_before);
            self.writer.push(series.throughput, now, throughput);
            self.writer.push(series.lost, now, meter.total_lost_packets() as f64);
            if let (Some([cwnd, ssthresh]), Some(sender)) = (series.window, flow.transport.tcp()) {
                self.writer.push(cwnd, now, sender.cwnd());
                self.writer.push(ssthresh, now, sender.ssthresh());
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
            self.writer.push(series.dropped, now, sample.dropped_packets as f64);
            if let (Some(id), Some(average)) = (series.average, sample.average) {
                self.writer.push(id, now, average);
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
