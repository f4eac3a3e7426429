//! Comparison of `scream2` with Ericsson's sender, open loop and closed loop.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod open_loop;

use headway_rate::{ControllerOptions, Scream2Options, Scream2Version, Status};
use headway_units::{Dialect, Options, Rate};
use open_loop::Frames;

fn ericsson() -> Scream2Options {
    Scream2Options { version: Scream2Version::Ericsson202607, ..Scream2Options::preset(Dialect::Rfc) }
}

#[test]
fn windows_and_targets_of_the_open_loop() {
    for (column, l4s, frames) in [(0, true, Frames::Each), (2, true, Frames::One), (4, false, Frames::Each)] {
        // The sender started with a window of 20,000 B, which is 3.2 Mb/s in 50 ms.
        let options = Scream2Options { l4s, start_rate: Rate::from_bits_per_second(3_200_000), ..ericsson() };
        let states = open_loop::run(&ControllerOptions::Scream2(options), frames);
        let lines = include_str!("../data/ericsson-scream2.csv").lines().filter(|line| !line.starts_with('#'));
        let mut bad = 0;
        for (k, (line, state)) in lines.zip(&states).enumerate() {
            let fields: Vec<f64> = line.split(',').map(|field| field.parse().unwrap()).collect();
            let w = state.window.unwrap().count() as f64 / fields[column] - 1.0;
            let t = state.target_rate.unwrap().bits_per_second() as f64 / fields[column + 1] - 1.0;
            let off = w.abs() > 0.02 || t.abs() > 0.02 && fields[column + 1] > 0.0;
            bad += u32::from(off);
            if k % 20 == 0 || off {
                println!(
                    "{column} {:.3} {} {} {w:+.4} {t:+.4} {:?}",
                    0.075 + 0.05 * k as f64,
                    fields[column],
                    fields[column + 1],
                    state.rtt
                );
            }
        }
        println!("bad {column}: {bad}");
    }
}
