//! Time series of a run between real sockets, in the format of the simulator.

use crate::link::Sample;
use crate::sender::ControllerState;
use headway_record::{SeriesError, SeriesId, SeriesNames, SeriesWriter, metric};
use headway_scenario::{Link, Scenario};
use headway_units::Instant;

/// Returns the bytes of the series file with the samples of the link and of each flow's controller.
pub(crate) fn series(
    scenario: &Scenario,
    link: &[Link; 2],
    samples: &[Sample],
    states: &[Vec<ControllerState>],
) -> Result<Vec<u8>, SeriesError> {
    let mut names = SeriesNames::default();
    let flows: Vec<_> = scenario
        .flows
        .iter()
        .map(|flow| {
            let all = [metric::THROUGHPUT, metric::LOSS, metric::ALLOWED_RATE, metric::RTT, metric::LOSS_EVENT_RATE];
            all.map(|what| names.series(&flow.name, what))
        })
        .collect();
    let directions = link.each_ref().map(|link| {
        let all = [metric::THROUGHPUT, metric::QUEUE, metric::ARRIVED, metric::DROPPED, metric::RED_AVERAGE];
        all.map(|what| names.series(&link.name, what))
    });
    let mut rows = Rows(Vec::new());
    let mut before = Instant::ZERO;
    for (number, sample) in samples.iter().enumerate() {
        let last = number.checked_sub(1).and_then(|number| samples.get(number));
        let seconds = sample.at.since(before).as_secs_f64();
        before = sample.at;
        if seconds == 0.0 {
            continue;
        }
        let rate = |bytes: u64, before: u64| (bytes - before) as f64 * 8.0 / seconds;
        for (flow, [throughput, loss, ..]) in flows.iter().enumerate() {
            let [(bytes, lost), (bytes_before, _)] = [Some(sample), last]
                .map(|sample| sample.and_then(|sample| sample.flows.get(flow).copied()).unwrap_or_default());
            rows.push(sample.at, *throughput, rate(bytes, bytes_before));
            rows.push(sample.at, *loss, lost as f64);
        }
        for (direction, [throughput, queue, arrived, dropped, average]) in directions.iter().enumerate() {
            let now = sample.directions[direction];
            let bytes_before = last.map_or(0, |last| last.directions[direction].sent_bytes);
            rows.push(sample.at, *throughput, rate(now.sent_bytes, bytes_before));
            rows.push(sample.at, *queue, now.queue_packets as f64);
            rows.push(sample.at, *arrived, now.arrived_packets as f64);
            rows.push(sample.at, *dropped, now.dropped_packets as f64);
            now.average.into_iter().for_each(|value| rows.push(sample.at, *average, value));
        }
    }
    for (states, [.., allowed, rtt, losses]) in states.iter().zip(&flows) {
        for ControllerState { at, status } in states {
            let sender = status.sender.unwrap_or_default();
            let values = [
                (*allowed, sender.target_rate.map(|rate| rate.bits_per_second() as f64)),
                (*rtt, status.rtt.map(|rtt| rtt.as_secs_f64())),
                (*losses, sender.loss_event_rate.map(|p| p.value())),
            ];
            values.into_iter().for_each(|(id, value)| value.into_iter().for_each(|value| rows.push(*at, id, value)));
        }
    }
    let mut bytes = Vec::new();
    rows.write(names.samples()).finish(&mut bytes)?;
    Ok(bytes)
}

/// Samples of several series, each in the order of time.
struct Rows(Vec<(Instant, SeriesId, f64)>);

impl Rows {
    fn push(&mut self, at: Instant, id: SeriesId, value: f64) {
        self.0.push((at, id, value));
    }

    fn write(mut self, mut writer: SeriesWriter) -> SeriesWriter {
        self.0.sort_by_key(|(at, ..)| *at);
        for (at, id, value) in self.0 {
            writer.push(id, at, value);
        }
        writer
    }
}
