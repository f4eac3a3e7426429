//! Metrics of the papers on packet spacing, UDPm, UDDJ-TFRC and of the LAN's network, by hand from synthetic counts.

use headway_papers::{Outcome, Paper, Values};
use headway_record::{
    DelaySummary, DropCounts, FlowSummary, FrameSummary, GapSummary, LinkFlowSummary, LinkSummary,
    LossClassificationSummary, RttSummary, SeriesNames, SeriesTable, SessionsSummary, Summary, metric,
};
use headway_scenario::{NoFiles, Scenario, load};
use headway_sim::simulate;
use headway_units::{DropCause, Instant, MediaKind};

fn scenario(text: &str, set: &[&str]) -> Scenario {
    let overrides: Vec<_> = set.iter().map(|set| set.parse().unwrap()).collect();
    load("sums.toml", text, &overrides, &NoFiles).unwrap().scenario
}

/// Returns the summary of a short run with the interval set to 10 s to 30 s. The tests overwrite the values that they
/// use.
fn run(scenario: &Scenario) -> Summary {
    let mut summary = simulate(scenario).unwrap().summary;
    (summary.interval.from, summary.interval.to) = (10.0, 30.0);
    summary
}

fn values(paper: &str, scenario: &Scenario, summary: &Summary, series: Option<&SeriesTable>) -> Values {
    let outcome = Outcome { scenario, summary, series };
    Paper::find(paper).unwrap().claims().unwrap().metrics.of(&outcome).unwrap()
}

fn close(values: &Values, expected: &[(&str, f64)]) {
    for (name, expected) in expected {
        let found = *values.get(*name).unwrap_or_else(|| panic!("{name} is missing"));
        assert!((found - expected).abs() <= 1e-6 * expected.abs().max(1e-3), "{name} is {found}, not {expected}");
    }
}

/// Fails if a metric of the paper has no expected value.
fn assert_all_covered(paper: &str, sums: &[&[(&str, f64)]]) {
    for shown in Paper::find(paper).unwrap().claims().unwrap().metrics.iter() {
        let is_covered = sums.iter().any(|sums| sums.iter().any(|(name, _)| *name == shown.name));
        assert!(
            is_covered,
            "{paper}: {} has no expected value: add counts and the value that follows from them",
            shown.name
        );
    }
}

fn flow<'a>(summary: &'a mut Summary, name: &str) -> &'a mut FlowSummary {
    summary.flows.iter_mut().find(|flow| flow.name == name).unwrap()
}

fn link<'a>(summary: &'a mut Summary, from: &str, to: &str) -> &'a mut LinkSummary {
    summary.links.iter_mut().find(|link| link.from == from && link.to == to).unwrap()
}

fn at<'a>(link: &'a mut LinkSummary, name: &str) -> &'a mut LinkFlowSummary {
    link.flows.iter_mut().find(|flow| flow.name == name).unwrap()
}

fn drops(causes: &[(DropCause, u64)]) -> DropCounts {
    let mut drops = DropCounts::default();
    causes.iter().for_each(|(cause, count)| (0..*count).for_each(|_| drops.add(*cause)));
    drops
}

fn full(count: u64) -> DropCounts {
    drops(&[(DropCause::QueueFull, count)])
}

fn delay(mean: f64, p50: f64, p95: f64) -> DelaySummary {
    DelaySummary { mean, p50, p95, p99: 7.0, max: 8.0 }
}

/// Entity, metric, and points (time in s, value).
type Curve<'a> = (&'a str, &'a str, &'a [(f64, f64)]);

