//! Converts samples to lines and bands.

use super::axis::MAX_VALUE;
use super::labels::Labels;
use headway_units::Instant;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of lines: the number of colors. More curves become bands.
pub(super) const MAX_LINES: usize = 8;

#[derive(Clone, Debug)]
pub(super) struct Curve {
    names: Names,
    /// Whether it is drawn pale in the color of the next curve, such as a queue with its average.
    pale: bool,
    /// Times in s and values.
    points: Vec<(f64, f64)>,
}

/// A line, band or set of marks of a panel.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Trace {
    Line {
        label: String,
        points: Vec<(f64, f64)>,
        pale: bool,
    },
    Band {
        label: String,
        mean: Vec<(f64, f64)>,
        low: Vec<(f64, f64)>,
        high: Vec<(f64, f64)>,
    },
    /// Marks of a shape, a size in percent and the index of a color, without a line.
    Marks {
        label: String,
        points: Vec<(f64, f64)>,
        shape: usize,
        percent: i32,
        color: usize,
    },
}

/// Labels of a curve, alone and in increasingly large groups.
#[derive(Clone, Debug)]
pub(super) struct Names {
    /// Label of run and flow.
    pub(super) label: String,
    /// Label of the run and the flow's name without its number.
    pub(super) of_run: String,
    /// Label of the flow's name without its number, over all seeds.
    pub(super) of_seeds: String,
    /// Label of the largest group.
    pub(super) coarse: String,
}

impl Curve {
    /// Creates a curve of the samples that can be drawn, in the order of time. Returns `None` without such samples.
    pub(super) fn new(names: Names, samples: &[(Instant, f64)]) -> Option<Self> {
        let mut points: Vec<(f64, f64)> = samples
            .iter()
            .filter(|(_, value)| is_drawable(*value))
            .map(|(at, value)| (at.as_secs_f64(), *value))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        (!points.is_empty()).then_some(Self { names, pale: false, points })
    }

    pub(super) fn pale(self) -> Self {
        Self { pale: true, ..self }
    }

    pub(super) const fn names(&self) -> &Names {
        &self.names
    }

    pub(super) fn with_names(self, names: Names) -> Self {
        Self { names, ..self }
    }
}

impl Trace {
    pub(super) fn label(&self) -> &str {
        match self {
            Self::Line { label, .. } | Self::Band { label, .. } | Self::Marks { label, .. } => label,
        }
    }

    /// Returns whether it is pale and has the color of the next trace, which is drawn over it.
    pub(super) fn is_pale(&self) -> bool {
        matches!(self, Self::Line { pale: true, .. })
    }

    /// Returns the index of the color that it has in all figures, if there is one.
    pub(super) const fn own_color(&self) -> Option<usize> {
        match self {
            Self::Marks { color, .. } => Some(*color),
            _ => None,
        }
    }

    pub(super) fn all_points_mut(&mut self) -> impl Iterator<Item = &mut (f64, f64)> {
        let [first, second, third] = match self {
            Self::Line { points, .. } | Self::Marks { points, .. } => [points.as_mut_slice(), &mut [], &mut []],
            Self::Band { mean, low, high, .. } => [mean.as_mut_slice(), low, high],
        };
        first.iter_mut().chain(second).chain(third)
    }

    pub(super) fn all_points(&self) -> impl Iterator<Item = &(f64, f64)> {
        match self {
            Self::Line { points, .. } | Self::Marks { points, .. } => points.iter().chain(&[]),
            Self::Band { low, high, .. } => low.iter().chain(high.as_slice()),
        }
    }
}

/// Returns whether a value can be drawn: a number with a magnitude of at most 10^15.
#[must_use]
pub fn is_drawable(value: f64) -> bool {
    value.abs() <= MAX_VALUE
}

/// Minimum length of a whole last interval, as a fraction of the shortest earlier interval.
const MIN_WHOLE: f64 = 0.9;
/// Minimum number of earlier intervals for this comparison.
const MIN_INTERVALS: usize = 3;

