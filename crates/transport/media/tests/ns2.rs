//! Compares with ns-2.35: send times and sizes of `Application/Traffic/CBR` over `Agent/UDP`.
#![allow(clippy::unwrap_used, reason = "tests, all of it")]

use headway_media::{Change, Context, Source, SourceOptions, UdpOptions, datagrams};
use headway_units::{Bytes, Dialect, Instant, Options, Random, Registry, SchemaRegistry};

const CONSTANT: &str = include_str!("data/ns2-cbr-3236068bps.txt");
const STOPS: &str = include_str!("data/ns2-cbr-stops.txt");
const RATES: &str = include_str!("data/ns2-cbr-rates.txt");
const EXPONENTIAL: &str = include_str!("data/ns2-exponential.txt");
const PARETO: &str = include_str!("data/ns2-pareto.txt");
const DITHERED: &str = include_str!("data/ns2-cbr-dithered.txt");

fn column(text: &str) -> Vec<f64> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.parse().unwrap()).collect()
}

fn cbr(size: u64, rate: &str, dither: bool, stop: Option<Instant>, seed: u64) -> Source {
    let SourceOptions::Cbr(mut options) = SourceOptions::preset("cbr", Dialect::Ns2).unwrap() else { panic!() };
    options.rate = Some(rate.parse().unwrap());
    options.size = Some(Bytes::new(size));
    options.dither = dither;
    let context = Context { start: Instant::from_secs(1), stop, random: Random::new(seed, "cbr"), trace: None };
    Source::new(&SourceOptions::Cbr(options), context).unwrap()
}

/// Returns seconds and wire bytes of each datagram.
fn sent(source: &mut Source, writes: usize) -> Vec<(f64, u64)> {
    let udp = UdpOptions::preset(Dialect::Ns2);
    let mut all = Vec::new();
    for _ in 0..writes {
        let Some(now) = source.poll_timeout() else { break };
        let write = source.poll(now).unwrap();
        all.extend(datagrams(write.size, &udp).map(|datagram| (now.as_secs_f64(), datagram.wire.count())));
    }
    all
}

/// All 1214 send times, within the trace's resolution of 1 us.
#[test]
fn constant_rate_times() {
    let ns2 = column(CONSTANT);
    let stop = Some("3.9999s".parse::<headway_units::Duration>().map(|d| Instant::ZERO + d).unwrap());
    let ours = sent(&mut cbr(1000, "3.236068Mbps", false, stop, 1), usize::MAX);
    assert_eq!(ours.len(), ns2.len());
    for ((ours, _), ns2) in ours.iter().zip(&ns2) {
        // Half a microsecond of rounding in the trace, 1 ns here.
        assert!((ours - ns2).abs() < 0.502e-6, "{ours} {ns2}");
    }
}

/// If a packet is due exactly at the stop, the floating-point sum decides: 48 runs, half of them with one packet more.
#[test]
fn a_packet_due_at_the_stop() {
    let rows: Vec<Vec<&str>> =
        STOPS.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(' ').collect()).collect();
    assert_eq!(rows.len(), 48);
    for row in rows {
        let instant = |text: &str| Instant::ZERO + format!("{text}s").parse::<headway_units::Duration>().unwrap();
        let SourceOptions::Cbr(mut options) = SourceOptions::preset("cbr", Dialect::Ns2).unwrap() else { panic!() };
        options.rate = Some(format!("{}bps", row[0]).parse().unwrap());
        options.size = Some(Bytes::new(row[1].parse().unwrap()));
        let (start, stop) = (instant(row[2]), Some(instant(row[3])));
        let context = Context { start, stop, random: Random::new(1, "cbr"), trace: None };
        let mut source = Source::new(&SourceOptions::Cbr(options), context).unwrap();
        let writes = std::iter::from_fn(|| source.poll(source.poll_timeout()?)).count();
        assert_eq!(writes, row[4].parse::<usize>().unwrap(), "{row:?}");
    }
}

/// `$cbr set rate_` five times, twice between two packets: all 295 send times.
#[test]
fn rate_changes_match_ns2() {
    let ns2 = column(RATES);
    let SourceOptions::Cbr(mut options) = SourceOptions::preset("cbr", Dialect::Ns2).unwrap() else { panic!() };
    options.rate = Some("300kbps".parse().unwrap());
    options.size = Some(Bytes::new(1000));
    let change = |at: &str, rate: &str| Change { at: at.parse().unwrap(), rate: rate.parse().unwrap() };
    options.changes = vec![
        change("750ms", "1.1Mbps"),
        change("1s", "64kbps"),
        change("1.9s", "700kbps"),
        change("1.91s", "2.4Mbps"),
        change("2.5s", "800kbps"),
    ];
    let (start, stop) = (Instant::from_millis(100), Some(Instant::from_millis(3_300)));
    let context = Context { start, stop, random: Random::new(1, "cbr"), trace: None };
    let ours = sent(&mut Source::new(&SourceOptions::Cbr(options), context).unwrap(), usize::MAX);
    assert_eq!(ours.len(), ns2.len());
    for ((ours, _), ns2) in ours.iter().zip(&ns2) {
        assert!((ours - ns2).abs() < 0.51e-6, "{ours} {ns2}");
    }
}

