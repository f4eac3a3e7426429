//! Comparison of `scream2` with Ericsson's sender, open loop and closed loop.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod closed_loop;
mod open_loop;

use closed_loop::Delivered;
use headway_rate::{ControllerOptions, Scream2Options, Scream2Version};
use headway_units::{Dialect, Duration, Instant, Options, Rate};
use open_loop::Frames;

fn ericsson() -> Scream2Options {
    Scream2Options { version: Scream2Version::Ericsson202607, ..Scream2Options::preset(Dialect::Rfc) }
}

/// Maximum relative difference.
const TOLERANCE: f64 = 0.02;

/// Windows and target rates of 600 reports with a queue, losses and marks, in three runs. A target of -1 requests a key
/// frame, which Ericsson's sender does after losses.
#[test]
fn windows_and_targets_of_the_open_loop() {
    for (column, l4s, frames) in [(0, true, Frames::Each), (2, true, Frames::One), (4, false, Frames::Each)] {
        // The sender started with a window of 20,000 B, which is 3.2 Mb/s in 50 ms.
        let options = Scream2Options { l4s, start_rate: Rate::from_bits_per_second(3_200_000), ..ericsson() };
        let states = open_loop::run(&ControllerOptions::Scream2(options), frames);
        let lines = include_str!("../data/ericsson-scream2.csv").lines().filter(|line| !line.starts_with('#'));
        let (mut reports, mut requests) = (0, 0);
        for (line, state) in lines.zip(&states) {
            let fields: Vec<f64> = line.split(',').map(|field| field.parse().unwrap()).collect();
            let near = |value: u64, expected: f64| {
                let difference = value as f64 / expected - 1.0;
                assert!(difference.abs() <= TOLERANCE, "report {reports}: {value} in place of {expected}");
            };
            near(state.window.unwrap().count(), fields[column]);
            if fields[column + 1] < 0.0 {
                requests += 1;
            } else {
                near(state.target_rate.unwrap().bits_per_second(), fields[column + 1]);
            }
            reports += 1;
        }
        assert_eq!((reports, requests), (600, 30));
    }
}

/// Mean rate of packets delivered between two times, in Mb/s.
fn mbps(delivered: &[Delivered], from_s: u64, until_s: u64) -> f64 {
    let range = Instant::from_secs(from_s)..Instant::from_secs(until_s);
    let bytes: u64 = delivered.iter().filter(|packet| range.contains(&packet.at)).map(|packet| packet.size).sum();
    8e-6 * bytes as f64 / (until_s - from_s) as f64
}

/// The network of Ericsson's simulator: 10 Mb/s, 5 Mb/s from 3 to 6 s. The simulator itself delivers 8.3 and 4.0 Mb/s.
/// At the fall its queue delay is 54 ms, and below 4 ms half a second later. For the other versions the values are those
/// of the book.
#[test]
fn plateaus_and_the_fall_of_the_closed_loop() {
    let slow = Instant::from_secs(3)..Instant::from_secs(6);
    let rate = |now| if slow.contains(&now) { 5_000_000 } else { 10_000_000 };
    for (version, [fast_mbps, slow_mbps]) in [
        (Scream2Version::Ericsson202607, [8.3, 4.0]),
        (Scream2Version::Draft01, [8.8, 4.3]),
        (Scream2Version::Libwebrtc202607, [9.5, 4.7]),
    ] {
        // The simulator starts with a window of 10,000 B, and limits the rate to 20 Mb/s.
        let start_rate = Rate::from_bits_per_second(3_200_000);
        let max_rate = Some(Rate::from_bits_per_second(20_000_000));
        let options = ControllerOptions::Scream2(Scream2Options { version, start_rate, max_rate, ..ericsson() });
        for seed in 1..=3 {
            let delivered = closed_loop::run(&options, seed, Instant::from_secs(20), rate);
            let found = [mbps(&delivered, 8, 20), mbps(&delivered, 4, 6)];
            let fall = delivered.iter().filter(|packet| slow.contains(&packet.at));
            let peak = fall.clone().max_by_key(|packet| packet.delay).unwrap();
            let drained = fall.clone().find(|packet| packet.at > peak.at && packet.delay < Duration::from_millis(4));
            println!("{version:?}, seed {seed}: {found:.2?} Mb/s, {peak:?}, {drained:?}");
            for (found, expected) in found.into_iter().zip([fast_mbps, slow_mbps]) {
                assert!((found / expected - 1.0).abs() < 0.05, "{version:?}, seed {seed}: {found} Mb/s");
            }
            if version == Scream2Version::Ericsson202607 {
                assert!((peak.delay.as_secs_f64() - 0.054).abs() < 0.015, "seed {seed}: {peak:?}");
                assert!(drained.unwrap().at < Instant::from_millis(3500), "seed {seed}: {drained:?}");
            }
        }
    }
}
