//! CUBIC in the simulator where it is Reno-friendly (RFC 9438 section 4.3): one packet in 8000 is lost, and in so short a round trip
//! its cubic curve hardly rises.
//!
//! Between losses `W += alpha / W` a segment, so `W^2` grows by 2 alpha each, from `(beta W)^2` back to `W^2`: both constants can be read
//! from the highest and the lowest window. beta is 0.7 (section 4.6), in Linux 717/1024; alpha = 3 (1 - beta) / (1 + beta) = 9/17.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::{run, scenario};
use headway_record::{SeriesTable, metric};

/// Packets from loss to loss.
const EVERY: f64 = 8000.0;

/// The highest windows of the last 10 s, each with the lowest one after it. Without `push`: a segment that waits in a recovery lets the
/// proportional rate reduction show a window below ssthresh for a moment.
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
    // The highest since the window began to rise, and the lowest since it fell by a tenth of that.
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
    // The first did not begin with a loss.
    saw.drain(..1);
    saw
}

/// Alpha, of a fall and the rise before it. What was in flight at a loss and what is sent until it is repaired, together a window and
/// the reduced one, opens no window.
fn alpha((high, low): (f64, f64)) -> f64 {
    (high * high - low * low) / (2.0 * (EVERY - high - low))
}

/// A loss leaves 0.7 of what is in flight, in whole segments: less than one of the window is not yet sent.
#[test]
fn the_rfcs_saw() {
    let saw = saw("rfc");
    assert!(saw.len() > 30, "{}", saw.len());
    for (high, low) in saw {
        assert!(low <= 0.7 * high && low > 0.7 * (high - 1.0) - 1.0, "{high} to {low}");
        // How much of a window a recovery takes is known to half a window, 0.8 % of 8000.
        let alpha = alpha((high, low));
        assert!((alpha / (9.0 / 17.0) - 1.0).abs() < 0.02, "{high} to {low}: {alpha}");
    }
}

/// Linux reckons in whole segments: one of 126 is 3 % of the difference of the squares.
#[test]
fn linuxs_saw() {
    let saw = saw("linux");
    assert!(saw.len() > 30, "{}", saw.len());
    for (high, low) in saw {
        assert_eq!(low as u64, high as u64 * 717 / 1024, "after {high}");
        let alpha = alpha((high, low));
        assert!((alpha / (9.0 / 17.0) - 1.0).abs() < 0.04, "{high} to {low}: {alpha}");
    }
}
