//! Draws each kind of chart of made-up samples into a folder, as SVG and PNG:
//! `cargo run -p headway-record --features plot --example charts -- out/charts`

use headway_record::plot::{Group, GroupPoint, LegendPlace, Style, Sweep, XAxis, YAxis};
use std::error::Error;
use std::path::PathBuf;

/// Ten samples around a value, from a generator of Lehmer's (1951).
fn samples(around: f64, spread: f64, seed: u64) -> Vec<f64> {
    let mut state = seed * 2 + 1;
    let mut uniform = || {
        state = state * 48_271 % 2_147_483_647;
        state as f64 / 2_147_483_647.0
    };
    (0..10).map(|_| around * (1.0 + spread * (uniform() + uniform() + uniform() - 1.5))).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "out/charts".to_owned()));
    std::fs::create_dir_all(&folder)?;
    let rates = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0];
    let group = |(number, label): (usize, &str)| Group {
        label: label.to_owned(),
        points: rates
            .iter()
            .enumerate()
            .map(|(at, rate)| GroupPoint {
                x: *rate,
                samples: samples(40.0 * (number + 2) as f64 / (1.0 + rate), 0.4, (10 * number + at) as u64),
            })
            .collect(),
    };
    let over_rates = Sweep {
        name: "lines".to_owned(),
        title: "One-way delay over the rate of the link".to_owned(),
        x_title: "Rate (Mb/s)".to_owned(),
        y_title: "One-way delay, 95 % of packets (ms)".to_owned(),
        x: XAxis::Logarithm,
        y: YAxis::FromZero,
        heading: "controller".to_owned(),
        groups: ["tfrc", "tfrc-sp", "tcp-like", "spacing-fixed"].into_iter().enumerate().map(group).collect(),
    };
    let queues = ["droptail", "red", "codel", "fq-codel"];
    let mut over_queues = Sweep {
        name: "places".to_owned(),
        title: "One-way delay under each queue".to_owned(),
        x_title: "Queue".to_owned(),
        x: XAxis::Places(queues.map(str::to_owned).into()),
        ..over_rates.clone()
    };
    for group in &mut over_queues.groups {
        group.points.truncate(queues.len());
        group.points.iter_mut().zip([0.0, 1.0, 2.0, 3.0]).for_each(|(point, place)| point.x = place);
    }
    let (boxes, at_one) = (over_rates.boxes(), {
        let mut one = over_rates.clone();
        one.groups.iter_mut().for_each(|group| group.points.truncate(1));
        one
    });
    let small = Style {
        width: 480,
        height: Some(360),
        legend: LegendPlace::Below,
        title: Some(String::new()),
        ..Style::default()
    };
    for (name, chart, style) in [
        ("lines", over_rates.lines(), Style::default()),
        ("small", over_rates.lines(), small),
        ("places", over_queues.lines(), Style::default()),
        ("boxes", boxes, Style::default()),
        ("distributions", at_one.distributions(false, XAxis::Numbers), Style::default()),
    ] {
        let figure = chart.draw_styled(&style)?;
        std::fs::write(folder.join(format!("{name}.svg")), &figure.svg)?;
        std::fs::write(folder.join(format!("{name}.png")), figure.to_png(1.0)?)?;
    }
    Ok(())
}
