//! Comparison of the versions of `scream2` with the implementations, open loop and closed loop.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod closed_loop;
mod open_loop;

use closed_loop::Delivered;
use headway_rate::{ControllerOptions, Scream2Options, Scream2Version, Status};
use headway_units::{Dialect, Duration, Instant, Options, Rate};
use open_loop::Frames;

fn ericsson() -> Scream2Options {
    Scream2Options { version: Scream2Version::Ericsson202607, ..Scream2Options::preset(Dialect::Rfc) }
}

/// Checks the window and the target rate at each of 600 reports, within a relative difference. The expected values are in
/// two columns of a table from `column` on. Returns the number of reports without a target rate, which is -1.
fn compare(states: &[Status], table: &str, column: usize, tolerance: f64) -> usize {
    let lines: Vec<&str> = table.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!((lines.len(), states.len()), (600, 600));
    let mut without_target = 0;
    for (report, (line, state)) in lines.into_iter().zip(states).enumerate() {
        let mut expected = line.split(',').skip(column).map(|field| field.parse::<f64>().unwrap());
        let [window, target] = [expected.next().unwrap(), expected.next().unwrap()];
        let near = |value: u64, expected: f64| {
            let difference = value as f64 / expected - 1.0;
            assert!(difference.abs() <= tolerance, "report {report}: {value} in place of {expected}");
        };
        near(state.window.unwrap().count(), window);
        if target < 0.0 {
            without_target += 1;
        } else {
            near(state.target_rate.unwrap().bits_per_second(), target);
        }
    }
    without_target
}

/// Ericsson's sender in three runs with a queue, losses and marks. In 30 reports of each run it requests a key frame in
/// place of a target rate.
#[test]
fn ericssons_sender_in_the_open_loop() {
    // It started with a window of 20,000 B, which is 3.2 Mb/s in 50 ms.
    let (start_rate, rtt) = (Rate::from_bits_per_second(3_200_000), Duration::from_millis(50));
    for (column, l4s, frames) in [(0, true, Frames::Each), (2, true, Frames::One), (4, false, Frames::Each)] {
        let options = ControllerOptions::Scream2(Scream2Options { l4s, start_rate, ..ericsson() });
        let states = open_loop::run(&options, frames, Some(rtt));
        let key_frames = compare(&states, include_str!("../data/ericsson-scream2.csv"), column, 0.007);
        assert_eq!(key_frames, 30);
    }
}

/// A program written from the source of libwebrtc's module.
#[test]
fn libwebrtcs_module_in_the_open_loop() {
    let version = Scream2Version::Libwebrtc202607;
    let start_rate = Rate::from_bits_per_second(3_200_000);
    let options = ControllerOptions::Scream2(Scream2Options { version, start_rate, ..ericsson() });
    let states = open_loop::run(&options, Frames::Each, None);
    assert_eq!(compare(&states, include_str!("../data/libwebrtc-scream2.csv"), 0, 1e-3), 0);
}

/// Mean rate of packets delivered between two times, in Mb/s.
fn mbps(delivered: &[Delivered], from_s: u64, until_s: u64) -> f64 {
    let range = Instant::from_secs(from_s)..Instant::from_secs(until_s);
    let bytes: u64 = delivered.iter().filter(|packet| range.contains(&packet.at)).map(|packet| packet.size).sum();
    8e-6 * bytes as f64 / (until_s - from_s) as f64
}

/// The network of Ericsson's simulator: 10 Mb/s, 5 Mb/s from 3 to 6 s. The simulator itself delivers 8.3 and 4.0 Mb/s.
/// At the fall its queue delay is 54 ms, and below 4 ms half a second later. For all versions the ranges are those of
/// the book.
#[test]
fn plateaus_and_the_fall_of_the_closed_loop() {
    let slow = Instant::from_secs(3)..Instant::from_secs(6);
    let rate = |now| if slow.contains(&now) { 5_000_000 } else { 10_000_000 };
    for (version, mbps_range, fall_ms) in [
        (Scream2Version::Ericsson202607, [(8.2, 8.3), (3.9, 4.2)], (62, 67)),
        (Scream2Version::Draft01, [(8.7, 8.8), (4.2, 4.4)], (23, 74)),
        (Scream2Version::Libwebrtc202607, [(9.5, 9.6), (4.6, 4.8)], (86, 106)),
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
            for (found, (least, most)) in found.into_iter().zip(mbps_range) {
                // The book rounds to 0.1 Mb/s.
                assert!((least - 0.05..most + 0.05).contains(&found), "{version:?}, seed {seed}: {found} Mb/s");
            }
            let peak_ms = (peak.delay.as_secs_f64() * 1e3).round() as u64;
            assert!((fall_ms.0..=fall_ms.1).contains(&peak_ms), "{version:?}, seed {seed}: {peak:?}");
            if version == Scream2Version::Ericsson202607 {
                for (found, simulator) in found.into_iter().zip([8.3, 4.0]) {
                    assert!((found / simulator - 1.0).abs() < 0.05, "seed {seed}: {found} Mb/s");
                }
                assert!((peak.delay.as_secs_f64() - 0.054).abs() < 0.015, "seed {seed}: {peak:?}");
                assert!(drained.unwrap().at < Instant::from_millis(3500), "seed {seed}: {drained:?}");
            }
        }
    }
}
