//! The UDPm paper: settings of its runs, and values computed by hand.

use crate::common::link;
use headway_media::SourceOptions;
use headway_papers::{Outcome, Paper, UDPM_RECEIVER, UDPM_SENDER};
use headway_record::{SeriesNames, SeriesTable, Summary, metric};
use headway_scenario::{NoFiles, Scenario, load};
use headway_sim::simulate;
use headway_units::{Bytes, DropCause, Duration, Instant, Rate};

fn paper() -> &'static Paper {
    Paper::find("udpm").unwrap()
}

fn scenarios(prefix: &str) -> Vec<(String, Scenario)> {
    crate::common::scenarios(paper(), prefix)
}

fn scenario(name: &str) -> Scenario {
    scenarios(name).into_iter().find(|(found, _)| found == name).unwrap().1
}

/// Figs. 4 and 5, Table 1, the Appendix: nodes, links and flows.
#[test]
fn the_dumbbell_is_the_papers() {
    for (name, scenario) in scenarios("s1.").into_iter().chain(scenarios("s2.")) {
        let mut ends: Vec<(&str, &str)> = scenario
            .links
            .iter()
            .map(|link| (scenario.nodes[link.from].as_str(), scenario.nodes[link.to].as_str()))
            .collect();
        ends.sort_unstable();
        let joined = [("r1", "r2"), ("s1", "r1"), ("s2", "r1"), ("r2", "s3"), ("r2", "s4")];
        let mut both: Vec<(&str, &str)> = joined.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]).collect();
        both.sort_unstable();
        assert_eq!(ends, both, "{name}");
        let bottleneck = link(&scenario, "r1", "r2");
        assert_eq!(
            (bottleneck.rate, bottleneck.delay),
            (Rate::from_bits_per_second(2_000_000), Duration::from_millis(10))
        );
        let (rate, delay) = if name.ends_with(".5") { (5, 3) } else { (6, 2) };
        for (from, to) in [("s1", "r1"), ("s2", "r1"), ("r2", "s3"), ("r2", "s4")] {
            let access = link(&scenario, from, to);
            assert_eq!(access.rate, Rate::from_bits_per_second(rate * 1_000_000), "{name}");
            assert_eq!(access.delay, Duration::from_millis(delay), "{name}");
        }
        let queue = serde_json::to_value(&bottleneck.queue).unwrap();
        assert_eq!((&queue["kind"], &queue["limit"]), (&"red".into(), &"20packets".into()), "{name}");
        if name.contains("stated") {
            assert_eq!(queue["min_threshold"], "5packets", "{name}");
            assert_eq!(queue["max_threshold"], "10packets", "{name}");
            assert_eq!((&queue["queue_weight"], &queue["in_bytes"]), (&0.002.into(), &false.into()), "{name}");
            assert_eq!(queue["gentle"], !name.contains("hard"), "{name}");
        }
        let [media, ftp] = &scenario.flows[..] else { panic!("{name}") };
        assert_eq!((media.start.earliest(), ftp.start.earliest()), (Instant::from_secs(1), Instant::ZERO));
        assert_eq!(scenario.duration, Duration::from_secs(50));
        let tcp = serde_json::to_value(&*ftp.transport).unwrap();
        assert_eq!((&tcp["kind"], &tcp["window"]), (&"tcp-newreno".into(), &"15packets".into()), "{name}");
        // 1000 B of data and the 40 B of headers that ns-2 adds.
        assert_eq!((ftp.transport.full_packet(), media.transport.full_packet()), (Bytes::new(1040), Bytes::new(1000)));
    }
    // Table 1: 500 B every 5 ms, 200 packets per second.
    let SourceOptions::Cbr(cbr) = &*scenario("s2.executed.0.8.6").flows[0].source.clone() else { panic!() };
    assert_eq!((cbr.size, cbr.nominal_interval()), (Some(Bytes::new(500)), Some(Duration::from_millis(5))));
}

/// Vector `udpm.web.pareto`: mean = b m / (b - 1), median = m 2^(1/b). Shape 1.16 and minimum 1.37 KB give 9.9325 and
/// 2.49017 KB; shape 1.5 and mean 10 KB give the minimum 3.33333 KB and the median 5.29134 KB.
#[test]
fn section_4_2_pareto() {
    let mean = |shape: f64, least: f64| shape * least / (shape - 1.0);
    let median = |shape: f64, least: f64| least * libm::pow(2.0, 1.0 / shape);
    assert!((mean(1.16, 1.37) - 9.9325).abs() < 1e-4 && (median(1.16, 1.37) - 2.490_171).abs() < 1e-6);
    assert!((mean(1.5, 10.0 / 3.0) - 10.0).abs() < 1e-9 && (median(1.5, 10.0 / 3.0) - 5.291_337).abs() < 1e-6);
    for (name, shape) in [("web.1.5.udpm", 1.5), ("web.1.16.udpm", 1.16)] {
        let source = serde_json::to_value(&*scenario(name).flows[1].source).unwrap();
        assert_eq!(source["sizes"], serde_json::json!({ "pareto": { "mean": "10.24kB", "shape": shape } }));
        assert_eq!(source["arrivals"], serde_json::json!({ "poisson": "45ms" }));
    }
}

