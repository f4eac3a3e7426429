//! The SFDPS paper: settings of its runs, and values computed by hand.

use headway_media::{Media, SendQueue, SourceOptions};
use headway_papers::{Measured, Outcome, Paper, Profile, Results, Values};
use headway_record::Estimate;
use headway_record::Summary;
use headway_scenario::{NoFiles, Scenario, Start, Transport, load};
use headway_sim::simulate;
use headway_units::{Bytes, Duration, Instant, MediaKind, Registry as _};

fn paper() -> &'static Paper {
    Paper::find("sfdps").unwrap()
}

fn scenarios(prefix: &str) -> Vec<Scenario> {
    let cells = paper().claims().unwrap().cells;
    let load = |cell: &headway_papers::Cell| cell.load(paper(), Profile::Full, 1, &NoFiles).unwrap().scenario;
    cells.iter().filter(|cell| cell.name.starts_with(prefix)).map(load).collect()
}

/// Section 4.2: 30 runs of 60 s without their first 3 s; Student's interval. By hand for the numbers 1 to 30: mean
/// 15.5, standard deviation 8.80341, t 2.04523, half the width 2.04523 * 8.80341 / sqrt(30) = 3.28725.
#[test]
fn thirty_runs_of_a_minute_without_the_first_three_seconds() {
    let claims = paper().claims().unwrap();
    // Deterministic cells have one run.
    let random = claims.cells.iter().filter(|cell| !cell.deterministic);
    let runs = random.map(|cell| claims.seeds(cell, Profile::Full));
    assert!(runs.into_iter().all(|seeds| seeds == (1..=30)));
    let all = [scenarios("loss."), scenarios("reno.")].concat();
    assert!(all.len() > 200);
    for scenario in all {
        let call = scenario.flows.iter().find(|flow| flow.name == "call").unwrap();
        let (start, stop) = (call.start.earliest(), call.stop.unwrap());
        assert_eq!(stop.since(start), Duration::from_secs(60), "{}", scenario.name);
        assert_eq!(start + Duration::from_secs(3), Instant::ZERO + scenario.measure_from);
        // Packets that are written last can still arrive, on time or late.
        assert_eq!(Instant::ZERO + scenario.duration, stop + Duration::from_millis(500));
    }
    let sample: Vec<f64> = (1..=30).map(f64::from).collect();
    let estimate = Estimate::of(&sample).unwrap();
    assert!((estimate.mean - 15.5).abs() < 1e-12);
    assert!((estimate.ci95.unwrap() - 3.287_247_31).abs() < 1e-6, "{estimate:?}");
}

/// Section 5.2.
#[test]
fn two_renos_with_segments_of_519_bytes_compete() {
    for scenario in scenarios("reno.") {
        let (tcp, call): (Vec<_>, Vec<_>) = scenario.flows.iter().partition(|flow| flow.transport.kind() == "tcp-reno");
        assert_eq!((tcp.len(), call.len()), (2, 1));
        for flow in tcp {
            let Transport::Tcp(options) = &*flow.transport else { panic!("{} is not TCP", flow.name) };
            assert_eq!(options.rules.segment, Bytes::new(519));
            assert!(matches!(flow.start, Start::Uniform(_, last) if Instant::ZERO + last < call[0].start.earliest()));
            assert_eq!(flow.stop, None);
        }
    }
}

/// Returns the capacity of the call's send queue: how many of a hundred audio packets it holds.
fn capacity(scenario: &Scenario) -> usize {
    let call = scenario.flows.iter().find(|flow| flow.name == "call").unwrap();
    let mut queue = SendQueue::new(&call.send_queue);
    let audio = Media {
        payload: (),
        size: Bytes::new(214),
        kind: MediaKind::Audio,
        priority: 0,
        created: Instant::ZERO,
        expires: Some(Instant::from_millis(200)),
        fragment: None,
        method: None,
    };
    (0..100).for_each(|_| queue.enqueue(Instant::ZERO, audio, &mut |_| {}));
    queue.len()
}

/// Sections 5.1 and 5.2: queues of 5 and 32 packets.
#[test]
fn send_queues_have_the_capacity_of_the_cell() {
    for (cells, packets) in [
        ("loss.", 5),
        ("reno.30.5.", 5),
        ("reno.80.5.", 5),
        ("reno.150.5.", 5),
        ("reno.30.32.", 32),
        ("reno.80.32.", 32),
    ] {
        let all = scenarios(cells);
        assert!(all.len() >= 20, "{cells}");
        assert!(all.iter().all(|scenario| capacity(scenario) == packets), "{cells}");
    }
}

