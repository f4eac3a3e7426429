//! Record of a run.

use super::Simulation;
use crate::attacker::Attacker;
use crate::fingerprint::Fingerprint;
use crate::flow::Flow;
use crate::network::accounts::Conservation;
use crate::observe::Observer;
use crate::speech::rate_speech;
use headway_media::{EncoderCounts, Source};
use headway_record::{
    Distributions, EncoderSummary, FlowLabel, FlowSummary, Interval, LinkLabel, SeriesWriter, Summary,
};
use headway_units::{FlowId, Instant, Registry};

/// Record of a run.
#[derive(Debug)]
pub struct Record<O = ()> {
    /// Metrics of the run over the measured interval.
    pub summary: Summary,
    /// Time series that the caller has not drained yet; `None` if the scenario records none.
    pub series: Option<SeriesWriter>,
    /// Distributions of packet and frame delays, if the scenario enables them.
    pub distributions: Option<Distributions>,
    /// Fingerprint of the run: a hash of the times and the order of its events, without ends of transmissions.
    pub fingerprint: Fingerprint,
    /// Counts of sent, delivered, dropped and in-flight packets.
    pub conservation: Conservation,
    /// Number of events that the run processed.
    pub events: u64,
    /// Observer of the run, with what it has recorded.
    pub observer: O,
}

impl<O: Observer> Simulation<'_, O> {
    /// Ends the run and returns its record, also before the end of its duration.
    #[must_use]
    pub fn finish(mut self) -> Record<O> {
        let scenario = self.scenario;
        let end = self.now;
        self.sample_end();
        if O::FLOW_EVENTS {
            self.flows.iter_mut().for_each(|flow| {
                flow.driver.report_congestion_events(flow.transport.ends_mut(), end, None, &mut self.network);
            });
        }
        self.network.observer().ended(end);
        let conservation = self.conservation();
        let of_flow = |(flow, described): (&Flow, &headway_scenario::Flow)| {
            self.network.flow_meters()[flow.driver.id.0 as usize].distributions(described.name.clone())
        };
        let distributions = scenario
            .distributions
            .then(|| Distributions { flows: self.flows.iter().zip(&scenario.flows).map(of_flow).collect() });
        let flows = self.flow_summaries();
        // Frees the memory of thousands of flows before the summaries of links are created.
        self.flows = Vec::new();
        self.network.fates().flow_meters = Vec::new();
        let summary = self.summary_of(flows);
        Record {
            summary,
            distributions,
            series: self.series.map(|series| series.writer),
            fingerprint: self.fingerprint,
            conservation,
            events: self.events,
            observer: self.network.into_observer(),
        }
    }

    /// Returns the metrics of the run so far, at its end or earlier.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.summary_of(self.flow_summaries())
    }

    fn flow_summaries(&self) -> Vec<FlowSummary> {
        let (scenario, end) = (self.scenario, self.now);
        self.flows
            .iter()
            .zip(&scenario.flows)
            .map(|(flow, described)| {
                let label = FlowLabel {
                    name: described.name.clone(),
                    from: scenario.nodes[described.from].clone(),
                    to: scenario.nodes[described.to].clone(),
                    kind: described.transport.kind().to_owned(),
                };
                let mut summary = self.network.flow_meters()[flow.driver.id.0 as usize].summary(label, end);
                if let Some(counters) = flow.transport.ends().counters() {
                    let before = flow.driver.counted_before;
                    summary.retransmitted_packets = Some(counters.retransmitted - before.retransmitted);
                    summary.timeouts = Some(counters.timeouts - before.timeouts);
                    summary.stuck = flow.transport.ends().tcp().is_some_and(headway_tcp::Sender::is_stuck);
                }
                summary.connection_failure = flow.transport.ends().failure();
                rate_speech(&mut summary, described);
                summary.losses_judged = self.network.judged_summary(flow.driver.id);
                if let Some(phases) = self.network.phase_meter(flow.driver.id) {
                    summary.phases = phases.summaries(end);
                }
                if flow.transport.ends().open_sessions().is_some() {
                    // Also without any session.
                    summary.sessions.get_or_insert_default();
                }
                match &flow.driver.source {
                    Source::Pages(_) => drop(summary.pages.get_or_insert_default()),
                    Source::Encoder(encoder) => summary.encoder = Some(encoder_summary(&encoder.counts())),
                    _ => {}
                }
                summary
            })
            .collect()
    }

    fn summary_of(&self, flows: Vec<FlowSummary>) -> Summary {
        let (scenario, end) = (self.scenario, self.now);
        let links = scenario
            .links
            .iter()
            .enumerate()
            .map(|(number, link)| {
                let label = LinkLabel {
                    name: link.name.clone(),
                    from: scenario.nodes[link.from].clone(),
                    to: scenario.nodes[link.to].clone(),
                };
                let name = |flow: FlowId| scenario.flows[flow.0 as usize].name.clone();
                self.network.ports.summary(number, label, end, !self.done, name)
            })
            .collect();
        Summary {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            name: scenario.name.clone(),
            seed: scenario.seed,
            complete: self.done,
            // A run that stops before `measure_from` has an empty interval.
            interval: Interval {
                from: scenario.measure_from.min(end.since(Instant::ZERO)).as_secs_f64(),
                to: end.as_secs_f64(),
            },
            jain_index: Summary::fairness(&flows),
            flows,
            links,
            hosts: self.network.closed_host_meters(&scenario.nodes, end),
            attackers: self.attackers.iter().map(Attacker::summary).collect(),
            packet_hops: self.network.packet_hops(),
            fingerprint: format!("{:016x}", self.fingerprint.value()),
        }
    }
}

fn encoder_summary(counts: &EncoderCounts) -> EncoderSummary {
    let EncoderCounts {
        captured_frames, skipped_frames, rate_changes, bursts, windowed_bytes, bytes_above_target, ..
    } = *counts;
    let overshoot_ratio = (windowed_bytes > 0.0).then(|| bytes_above_target / windowed_bytes);
    EncoderSummary { captured_frames, skipped_frames, rate_changes, bursts, overshoot_ratio }
}
