//! Metrics of the SFDPS paper, by hand from synthetic counts.

use headway_papers::{Outcome, Paper, Values};
use headway_record::{DelaySummary, RttSummary, SendQueueSummary, SeriesNames, SeriesTable, Summary, metric};
use headway_scenario::{NoFiles, Scenario, load};
use headway_sim::simulate;
use headway_units::{Instant, MediaKind};

fn scenario(text: &str, set: &[&str]) -> Scenario {
    let overrides: Vec<_> = set.iter().map(|set| set.parse().unwrap()).collect();
    load("sfdps.toml", text, &overrides, &NoFiles).unwrap().scenario
}

const RENO: &str = include_str!("../../../../papers/sfdps/scenarios/reno.toml");
const CALL: &str = include_str!("../../../../papers/sfdps/scenarios/call.toml");

/// Returns the summary of a short run, which the tests overwrite.
fn run(scenario: &Scenario) -> Summary {
    simulate(scenario).unwrap().summary
}

fn values(scenario: &Scenario, summary: &Summary, series: Option<&SeriesTable>) -> Values {
    measure(&Outcome { scenario, summary, series })
}

fn measure(outcome: &Outcome<'_>) -> Values {
    Paper::find("sfdps").unwrap().claims().unwrap().metrics.of(outcome).unwrap()
}

fn close(values: &Values, expected: &[(&str, f64)]) {
    for (name, expected) in expected {
        let found = values[*name];
        assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{name} is {found}, not {expected}");
    }
}

fn queue(written: u64, refused: u64, pushed_out: u64, expired: u64, wait: f64) -> SendQueueSummary {
    SendQueueSummary {
        written_packets: written,
        sent_packets: written - refused - pushed_out - expired,
        refused_packets: refused,
        pushed_out_packets: pushed_out,
        expired_packets: expired,
        mean_wait_s: Some(wait),
        max_wait_s: Some(2.0 * wait),
        late_packets: 0,
        mean_lateness_s: None,
        returned_packets: 0,
        lost_late_packets: 0,
    }
}

/// Returns the call's scenario and the summary of one second, with 90 % of the audio and 60 % of the video on time.
fn call_with_renos() -> (Scenario, Summary) {
    let scenario = scenario(RENO, &["duration=1s", "measure_from=0s"]);
    let mut summary = run(&scenario);
    for flow in &mut summary.flows {
        if flow.name != "call" {
            continue;
        }
        flow.on_time_ratio = [(MediaKind::Audio, 0.9), (MediaKind::Video, 0.6)].into();
        flow.late_ratio = [(MediaKind::Audio, 0.03), (MediaKind::Video, 0.08)].into();
        flow.send_queue =
            [(MediaKind::Audio, queue(200, 2, 4, 6, 0.050)), (MediaKind::Video, queue(400, 12, 28, 60, 0.125))].into();
        flow.throughput_bps = 240e3;
        flow.loss_ratio = 0.045;
        flow.rtt_s = Some(RttSummary { mean: 0.120, min: 0.080, max: 0.300 });
    }
    (scenario, summary)
}

/// Figure 13: video may lose a third of what audio gains, so a third of audio plus video must not fall: 90 / 3 + 60.
#[test]
fn shares_of_what_was_written() {
    let (scenario, summary) = call_with_renos();
    close(
        &values(&scenario, &summary, None),
        &[
            ("audio_on_time_pct", 90.0),
            ("video_on_time_pct", 60.0),
            ("audio_late_pct", 3.0),
            ("video_late_pct", 8.0),
            ("audio_less_video_late_pct", -5.0),
            ("audio_less_video_on_time_pct", 30.0),
            ("audio_plus_video_on_time_pct", 150.0),
            ("third_of_audio_plus_video_on_time_pct", 90.0),
            ("audio_refused_pct", 1.0),
            ("audio_pushed_out_pct", 2.0),
            ("audio_expired_pct", 3.0),
            ("video_refused_pct", 3.0),
            ("video_pushed_out_pct", 7.0),
            ("video_expired_pct", 15.0),
            ("audio_wait_ms", 50.0),
            ("video_wait_ms", 125.0),
            ("call_kbps", 240.0),
            ("call_loss_pct", 4.5),
            ("call_rtt_ms", 120.0),
            ("least_rtt_ms", 80.0),
        ],
    );
}

