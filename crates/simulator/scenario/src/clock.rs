//! A node's clock, as it is written and as the simulator takes it.

use crate::reader::Open;
use crate::vocabulary::VOCABULARY;
use headway_units::{Drift, Duration, Offset, Skew};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Display;

/// Coarser than any kernel's.
const COARSEST: Duration = Duration::from_secs(1);

/// A node's own clock, which its timers go by too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ClockOptions {
    /// How fast it is; negative: slow.
    #[schemars(default)]
    pub skew: Spread<Skew>,
    /// What it is ahead at the start of the run; negative: behind.
    #[schemars(default)]
    pub offset: Spread<Offset>,
    /// How fast the skew grows.
    #[schemars(default)]
    pub drift: Drift,
    /// It is read in multiples of this, and timers fire at them; from 1ns to 1s.
    #[schemars(default = "finest")]
    pub granularity: Duration,
}

/// A value for all replicas, or one that each draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(deny_unknown_fields)]
pub enum Spread<T> {
    /// All replicas have it.
    Same(T),
    /// Each replica draws its own, evenly.
    Uniform {
        /// From the first to before the second.
        uniform: [T; 2],
    },
}

impl<T: Default> Default for Spread<T> {
    fn default() -> Self {
        Self::Same(T::default())
    }
}

const fn finest() -> Duration {
    Duration::from_nanos(1)
}

/// The clock of a node's table, if it has one.
pub(crate) fn read(open: &mut Open<'_, '_>) -> Option<ClockOptions> {
    let (value, path) = (open.value("clock")?, open.path.key("clock"));
    let mut clock = open.reader.open(value, &path, &VOCABULARY.clock)?;
    let skew = spread(&mut clock, "skew", "[\"-1000ppm\", \"0ppm\"]");
    let offset = spread(&mut clock, "offset", "[\"0ms\", \"10ms\"]");
    let drift = clock.optional("drift").unwrap_or_default();
    let allowed = format!("from {} to {COARSEST}", finest());
    let granularity = clock.within("granularity", finest()..=COARSEST, &allowed).unwrap_or(finest());
    Some(ClockOptions { skew, offset, drift, granularity })
}

fn spread<T>(clock: &mut Open<'_, '_>, key: &str, example: &str) -> Spread<T>
where
    T: DeserializeOwned + Default + Ord + Copy + Display,
{
    let Some(value) = clock.value(key) else { return Spread::default() };
    if value.table().is_none() {
        return clock.optional(key).map(Spread::Same).unwrap_or_default();
    }
    let path = clock.path.key(key);
    let Some(mut table) = clock.reader.open(value, &path, &VOCABULARY.uniform) else { return Spread::default() };
    let Some([first, second]) = table.required::<[T; 2]>("uniform", example) else { return Spread::default() };
    if first >= second {
        table.wrong("uniform", format!("{first} is not before {second}"));
    }
    Spread::Uniform { uniform: [first, second] }
}
