//! `design = { kind = "latin-hypercube", points = 100 }`: which of all combinations are run.

use crate::document::Value;
use crate::limits::MOST_RUNS;
use crate::path::Path;
use crate::range::Position;
use crate::reader::Reader;
use crate::vocabulary::VOCABULARY;
use headway_units::Random;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which combinations of the values that vary are run.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "the schema's")]
pub(crate) struct DesignTable {
    /// All of them, or so many that are drawn.
    kind: DesignKind,
    /// How many are drawn.
    #[schemars(range(min = 1, max = 100_000))]
    points: Option<u64>,
    /// What they are drawn with, apart from the scenario's seed.
    #[schemars(default = "first_seed")]
    seed: u64,
}

fn first_seed() -> u64 {
    1
}

/// How combinations are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DesignKind {
    /// Every one.
    Grid,
    /// Each key anywhere in its range, or any of its values, whatever the others have.
    Random,
    /// Likewise, but of as many equal parts of each range as there are points each is hit once.
    LatinHypercube,
}

/// A design that draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Design {
    is_stratified: bool,
    pub(crate) points: usize,
    seed: u64,
}

/// Reads a design; `None` for the grid, and for what is wrong, which is noted.
pub(crate) fn read<'a>(reader: &mut Reader<'a>, value: &'a Value, path: &Path) -> Option<Design> {
    let mut open = reader.open(value, path, &VOCABULARY.design)?;
    let kind: DesignKind = open.required("kind", "\"latin-hypercube\"")?;
    if kind == DesignKind::Grid {
        for key in ["points", "seed"] {
            if open.value(key).is_some() {
                open.wrong(key, "a grid has every combination, and draws none: leave this out");
            }
        }
        return None;
    }
    if open.value("points").is_none() {
        open.missing("points", "100");
    }
    let seed = open.optional("seed").unwrap_or(first_seed());
    let points = open.within("points", 1..=MOST_RUNS as u64, &format!("from 1 to {MOST_RUNS}"))?;
    Some(Design { is_stratified: kind == DesignKind::LatinHypercube, points: points as usize, seed })
}

impl Design {
    /// Where on its way the axis called `axis` is at each point. Each axis has a stream of its own, so that another one more changes none.
    pub(crate) fn positions(&self, axis: &str) -> Vec<Position> {
        /// Within a part; with the most parts it is below 2^53 together.
        const BITS: u32 = 32;
        let mut random = Random::new(self.seed, &format!("vary {axis}"));
        if !self.is_stratified {
            let of = 1 << 53;
            return (0..self.points).map(|_| Position { parts: random.bits() >> 11, of }).collect();
        }
        let mut strata: Vec<u64> = (0..self.points as u64).collect();
        // Fisher and Yates, in the form of Durstenfeld 1964.
        for last in (1..strata.len()).rev() {
            strata.swap(last, random.below(last as u64 + 1) as usize);
        }
        let within = |stratum: u64| Position {
            parts: (stratum << BITS) | (random.bits() >> (64 - BITS)),
            of: (self.points as u64) << BITS,
        };
        strata.into_iter().map(within).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn design(is_stratified: bool, points: usize, seed: u64) -> Design {
        Design { is_stratified, points, seed }
    }

    proptest! {
        #[test]
        fn a_latin_hypercube_hits_each_part_of_each_axis_once(points in 1usize..300, seed: u64, axis in "[a-z]{1,4}") {
            let mut parts: Vec<u128> =
                design(true, points, seed).positions(&axis).iter().map(|at| at.index(points as u128)).collect();
            parts.sort_unstable();
            prop_assert_eq!(parts, (0..points as u128).collect::<Vec<_>>());
        }

        /// Of values as many as go into the points, each is taken equally often.
        #[test]
        fn a_latin_hypercube_takes_values_evenly(values in 1usize..20, each in 1usize..20, seed: u64) {
            let positions = design(true, values * each, seed).positions("queue");
            for value in 0..values as u128 {
                prop_assert_eq!(positions.iter().filter(|at| at.index(values as u128) == value).count(), each);
            }
        }

        /// A random design with more points has the same ones first.
        #[test]
        fn more_points_change_none(points in 1usize..100, more in 0usize..100, seed: u64) {
            let (few, many) = (design(false, points, seed), design(false, points + more, seed));
            prop_assert_eq!(&few.positions("a")[..], &many.positions("a")[..points]);
        }
    }

    /// Published sweeps are drawn so: these draws may never change.
    #[test]
    fn draws_are_pinned() {
        let parts = |stratified| -> Vec<u128> {
            design(stratified, 5, 1).positions("link[0].rate").iter().map(|at| at.index(1000)).collect()
        };
        assert_eq!((parts(false), parts(true)), (vec![495, 891, 989, 185, 510], vec![302, 25, 892, 629, 449]));
    }

    #[test]
    fn axes_are_drawn_apart() {
        let drawn = |axis| design(true, 50, 1).positions(axis);
        assert_ne!(drawn("a"), drawn("b"));
        assert_eq!(drawn("a"), drawn("a"));
    }
}
