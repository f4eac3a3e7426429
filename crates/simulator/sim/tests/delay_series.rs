//! The mean one-way delay over time, of flows and of their media kinds.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;
use headway_record::{SeriesTable, Summary, metric};

type Samples = Vec<(String, Vec<(f64, f64)>)>;

/// Runs a call over a link with a queue. Returns the summary and the samples of delays by entity, as times in s and values.
fn call(source: &str) -> (Summary, Samples) {
    let text = format!(
        r#"duration = "10s"
measure_from = "2s"
record = {{ series = "500ms" }}
[[link]]
between = ["a", "b"]
rate = "1Mbps"
delay = "20ms"
[[flow]]
name = "call"
from = "a"
to = "b"
transport = {{ kind = "udp" }}
source = {source}
"#
    );
    let record = common::run(&common::scenario(&text), ());
    let mut bytes = Vec::new();
    record.series.unwrap().finish(&mut bytes).unwrap();
    let table = SeriesTable::from_ipc(&bytes).unwrap();
    let of_delay = table.iter().filter(|(_, name, _)| *name == metric::ONE_WAY_DELAY);
    let samples = of_delay.map(|(entity, _, samples)| {
        (entity.to_owned(), samples.iter().map(|(at, value)| (at.as_secs_f64(), *value)).collect())
    });
    (record.summary, samples.collect())
}

/// A packet of 1000 bytes with 28 bytes of headers takes 8.224 ms on the link and 20 ms to the far end.
#[test]
fn packets_without_a_queue_have_the_delay_of_the_path() {
    let (summary, samples) = call(r#"{ kind = "cbr", interval = "100ms", payload = "1000B" }"#);
    let [(entity, delays)] = &samples[..] else { panic!("{samples:?}") };
    assert_eq!(entity, "call");
    // Packets that are sent before the measured interval do not count.
    assert_eq!((delays.len(), delays[0].0, delays.last().unwrap().0), (16, 2.5, 10.0));
    let expected = summary.flows[0].one_way_delay_s.unwrap().mean;
    assert!((expected - 0.028_224).abs() < 1e-9, "{expected}");
    assert!(delays.iter().all(|(_, delay)| (delay - expected).abs() < 1e-12), "{delays:?}");
}

/// Audio and video with a deadline have a series each, between whose values that of the flow is. The last packets, whose
/// deadline is after the end of the run, count for the flow only.
#[test]
fn each_media_kind_of_a_call_has_its_delay() {
    let (summary, samples) = call(r#"{ kind = "conference", lifetime = "200ms" }"#);
    let of = |name: &str| &samples.iter().find(|(entity, _)| entity == name).unwrap().1;
    let (all, audio, video) = (of("call"), of("call/audio"), of("call/video"));
    let mut between = 0;
    for (at, delay) in all.iter().filter(|(at, _)| *at < 9.9) {
        let here = |of: &[(f64, f64)]| of.iter().find(|(time, _)| time == at).map(|(_, delay)| *delay);
        let (Some(audio), Some(video)) = (here(audio), here(video)) else { continue };
        assert!(
            audio.min(video) <= *delay + 1e-12 && *delay <= audio.max(video) + 1e-12,
            "{at}: {audio} {delay} {video}"
        );
        between += 1;
    }
    assert!(between > 10, "{between} of {}", all.len());
    let mean = |of: &[(f64, f64)]| of.iter().map(|(_, delay)| delay).sum::<f64>() / of.len() as f64;
    let expected = summary.flows[0].one_way_delay_s.unwrap().mean;
    assert!((mean(all) - expected).abs() < 0.2 * expected, "{} {expected}", mean(all));
}
