//! From samples to lines and bands: what is drawn, before where.

use super::axis::LARGEST;
use super::labels::Labels;
use headway_units::Instant;
use std::collections::BTreeMap;

/// As many lines as there are colours; more become bands.
pub(super) const MAX_LINES: usize = 8;

#[derive(Clone, Debug)]
pub(super) struct Curve {
    names: Names,
    /// Whether it lies pale behind the next one, in the same colour: a queue behind its average.
    pale: bool,
    /// Time in s, value.
    points: Vec<(f64, f64)>,
}

/// What a panel draws, with a colour each.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Drawn {
    Line { label: String, points: Vec<(f64, f64)>, pale: bool },
    Band { label: String, mean: Vec<(f64, f64)>, low: Vec<(f64, f64)>, high: Vec<(f64, f64)> },
}

/// What a curve is called, alone and with ever more of its like.
#[derive(Clone, Debug)]
pub(super) struct Names {
    /// The run and the flow.
    pub(super) label: String,
    /// The run and the flow's name without its number.
    pub(super) of_run: String,
    /// The same over all seeds.
    pub(super) of_seeds: String,
    /// What it shares with even more.
    pub(super) coarse: String,
}

impl Curve {
    /// The samples that can be drawn, in the order of time; `None` if there are none.
    pub(super) fn new(names: Names, samples: &[(Instant, f64)]) -> Option<Self> {
        let mut points: Vec<(f64, f64)> = samples
            .iter()
            .filter(|(_, value)| is_drawable(*value))
            .map(|(at, value)| (at.as_secs_f64(), *value))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        (!points.is_empty()).then_some(Self { names, pale: false, points })
    }

    pub(super) fn behind_the_next(self) -> Self {
        Self { pale: true, ..self }
    }
}

impl Drawn {
    pub(super) fn label(&self) -> &str {
        match self {
            Self::Line { label, .. } | Self::Band { label, .. } => label,
        }
    }

    /// Whether it shares its colour with the next one, which lies over it.
    pub(super) fn is_pale(&self) -> bool {
        matches!(self, Self::Line { pale: true, .. })
    }

    pub(super) fn all_points(&self) -> impl Iterator<Item = &(f64, f64)> {
        match self {
            Self::Line { points, .. } => points.iter().chain(&[]),
            Self::Band { low, high, .. } => low.iter().chain(high.as_slice()),
        }
    }
}

/// Whether a value can be drawn: a number, and not beyond 10^15.
#[must_use]
pub fn is_drawable(value: f64) -> bool {
    value.abs() <= LARGEST
}

/// A last interval of a series is whole if it is at least this part of the shortest one before.
const WHOLE: f64 = 0.9;
/// Fewer intervals do not show how long a whole one is.
const FEWEST_INTERVALS: usize = 3;

/// Returns how many samples of a mean rate are drawn: all, without a last one whose interval is the short rest of the run. The rate of such
/// a rest is that of a few packets.
#[must_use]
pub fn whole_intervals(times: &[f64]) -> usize {
    let intervals: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    match intervals.split_last() {
        Some((last, before)) if before.len() >= FEWEST_INTERVALS => {
            let shortest = before.iter().copied().fold(f64::INFINITY, f64::min);
            times.len() - usize::from(*last < WHOLE * shortest)
        }
        _ => times.len(),
    }
}

/// A name without the number at its end: `ftp-12` is `ftp`. A name of digits alone stays.
pub(super) fn stem(name: &str) -> &str {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(['-', '_', '.', '[', '#']);
    if stem.is_empty() { name } else { stem }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Together {
    Lines,
    OfRun,
    OfSeeds,
    Coarse,
    All,
}

impl Together {
    /// What the words of its names have in common.
    pub(super) fn heading<'a>(self, runs: &'a Labels, over_seeds: &'a Labels) -> &'a str {
        match self {
            Self::Lines | Self::OfRun => &runs.heading,
            Self::OfSeeds | Self::Coarse => &over_seeds.heading,
            Self::All => "",
        }
    }
}

/// Lines where there are few, otherwise bands, as few as there are colours.
pub(super) fn reduce(curves: Vec<Curve>) -> (Vec<Drawn>, Together) {
    if curves.iter().filter(|curve| !curve.pale).count() <= MAX_LINES {
        let line = |Curve { names, points, pale }| Drawn::Line { label: names.label, points, pale };
        return (curves.into_iter().map(line).collect(), Together::Lines);
    }
    type Named = fn(&Curve) -> &str;
    let groupings: [(Together, Named); 3] = [
        (Together::OfRun, |curve| &curve.names.of_run),
        (Together::OfSeeds, |curve| &curve.names.of_seeds),
        (Together::Coarse, |curve| &curve.names.coarse),
    ];
    let groups = groupings.into_iter().map(|(together, grouping)| (grouped(&curves, grouping), together));
    let few = groups.into_iter().find(|(drawn, _)| drawn.len() <= MAX_LINES);
    few.unwrap_or_else(|| (grouped(&curves, |_| "all"), Together::All))
}

fn grouped(curves: &[Curve], grouping: fn(&Curve) -> &str) -> Vec<Drawn> {
    let mut groups: Vec<(&str, Vec<&Curve>)> = Vec::new();
    for curve in curves {
        let name = grouping(curve);
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, members)) => members.push(curve),
            None => groups.push((name, vec![curve])),
        }
    }
    groups
        .into_iter()
        .map(|(name, members)| match members.as_slice() {
            [only] => Drawn::Line { label: only.names.label.clone(), points: only.points.clone(), pale: false },
            _ => band(format!("{name} (mean of {})", members.len()), &members),
        })
        .collect()
}

