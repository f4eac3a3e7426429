//! The Perfetto trace contains the events of the record ("Trace Event Format", Google).
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::{run, shipped};
use headway_record::Summary;
use headway_sim::PerfettoTrace;
use headway_units::DropCause;
use serde_json::Value;
use std::collections::BTreeMap;

struct Trace {
    summary: Summary,
    events: Vec<Value>,
    names: BTreeMap<u64, String>,
}

impl Trace {
    fn of(name: &str) -> Self {
        let mut scenario = shipped(name);
        // The whole run is measured.
        scenario.measure_from = headway_units::Duration::ZERO;
        let mut record = run(&scenario, PerfettoTrace::new(&scenario));
        let events: Vec<Value> = serde_json::from_slice(&record.observer.take()).unwrap();
        let named = events.iter().filter(|event| event["name"] == "process_name");
        let name = |event: &Value| (event["pid"].as_u64().unwrap(), event["args"]["name"].as_str().unwrap().to_owned());
        let names = named.map(name).collect();
        Self { summary: record.summary, events, names }
    }

    fn on(&self, process: &str, phase: &str) -> Vec<&Value> {
        let is_on = |event: &&Value| self.names[&event["pid"].as_u64().unwrap()] == process && event["ph"] == phase;
        self.events.iter().filter(is_on).collect()
    }

    fn named(&self, process: &str, phase: &str, name: &str) -> usize {
        self.on(process, phase).into_iter().filter(|event| event["name"] == name).count()
    }
}

#[test]
fn links_transmit_sequentially_and_drop_as_recorded() {
    let trace = Trace::of("demo.toml");
    let mut dropped = 0;
    for link in &trace.summary.links {
        let mut slices: Vec<(f64, f64)> = trace
            .on(&link.name, "X")
            .into_iter()
            .map(|slice| (slice["ts"].as_f64().unwrap(), slice["dur"].as_f64().unwrap()))
            .collect();
        slices.sort_by(|a, b| a.0.total_cmp(&b.0));
        // Times are in us with three decimals.
        assert!(slices.is_sorted_by(|a, b| a.0 + a.1 <= b.0 + 0.0015), "{}", link.name);
        for cause in DropCause::ALL {
            let packets = link.dropped_packets.of(cause);
            assert_eq!(trace.named(&link.name, "i", cause.name()) as u64, packets, "{} {cause:?}", link.name);
            dropped += packets;
        }
        // Queue lengths on arrival are at most the peak.
        let found = trace.on(&link.name, "C").into_iter().map(|event| event["args"]["value"].as_f64().unwrap());
        assert!(found.fold(0.0, f64::max) <= link.peak_queue_packets as f64, "{}", link.name);
    }
    assert!(dropped > 0);
}

#[test]
fn flows_have_windows_round_trips_and_setbacks() {
    let trace = Trace::of("demo.toml");
    let mut timeouts = 0;
    for flow in &trace.summary.flows {
        let windows = trace.named(&flow.name, "C", "congestion window in packets");
        assert_eq!(windows > 0, flow.kind.starts_with("tcp"), "{}", flow.name);
        let trips = trace.named(&flow.name, "C", "round trip in ms");
        assert_eq!(trips > 0, flow.rtt_s.is_some(), "{}", flow.name);
        assert_eq!(trace.named(&flow.name, "i", "timeout") as u64, flow.timeouts.unwrap_or(0), "{}", flow.name);
        timeouts += flow.timeouts.unwrap_or(0);
        let unsent: u64 = flow.send_queue.values().map(|queue| queue.expired_packets).sum();
        assert_eq!(trace.named(&flow.name, "i", "expired") as u64, unsent, "{}", flow.name);
    }
    assert!(timeouts > 0);
    let slices = trace.events.iter().filter(|event| event["ph"] == "X");
    assert!(slices.into_iter().all(|slice| trace.summary.flows.iter().any(|flow| slice["name"] == *flow.name)));
}