/// Returns the mean offered load of a source of sessions, in b/s: bits per transfer divided by the mean gap.
fn offered_load(source: &SourceOptions) -> f64 {
    let source = serde_json::to_value(source).unwrap();
    let size: Bytes = source["sizes"]["pareto"]["mean"].as_str().unwrap().parse().unwrap();
    let gap: Duration = source["arrivals"]["poisson"].as_str().unwrap().parse().unwrap();
    size.count() as f64 * 8.0 / gap.as_secs_f64()
}

/// Vector `udpm.web.load`: the paper uses 22.2 sessions per second of 10 x 1024 B, 1818624 b/s. A gap of 45 ms is 22.22
/// per second, 0.1 % more.
#[test]
fn section_4_2_load() {
    for (name, scenario) in scenarios("web.") {
        let load = offered_load(&scenario.flows[1].source);
        assert!((load / 1_818_624.0 - 1.0).abs() < 0.0011, "{name}: {load}");
    }
    let text = include_str!("../../../../papers/udpm/scenarios/web-udpm.toml");
    let rarer = load("web.toml", text, &["flow[web].source.arrivals.poisson=100ms".parse().unwrap()], &NoFiles)
        .unwrap()
        .scenario;
    assert!((offered_load(&rarer.flows[1].source) - 819_200.0).abs() < 1.0, "the load depends on the gap");
}

fn run(scenario: &Scenario) -> Summary {
    simulate(scenario).unwrap().summary
}

/// Fig. 1: DCCP has connections, unlike UDP, and does not retransmit, unlike TCP.
#[test]
fn figure_1_dccp_connects_and_does_not_retransmit() {
    let sent = |transport: &str| {
        let text = format!(
            "duration = \"10s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1Mbps\"\ndelay = \"10ms\"\n\
             loss = {{ kind = \"list\", packets = [20, 21] }}\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n\
             transport = {transport}\nsource = {{ kind = \"ftp\", segments = 40 }}"
        );
        let summary = run(&load("fig1.toml", &text, &[], &NoFiles).unwrap().scenario);
        (summary.flows[0].lost_packets.total(), summary.flows[0].goodput_bps * 10.0 / 8.0)
    };
    let (tcp_lost, tcp) = sent("{ kind = \"tcp-newreno\", segment = \"1040B\", header = \"40B\" }");
    let (dccp_lost, dccp) = sent("{ kind = \"dccp\", ccid = 3, connection = { mtu = \"1036B\" } }");
    assert_eq!((tcp_lost, dccp_lost), (2, 2));
    assert!((tcp - 40.0 * 1000.0).abs() < 1.0, "TCP delivers all data: {tcp}");
    assert!(dccp < 39.0 * 1000.0, "DCCP does not retransmit: {dccp}");
}

