//! Collects samples and writes `series.arrow`.

use super::{COLUMNS, SeriesError};
use crate::format::arrow::file::{ArrowFile, Compression};
use crate::format::arrow::metadata::Schema;
use crate::format::name_set::NameSet;
use headway_units::Instant;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Rows of a record batch. The allocator reuses blocks of the size of such a column without system calls.
const BATCH_ROWS: usize = 8192;

/// Identifier of an entity in `series.arrow`: a flow or a link direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesEntity(i32);

/// Identifier of a metric in `series.arrow`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesMetric(i32);

/// Identifier of a series: the dictionary keys of an entity and a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesId {
    entity: i32,
    metric: i32,
}

impl SeriesEntity {
    /// Returns the series of a metric of this entity.
    #[must_use]
    #[inline]
    pub const fn series(self, metric: SeriesMetric) -> SeriesId {
        SeriesId { entity: self.0, metric: metric.0 }
    }
}

/// The names of the series of a run, collected before the first sample, because a file has names before rows.
#[derive(Clone, Debug, Default)]
pub struct SeriesNames {
    entities: NameSet,
    metrics: NameSet,
}

// 2^31 names would not fit in memory.
impl SeriesNames {
    /// Reserves memory for `entities` more entities.
    pub fn reserve(&mut self, entities: usize) {
        self.entities.reserve(entities);
    }

    /// Returns the entity with this name and adds it if it is new.
    pub fn entity(&mut self, name: &str) -> SeriesEntity {
        SeriesEntity(self.entities.insert(name) as i32)
    }

    /// Returns the metric with this name and adds it if it is new.
    pub fn metric(&mut self, name: &str) -> SeriesMetric {
        SeriesMetric(self.metrics.insert(name) as i32)
    }

    /// Returns the series of `metric` of the entity with this name and adds it if it is new.
    pub fn series(&mut self, entity: &str, metric: &str) -> SeriesId {
        self.entity(entity).series(self.metric(metric))
    }

    /// Returns a writer of samples of these series.
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

/// Writer of `series.arrow`, batch by batch. [`drain`](Self::drain) may be called at any time, so that memory does not
/// grow with the run. Equal samples give equal bytes.
pub struct SeriesWriter {
    /// Names that are not yet written to the file.
    names: SeriesNames,
    batch: Vec<Sample>,
    rows: u64,
    file: Option<ArrowFile>,
    /// Error of [`push`](Self::push), returned by the next [`drain`](Self::drain).
    failure: Option<io::Error>,
}

impl std::fmt::Debug for SeriesWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SeriesWriter").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl SeriesWriter {
    /// Appends a sample of `value` at `now`. The file keeps the order of calls.
    #[inline]
    pub fn push(&mut self, id: SeriesId, now: Instant, value: f64) {
        self.batch.push(Sample { time_ns: now.as_nanos(), id, value });
        if self.batch.len() == BATCH_ROWS {
            self.write_batch();
        }
    }

    /// Returns the number of samples appended so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows + self.batch.len() as u64
    }

    /// Ends the current record batch, so that [`drain`](Self::drain) writes all samples so far for readers of a growing
    /// file.
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

    /// Writes the bytes of the file that have become complete since the last call to `writer`.
    ///
    /// # Errors
    /// The error of `writer`. A `Vec<u8>` does not fail.
    pub fn drain<W: Write>(&mut self, mut writer: W) -> Result<(), SeriesError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure.into());
        }
        match &mut self.file {
            Some(file) => Ok(writer.write_all(&file.take())?),
            None => Ok(()),
        }
    }

    /// Writes the rest of the file to `writer`.
    ///
    /// # Errors
    /// The errors of [`drain`](Self::drain).
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