/// Two Renos with 100 and 300 kb/s have a mean of 200 kb/s; the call does not count.
#[test]
fn the_rate_of_a_reno_is_the_mean_of_both() {
    let (scenario, mut summary) = call_with_renos();
    let mut rates = [100e3, 300e3].into_iter();
    summary
        .flows
        .iter_mut()
        .filter(|flow| flow.name != "call")
        .for_each(|flow| flow.throughput_bps = rates.next().unwrap());
    assert_eq!(rates.next(), None, "two Renos");
    close(&values(&scenario, &summary, None), &[("tcp_kbps", 200.0)]);
}

/// A call with less than 50 kb/s is collapsed; the metric of one run is 0 or 100 %.
#[test]
fn a_call_collapses_below_fifty_kilobits() {
    let (scenario, mut summary) = call_with_renos();
    for (rate, percent) in [(0.0, 100.0), (49_999.0, 100.0), (50_000.0, 0.0), (50_001.0, 0.0), (374e3, 0.0)] {
        summary.flows.iter_mut().filter(|flow| flow.name == "call").for_each(|flow| flow.throughput_bps = rate);
        assert_eq!(values(&scenario, &summary, None)["collapsed_pct"], percent, "{rate} b/s");
    }
}

/// Samples every second, measurement from 3 s on, call until 6 s: the samples at 3, 4 and 5 s count.
#[test]
fn the_allowed_rate_is_that_of_the_measured_call() {
    let scenario = scenario(RENO, &["flow[call].start=0s", "flow[call].stop=6s", "duration=7s", "measure_from=3s"]);
    let summary = run(&scenario);
    let mut names = SeriesNames::default();
    let id = names.series("call", metric::ALLOWED_RATE);
    let mut samples = names.samples();
    for (second, rate) in (0u64..).zip([1e9, 2e9, 3e9, 100e3, 300e3, 500e3, 7e9]) {
        samples.push(id, Instant::from_secs(second), rate);
    }
    let mut bytes = Vec::new();
    samples.finish(&mut bytes).unwrap();
    let series = SeriesTable::from_ipc(&bytes).unwrap();
    close(&values(&scenario, &summary, Some(&series)), &[("allowed_rate_kbps", 300.0)]);
    assert!(!values(&scenario, &summary, None).contains_key("allowed_rate_kbps"));
}

/// A link of 100 Mb/s and 1 ms: 1000 B take 80 us.
#[test]
fn packet_size_follows_from_the_transmission_time() {
    let scenario = scenario(CALL, &["duration=2s", "flow[call].stop=1s"]);
    let mut summary = run(&scenario);
    summary.flows[0].one_way_delay_s = Some(DelaySummary { mean: 0.0, p50: 0.0, p95: 0.001_08, p99: 0.009, max: 0.01 });
    close(&values(&scenario, &summary, None), &[("p95_packet_bytes", 1000.0)]);
}

/// 50 packets in the 4 s in which the source writes, of 5 measured s: 200 kb/s over 5 s are 1 Mb, or 250 kb/s over 4 s,
/// 2500 B per packet, 6.5536 packets in 16 KiB, one every 80 ms.
#[test]
fn rate_and_size_of_written_packets() {
    let scenario = scenario(CALL, &["duration=2s", "flow[call].stop=6s"]);
    let mut summary = run(&scenario);
    (summary.interval.from, summary.interval.to) = (2.0, 7.0);
    let flow = &mut summary.flows[0];
    (flow.sent_packets, flow.received_packets, flow.throughput_bps) = (50, 50, 200e3);
    close(
        &values(&scenario, &summary, None),
        &[
            ("written_kbps", 250.0),
            ("mean_packet_bytes", 2500.0),
            ("packets_in_16_kib", 6.5536),
            ("packet_gap_ms", 80.0),
        ],
    );
    summary.flows[0].received_packets = 49;
    assert!(
        !values(&scenario, &summary, None).contains_key("written_kbps"),
        "packets that did not arrive were written, too"
    );
}