/// Section 3.4: a queue of 3 packets, a packet every 10, 20, 25 or 30 ms, and 50 kb/s.
#[test]
fn the_ring_has_the_quoted_settings() {
    for (gap, written) in [(10, 5700), (20, 2850), (25, 2280), (30, 1900)] {
        let all = scenarios(&format!("ring.{gap}"));
        assert_eq!(all.len(), 1);
        assert_eq!(capacity(&all[0]), 3);
        assert!(matches!(&*all[0].flows[0].source, SourceOptions::Gop(_)));
        let summary = run(&all[0]);
        let pictures: u64 = summary.flows[0].send_queue.values().map(|queue| queue.written_packets).sum();
        assert!(pictures.abs_diff(written) <= 1, "{pictures} in 57 s");
    }
    // A sender without congestion control offers more than twice the link rate.
    let sets = ["flow[call].transport={ kind = \"udp\" }", "flow[call].send_queue={ kind = \"fifo\" }"];
    let flood = scenario("ring.toml", &[&sets[..], &["flow[call].source.frame_interval=10ms"]].concat());
    let carried = run(&flood).flows[0].throughput_bps;
    assert!((carried / 50e3 - 1.0).abs() < 0.01, "{carried} b/s");
}

fn scenario(name: &str, set: &[&str]) -> Scenario {
    let path = format!("{}/../../../papers/sfdps/scenarios/{name}", env!("CARGO_MANIFEST_DIR"));
    let overrides: Vec<_> = set.iter().map(|set| set.parse().unwrap()).collect();
    load(name, &std::fs::read_to_string(path).unwrap(), &overrides, &NoFiles).unwrap().scenario
}

fn metrics(name: &str, set: &[&str]) -> Values {
    values(&scenario(name, set))
}

fn run(scenario: &Scenario) -> Summary {
    simulate(scenario).unwrap().summary
}

fn values(scenario: &Scenario) -> Values {
    paper().claims().unwrap().metrics.of(&Outcome { scenario, summary: &run(scenario), series: None }).unwrap()
}

/// Section 4.1 without randomness: 3000 packets of 214 B; 450 frames of 4450 B, each in five packets, and 150 of 1075
/// B, each in two.
#[test]
fn the_source_by_hand() {
    let sets = ["flow[call].source.motion_deviation=0B", "flow[call].source.still_deviation=0B"];
    let source = metrics("call.toml", &sets);
    let packets = 3000.0 + 450.0 * 5.0 + 150.0 * 2.0;
    let (video, audio) = (450.0 * 4450.0 + 150.0 * 1075.0, 3000.0 * 214.0);
    for (name, expected) in [
        ("written_kbps", (audio + video) * 8.0 / 60e3),
        ("mean_packet_bytes", (audio + video) / packets),
        ("packet_gap_ms", 60e3 / packets),
    ] {
        assert!((source[name] / expected - 1.0).abs() < 1e-9, "{name} is {}, not {expected}", source[name]);
    }
    assert!(!source.contains_key("audio_on_time_pct"), "there is no send queue");
}

/// Every written packet is discarded by the queue, lost on the path, late or on time. 6 % of the sent packets are lost,
/// of audio and video.
#[test]
fn every_packet_is_accounted_for() {
    for (kind, used, unused) in
        [("fifo", "refused", "expired"), ("sfdps2", "expired", "pushed_out"), ("ring", "pushed_out", "refused")]
    {
        let queue = format!("flow[call].send_queue.kind={kind}");
        let run = metrics("loss.toml", &["link[forward].loss.probability=6%", "record.series=false", &queue]);
        for media in ["audio", "video"] {
            let sum =
                |parts: &[&str]| parts.iter().map(|part| run[format!("{media}_{part}_pct").as_str()]).sum::<f64>();
            let (unsent, arrived) = (sum(&["refused", "pushed_out", "expired"]), sum(&["on_time", "late"]));
            // Due and written packets differ by the 200 ms at the start of the measurement.
            let lost = 100.0 * (1.0 - arrived / (100.0 - unsent));
            assert!((lost - 6.0).abs() < 2.5, "{kind}, {media}: {lost} % lost");
        }
        assert!(run[format!("video_{used}_pct").as_str()] > 1.0, "{kind}: {run:?}");
        assert_eq!(run[format!("video_{unused}_pct").as_str()], 0.0, "{kind}");
        let both = run["audio_on_time_pct"] + run["video_on_time_pct"];
        assert!((run["audio_plus_video_on_time_pct"] - both).abs() < 1e-9);
    }
}

/// Reruns the cheapest cell with CCID 3 and compares it with the stored results.
#[test]
fn a_rerun_gives_the_stored_numbers() {
    const CELL: &str = "ring.30";
    let stored: Results = serde_json::from_str(include_str!("../../../../papers/sfdps/results.json")).unwrap();
    let claims = paper().claims().unwrap();
    let cell = claims.cells.iter().find(|cell| cell.name == CELL).unwrap();
    let mut measured = Measured::default();
    for seed in claims.seeds(cell, Profile::Full) {
        let scenario = cell.load(paper(), Profile::Full, seed, &NoFiles).unwrap().scenario;
        measured.add(CELL, seed, false, values(&scenario));
    }
    for metric in ["i_on_time_pct", "b_on_time_pct", "call_kbps"] {
        let (stored, now) = (stored.get(CELL, metric).unwrap(), measured.estimate(CELL, metric).unwrap());
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-7 * b.abs();
        let same = near(stored.mean, now.mean) && near(stored.ci95.unwrap(), now.ci95.unwrap());
        assert!(same, "{metric} is {now:?}, stored {stored:?}: run `make papers`");
    }
}