/// Returns the number of samples of a mean rate to draw, given their times: all, except a last sample over a shorter
/// time than the others, at the end of a run, whose rate is that of a few packets.
#[must_use]
pub fn whole_intervals(times: &[f64]) -> usize {
    let intervals: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    match intervals.split_last() {
        Some((last, before)) if before.len() >= MIN_INTERVALS => {
            let shortest = before.iter().copied().fold(f64::INFINITY, f64::min);
            times.len() - usize::from(*last < MIN_WHOLE * shortest)
        }
        _ => times.len(),
    }
}

/// Returns a name without its trailing number: `ftp` for `ftp-12`. A name of only digits is unchanged.
pub(super) fn stem(name: &str) -> &str {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(['-', '_', '.', '[', '#']);
    if stem.is_empty() { name } else { stem }
}

/// Returns the name of the group of a flow or of its media kind: `call/audio` for `call-12/audio`.
pub(super) fn group_name(entity: &str) -> String {
    match entity.rsplit_once('/') {
        Some((flow, kind)) => format!("{}/{}", stem(flow), stem(kind)),
        None => stem(entity).to_owned(),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grouping {
    Lines,
    OfRun,
    OfSeeds,
    Coarse,
    All,
}

impl Grouping {
    /// Returns the finest grouping with at most [`MAX_LINES`] traces, of curves with these names. `lines`: number of curves
    /// that would each be a line.
    pub(super) fn of<'a>(lines: usize, names: impl Iterator<Item = &'a Names> + Clone) -> Self {
        if lines <= MAX_LINES {
            return Self::Lines;
        }
        let traces = |grouping: &Self| names.clone().map(|names| grouping.name(names)).collect::<BTreeSet<_>>().len();
        let groupings = [Self::OfRun, Self::OfSeeds, Self::Coarse];
        groupings.into_iter().find(|grouping| traces(grouping) <= MAX_LINES).unwrap_or(Self::All)
    }

    /// Returns whether each trace has the name of its flows.
    pub(super) const fn has_names(self) -> bool {
        matches!(self, Self::Lines | Self::OfRun | Self::OfSeeds)
    }

    /// Returns the name of a curve's group.
    fn name(self, names: &Names) -> &str {
        match self {
            Self::Lines => &names.label,
            Self::OfRun => &names.of_run,
            Self::OfSeeds => &names.of_seeds,
            Self::Coarse => &names.coarse,
            Self::All => "all",
        }
    }

    /// Returns the heading of the labels in this grouping. `runs_are_coarse`: whether the labels of the largest groups
    /// name runs.
    pub(super) fn heading<'a>(self, runs: &'a Labels, over_seeds: &'a Labels, runs_are_coarse: bool) -> &'a str {
        match self {
            Self::Lines | Self::OfRun => &runs.heading,
            Self::OfSeeds => &over_seeds.heading,
            Self::Coarse if runs_are_coarse => &over_seeds.heading,
            Self::Coarse | Self::All => "",
        }
    }
}

/// Returns a line for each of few curves, otherwise bands by the finest grouping with at most [`MAX_LINES`] traces.
pub(super) fn reduce(curves: Vec<Curve>) -> (Vec<Trace>, Grouping) {
    let lines = curves.iter().filter(|curve| !curve.pale).count();
    let grouping = Grouping::of(lines, curves.iter().map(|curve| &curve.names));
    let line = |Curve { names, points, pale }| Trace::Line { label: names.label, points, pale };
    let traces = match grouping {
        Grouping::Lines => curves.into_iter().map(line).collect(),
        _ => grouped(&curves, grouping),
    };
    (traces, grouping)
}

fn grouped(curves: &[Curve], grouping: Grouping) -> Vec<Trace> {
    let mut groups: Vec<(&str, Vec<&Curve>)> = Vec::new();
    for curve in curves {
        let name = grouping.name(&curve.names);
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, members)) => members.push(curve),
            None => groups.push((name, vec![curve])),
        }
    }
    groups
        .into_iter()
        .map(|(name, members)| match members.as_slice() {
            [only] => Trace::Line { label: only.names.label.clone(), points: only.points.clone(), pale: false },
            _ => band(format!("{name} (mean of {})", members.len()), &members),
        })
        .collect()
}

