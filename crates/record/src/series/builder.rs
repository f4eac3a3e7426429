//! Collects samples and writes them.

use super::{COLUMNS, SeriesError};
use crate::arrow_file::{ArrowFile, Compression};
use crate::arrow_metadata::Schema;
use headway_units::Instant;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Rows of a record batch in the file. A column of so many is a block that the allocator gives again at once.
const BATCH_ROWS: usize = 8192;

/// One series: a metric of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesId(u32);

/// Names in the order in which they were first used.
#[derive(Clone, Debug, Default)]
struct Names {
    ordered: Vec<String>,
    keys: BTreeMap<String, i32>,
}

impl Names {
    fn key(&mut self, name: &str) -> i32 {
        if let Some(key) = self.keys.get(name) {
            return *key;
        }
        // 2^31 names would not fit in memory.
        let key = self.ordered.len() as i32;
        self.ordered.push(name.to_owned());
        self.keys.insert(name.to_owned(), key);
        key
    }

    fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        self.ordered.iter().map(String::as_str)
    }
}

/// The series of a run, before its first sample: a file's names stand before its rows.
#[derive(Clone, Debug, Default)]
pub struct SeriesNames {
    entities: Names,
    metrics: Names,
    /// The entity's and the metric's key of each [`SeriesId`].
    series: Vec<(i32, i32)>,
    ids: BTreeMap<(i32, i32), SeriesId>,
}

impl SeriesNames {
    /// The series of `metric` of `entity`, made if it is new.
    pub fn series(&mut self, entity: &str, metric: &str) -> SeriesId {
        let keys = (self.entities.key(entity), self.metrics.key(metric));
        let next = SeriesId(self.series.len() as u32);
        let id = *self.ids.entry(keys).or_insert(next);
        if id == next {
            self.series.push(keys);
        }
        id
    }

    /// Goes on to the samples.
    #[must_use]
    pub fn samples(self) -> SeriesWriter {
        SeriesWriter {
            entities: self.entities,
            metrics: self.metrics,
            series: self.series,
            batch: Vec::with_capacity(BATCH_ROWS),
            rows: 0,
            file: None,
            failure: None,
        }
    }
}

/// A sample, as it is pushed.
#[derive(Clone, Copy)]
struct Sample {
    time_ns: u64,
    id: SeriesId,
    value: f64,
}

/// Makes `series.arrow` of the samples of a run, a batch at a time: what is ready can be taken as often as one likes, so
/// that a run of any length needs little memory. The same samples always give the same bytes.
pub struct SeriesWriter {
    entities: Names,
    metrics: Names,
    series: Vec<(i32, i32)>,
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
        let Self { entities, metrics, series, batch, file, .. } = self;
        let file = match file {
            Some(file) => file,
            None => {
                let schema = Schema { columns: COLUMNS.to_vec(), metadata: BTreeMap::new() };
                let file = file.insert(ArrowFile::new(schema, Compression::None));
                file.dictionary(0, entities.iter())?;
                file.dictionary(1, metrics.iter())?;
                file
            }
        };
        let keys = |sample: &Sample| series[sample.id.0 as usize];
        file.begin(batch.len());
        file.column(batch, |sample| sample.time_ns);
        file.column(batch, |sample| keys(sample).0);
        file.column(batch, |sample| keys(sample).1);
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
