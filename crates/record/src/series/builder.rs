//! Collects samples and writes them.

use super::{SeriesError, schema};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Float64Array, Int32Array, RecordBatch, StringArray, UInt64Array};
use arrow_ipc::writer::FileWriter;
use headway_units::Instant;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

/// Rows of a chunk, and of a record batch in the file.
const CHUNK_ROWS: usize = 65_536;

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

    fn array(&self) -> ArrayRef {
        Arc::new(StringArray::from_iter_values(&self.ordered))
    }
}

/// Samples of bounded number: full chunks never move, so a push costs three stores.
#[derive(Clone, Debug, Default)]
struct Chunk {
    times: Vec<u64>,
    series: Vec<u32>,
    values: Vec<f64>,
}

/// Collects the samples of a run, 20 bytes each.
#[derive(Clone, Debug, Default)]
pub struct SeriesBuilder {
    entities: Names,
    metrics: Names,
    /// The entity's and the metric's key of each [`SeriesId`].
    series: Vec<(i32, i32)>,
    ids: BTreeMap<(i32, i32), SeriesId>,
    full: Vec<Chunk>,
    open: Chunk,
}

impl SeriesBuilder {
    /// No series, no samples.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The series of `metric` of `entity`, made if it is new. Ask once, then [`push`](Self::push) often.
    pub fn series(&mut self, entity: &str, metric: &str) -> SeriesId {
        let keys = (self.entities.key(entity), self.metrics.key(metric));
        let next = SeriesId(self.series.len() as u32);
        let id = *self.ids.entry(keys).or_insert(next);
        if id == next {
            self.series.push(keys);
        }
        id
    }

    /// A sample of `value` at `now`. The file keeps samples in the order of pushing.
    pub fn push(&mut self, id: SeriesId, now: Instant, value: f64) {
        if self.open.times.len() == CHUNK_ROWS {
            self.full.push(std::mem::take(&mut self.open));
        }
        self.open.times.push(now.as_nanos());
        self.open.series.push(id.0);
        self.open.values.push(value);
    }

    /// How many samples there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.full.len() * CHUNK_ROWS + self.open.times.len()
    }

    /// Writes `series.arrow`: the same samples always give the same bytes.
    ///
    /// # Errors
    /// What `writer` failed with. A `Vec<u8>` does not fail.
    pub fn write_ipc<W: Write>(&self, writer: W) -> Result<(), SeriesError> {
        let schema = schema();
        let mut file = FileWriter::try_new(writer, &schema)?;
        // One dictionary for all batches: an IPC file holds each only once.
        let (entities, metrics) = (self.entities.array(), self.metrics.array());
        for chunk in self.full.iter().chain([&self.open]) {
            let keys = |pick: fn(&(i32, i32)) -> i32| {
                Int32Array::from_iter_values(chunk.series.iter().map(|id| pick(&self.series[*id as usize])))
            };
            let named = |keys, names: &ArrayRef| DictionaryArray::<Int32Type>::try_new(keys, Arc::clone(names));
            let columns: Vec<ArrayRef> = vec![
                Arc::new(UInt64Array::from(chunk.times.clone())),
                Arc::new(named(keys(|pair| pair.0), &entities)?),
                Arc::new(named(keys(|pair| pair.1), &metrics)?),
                Arc::new(Float64Array::from(chunk.values.clone())),
            ];
            file.write(&RecordBatch::try_new(Arc::clone(&schema), columns)?)?;
        }
        file.finish()?;
        Ok(())
    }
}
