//! Reads `series.arrow` into a table of series.

use super::SeriesError;
use super::ipc::File;
use crate::format::name_set::NameSet;
use foldhash::fast::RandomState;
use headway_units::Instant;
use indexmap::IndexMap;
use std::ops::Range;

/// The samples of a run, read from `series.arrow`, by entity (flow or link direction) and metric.
#[derive(Clone, Debug, Default)]
pub struct SeriesTable {
    entities: NameSet,
    metrics: NameSet,
    /// Indices of entity and metric, and their range of `samples`, in the order of first occurrence in the file.
    series: IndexMap<(usize, usize), Range<usize>, RandomState>,
    /// The samples of a series are adjacent, in the order of the file.
    samples: Vec<(Instant, f64)>,
}

/// For each key of a dictionary, the index of its name and whether it is read. Two keys may have the same name.
struct Keys(Vec<(usize, bool)>);

impl Keys {
    fn new(names: &[&str], known: &mut NameSet, is_wanted: impl Fn(&str) -> bool) -> Self {
        known.reserve(names.len());
        Self(names.iter().map(|name| (known.insert(name), is_wanted(name))).collect())
    }

    fn get(&self, key: i32, column: &'static str) -> Result<(usize, bool), SeriesError> {
        usize::try_from(key).ok().and_then(|key| self.0.get(key).copied()).ok_or(SeriesError::Empty { column })
    }
}

impl SeriesTable {
    /// Reads the bytes of `series.arrow`.
    ///
    /// # Errors
    /// The bytes are not a complete Arrow IPC file, have other columns, are compressed, or have a null cell. For any
    /// bytes, the table needs at most a small multiple of their length.
    pub fn from_ipc(bytes: &[u8]) -> Result<Self, SeriesError> {
        Self::read(bytes, |_| true)
    }

    /// Reads only the samples of these metrics. The entities of others are not checked.
    ///
    /// # Errors
    /// The errors of [`from_ipc`](Self::from_ipc).
    pub fn of_metrics(bytes: &[u8], metrics: &[&str]) -> Result<Self, SeriesError> {
        Self::read(bytes, |metric| metrics.contains(&metric))
    }

    fn read(bytes: &[u8], is_wanted: impl Fn(&str) -> bool) -> Result<Self, SeriesError> {
        let file = File::open(bytes)?;
        let mut table = Self::default();
        let entities = Keys::new(file.entities(), &mut table.entities, |_| true);
        let metrics = Keys::new(file.metrics(), &mut table.metrics, is_wanted);
        // The first pass counts the samples of each series, the second stores them.
        table.for_each_sample(&file, &entities, &metrics, |table, index, _| table.series[index].end += 1)?;
        let mut end = 0;
        for range in table.series.values_mut() {
            let count = range.end;
            *range = end..end;
            end += count;
        }
        table.samples = vec![(Instant::ZERO, 0.0); end];
        table.for_each_sample(&file, &entities, &metrics, |table, index, sample| {
            let range = &mut table.series[index];
            table.samples[range.end] = sample;
            range.end += 1;
        })?;
        Ok(table)
    }

    /// Calls `on_sample` with the index of its series and each sample.
    fn for_each_sample(
        &mut self,
        file: &File<'_>,
        entities: &Keys,
        metrics: &Keys,
        mut on_sample: impl FnMut(&mut Self, usize, (Instant, f64)),
    ) -> Result<(), SeriesError> {
        let mut next = 0;
        for batch in file.batches()? {
            for (time, entity, metric, value) in batch?.iter() {
                let (metric, is_wanted) = metrics.get(metric, "metric")?;
                if !is_wanted {
                    continue;
                }
                let (entity, _) = entities.get(entity, "entity")?;
                // Files usually have the same order of series at each time.
                let index = match self.series.get_index(next) {
                    Some((key, _)) if *key == (entity, metric) => next,
                    _ => {
                        let entry = self.series.entry((entity, metric));
                        let index = entry.index();
                        entry.or_default();
                        index
                    }
                };
                next = index + 1;
                on_sample(self, index, (Instant::from_nanos(time), value));
            }
        }
        Ok(())
    }

    /// Returns the samples of `metric` of `entity` in the order of the file; empty if there are none.
    #[must_use]
    pub fn samples(&self, entity: &str, metric: &str) -> &[(Instant, f64)] {
        let key = self.entities.index_of(entity).zip(self.metrics.index_of(metric));
        key.and_then(|key| self.series.get(&key)).map_or(&[], |range| &self.samples[range.clone()])
    }

    /// Returns all series as entity, metric and samples, in the order of first occurrence in the file.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, &[(Instant, f64)])> {
        self.series.iter().map(|((entity, metric), range)| {
            (self.entities.get(*entity), self.metrics.get(*metric), &self.samples[range.clone()])
        })
    }
}

/// Tables are equal if they have equal series in the same order.
impl PartialEq for SeriesTable {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}
