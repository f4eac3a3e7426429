//! Reads samples back, series by series.

use super::SeriesError;
use super::ipc::File;
use crate::format::name_set::NameSet;
use foldhash::fast::RandomState;
use headway_units::Instant;
use indexmap::IndexMap;
use std::ops::Range;

/// The samples of a run, by entity and metric.
#[derive(Clone, Debug, Default)]
pub struct SeriesTable {
    entities: NameSet,
    metrics: NameSet,
    /// In the order in which the file first shows them: the places of entity and metric, and which of the samples these are.
    series: IndexMap<(usize, usize), Range<usize>, RandomState>,
    /// The samples of a series are adjacent, in the order of the file.
    samples: Vec<(Instant, f64)>,
}

/// The keys of a dictionary: which name each has, and whether it is read. Two keys may have the same name.
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
    /// The bytes are not a whole Arrow IPC file, or one of other columns, or compressed, or a cell is empty. Any bytes
    /// give an error or a table, and a table takes no more memory than a small multiple of the bytes.
    pub fn from_ipc(bytes: &[u8]) -> Result<Self, SeriesError> {
        Self::read(bytes, |_| true)
    }

    /// Reads the samples of these metrics alone.
    ///
    /// # Errors
    /// Those of [`from_ipc`](Self::from_ipc).
    pub fn of_metrics(bytes: &[u8], metrics: &[&str]) -> Result<Self, SeriesError> {
        Self::read(bytes, |metric| metrics.contains(&metric))
    }

    fn read(bytes: &[u8], is_wanted: impl Fn(&str) -> bool) -> Result<Self, SeriesError> {
        let file = File::open(bytes)?;
        let mut table = Self::default();
        let entities = Keys::new(file.entities(), &mut table.entities, |_| true);
        let metrics = Keys::new(file.metrics(), &mut table.metrics, is_wanted);
        // First how many samples each series has, then where they are.
        table.each(&file, &entities, &metrics, |table, place, _| table.series[place].end += 1)?;
        let mut end = 0;
        for range in table.series.values_mut() {
            let count = range.end;
            *range = end..end;
            end += count;
        }
        table.samples = vec![(Instant::ZERO, 0.0); end];
        table.each(&file, &entities, &metrics, |table, place, sample| {
            let range = &mut table.series[place];
            table.samples[range.end] = sample;
            range.end += 1;
        })?;
        Ok(table)
    }

    /// Calls `found` with the place of the series of each sample and the sample.
    fn each(
        &mut self,
        file: &File<'_>,
        entities: &Keys,
        metrics: &Keys,
        mut found: impl FnMut(&mut Self, usize, (Instant, f64)),
    ) -> Result<(), SeriesError> {
        let mut next = 0;
        for batch in file.batches()? {
            for (time, entity, metric, value) in batch?.iter() {
                let (entity, (metric, is_wanted)) = (entities.get(entity, "entity")?.0, metrics.get(metric, "metric")?);
                if !is_wanted {
                    continue;
                }
                // The series follow one another in the same order at each time.
                let place = match self.series.get_index(next) {
                    Some((key, _)) if *key == (entity, metric) => next,
                    _ => {
                        let entry = self.series.entry((entity, metric));
                        let place = entry.index();
                        entry.or_default();
                        place
                    }
                };
                next = place + 1;
                found(self, place, (Instant::from_nanos(time), value));
            }
        }
        Ok(())
    }

    /// The samples of `metric` of `entity` in the order of the file; empty if there are none.
    #[must_use]
    pub fn samples(&self, entity: &str, metric: &str) -> &[(Instant, f64)] {
        let key = self.entities.place(entity).zip(self.metrics.place(metric));
        key.and_then(|key| self.series.get(&key)).map_or(&[], |range| &self.samples[range.clone()])
    }

    /// Every series: entity, metric, samples; in the order in which the file first shows them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, &[(Instant, f64)])> {
        self.series.iter().map(|((entity, metric), range)| {
            (self.entities.get(*entity), self.metrics.get(*metric), &self.samples[range.clone()])
        })
    }
}

/// Tables are equal if their series are, in their order.
impl PartialEq for SeriesTable {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}
