//! CUBIC in the simulator in the Reno-friendly region (RFC 9438 section 4.3): one packet in 8000 is lost, and the
//! round trip is so short that the cubic curve hardly rises.
//!
//! Between losses `W += alpha / W` per segment, so `W^2` grows by 2 alpha each, from `(beta W)^2` back to `W^2`: both
//! constants follow from the highest and the lowest window. beta is 0.7 (section 4.6), in Linux 717/1024; alpha = 3
//! (1 - beta) / (1 + beta) = 9/17.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::{run, scenario};
use headway_record::{SeriesTable, metric};

/// Packets from loss to loss.
const EVERY: f64 = 8000.0;

/// Returns the window maxima of the last 10 s, each with the minimum after it. `push` is off: a segment that waits in
/// a recovery would let proportional rate reduction show a window below ssthresh for a moment.
fn saw(dialect: &str) -> Vec<(f64, f64)> {
    let text = format!(
        "duration = \"20s\"\nrecord = {{ series = \"1ms\" }}\n\
         [[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1Gbps\"\ndelay = \"1ms\"\nqueue = {{ kind = \"droptail\", limit = \"1000packets\" }}\n\
         loss = {{ kind = \"periodic\", every = {EVERY} }}\n\
         [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n\
         transport = {{ kind = \"tcp-cubic\", dialect = \"{dialect}\", hystart = false, push = false }}\nsource = {{ kind = \"ftp\" }}\n"
    );
    let mut record = run(&scenario(&text), ());
    let mut bytes = Vec::new();
    record.series.take().unwrap().finish(&mut bytes).unwrap();
    let table = SeriesTable::from_ipc(&bytes).unwrap();
    let windows: Vec<f64> = table
        .samples("f", metric::CWND)
        .iter()
        .filter(|(at, _)| at.as_secs_f64() > 10.0)
        .map(|(_, window)| *window)
        .collect();
    let mut saw: Vec<(f64, f64)> = Vec::new();
    // The maximum since the window began to rise, and the minimum since it fell by a tenth of it.
    let (mut high, mut low) = (0f64, f64::INFINITY);
    for window in windows {
        if low.is_infinite() {
            high = high.max(window);
            low = if window < 0.9 * high { window } else { low };
        } else if window <= low {
            low = window;
        } else {
            saw.push((high, low));
            (high, low) = (window, f64::INFINITY);
        }
    }
    // The first maximum did not begin with a loss.
    saw.drain(..1);
    saw
}

/// Returns alpha of a fall and the preceding rise. Segments in flight at a loss and segments sent until its repair,
/// in total a window and the reduced one, do not open the window.
fn alpha((high, low): (f64, f64)) -> f64 {
    (high * high - low * low) / (2.0 * (EVERY - high - low))
}

/// A loss leaves 0.7 of the segments in flight, in whole segments; less than one segment of the window is unsent.
#[test]
fn the_sawtooth_matches_the_rfc() {
    let saw = saw("rfc");
    assert!(saw.len() > 30, "{}", saw.len());
    for (high, low) in saw {
        assert!(low <= 0.7 * high && low > 0.7 * (high - 1.0) - 1.0, "{high} to {low}");
        // The share of a window used by a recovery is known to half a window, 0.8 % of 8000.
        let alpha = alpha((high, low));
        assert!((alpha / (9.0 / 17.0) - 1.0).abs() < 0.02, "{high} to {low}: {alpha}");
    }
}

/// Linux uses whole segments: one of 126 is 3 % of the difference of the squares.
#[test]
fn the_sawtooth_matches_linux() {
    let saw = saw("linux");
    assert!(saw.len() > 30, "{}", saw.len());
    for (high, low) in saw {
        assert_eq!(low as u64, high as u64 * 717 / 1024, "after {high}");
        let alpha = alpha((high, low));
        assert!((alpha / (9.0 / 17.0) - 1.0).abs() < 0.04, "{high} to {low}: {alpha}");
    }
}
