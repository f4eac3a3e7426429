//! `record` of a scenario: data that is recorded in addition to the summary.

use crate::document::{Data, Value};
use crate::path::Path;
use crate::reader::Reader;
use crate::vocabulary::VOCABULARY;
use headway_record::PHASE_STEP;
use headway_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const MAX_PHASES: usize = 100;
const SHORTEST_PHASE: Duration = Duration::from_secs(1);

/// Data that is recorded in addition to the summary.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct RecordTable {
    /// Simulated time between samples of the time series; false or 0s for no time series. 100ms if absent.
    #[schemars(default, with = "Series")]
    pub(crate) series: Duration,
    /// Whether to record histograms of packet and frame delays, in addition to the mean and percentiles of the summary.
    #[schemars(default)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) distributions: bool,
    /// Named intervals of the run with separate rates, delays and losses of each flow.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) phases: Vec<PhaseTable>,
}

/// A named interval of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PhaseTable {
    /// Name of the phase: 1 to 64 letters, digits and _ -
    pub name: String,
    /// Start of the phase, since the start of the run; a multiple of 100ms.
    #[schemars(default)]
    pub from: Duration,
    /// End of the phase, since the start of the run, at least 1s after `from`; a multiple of 100ms.
    pub until: Duration,
}

impl Default for RecordTable {
    fn default() -> Self {
        Self { series: Duration::from_millis(100), distributions: false, phases: Vec::new() }
    }
}

/// Interval, or `false` for none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "used by the schema only")]
pub(crate) enum Series {
    /// Time between samples.
    Every(Duration),
    /// No series.
    Off(bool),
}

pub(crate) fn read<'a>(reader: &mut Reader<'a>, value: &'a Value, duration: Duration) -> Option<RecordTable> {
    let mut open = reader.open(value, &Path::default().key("record"), &VOCABULARY.record)?;
    let series = match open.value("series").map(|value| &value.data) {
        None => RecordTable::default().series,
        Some(Data::Boolean(false)) => Duration::ZERO,
        Some(Data::Boolean(true)) => {
            open.wrong("series", "true has no interval: write an interval such as \"100ms\", or false");
            Duration::ZERO
        }
        Some(_) => open.optional("series").unwrap_or_default(),
    };
    let distributions = open.optional("distributions").unwrap_or_default();
    let phases = open.tables("phases");
    if phases.len() > MAX_PHASES {
        open.wrong("phases", format!("{} phases are too many: at most {MAX_PHASES}", phases.len()));
    }
    let mut read: Vec<PhaseTable> = Vec::new();
    for (value, path) in phases.into_iter().take(MAX_PHASES) {
        read.extend(phase(reader, value, &path, duration, &read));
    }
    Some(RecordTable { series, distributions, phases: read })
}

fn phase<'a>(
    reader: &mut Reader<'a>,
    value: &'a Value,
    path: &Path,
    duration: Duration,
    earlier: &[PhaseTable],
) -> Option<PhaseTable> {
    let mut open = reader.open(value, path, &VOCABULARY.phase)?;
    let name: String = open.required("name", "\"start\"").unwrap_or_default();
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_word) {
        open.wrong("name", "a name of a phase has 1 to 64 letters, digits and _ -");
    } else if earlier.iter().any(|phase| phase.name == name) {
        open.wrong("name", format!("there are two phases \"{name}\""));
    }
    let from = open.optional("from").unwrap_or_default();
    let until = open.required("until", "\"20s\"").unwrap_or(duration);
    for (key, time) in [("from", from), ("until", until)] {
        if time.as_nanos() % PHASE_STEP.as_nanos() != 0 {
            open.wrong(key, format!("{time} is not a multiple of {PHASE_STEP}"));
        }
    }
    if until > duration {
        open.wrong("until", format!("the run ends at {duration}"));
    } else if until < from + SHORTEST_PHASE {
        open.wrong("until", format!("a phase from {from} lasts until {} or later", from + SHORTEST_PHASE));
    }
    Some(PhaseTable { name, from, until })
}
