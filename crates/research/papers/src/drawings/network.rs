//! The network of a scenario: nodes in columns in the direction of the flows, links with rate, delay and queue, and the
//! flows.

use super::canvas::{Anchor, Canvas, LINE_PX};
use super::labels::{Area, Obstacles, Segment};
use headway_scenario::{Flow, Link, Scenario};
use headway_units::Registry as _;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

const COLUMN_PX: f64 = 250.0;
const ROW_PX: f64 = 58.0;
const MARGIN_PX: f64 = 60.0;
const NODE_PX: (f64, f64) = (72.0, 28.0);
/// Largest number of kinds of flows that are listed.
const MAX_KINDS: usize = 8;

fn path(scenario: &Scenario, flow: &Flow) -> Vec<usize> {
    let mut before: BTreeMap<usize, usize> = BTreeMap::new();
    let mut next = VecDeque::from([flow.from]);
    while let Some(node) = next.pop_front() {
        for link in scenario.links.iter().filter(|link| link.from == node && link.to != flow.from) {
            if let Entry::Vacant(place) = before.entry(link.to) {
                place.insert(node);
                next.push_back(link.to);
            }
        }
    }
    let mut nodes = vec![flow.to];
    while let Some(node) = nodes.last().and_then(|last| before.get(last)) {
        nodes.push(*node);
    }
    nodes.reverse();
    nodes
}

/// Returns the column of each node: one more than that of its predecessors on the paths of flows.
fn columns(scenario: &Scenario) -> Vec<usize> {
    let mut columns = vec![0; scenario.nodes.len()];
    let paths: Vec<Vec<usize>> = scenario.flows.iter().map(|flow| path(scenario, flow)).collect();
    // The limit ends the loop for flows in opposite directions, which would increase columns without end.
    for _ in 0..scenario.nodes.len() {
        for hop in paths.iter().flat_map(|nodes| nodes.windows(2)) {
            let [from, to] = *hop else { continue };
            let least = columns.get(from).map_or(0, |column| column + 1);
            if let Some(column) = columns.get_mut(to) {
                *column = least.max(*column).min(scenario.nodes.len());
            }
        }
    }
    columns
}

fn queue(link: &Link) -> String {
    let queue = serde_json::to_value(&link.queue).unwrap_or_default();
    let limit = queue["limit"].as_str().unwrap_or_default();
    format!("{} {limit}", link.queue.kind())
}

/// Describes the flows, grouped by source and transport.
fn kinds(scenario: &Scenario) -> Vec<String> {
    let mut kinds: Vec<(String, String, usize)> = Vec::new();
    for flow in &scenario.flows {
        let what = format!("{} over {}", flow.source.kind(), flow.transport.kind());
        let name = |node: usize| scenario.nodes.get(node).map_or("", String::as_str);
        match kinds.iter_mut().find(|(known, ..)| *known == what) {
            Some((_, _, count)) => *count += 1,
            None => kinds.push((what, format!("{}, {} to {}", flow.name, name(flow.from), name(flow.to)), 1)),
        }
    }
    let line = |(what, first, count): &(String, String, usize)| match count {
        1 => format!("{first}: {what}"),
        count => format!("{count} flows ({first}, ..): {what}"),
    };
    kinds.iter().take(MAX_KINDS).map(line).collect()
}

/// Columns of the two ends of links, and the text of the label.
type Label = (usize, usize, [String; 2]);