/// Figures 2 and 3: in a run the rate starts with k = 0, and each change is one of the drawn transitions: to the next
/// rate, up to the tenth, or to half of k.
#[test]
fn figures_2_and_3_are_the_transitions_of_a_run() {
    let labels = |transitions: &[headway_papers::Transition]| {
        transitions.iter().map(|one| one.label.join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(labels(UDPM_SENDER), ["k = 0", "the receiver announces n: k = n"]);
    let [begin, up, down] = &labels(UDPM_RECEIVER)[..] else { panic!() };
    assert_eq!(begin, "k = 0");
    assert!(up.contains("k = min(k + 1, highest)") && down.contains("k = k/2 rounded down"), "{up} {down}");
    let mut scenario = scenario("s1.executed.0.2-100ms.6");
    // A round takes 100 ms.
    scenario.series = Some(Duration::from_millis(10));
    let (mut record, mut bytes) = (simulate(&scenario).unwrap(), Vec::new());
    record.series.take().unwrap().finish(&mut bytes).unwrap();
    let series = SeriesTable::from_ipc(&bytes).unwrap();
    let rates: Vec<f64> = series.samples("media", metric::ALLOWED_RATE).iter().map(|sample| sample.1).collect();
    let least = rates.iter().copied().find(|rate| *rate > 0.0).unwrap();
    let scales: Vec<u64> =
        rates.iter().filter(|rate| **rate > 0.0).map(|rate| (rate / least).round() as u64 - 1).collect();
    let (mut ups, mut downs) = (0, 0);
    for pair in scales.windows(2).filter(|pair| pair[0] != pair[1]) {
        let (up, down) = ((pair[0] + 1).min(9), pair[0] / 2);
        assert!(pair[1] == up || pair[1] == down, "from {} to {}", pair[0], pair[1]);
        ups += u64::from(pair[1] == up);
        downs += u64::from(pair[1] == down);
    }
    assert_eq!(scales[0], 0);
    assert!(ups > 100 && downs > 20, "{ups} {downs}");
}

fn ask(name: &str, scenario: &Scenario, summary: &Summary, series: Option<&SeriesTable>) -> f64 {
    paper().claims().unwrap().metrics.of(&Outcome { scenario, summary, series }).unwrap()[name]
}

fn close(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found} is not {expected}");
}

/// A constant rate alone, 0.8 Mb/s from 1 s on: 9800 packets of 500 B in 49 s, none dropped. Vectors `udpm.cbr.rate`
/// and, with four packets of 1000 B, `udpm.queue.delay`.
#[test]
fn metrics_of_a_run_by_hand() {
    let mut scenario = scenario("s2.executed.0.8.6");
    scenario.flows[1].start = headway_scenario::Start::At(Instant::from_millis(49_990));
    let mut summary = run(&scenario);
    close(ask("media_arrivals", &scenario, &summary, None), 9800.0, 0.0);
    close(ask("media_drops", &scenario, &summary, None), 0.0, 0.0);
    close(ask("media_offered_kbps", &scenario, &summary, None), 800.0, 0.1);
    close(ask("media_kbps", &scenario, &summary, None), 800.0, 0.5);
    let bottleneck = summary.links.iter_mut().find(|link| link.from == "r1" && link.to == "r2").unwrap();
    bottleneck.mean_queue_packets = 4.0;
    // RED counts bytes: eight units of 500 B.
    bottleneck.mean_red_average = Some(8.0);
    for (flow, (drops, bytes)) in bottleneck.flows.iter_mut().zip([(30, 6000), (10, 2000)]) {
        (0..drops).for_each(|_| flow.dropped_packets.add(DropCause::QueueFull));
        flow.sent_bytes = bytes;
    }
    close(ask("queue_delay_ms", &scenario, &summary, None), 16.0, 1e-9);
    close(ask("red_average_packets", &scenario, &summary, None), 4.0, 1e-9);
    close(ask("media_share_pct", &scenario, &summary, None), 75.0, 1e-9);
    close(ask("drop_unfairness", &scenario, &summary, None), 0.0, 1e-9);
}

/// A total that grows by 3 every half second, and a total that is constant and then jumps.
#[test]
fn metrics_of_curves_by_hand() {
    let scenario = scenario("s1.executed.0.2-100ms.6");
    let summary =
        Summary { flows: Vec::new(), ..run(&Scenario { duration: Duration::from_secs(2), ..scenario.clone() }) };
    let mut names = SeriesNames::default();
    let [even, late, average, queue] = [metric::ARRIVED, metric::DROPPED, metric::RED_AVERAGE, metric::QUEUE]
        .map(|metric| names.series("r1->r2", metric));
    let mut samples = names.samples();
    for step in 0..=100u32 {
        let at = Instant::from_millis(500 * u64::from(step));
        samples.push(even, at, 3.0 * f64::from(step));
        samples.push(late, at, if step < 70 { 1.0 } else { 100.0 });
        samples.push(average, at, if step % 2 == 0 { 6.0 } else { 10.0 });
        samples.push(
            queue,
            at,
            if step == 1 {
                7.0
            } else if step % 2 == 0 {
                2.0
            } else {
                6.0
            },
        );
    }
    let mut bytes = Vec::new();
    samples.finish(&mut bytes).unwrap();
    let table = SeriesTable::from_ipc(&bytes).unwrap();
    close(ask("arrivals_r2", &scenario, &summary, Some(&table)), 1.0, 1e-12);
    close(ask("half_of_drops_s", &scenario, &summary, Some(&table)), 35.0, 1e-12);
    // From 5.5 to 50 s there are 45 samples of each value: 8 +- 2 units of 500 B.
    close(ask("red_average_std_packets", &scenario, &summary, Some(&table)), 1.0, 1e-12);
    // 7 packets at 0.5 s and 2 at 1 s, before the media starts; then 2 and 6 in turns: 50 % of their mean.
    close(ask("start_queue_packets", &scenario, &summary, Some(&table)), 7.0, 1e-12);
    close(ask("queue_cov_pct", &scenario, &summary, Some(&table)), 50.0, 1e-9);
}