fn series(curves: &[Curve<'_>]) -> SeriesTable {
    let mut names = SeriesNames::default();
    let ids: Vec<_> = curves.iter().map(|(entity, metric, _)| names.series(entity, metric)).collect();
    let mut samples = names.samples();
    for (id, (.., points)) in ids.into_iter().zip(curves) {
        for (at, value) in *points {
            samples.push(id, Instant::from_millis((at * 1e3).round() as u64), *value);
        }
    }
    let mut bytes = Vec::new();
    samples.finish(&mut bytes).unwrap();
    SeriesTable::from_ipc(&bytes).unwrap()
}

/// Two senders with packet spacing and two TCPs on a trunk of 100 Mb/s; the second sender starts at 2 s.
const SPACED: &str = r#"
    duration = "3s"
    link = [
        { name = "in", between = ["s", "middle"], rate = "50Mbps", delay = "2ms" },
        { name = "trunk", between = ["middle", "sink"], rate = "100Mbps", delay = "40ms", by_flow = true },
    ]
    flow = [
        { name = "psa1", from = "s", to = "sink", transport = { kind = "udp" }, source = { kind = "cbr", rate = "1Mbps", size = "1000B" } },
        { name = "psa2", from = "s", to = "sink", start = "2s", transport = { kind = "udp" }, source = { kind = "cbr", rate = "1Mbps", size = "1000B" } },
        { name = "tcp1", from = "s", to = "sink", transport = { kind = "tcp-reno" }, source = { kind = "ftp" } },
        { name = "tcp2", from = "s", to = "sink", transport = { kind = "tcp-reno" }, source = { kind = "ftp" } },
    ]
"#;

fn spaced() -> (Scenario, Summary) {
    let scenario = scenario(SPACED, &[]);
    let mut summary = run(&scenario);
    for (name, sent, received, bps, cov, one_way, frames) in [
        ("psa1", 10_000, 9_000, 4e6, 0.1, delay(0.050, 0.0, 0.0), (40, 30, 0.010)),
        ("psa2", 20_000, 16_000, 8e6, 0.3, delay(0.070, 0.0, 0.0), (60, 45, 0.030)),
    ] {
        let flow = flow(&mut summary, name);
        (flow.sent_packets, flow.received_packets, flow.throughput_bps) = (sent, received, bps);
        (flow.rate_cov, flow.one_way_delay_s) = (Some(cov), Some(one_way));
        let (written_frames, complete_frames, p50) = frames;
        let frames = FrameSummary {
            written_frames,
            complete_frames,
            on_time_frames: None,
            complete_ratio: 0.0,
            on_time_ratio: None,
            delay_s: Some(delay(1.0, p50, 2.0)),
        };
        flow.frames = [(MediaKind::Video, frames)].into();
    }
    for (name, goodput, cov) in [("tcp1", 2.92e6, 0.4), ("tcp2", 5.84e6, 0.6)] {
        let flow = flow(&mut summary, name);
        (flow.goodput_bps, flow.throughput_bps, flow.rate_cov) = (goodput, 99e6, Some(cov));
    }
    let trunk = link(&mut summary, "middle", "sink");
    trunk.utilisation = 0.75;
    for (name, arrived, dropped) in [("psa1", 1000, 100), ("psa2", 3000, 500), ("tcp1", 200, 10), ("tcp2", 300, 40)] {
        let flow = at(trunk, name);
        (flow.arrived_packets, flow.dropped_packets) = (arrived, full(dropped));
    }
    let first = at(trunk, "psa1");
    (first.sent_packets, first.sent_bytes) = (1000, 1_500_000);
    first.unbroken_gap_s = Some(GapSummary { mean: 1.5e-3, std: 20e-6 });
    first.gap_s = Some(GapSummary { mean: 1.8e-3, std: 300e-6 });
    (scenario, summary)
}

/// Rates: spaced senders 12 Mb/s in total; TCP's goodput of 2.92 and 5.84 Mb/s times 1500/1460 is 3 and 6 Mb/s. Sent:
/// 30 000 packets of 1500 B in 20 s, 6 and 12 Mb/s. Jain: 12^2 / (2 (16 + 64)) = 0.9. The transmission time of 1500 B
/// at 100 Mb/s is 120 us. 4 and 8 Mb/s are 28 and 56 packets in 84 ms.
const OF_COUNTS: &[(&str, f64)] = &[
    ("psa_mbps", 6.0),
    ("psa1_mbps", 4.0),
    ("psa_low_mbps", 4.0),
    ("psa_high_mbps", 8.0),
    ("psa_sent_mbps", 9.0),
    ("psa_loss_pct", 15.0),
    ("psa_sent_loss_pct", 100.0 / 6.0),
    ("psa1_loss_pct", 10.0),
    ("psa_jain", 0.9),
    ("tcp_mbps", 4.5),
    ("tcp1_mbps", 3.0),
    ("tcp_loss_pct", 10.0),
    ("tcp1_loss_pct", 5.0),
    ("tcp_sum_mbps", 9.0),
    ("total_mbps", 21.0),
    ("used_pct", 75.0),
    ("gap_us", 1380.0),
    ("period_us", 1500.0),
    ("gap_sd_us", 20.0),
    ("broken_period_us", 1800.0),
    ("broken_gap_sd_us", 300.0),
    ("psa_packets_rtt", 42.0),
    ("psa_low_packets_rtt", 28.0),
    ("psa_high_packets_rtt", 56.0),
    ("psa_over_tcp", 4.0 / 3.0),
    ("unevenness", 4.0 / 3.0),
    ("psa_cov", 0.2),
    ("tcp_cov", 0.5),
    ("psa_delay_ms", 60.0),
    ("bursts_whole_pct", 75.0),
    ("burst_p50_ms", 20.0),
];

/// Halvings: the measured samples start after 10 s and span 8.4 s, a hundred round trips. The rate of the first sender
/// falls to 72, 56 and 50 % of the previous sample, two of which are halvings; that of the second does not fall: the
/// mean is one. Convergence: the second sender starts at 2 s; its rate counts two round trips later. At 4.1 s, 25 round
/// trips after the start, 10 and 11 Mb/s are within 5 % of their mean. Growth: from 400 packets at 0 s by 20 per second
/// to 600 at 10 s, then by 10 per second to 1100 at 60 s. The window is 500 at 5 s and 1000 at 50 s, 450 round trips of
/// 100 ms later. Growth by 600 packets takes 550 round trips, and 50 Mb are 4166.67 packets.
const OF_CURVES: &[(&str, f64)] = &[
    ("halvings_100_rtt", 1.0),
    ("met_after_rtts", 25.0),
    ("rtts_500_1000", 450.0),
    ("rtts_50_mb", 50e6 / 12_000.0 * 550.0 / 600.0),
];

const WINDOW: &[(f64, f64)] = &[(0.0, 400.0), (10.0, 600.0), (60.0, 1100.0)];

#[test]
fn packet_spacing_of_counts_and_curves() {
    let (scenario, summary) = spaced();
    let curves = series(&[
        (
            "psa1",
            metric::ALLOWED_RATE,
            &[(10.0, 100.0), (11.0, 50.0), (13.0, 36.0), (15.0, 20.0), (17.0, 30.0), (19.4, 15.0)],
        ),
        ("psa2", metric::ALLOWED_RATE, &[(11.0, 50.0), (13.0, 60.0), (19.4, 60.0)]),
        ("psa1", metric::THROUGHPUT, &[(2.0, 10.0), (2.1, 10.0), (3.0, 10.0), (4.1, 10.0), (10.4, 10.0)]),
        ("psa2", metric::THROUGHPUT, &[(2.0, 10.0), (2.1, 10.0), (3.0, 5.0), (4.1, 11.0), (10.4, 20.0)]),
        ("tcp1", metric::CWND, WINDOW),
    ]);
    let found = values("packet-spacing", &scenario, &summary, Some(&curves));
    close(&found, OF_COUNTS);
    close(&found, OF_CURVES);
    assert_all_covered("packet-spacing", &[OF_COUNTS, OF_CURVES]);
    let without = values("packet-spacing", &scenario, &summary, None);
    assert!(OF_CURVES.iter().all(|(name, _)| !without.contains_key(*name)));
}

/// Senders that never converge have the time to the last sample: 8.4 s are 100 round trips. The bound of 5 % is
/// inclusive: 9.5 and 10.5 converge, 9.4 and 10.6 do not.
#[test]
fn packet_spacing_senders_that_do_not_converge() {
    let (scenario, summary) = spaced();
    for (second, rtts) in [(10.5, 100.0 / 8.4), (10.6, 100.0)] {
        let curves = series(&[
            ("psa1", metric::THROUGHPUT, &[(3.0, 20.0 - second), (10.4, 10.0)]),
            ("psa2", metric::THROUGHPUT, &[(3.0, second), (10.4, 20.0)]),
        ]);
        close(&values("packet-spacing", &scenario, &summary, Some(&curves)), &[("met_after_rtts", rtts)]);
    }
}

/// 1.5 Mb/s versus 4.5 Mb/s is an unevenness of 3, whichever sender is faster.
#[test]
fn packet_spacing_unevenness_is_symmetric() {
    let (scenario, mut summary) = spaced();
    for name in ["psa1", "psa2"] {
        flow(&mut summary, name).throughput_bps = 1.5e6;
    }
    let found = values("packet-spacing", &scenario, &summary, None);
    close(&found, &[("psa_over_tcp", 1.0 / 3.0), ("unevenness", 3.0)]);
}

/// Loss and bursts are undefined without packets.
#[test]
fn packet_spacing_without_packets() {
    let (scenario, mut summary) = spaced();
    for name in ["psa1", "psa2"] {
        let flow = flow(&mut summary, name);
        (flow.sent_packets, flow.received_packets) = (0, 0);
        flow.frames.clear();
        let at = at(link(&mut summary, "middle", "sink"), name);
        (at.arrived_packets, at.dropped_packets) = (0, DropCounts::default());
    }
    let found = values("packet-spacing", &scenario, &summary, None);
    for name in ["psa_loss_pct", "psa1_loss_pct", "psa_sent_loss_pct", "bursts_whole_pct"] {
        assert!(!found.contains_key(name), "{name}");
    }
}

/// The paper's flows through the third pair of routers, with one TCP.
const WIRELESS: &str = r#"
    duration = "1s"
    link = [
        { name = "in", between = ["s", "r3"], rate = "100Mbps", delay = "2ms" },
        { name = "pair", between = ["r3", "r4"], rate = "10Mbps", delay = "2ms" },
        { name = "air", between = ["r4", "mobile"], rate = "10Mbps", delay = "2ms" },
    ]
    flow = [
        { name = "main1", from = "s", to = "mobile", transport = { kind = "udp" }, source = { kind = "cbr", rate = "1Mbps", size = "1000B" } },
        { name = "main2", from = "s", to = "mobile", transport = { kind = "udp" }, source = { kind = "cbr", rate = "1Mbps", size = "1000B" } },
        { name = "tcp1", from = "s", to = "mobile", transport = { kind = "tcp-reno" }, source = { kind = "ftp" } },
    ]
"#;

/// The channel loses 400 of 3600 packets, p_w = 1/9. Two flows have a mean of 2 Mb/s; without channel losses, 2.25 of
/// the residual 4 Mb/s. Equation (12): sqrt(3/2) / (0.2 s sqrt(1/9)) = 18.371173 packets per second; the flows send 250
/// of 8000 bits. Queues drop 200 of 4000. Classification: 5 of 40 channel losses are counted, 10 of 20 queue losses are
/// not; 12 early reductions in 20 s.
const OF_UDDJ: &[(&str, f64)] = &[
    ("main_mbps", 2.0),
    ("filled_pct", 56.25),
    ("equation_pct", 1_360.827_634_9),
    ("used_pct", 60.0),
    ("wireless_used_pct", 80.0),
    ("queue_packets", 7.5),
    ("queue_loss_pct", 5.0),
    ("false_pct", 12.5),
    ("missed_pct", 50.0),
    ("early_per_min", 36.0),
    ("main_jain", 0.8),
    ("main_low_mbps", 1.0),
    ("main_high_mbps", 3.0),
    ("main_cov", 0.3),
    ("delay_ms", 50.0),
    ("tcp_mbps", 2.5),
    ("sum_mbps", 6.5),
    ("main_over_tcp", 0.8),
    ("channel_loss_pct", 100.0 / 9.0),
];

#[test]
fn uddj_tfrc_of_counts() {
    let scenario = scenario(WIRELESS, &[]);
    let mut summary = run(&scenario);
    let judged = |[channel_counted, channel_filtered, queue_counted, queue_filtered, early]: [u64; 5]| {
        Some(LossClassificationSummary { channel_counted, channel_filtered, queue_counted, queue_filtered, early })
    };
    for (name, sent, received, channel, queue, bps, rtt, cov, one_way, losses) in [
        ("main1", 1000, 900, 60, 20, 3e6, 0.1, 0.2, 0.04, [3, 27, 6, 2, 4]),
        ("main2", 3000, 2300, 340, 180, 1e6, 0.3, 0.4, 0.06, [2, 8, 4, 8, 8]),
    ] {
        let flow = flow(&mut summary, name);
        (flow.sent_packets, flow.received_packets, flow.throughput_bps) = (sent, received, bps);
        flow.lost_packets = drops(&[(DropCause::Channel, channel), (DropCause::QueueFull, queue)]);
        flow.rtt_s = Some(RttSummary { mean: rtt, min: 0.0, max: 1.0 });
        (flow.rate_cov, flow.one_way_delay_s) = (Some(cov), Some(delay(one_way, 0.0, 0.0)));
        flow.losses_judged = judged(losses);
    }
    flow(&mut summary, "tcp1").throughput_bps = 2.5e6;
    for (from, to, utilisation, queue) in [("r3", "r4", 0.6, 7.5), ("r4", "mobile", 0.8, 1.5), ("s", "r3", 0.1, 0.5)] {
        let link = link(&mut summary, from, to);
        (link.utilisation, link.mean_queue_packets) = (utilisation, queue);
    }
    close(&values("uddj-tfrc", &scenario, &summary, None), OF_UDDJ);
    assert_all_covered("uddj-tfrc", &[OF_UDDJ]);

    // Without pairs of routers the wireless link is the bottleneck. Without classification by a receiver its metrics
    // are undefined.
    summary.links.retain(|link| link.to != "r4");
    flow(&mut summary, "main2").losses_judged = None;
    let found = values("uddj-tfrc", &scenario, &summary, None);
    close(&found, &[("used_pct", 80.0), ("queue_packets", 1.5)]);
    for name in ["false_pct", "missed_pct", "early_per_min"] {
        assert!(!found.contains_key(name), "{name}");
    }
    // Shares are undefined without sent packets.
    for name in ["main1", "main2"] {
        let flow = flow(&mut summary, name);
        (flow.sent_packets, flow.received_packets, flow.lost_packets) = (0, 0, DropCounts::default());
    }
    let found = values("uddj-tfrc", &scenario, &summary, None);
    for name in ["queue_loss_pct", "channel_loss_pct", "filled_pct", "equation_pct"] {
        assert!(!found.contains_key(name), "{name}");
    }
}

/// RED counts units of 500 B: 9 units are 4.5 packets of 1000 B, and a deviation of 2 units is 1 packet. Six packets of
/// 1000 B take 24 ms at 2 Mb/s. The media starts at 12 s, so the mean over 20 s is scaled to 18 s; it sends 4500
/// packets of 1000 B in 18 s, 2 Mb/s. It has 30 % of the sent bytes and 75 % of the drops. After 5 s its rates are 0.6
/// and 1 Mb/s of 2, with a deviation of 25 %. R squared: 1 for arrivals on a line; 3^2 / (2 6) for 0, 0, 3; 5^2 / (2
/// 14) for drops 1, 2, 6, half of which have occurred at 8 s.
const OF_FTP: &[(&str, f64)] = &[
    ("arrivals", 1000.0),
    ("media_arrivals", 600.0),
    ("ftp_arrivals", 400.0),
    ("drops", 80.0),
    ("media_drops", 60.0),
    ("ftp_drops", 20.0),
    ("marks", 7.0),
    ("loss_pct", 8.0),
    ("media_loss_pct", 10.0),
    ("queue_packets", 6.0),
    ("queue_peak_packets", 19.0),
    ("red_average_packets", 4.5),
    ("red_average_std_packets", 1.0),
    ("queue_delay_ms", 24.0),
    ("media_kbps", 400.0),
    ("ftp_kbps", 900.0),
    ("media_offered_kbps", 2000.0),
    ("media_settled_pct", 40.0),
    ("ftp_settled_pct", 50.0),
    ("both_settled_pct", 90.0),
    ("media_cov_pct", 25.0),
    ("used_pct", 90.0),
    ("media_share_pct", 30.0),
    ("drop_unfairness", 0.45),
    ("ftp_timeouts", 3.0),
    ("ftp_drops_pct", 25.0),
    ("arrivals_r2", 1.0),
    ("media_arrivals_r2", 0.75),
    ("drops_r2", 25.0 / 28.0),
    ("half_of_drops_s", 8.0),
    ("media_delay_ms", 30.0),
];

/// 400 sessions in 20 s, 300 of them completed; the offered load is 1.8 Mb/s of sessions and 2 Mb/s of media.
const OF_WEB: &[(&str, f64)] = &[
    ("sessions_per_s", 20.0),
    ("offered_kbps", 3800.0),
    ("web_kbps", 700.0),
    ("web_completed_pct", 75.0),
    ("web_median_s", 0.2),
    ("web_p95_s", 3.0),
];

const CBR: &str = include_str!("../../../../papers/udpm/scenarios/cbr.toml");
const WEB: &str = include_str!("../../../../papers/udpm/scenarios/web-cbr.toml");
const LATE: [&str; 2] = ["duration=13s", "flow[media].start=12s"];

#[test]
fn udpm_of_counts_and_curves() {
    let scenario = scenario(CBR, &LATE);
    let mut summary = run(&scenario);
    let media = flow(&mut summary, "media");
    (media.sent_packets, media.throughput_bps) = (4500, 360e3);
    media.one_way_delay_s = Some(delay(0.030, 0.0, 0.0));
    let ftp = flow(&mut summary, "ftp");
    (ftp.throughput_bps, ftp.timeouts) = (900e3, Some(3));
    let red = link(&mut summary, "r1", "r2");
    (red.arrived_packets, red.dropped_packets, red.marked_packets) = (1000, full(80), 7);
    (red.mean_queue_packets, red.peak_queue_packets, red.mean_red_average) = (6.0, 19, Some(9.0));
    red.utilisation = 0.9;
    for (name, arrived, dropped, bytes) in [("media", 600, 60, 3000), ("ftp", 400, 20, 7000)] {
        let flow = at(red, name);
        (flow.arrived_packets, flow.dropped_packets, flow.sent_bytes) = (arrived, full(dropped), bytes);
    }
    let curves = series(&[
        ("media", metric::THROUGHPUT, &[(5.0, 1e9), (6.0, 0.6e6), (7.0, 1.0e6)]),
        ("ftp", metric::THROUGHPUT, &[(5.0, 1e9), (6.0, 0.9e6), (7.0, 1.1e6)]),
        ("r1->r2", metric::ARRIVED, &[(5.0, 99.0), (6.0, 4.0), (7.0, 6.0), (8.0, 8.0)]),
        ("r1->r2/media", metric::ARRIVED, &[(6.0, 0.0), (7.0, 0.0), (8.0, 3.0)]),
        ("r1->r2", metric::DROPPED, &[(6.0, 1.0), (7.0, 2.0), (8.0, 6.0)]),
        ("r1->r2", metric::RED_AVERAGE, &[(5.0, 99.0), (6.0, 6.0), (7.0, 10.0)]),
    ]);
    close(&values("udpm", &scenario, &summary, Some(&curves)), OF_FTP);
    // The first sample with half of the drops counts: 3 of 6.
    let drops = series(&[("r1->r2", metric::DROPPED, &[(6.0, 1.0), (7.0, 3.0), (8.0, 6.0)])]);
    close(&values("udpm", &scenario, &summary, Some(&drops)), &[("half_of_drops_s", 7.0)]);
}

#[test]
fn udpm_of_sessions() {
    let scenario = scenario(WEB, &LATE);
    let mut summary = run(&scenario);
    flow(&mut summary, "media").sent_packets = 4500;
    let web = flow(&mut summary, "web");
    web.throughput_bps = 700e3;
    let ran = web.sessions.take().unwrap();
    let completion_s = Some(delay(9.0, 0.2, 3.0));
    web.sessions = Some(SessionsSummary { arrived: 400, completed: 300, offered_bps: 1.8e6, completion_s, ..ran });
    close(&values("udpm", &scenario, &summary, None), OF_WEB);
}

/// The LAN paper's network: client links of 10 Mb/s and 3 ms, a server link of 50 Mb/s and 10 ms. The transmission
/// times of 1500 B are 1.2 and 0.24 ms. Equation (3): 50 Mb/s x 26 ms = 1.3 Mb = 162.5 kB; the paper's 4 Mb would need
/// 80 ms.
#[test]
fn lan_queues_of_the_network() {
    let star = scenario(include_str!("../../../../papers/lan-queues/scenarios/udp.toml"), &["duration=1s"]);
    close(
        &values("lan-queues", &star, &run(&star), None),
        &[
            ("delay_floor_ms", 14.44),
            ("access_rate_mbps", 10.0),
            ("access_delay_ms", 3.0),
            ("uplink_rate_mbps", 50.0),
            ("uplink_delay_ms", 10.0),
            ("packet_bytes", 1500.0),
            ("bdp_bits", 1.3e6),
            ("bdp_kbytes", 162.5),
            ("rtt_ms", 26.0),
            ("rtt_of_the_papers_bdp_ms", 80.0),
            ("clients", 3.0),
        ],
    );
    let mut nothing = run(&star);
    for flow in &mut nothing.flows {
        (flow.sent_packets, flow.received_packets, flow.lost_packets) = (0, 0, DropCounts::default());
    }
    for link in &mut nothing.links {
        (link.arrived_packets, link.mean_queue_packets) = (0, 0.0);
        link.dropped_packets = DropCounts::default();
    }
    let found = values("lan-queues", &star, &nothing, None);
    for name in ["delay_a_ms", "delay_b_ms", "delay_c_ms", "delay_d_ms", "loss_pct", "loss_all_pct"] {
        assert!(!found.contains_key(name), "{name}");
    }
}
