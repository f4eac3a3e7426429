//! Reads samples back, series by series.

use super::SeriesError;
use super::ipc::File;
use headway_units::Instant;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The samples of a run, by entity and metric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesTable {
    /// In the order in which the file first shows them.
    series: Vec<Series>,
    /// Place of each series, by entity and metric.
    places: BTreeMap<Arc<str>, BTreeMap<Arc<str>, usize>>,
}

#[derive(Clone, Debug, PartialEq)]
struct Series {
    /// Shared: many series have long names in common.
    entity: Arc<str>,
    metric: Arc<str>,
    samples: Vec<(Instant, f64)>,
}

impl SeriesTable {
    /// Reads the bytes of `series.arrow`.
    ///
    /// # Errors
    /// The bytes are not a whole Arrow IPC file, or one of other columns, or compressed, or a cell is empty. Any bytes
    /// give an error or a table, and a table takes no more memory than a small multiple of the bytes.
    pub fn from_ipc(bytes: &[u8]) -> Result<Self, SeriesError> {
        let file = File::open(bytes)?;
        let mut table = Self::default();
        // Keys may differ for one name, so a name decides; a key is looked up once.
        let mut by_key: BTreeMap<(i32, i32), usize> = BTreeMap::new();
        for batch in file.batches()? {
            for (time, entity_key, metric_key, value) in batch?.iter() {
                let place = match by_key.get(&(entity_key, metric_key)) {
                    Some(place) => *place,
                    None => {
                        let entity = file.entity(entity_key).ok_or(SeriesError::Empty { column: "entity" })?;
                        let metric = file.metric(metric_key).ok_or(SeriesError::Empty { column: "metric" })?;
                        let next = table.series.len();
                        let metrics = table.places.entry(Arc::clone(&entity)).or_default();
                        let place = *metrics.entry(Arc::clone(&metric)).or_insert(next);
                        if place == next {
                            table.series.push(Series { entity, metric, samples: Vec::new() });
                        }
                        by_key.insert((entity_key, metric_key), place);
                        place
                    }
                };
                table.series[place].samples.push((Instant::from_nanos(time), value));
            }
        }
        Ok(table)
    }

    /// The samples of `metric` of `entity` in the order of the file; empty if there are none.
    #[must_use]
    pub fn samples(&self, entity: &str, metric: &str) -> &[(Instant, f64)] {
        let place = self.places.get(entity).and_then(|metrics| metrics.get(metric));
        place.map_or(&[], |place| &self.series[*place].samples)
    }

    /// Every series: entity, metric, samples; in the order in which the file first shows them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, &[(Instant, f64)])> {
        self.series.iter().map(|series| (&*series.entity, &*series.metric, series.samples.as_slice()))
    }
}