/// Returns packets per burst and ms of silence minus an interval, for bursts of 210 B at 64 kb/s with a mean of 100 ms
/// and silences of 300 ms. Packets of a burst are 26.25 ms apart.
fn bursts(kind: &str, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let text = serde_json::json!({ "rate": "64kbps", "size": "210B", "burst_time": "100ms", "idle_time": "300ms" });
    let preset = SourceOptions::preset(kind, Dialect::Ns2).unwrap();
    let mut table = serde_json::to_value(&preset).unwrap();
    table.as_object_mut().unwrap().remove("kind");
    table.as_object_mut().unwrap().extend(text.as_object().unwrap().clone());
    let options = SourceOptions::deserialize(kind, table).unwrap();
    let context = Context { start: Instant::ZERO, stop: None, random: Random::new(seed, kind), trace: None };
    let mut source = Source::new(&options, context).unwrap();
    let (mut packets, mut silences, mut before) = (Vec::new(), Vec::new(), 0);
    while packets.len() <= 400 {
        let due = source.poll_timeout().unwrap();
        source.poll(due).unwrap();
        let gap = due.as_nanos() - before;
        before = due.as_nanos();
        if gap == 26_250_000 {
            *packets.last_mut().unwrap() += 1.0;
        } else {
            packets.push(1.0);
            silences.push((gap - 26_250_000) as f64 / 1e6);
        }
    }
    (packets[..400].to_vec(), silences[..400].to_vec())
}

/// Lengths of bursts and silences have ns-2's distributions. The minimum of a Pareto silence is a third of its mean.
#[test]
fn bursts_and_silences_are_distributed_as_in_ns2() {
    for (kind, text, least) in [("exponential", EXPONENTIAL, 0.0), ("pareto", PARETO, 100.0)] {
        let rows = text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split_once(' ').unwrap());
        let (packets, silences): (Vec<f64>, Vec<f64>) =
            rows.map(|(packets, silence)| (packets.parse::<f64>().unwrap(), silence.parse::<f64>().unwrap())).unzip();
        assert_eq!(packets.len(), 400);
        for seed in 1..=10 {
            let (our_packets, our_silences) = bursts(kind, seed);
            assert!(our_silences.iter().all(|silence| *silence >= least));
            // Two samples of 400: 1.95 sqrt(2/400) is the 0.1 % point of the Kolmogorov-Smirnov distance.
            for distance in [distance(&our_packets, &packets), distance(&our_silences, &silences)] {
                assert!(distance < 0.138, "{kind} {seed}: {distance}");
            }
        }
    }
}

/// 1500 B every 12 ms with `packetSize_` 1000 from 1 s to 1.9999 s: 84 pairs of 1000 B and 500 B at the same time.
#[test]
fn fragments() {
    let stop = Some(Instant::from_nanos(1_999_900_000));
    let ours = sent(&mut cbr(1500, "1Mbps", false, stop, 1), usize::MAX);
    assert_eq!(ours.len(), 168);
    assert_eq!(ours[..4], [(1.0, 1000), (1.0, 500), (1.012, 1000), (1.012, 500)]);
    assert_eq!(ours[166..], [(1.996, 1000), (1.996, 500)]);
}

fn gaps(times: &[f64]) -> Vec<f64> {
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Returns the Kolmogorov-Smirnov distance of `a` and `b`.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let below = |all: &[f64], x: f64| all.iter().filter(|v| **v <= x).count() as f64 / all.len() as f64;
    a.iter().chain(b).map(|x| (below(a, *x) - below(b, *x)).abs()).fold(0.0, f64::max)
}

fn correlation_of_neighbors(gaps: &[f64]) -> f64 {
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance: f64 = gaps.iter().map(|g| (g - mean) * (g - mean)).sum();
    gaps.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / variance
}

/// `random_`: independent intervals, uniform from half to one and a half of 8 ms.
#[test]
fn dithered_intervals_are_distributed_as_in_ns2() {
    let ns2 = gaps(&column(DITHERED));
    assert_eq!(ns2.len(), 501);
    for seed in 1..=10 {
        let times: Vec<f64> = sent(&mut cbr(1000, "1Mbps", true, None, seed), 502).iter().map(|(at, _)| *at).collect();
        assert_eq!(times[0], 1.0, "the first packet is sent at the start");
        let ours = gaps(&times);
        // 0.1 % points for two samples of 501: 1.949 * sqrt(2 / 501), and 3.29 / sqrt(501).
        let distance = distance(&ours, &ns2);
        assert!(distance < 0.1232, "seed {seed}: {distance}");
        // Jitter around a fixed grid instead of a random walk would give -0.5.
        for gaps in [&ours, &ns2] {
            let correlation = correlation_of_neighbors(gaps);
            assert!(correlation.abs() < 0.147, "seed {seed}: {correlation}");
        }
        // The mean interval is that of the rate: five standard errors of 501 uniform draws of width 8 ms.
        let mean = ours.iter().sum::<f64>() / 501.0;
        assert!((mean - 0.008).abs() < 5.0 * 0.008 / (12.0f64 * 501.0).sqrt(), "seed {seed}: {mean}");
    }
}
