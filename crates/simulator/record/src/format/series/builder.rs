//! Collects samples and writes them.

use super::{COLUMNS, SeriesError};
use crate::format::arrow::file::{ArrowFile, Compression};
use crate::format::arrow::metadata::Schema;
use crate::format::name_set::NameSet;
use headway_units::Instant;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Rows of a record batch in the file. A column of so many is a block that the allocator gives again at once.
const BATCH_ROWS: usize = 8192;

/// One entity: a flow, or a direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesEntity(i32);

/// One metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesMetric(i32);

/// One series: a metric of an entity, by their places in the file's dictionaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesId {
    entity: i32,
    metric: i32,
}

impl SeriesEntity {
    /// The series of a metric of this entity.
    #[must_use]
    #[inline]
    pub const fn series(self, metric: SeriesMetric) -> SeriesId {
        SeriesId { entity: self.0, metric: metric.0 }
    }
}

/// The series of a run, before its first sample: a file's names stand before its rows.
#[derive(Clone, Debug, Default)]
pub struct SeriesNames {
    entities: NameSet,
    metrics: NameSet,
}

// 2^31 names would not fit in memory.
impl SeriesNames {
    /// Reserves memory for that many more entities.
    pub fn reserve(&mut self, entities: usize) {
        self.entities.reserve(entities);
    }

    /// The entity of this name, made if it is new.
    pub fn entity(&mut self, name: &str) -> SeriesEntity {
        SeriesEntity(self.entities.insert(name) as i32)
    }

    /// The metric of this name, made if it is new.
    pub fn metric(&mut self, name: &str) -> SeriesMetric {
        SeriesMetric(self.metrics.insert(name) as i32)
    }

    /// The series of `metric` of the entity of this name, made if it is new.
    pub fn series(&mut self, entity: &str, metric: &str) -> SeriesId {
        self.entity(entity).series(self.metric(metric))
    }

    /// Goes on to the samples.
    #[must_use]
    pub fn samples(self) -> SeriesWriter {
        SeriesWriter { names: self, batch: Vec::with_capacity(BATCH_ROWS), rows: 0, file: None, failure: None }
    }
}

#[derive(Clone, Copy)]
struct Sample {
    time_ns: u64,
    id: SeriesId,
    value: f64,
}

/// Makes `series.arrow` of the samples of a run, a batch at a time: what is ready can be taken as often as one likes, so
/// that a run of any length needs little memory. The same samples always give the same bytes.
pub struct SeriesWriter {
    /// Until they are in the file.
    names: SeriesNames,
    batch: Vec<Sample>,
    rows: u64,
    file: Option<ArrowFile>,
    /// What went wrong in [`push`](Self::push), which cannot say so.
    failure: Option<io::Error>,
}

impl std::fmt::Debug for SeriesWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SeriesWriter").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl SeriesWriter {
    /// A sample of `value` at `now`. The file keeps samples in the order of pushing.
    #[inline]
    pub fn push(&mut self, id: SeriesId, now: Instant, value: f64) {
        self.batch.push(Sample { time_ns: now.as_nanos(), id, value });
        if self.batch.len() == BATCH_ROWS {
            self.write_batch();
        }
    }

    /// How many samples there have been.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows + self.batch.len() as u64
    }

    /// What has been pushed can be [drained](Self::drain), in a batch of its own: for who follows a file as it grows.
    pub fn flush(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        self.write_batch();
    }

    #[cold]
    fn write_batch(&mut self) {
        if let Err(error) = self.encode() {
            self.failure.get_or_insert(error);
        }
        self.rows += self.batch.len() as u64;
        self.batch.clear();
    }

    fn encode(&mut self) -> io::Result<()> {
        let Self { names, batch, file, .. } = self;
        let file = match file {
            Some(file) => file,
            None => {
                let schema = Schema { columns: COLUMNS.to_vec(), metadata: BTreeMap::new() };
                let file = file.insert(ArrowFile::new(schema, Compression::None));
                let SeriesNames { entities, metrics } = std::mem::take(names);
                file.dictionary(0, entities.iter())?;
                file.dictionary(1, metrics.iter())?;
                file
            }
        };
        file.begin(batch.len());
        file.column(batch, |sample| sample.time_ns);
        file.column(batch, |sample| sample.id.entity);
        file.column(batch, |sample| sample.id.metric);
        file.column(batch, |sample| sample.value);
        file.end().map(|_| ())
    }

    /// Writes what is ready of the file, after what was written before.
    ///
    /// # Errors
    /// What `writer` failed with. A `Vec<u8>` does not fail.
    pub fn drain<W: Write>(&mut self, mut writer: W) -> Result<(), SeriesError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure.into());
        }
        match &mut self.file {
            Some(file) => Ok(writer.write_all(&file.take())?),
            None => Ok(()),
        }
    }

    /// Writes the rest of the file.
    ///
    /// # Errors
    /// As [`drain`](Self::drain).
    pub fn finish<W: Write>(mut self, writer: W) -> Result<(), SeriesError> {
        if !self.batch.is_empty() || self.file.is_none() {
            self.write_batch();
        }
        if let Some(file) = &mut self.file {
            file.finish([], None);
        }
        self.drain(writer)
    }
}