/// Mean, smallest and largest at each instant at which any of `members` has a sample, over those that have one.
fn band(label: String, members: &[&Curve]) -> Drawn {
    // Keyed by bits: times are not negative, and then bits are ordered as their doubles are.
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
    Drawn::Band {
        label,
        mean: pick(|entry| entry.0 / f64::from(entry.1)),
        low: pick(|entry| entry.2),
        high: pick(|entry| entry.3),
    }
}

/// At most the first, the smallest, the largest and the last point of each of `columns` equal parts of `[from, to]`,
/// so that neither a peak nor a dip vanishes. Points must be in the order of time.
pub(super) fn thinned(points: &[(f64, f64)], from: f64, to: f64, columns: usize) -> Vec<(f64, f64)> {
    if points.len() <= 4 * columns || to <= from {
        return points.to_vec();
    }
    let column = |time: f64| ((time - from) / (to - from) * columns as f64) as usize;
    points
        .chunk_by(|a, b| column(a.0) == column(b.0))
        .flat_map(|chunk| {
            let extreme = |better: fn(f64, f64) -> bool| {
                (1..chunk.len()).fold(0, |best, index| if better(chunk[index].1, chunk[best].1) { index } else { best })
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

    /// Samples each 504 ms, as in the figures 12 and 13 of the packet-spacing paper: 120 s have 238 intervals and a rest of 48 ms.
    #[test]
    fn a_short_rest_is_no_interval() {
        let times: Vec<f64> = (1..=238).map(|n| f64::from(n) * 0.504).chain([120.0]).collect();
        assert_eq!(whole_intervals(&times), 238);
        assert_eq!(whole_intervals(&times[..238]), 238);
        assert_eq!([&[][..], &[0.5], &[0.5, 1.0, 1.1]].map(whole_intervals), [0, 1, 3]);
        assert_eq!(whole_intervals(&[1.3, 2.0, 4.75, 6.0, 6.7]), 5, "irregular, and none is shorter");
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
        let (drawn, _) = reduce(vec![curve("a", "ftp-1", &[1.0, 2.0]), curve("a", "ftp-2", &[3.0])]);
        let labels: Vec<&str> = drawn.iter().map(Drawn::label).collect();
        assert_eq!(labels, ["a: ftp-1", "a: ftp-2"]);
    }

    #[test]
    fn many_curves_are_a_band_for_each_name() {
        let mut curves = vec![curve("a", "voice", &[0.5, 0.5])];
        curves.extend((1..=10).map(|index| curve("a", &format!("ftp-{index}"), &[f64::from(index), 4.0])));
        let (drawn, together) = reduce(curves);
        assert_eq!(together, Together::OfRun);
        assert_eq!(
            drawn[0],
            Drawn::Line { label: "a: voice".into(), points: vec![(0.0, 0.5), (1.0, 0.5)], pale: false }
        );
        assert_eq!(
            drawn[1],
            Drawn::Band {
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
        let labels = |curves| reduce(curves).0.iter().map(|drawn| drawn.label().to_owned()).collect::<Vec<_>>();
        assert_eq!(labels([of_run("x"), of_run("y")].concat()), ["x (mean of 9)", "y (mean of 9)"]);
        assert_eq!(labels(names.iter().flat_map(|run| of_run(run)).collect()), ["all (mean of 81)"]);
    }

    #[test]
    fn stems() {
        for (name, expected) in [("ftp-12", "ftp"), ("tcp3", "tcp"), ("voice", "voice"), ("42", "42"), ("x_1", "x")] {
            assert_eq!(stem(name), expected);
        }
    }

    #[test]
    fn infinities_are_not_drawn() {
        let never = [(Instant::ZERO, f64::INFINITY), (Instant::ZERO, f64::NAN)];
        let of = || String::new();
        let names = Names { label: of(), of_run: of(), of_seeds: of(), coarse: of() };
        assert!(Curve::new(names, &never).is_none());
    }

    proptest! {
        /// Bounded, a part of the points, and with every extreme.
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
