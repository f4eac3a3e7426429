//! A sweep's metrics over one of its keys, as pictures.

use crate::arguments::SweepOptions;
use crate::error::Failure;
use crate::plot::style;
use headway_record::plot::{Figure, Group, GroupPoint, Sweep, XAxis, YAxis};
use headway_run::{Answer, AnswerRow, safe_name};
use headway_scenario::Cell;
use std::collections::BTreeMap;

/// A picture for each metric: over the key that was asked for, a line for each value of another one. What else varies is taken together, seed by seed, so
/// that intervals are over seeds alone.
pub(super) fn pictures(answer: &Answer, over: &str, options: &SweepOptions) -> Result<Vec<Figure>, Failure> {
    let x = key(answer, over, "--plot")?;
    let by = options.by.as_deref().map(|by| key(answer, by, "--by")).transpose()?;
    let (axis, places) = axis(answer, x, options.log_x);
    let mut figures = Vec::new();
    for (metric, name) in answer.metrics.iter().enumerate() {
        let groups = groups(answer, metric, x, by, &places);
        let unit = answer.keys[x].unit.map_or_else(String::new, |unit| format!(", {unit}"));
        let sweep = Sweep {
            name: safe_name(&format!("{name}-over-{}", answer.keys[x].name)),
            title: name.clone(),
            x_title: format!("{}{unit}", answer.keys[x].name),
            y_title: name.clone(),
            x: axis.clone(),
            y: YAxis::Values,
            heading: by.map_or_else(String::new, |by| answer.keys[by].name.clone()),
            groups,
        };
        let chart = match (options.boxes, options.cdf) {
            (true, _) => sweep.boxes(),
            (_, true) => sweep.distributions(false, XAxis::Numbers),
            _ => sweep.lines(),
        };
        figures.push(chart.draw_styled(&style(&options.look)).map_err(|error| Failure::Plot(error.to_string()))?);
    }
    Ok(figures)
}

fn key(answer: &Answer, asked: &str, option: &str) -> Result<usize, Failure> {
    answer.keys.iter().position(|key| key.name == asked || key.key == asked).ok_or_else(|| {
        let known: Vec<&str> = answer.keys.iter().map(|key| key.name.as_str()).collect();
        let known = if known.is_empty() { "nothing but the seed".to_owned() } else { known.join(", ") };
        Failure::Sweep(format!("{option}: \"{asked}\" does not vary here; what does: {known}"))
    })
}

/// The axis of a key, and where on it each of its values is.
fn axis(answer: &Answer, key: usize, log: bool) -> (XAxis, BTreeMap<String, f64>) {
    let mut numbers = BTreeMap::new();
    let mut names: Vec<String> = Vec::new();
    for row in &answer.rows {
        let number = match row.cells()[key] {
            Cell::Integer(number) => Some(number as f64),
            Cell::Number(number) => Some(number),
            Cell::Boolean(_) | Cell::Text(_) => None,
        };
        if !names.contains(&row.values[key]) {
            names.push(row.values[key].clone());
            numbers.extend(number.map(|number| (row.values[key].clone(), number)));
        }
    }
    if numbers.len() == names.len() {
        return (if log { XAxis::Logarithm } else { XAxis::Numbers }, numbers);
    }
    let places = names.iter().enumerate().map(|(place, name)| (name.clone(), place as f64)).collect();
    (XAxis::Places(names), places)
}

fn groups(answer: &Answer, metric: usize, x: usize, by: Option<usize>, places: &BTreeMap<String, f64>) -> Vec<Group> {
    let mut labels: Vec<&str> = Vec::new();
    let label = |row: &'_ AnswerRow| by.map_or(String::new(), |by| row.values[by].clone());
    for row in &answer.rows {
        let label = by.map_or("", |by| row.values[by].as_str());
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    let group = |of: &&str| {
        // Of each place and seed, what all combinations of the rest gave.
        let mut seeds: BTreeMap<&str, BTreeMap<u64, Vec<f64>>> = BTreeMap::new();
        for row in answer.rows.iter().filter(|row| label(row) == **of) {
            let of_place = seeds.entry(row.values[x].as_str()).or_default();
            row.samples(metric).iter().for_each(|(seed, value)| of_place.entry(*seed).or_default().push(*value));
        }
        let point = |(place, seeds): (&&str, &BTreeMap<u64, Vec<f64>>)| {
            let samples: Vec<f64> = seeds.values().map(|of| of.iter().sum::<f64>() / of.len() as f64).collect();
            Some(GroupPoint { x: *places.get(*place)?, samples })
        };
        Group { label: (*of).to_owned(), points: seeds.iter().filter_map(point).collect() }
    };
    labels.iter().map(group).collect()
}