/// Returns the band of mean, minimum and maximum at each time, over the members with a sample at that time.
fn band(label: String, members: &[&Curve]) -> Trace {
    // Keyed by bits, which have the order of the doubles because times are not negative.
    let mut at: BTreeMap<u64, (f64, u32, f64, f64)> = BTreeMap::new();
    for (time, value) in members.iter().flat_map(|curve| &curve.points) {
        let (sum, count, low, high) = at.entry(time.to_bits()).or_insert((0.0, 0, f64::INFINITY, f64::NEG_INFINITY));
        *sum += value;
        *count += 1;
        *low = low.min(*value);
        *high = high.max(*value);
    }
    let pick = |value: fn(&(f64, u32, f64, f64)) -> f64| {
        at.iter().map(|(time, entry)| (f64::from_bits(*time), value(entry))).collect()
    };
    Trace::Band {
        label,
        mean: pick(|entry| entry.0 / f64::from(entry.1)),
        low: pick(|entry| entry.2),
        high: pick(|entry| entry.3),
    }
}

/// Returns the corners of steps: each value holds until the time of the next point.
pub(super) fn held(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut corners: Vec<(f64, f64)> = Vec::new();
    for (time, value) in points {
        if let Some(&(_, last)) = corners.last()
            && last != value
        {
            corners.push((time, last));
        }
        corners.push((time, value));
    }
    corners
}

