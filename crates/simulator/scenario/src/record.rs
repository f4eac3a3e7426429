//! `record` of a scenario: data that is recorded in addition to the summary.

use crate::document::{Data, Value};
use crate::path::Path;
use crate::reader::Reader;
use crate::vocabulary::VOCABULARY;
use headway_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Data that is recorded in addition to the summary.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct RecordTable {
    /// Time between samples of the time series; false or 0s for no time series. 100ms if absent.
    #[schemars(default, with = "Series")]
    pub(crate) series: Duration,
    /// Whether to record histograms of packet and frame delays, in addition to the mean and percentiles of the summary.
    #[schemars(default)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) distributions: bool,
}

impl Default for RecordTable {
    fn default() -> Self {
        Self { series: Duration::from_millis(100), distributions: false }
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

pub(crate) fn read<'a>(reader: &mut Reader<'a>, value: &'a Value) -> Option<RecordTable> {
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
    Some(RecordTable { series, distributions })
}