pub(super) fn draw(scenario: &Scenario, title: &str) -> String {
    let columns = columns(scenario);
    let last = columns.iter().copied().max().unwrap_or(0);
    let count = |column: usize| columns.iter().filter(|of| **of == column).count();
    let most = (0..=last).map(count).max().unwrap_or(1);
    let mut rows = vec![0; last + 1];
    let middle = MARGIN_PX + (most as f64 - 1.0) / 2.0 * ROW_PX;
    let centers: Vec<(f64, f64)> = columns
        .iter()
        .map(|&column| {
            let row = rows.get(column).copied().unwrap_or(0);
            if let Some(next) = rows.get_mut(column) {
                *next += 1;
            }
            let first = middle - (count(column) as f64 - 1.0) / 2.0 * ROW_PX;
            (MARGIN_PX + column as f64 * COLUMN_PX, first + row as f64 * ROW_PX)
        })
        .collect();
    let kinds = kinds(scenario);
    let below = MARGIN_PX + (most as f64 - 1.0) * ROW_PX + 60.0;
    let width = 2.0 * MARGIN_PX + last as f64 * COLUMN_PX;
    let mut canvas = Canvas::new(width.max(640.0), below + (kinds.len() as f64 + 1.0) * LINE_PX);

    let at = |node: usize| centers.get(node).copied().unwrap_or_default();
    let column = |node: usize| columns.get(node).copied().unwrap_or(0);
    let mut labels: Vec<(Label, Vec<Segment>)> = Vec::new();
    let areas = centers.iter().map(|center| Area::new(*center, NODE_PX)).collect();
    let mut obstacles = Obstacles { lines: Vec::new(), areas };
    for link in &scenario.links {
        let reverse = scenario.links.iter().find(|other| (other.from, other.to) == (link.to, link.from));
        // Of two directions, only that of the flows is drawn.
        if reverse.is_some() && column(link.from) >= column(link.to) {
            continue;
        }
        let line = (at(link.from), at(link.to));
        canvas.line(line.0, line.1, link.loss.is_some());
        obstacles.lines.push(line);
        let lossy = if link.loss.is_some() { ", loses packets" } else { "" };
        let label = [format!("{}, {}{lossy}", link.rate, link.delay), queue(link)];
        let key = (column(link.from), column(link.to), label);
        match labels.iter_mut().find(|(known, _)| *known == key) {
            Some((_, lines)) => lines.push(line),
            None => labels.push((key, vec![line])),
        }
    }
    for ((_, _, [first, second]), lines) in &labels {
        let label = [first.as_str(), second];
        canvas.label(obstacles.place(&label, lines), &label);
    }
    for (name, &(x, y)) in scenario.nodes.iter().zip(&centers) {
        let (width, height) = NODE_PX;
        canvas.rectangle((x - width / 2.0, y - height / 2.0), NODE_PX, 6.0, "#eef3fb");
        canvas.lines((x, y), &[name]);
    }
    for (number, line) in kinds.iter().enumerate() {
        canvas.text((16.0, below + number as f64 * LINE_PX), Anchor::Start, line);
    }
    canvas.finish(title)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_scenario::{NoFiles, load};

    const DUMBBELL: &str = r#"
        duration = "1s"
        [[link]]
        between = ["s1", "r1"]
        rate = "6Mbps"
        delay = "2ms"
        [[link]]
        between = ["s2", "r1"]
        rate = "6Mbps"
        delay = "2ms"
        [[link]]
        between = ["r1", "r2"]
        rate = "2Mbps"
        delay = "10ms"
        queue = { kind = "red", limit = "20packets" }
        loss = { kind = "bernoulli", probability = 0.01 }
        [[link]]
        between = ["r2", "d"]
        rate = "6Mbps"
        delay = "2ms"
        [[flow]]
        name = "one"
        from = "s1"
        to = "d"
        transport = { kind = "tcp-reno" }
        source = { kind = "ftp" }
        [[flow]]
        name = "two"
        from = "r1"
        to = "d"
        transport = { kind = "udp" }
        source = { kind = "cbr", rate = "1Mbps", size = "1000B" }
        [[flow]]
        name = "three"
        from = "s2"
        to = "d"
        transport = { kind = "tcp-reno" }
        source = { kind = "ftp" }
    "#;

    /// Senders are on the left, the receiver on the right, and each link has one label. A flow from the router does not
    /// change the columns.
    #[test]
    fn a_dumbbell() {
        let scenario = load("dumbbell", DUMBBELL, &[], &NoFiles).unwrap().scenario;
        let columns = columns(&scenario);
        let of = |name: &str| columns[scenario.nodes.iter().position(|node| node == name).unwrap()];
        assert_eq!(["s1", "s2", "r1", "r2", "d"].map(of), [0, 0, 1, 2, 3]);
        let svg = draw(&scenario, "a dumbbell");
        assert_eq!(svg.matches("<line ").count(), 4);
        assert_eq!(svg.matches("stroke-dasharray").count(), 1, "the link that loses packets");
        for text in [
            "2Mbps, 10ms, loses packets",
            "red 20packets",
            "2 flows (one, s1 to d, ..): ftp over tcp-reno",
            "cbr over udp",
        ] {
            assert!(svg.contains(text), "{text}:\n{svg}");
        }
        assert_eq!(svg.matches("6Mbps, 2ms").count(), 2, "one label for equal links between two columns");
    }
}