/// Returns at most the first, the smallest, the largest and the last point of each of `columns` equal parts of `[from,
/// to]`, which keeps all extremes. Points must be in the order of time.
pub(super) fn thinned(points: &[(f64, f64)], from: f64, to: f64, columns: usize) -> Vec<(f64, f64)> {
    if points.len() <= 4 * columns || to <= from {
        return points.to_vec();
    }
    let column = |time: f64| ((time - from) / (to - from) * columns as f64) as usize;
    points
        .chunk_by(|a, b| column(a.0) == column(b.0))
        .flat_map(|chunk| {
            let extreme = |is_better: fn(f64, f64) -> bool| {
                (1..chunk.len()).fold(0, |best, at| if is_better(chunk[at].1, chunk[best].1) { at } else { best })
            };
            let mut kept = [0, extreme(|a, b| a < b), extreme(|a, b| a > b), chunk.len() - 1];
            kept.sort_unstable();
            let mut kept = kept.to_vec();
            kept.dedup();
            kept.into_iter().map(|index| chunk[index])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_value_holds_until_the_next_sample() {
        let points = [(0.0, 2.0), (1.0, 2.0), (2.0, 5.0), (3.0, 0.0)];
        let corners = [(0.0, 2.0), (1.0, 2.0), (2.0, 2.0), (2.0, 5.0), (3.0, 5.0), (3.0, 0.0)];
        assert_eq!(held(points.into_iter()), corners);
        assert_eq!(held(points[..1].iter().copied()), points[..1]);
    }

    /// Samples every 504 ms, as in figures 12 and 13 of the packet-spacing paper: 120 s have 238 intervals and 48 ms
    /// more.
    #[test]
    fn a_short_last_interval_is_omitted() {
        let times: Vec<f64> = (1..=238).map(|n| f64::from(n) * 0.504).chain([120.0]).collect();
        assert_eq!(whole_intervals(&times), 238);
        assert_eq!(whole_intervals(&times[..238]), 238);
        assert_eq!([&[][..], &[0.5], &[0.5, 1.0, 1.1]].map(whole_intervals), [0, 1, 3]);
        assert_eq!(whole_intervals(&[1.3, 2.0, 4.75, 6.0, 6.7]), 5, "irregular intervals, of which none is shorter");
    }

    fn curve(run: &str, name: &str, values: &[f64]) -> Curve {
        let samples: Vec<(Instant, f64)> =
            values.iter().enumerate().map(|(second, value)| (Instant::from_secs(second as u64), *value)).collect();
        let of_run = format!("{run}: {}", stem(name));
        let names = Names { label: format!("{run}: {name}"), of_seeds: of_run.clone(), of_run, coarse: run.to_owned() };
        Curve::new(names, &samples).unwrap()
    }

    #[test]
    fn few_curves_are_lines() {
        let (traces, _) = reduce(vec![curve("a", "ftp-1", &[1.0, 2.0]), curve("a", "ftp-2", &[3.0])]);
        let labels: Vec<&str> = traces.iter().map(Trace::label).collect();
        assert_eq!(labels, ["a: ftp-1", "a: ftp-2"]);
    }

    #[test]
    fn many_curves_are_a_band_for_each_name() {
        let mut curves = vec![curve("a", "voice", &[0.5, 0.5])];
        curves.extend((1..=10).map(|index| curve("a", &format!("ftp-{index}"), &[f64::from(index), 4.0])));
        let (traces, grouping) = reduce(curves);
        assert_eq!(grouping, Grouping::OfRun);
        assert_eq!(
            traces[0],
            Trace::Line { label: "a: voice".into(), points: vec![(0.0, 0.5), (1.0, 0.5)], pale: false }
        );
        assert_eq!(
            traces[1],
            Trace::Band {
                label: "a: ftp (mean of 10)".into(),
                mean: vec![(0.0, 5.5), (1.0, 4.0)],
                low: vec![(0.0, 1.0), (1.0, 4.0)],
                high: vec![(0.0, 10.0), (1.0, 4.0)],
            }
        );
    }

    #[test]
    fn many_names_are_a_band_for_each_run_or_one_of_all() {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
        let of_run = |run: &str| names.map(|name| curve(run, name, &[1.0])).to_vec();
        let labels = |curves| reduce(curves).0.iter().map(|trace| trace.label().to_owned()).collect::<Vec<_>>();
        assert_eq!(labels([of_run("x"), of_run("y")].concat()), ["x (mean of 9)", "y (mean of 9)"]);
        assert_eq!(labels(names.iter().flat_map(|run| of_run(run)).collect()), ["all (mean of 81)"]);
    }

    #[test]
    fn a_stem_is_a_name_without_its_number() {
        for (name, expected) in [("ftp-12", "ftp"), ("tcp3", "tcp"), ("voice", "voice"), ("42", "42"), ("x_1", "x")] {
            assert_eq!(stem(name), expected);
            assert_eq!(group_name(name), expected);
        }
        assert_eq!(group_name("call-12/audio"), "call/audio");
    }

    #[test]
    fn infinities_are_not_drawn() {
        let never = [(Instant::ZERO, f64::INFINITY), (Instant::ZERO, f64::NAN)];
        let of = || String::new();
        let names = Names { label: of(), of_run: of(), of_seeds: of(), coarse: of() };
        assert!(Curve::new(names, &never).is_none());
    }

    proptest! {
        /// The result is a bounded subset of the points with all extremes.
        #[test]
        fn thinning_keeps_the_extremes(values in prop::collection::vec(-1e6..1e6f64, 1..3000), columns in 1usize..50) {
            let points: Vec<(f64, f64)> = values.iter().enumerate().map(|(at, value)| (at as f64, *value)).collect();
            let end = values.len() as f64;
            let kept = thinned(&points, 0.0, end, columns);
            prop_assert!(kept.len() <= 4 * columns.max(1) || kept.len() == points.len());
            prop_assert!(kept.iter().all(|point| points.contains(point)));
            prop_assert!(kept.is_sorted_by(|a, b| a.0 < b.0));
            for fold in [f64::min, f64::max] {
                let of = |points: &[(f64, f64)]| points.iter().map(|point| point.1).reduce(fold);
                prop_assert_eq!(of(&kept), of(&points));
            }
        }
    }
}
