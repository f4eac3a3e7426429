//! The three regions of RED: early drop probability over the average queue, computed by the queue of a scenario.

use super::canvas::{Anchor, Canvas};
use headway_link::QueueOptions;
use headway_link::queue::{LinkProperties, red};
use headway_scenario::Scenario;

const WIDTH_PX: f64 = 560.0;
const HEIGHT_PX: f64 = 260.0;
const LEFT_PX: f64 = 60.0;
const TOP_PX: f64 = 30.0;
const POINTS: u32 = 1200;
/// Colors of the regions: green, yellow, red.
const COLORS: [&str; 3] = ["#dff2df", "#fff6cf", "#f9d9d6"];

/// Draws the regions of the first link with RED; none if the scenario has none.
pub(super) fn draw(scenario: &Scenario, title: &str) -> Option<String> {
    let (options, facts) = scenario.links.iter().find_map(|link| match &link.queue {
        QueueOptions::Red(options) => Some((options, LinkProperties { rate: link.rate, delay: link.delay })),
        _ => None,
    })?;
    let probability = |average: f64| red::early_drop_probability(options, facts, average);
    let certain = (0..).map(f64::from).find(|average| *average > 100_000.0 || probability(*average) >= 1.0)?;
    let most = (certain * 1.4).max(1.0);
    let averages: Vec<f64> = (0..=POINTS).map(|n| most * f64::from(n) / f64::from(POINTS)).collect();
    let first = |wanted: &dyn Fn(f64) -> bool| averages.iter().copied().find(|average| wanted(probability(*average)));
    let (start, end) = (first(&|p| p > 0.0)?, first(&|p| p >= 1.0)?);

    let x = |average: f64| LEFT_PX + average / most * WIDTH_PX;
    let y = |probability: f64| TOP_PX + (1.0 - probability) * HEIGHT_PX;
    let mut canvas = Canvas::new(LEFT_PX + WIDTH_PX + 40.0, TOP_PX + HEIGHT_PX + 60.0);
    let regions = [(0.0, start, "no packet dropped"), (start, end, "dropped at random"), (end, most, "all dropped")];
    for ((from, to, name), color) in regions.into_iter().zip(COLORS) {
        canvas.rectangle((x(from), TOP_PX), (x(to) - x(from), HEIGHT_PX), 0.0, color);
        canvas.text(((x(from) + x(to)) / 2.0, TOP_PX - 8.0), Anchor::Middle, name);
    }
    let curve: Vec<(f64, f64)> = averages.iter().map(|average| (x(*average), y(probability(*average)))).collect();
    canvas.path(&curve);
    for mark in [0.0, 0.5, 1.0] {
        canvas.text((LEFT_PX - 8.0, y(mark) + 4.0), Anchor::End, &format!("{mark}"));
    }
    for average in [start, end] {
        canvas.line((x(average), y(0.0)), (x(average), y(0.0) + 6.0), false);
        canvas.text((x(average), y(0.0) + 20.0), Anchor::Middle, &format!("{average:.0}"));
    }
    let unit = if options.in_bytes { "bytes" } else { "packets" };
    canvas.text((LEFT_PX + WIDTH_PX / 2.0, y(0.0) + 44.0), Anchor::Middle, &format!("average queue ({unit})"));
    canvas.text((LEFT_PX, y(0.0) + 44.0), Anchor::Start, "probability of a drop");
    Some(canvas.finish(title))
}
