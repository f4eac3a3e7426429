//! `clock` of a `[[node]]`: skew, offset, drift and granularity of its clock.

use crate::reader::Open;
use crate::vocabulary::VOCABULARY;
use headway_units::{Drift, Duration, Offset, Skew};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Display;

/// Maximum granularity, above that of any kernel.
const MAX_GRANULARITY: Duration = Duration::from_secs(1);

/// Clock of a node, which gives the times that the node measures and determines when its timers fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ClockOptions {
    /// Frequency error, such as `50ppm`; negative if the clock is slow.
    #[schemars(default)]
    pub skew: Spread<Skew>,
    /// Difference of the clock from true time at the start of the run; negative if the clock shows an earlier time.
    #[schemars(default)]
    pub offset: Spread<Offset>,
    /// Change of the clock's `skew` per hour, such as `0.5ppm/h`.
    #[schemars(default)]
    pub drift: Drift,
    /// Tick of the clock: readings and timers are multiples of it; from 1ns to 1s.
    #[schemars(default = "finest")]
    pub granularity: Duration,
}

/// One value for all replicas, or a random value for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(deny_unknown_fields)]
pub enum Spread<T> {
    /// One value for all replicas of the node.
    Same(T),
    /// A random value for each replica of the node, uniformly distributed.
    Uniform {
        /// Bounds of the uniform distribution; the first is inclusive, the second exclusive.
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

pub(crate) fn read(open: &mut Open<'_, '_>) -> Option<ClockOptions> {
    let (value, path) = (open.value("clock")?, open.path.key("clock"));
    let mut clock = open.reader.open(value, &path, &VOCABULARY.clock)?;
    let skew = spread(&mut clock, "skew", "[\"-1000ppm\", \"0ppm\"]");
    let offset = spread(&mut clock, "offset", "[\"0ms\", \"10ms\"]");
    let drift = clock.optional("drift").unwrap_or_default();
    let allowed = format!("from {} to {MAX_GRANULARITY}", finest());
    let granularity = clock.within("granularity", finest()..=MAX_GRANULARITY, &allowed).unwrap_or(finest());
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
