//! The dataset of a sweep: Parquet files that DuckDB, polars, pandas and R read.
//!
//! `flows.parquet` has one row per run and flow, `links.parquet` one per run and link direction,
//! `runs.parquet` one per run, with its summary as JSON. Rows are in the order of runs. The bytes do not
//! depend on when, where, or in how many sessions the sweep was run.

use super::RunKey as Key;
use super::flat::{Columns, Sort, walk};
use super::parquet_file::{DatasetColumn, DatasetValues, ParquetFile, ParquetWriter};
use crate::code::CODE;
use crate::files::open_regular;
use crate::{Error, Folder, each};
use headway_scenario::{Cell, Column};
use parquet::errors::ParquetError;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io::Write;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use xxhash_rust::xxh3::xxh3_64;

/// Number of runs whose rows a thread collects at a time. It determines the pages of the files; the number of
/// threads does not.
const CHUNK: usize = 256;
/// Number of chunks per row group.
const WAVE: usize = 16;

/// Number, point and summary of a run.
#[derive(Debug)]
pub(super) struct Row<'a> {
    pub(super) run: usize,
    pub(super) point: usize,
    pub(super) cells: &'a [Cell],
    pub(super) scenario_hash: u128,
    pub(super) key: Key,
    pub(super) summary: String,
}

/// The three tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Table {
    Flows,
    Links,
    Runs,
}

impl Table {
    /// Table of runs last: if it is complete, so are the others.
    const ALL: [Self; 3] = [Self::Flows, Self::Links, Self::Runs];

    const fn file(self) -> &'static str {
        match self {
            Self::Flows => FLOWS,
            Self::Links => LINKS,
            Self::Runs => RUNS,
        }
    }

    /// Returns the rows of a table for one summary.
    fn rows(self, summary: &Map<String, Value>) -> Vec<Value> {
        let list = |key: &str| summary.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        match self {
            Self::Flows => list("flows"),
            Self::Links => list("links"),
            Self::Runs => {
                let of_run = summary
                    .iter()
                    .filter(|(key, _)| key.as_str() != "seed")
                    .map(|(key, value)| (key.clone(), value.clone()));
                vec![Value::Object(of_run.collect())]
            }
        }
    }
}

/// Name of the table with one row per run and flow.
pub const FLOWS: &str = "flows.parquet";
/// Name of the table with one row per run and link direction.
pub const LINKS: &str = "links.parquet";
/// Name of the table with one row per run, which has its summary as JSON.
pub const RUNS: &str = "runs.parquet";

/// Returns the column name of a path. `from`, `to` and `kind` get a prefix, as a sweep may vary keys of these names.
fn renamed(table: Table, path: &str) -> String {
    let of = match table {
        Table::Flows => "flow",
        Table::Links => "link",
        Table::Runs => return path.to_owned(),
    };
    match path {
        "name" => of.to_owned(),
        "from" | "to" | "kind" => format!("{of}_{path}"),
        _ => path.to_owned(),
    }
}

/// Writes the tables on `jobs` threads. `row` returns the row with a number below `runs`; it is called twice per row.
pub(super) fn write<'a>(
    folder: &Folder,
    columns: &[Column],
    runs: usize,
    jobs: Option<NonZeroUsize>,
    row: impl Fn(usize) -> Result<Row<'a>, Error> + Sync,
) -> Result<(), Error> {
    let chunks: Vec<Range<usize>> = (0..runs).step_by(CHUNK).map(|from| from..runs.min(from + CHUNK)).collect();
    let needed = each(chunks.len(), jobs, &(), |chunk| {
        let mut needed = [(); 3].map(|()| Columns::default());
        for number in chunks[chunk].clone() {
            let summary = parsed(folder, &row(number)?.summary)?;
            for (table, needed) in Table::ALL.into_iter().zip(&mut needed) {
                table.rows(&summary).iter().for_each(|row| needed.add(row));
            }
        }
        Ok::<_, Error>(needed)
    })?;
    let mut all = [(); 3].map(|()| Columns::default());
    for needed in needed.into_iter().flatten() {
        all.iter_mut().zip(needed).for_each(|(all, needed)| all.merge(needed));
    }
    let sorts: Vec<Sort> = if runs == 0 { Vec::new() } else { row(0)?.cells.iter().map(sort_of).collect() };
    let mut tables = Vec::new();
    for (table, needed) in Table::ALL.into_iter().zip(all) {
        let layout = Layout::new(table, columns.iter().zip(sorts.iter().copied()), needed);
        tables.push(Mutex::new(TableWriter::begin(folder, layout)?));
    }
    let layouts: Vec<Arc<Layout>> = tables.iter().map(|table| Arc::clone(&locked(table).layout)).collect();
    for wave in chunks.chunks(WAVE) {
        let batches = each(wave.len(), jobs, &(), |chunk| {
            let mut gathered: Vec<Gathered<'_>> = layouts.iter().map(|layout| Gathered::new(layout)).collect();
            for number in wave[chunk].clone() {
                let row = row(number)?;
                let summary = parsed(folder, &row.summary)?;
                gathered.iter_mut().for_each(|gathered| gathered.add(&row, &summary));
            }
            Ok::<_, Error>(gathered.into_iter().map(|gathered| gathered.columns).collect::<Vec<_>>())
        })?;
        each(tables.len(), jobs, &(), |table| {
            locked(&tables[table]).write(batches.iter().flatten().filter_map(|collected| collected.get(table)))
        })?;
    }
    let ends = tables.into_iter().map(|table| table.into_inner().unwrap_or_else(PoisonError::into_inner));
    let ends: Vec<Mutex<Option<TableWriter>>> = ends.map(|table| Mutex::new(Some(table))).collect();
    // The last pages of all tables are compressed in parallel; the table of runs is completed last.
    let whole = each(ends.len(), jobs, &(), |table| locked(&ends[table]).take().map(TableWriter::end).transpose())?;
    whole.into_iter().flatten().flatten().try_for_each(|sink| sink.0.end().map(drop))
}

fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

fn parsed(folder: &Folder, summary: &str) -> Result<Map<String, Value>, Error> {
    serde_json::from_str(summary).map_err(|error| Error::Record {
        path: folder.0.clone(),
        reason: format!("the stored summary of a run is damaged: {error}").into(),
    })
}

/// Calls `take` with the key and the summary of each run in the dataset. Returns whether some data is damaged.
pub(super) fn runs(folder: &Folder, mut take: impl FnMut(Key, &str) -> Result<(), Error>) -> Result<bool, Error> {
    let path = folder.path(RUNS);
    let file = match open_regular(&path, u64::MAX) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(Error::file("read", &path)(error)),
    };
    // A damaged file is ignored: its runs are repeated.
    let Ok(file) = ParquetFile::open(file) else { return Ok(true) };
    let mut is_damaged = false;
    let read = file.texts(["run_key", "summary", "checksum", "code"], |[key, summary, sum, code]| {
        let key = key.and_then(|key| Key::from_str_radix(key, 16).ok());
        match (key, summary, sum) {
            (Some(key), Some(summary), Some(sum)) if sum == checksum(key, summary) => {
                if code == Some(CODE) {
                    take(key, summary)
                } else {
                    Ok(())
                }
            }
            _ => {
                is_damaged = true;
                Ok(())
            }
        }
    });
    match read {
        Ok(taken) => taken.map(|()| is_damaged),
        Err(_) => Ok(true),
    }
}

/// Reads the columns of a table of a dataset.
///
/// # Errors
/// The file cannot be read, or is not a table of a sweep.
pub fn read_table(folder: &Folder, name: &str) -> Result<Vec<DatasetColumn>, Error> {
    let path = folder.path(name);
    let file = open_regular(&path, u64::MAX).map_err(Error::file("read", &path))?;
    let read = ParquetFile::open(file).and_then(|file| file.columns());
    read.map_err(|error| Error::Record {
        path: path.clone(),
        reason: format!("it is not a table of a sweep: {error}").into(),
    })
}

fn checksum(key: Key, summary: &str) -> String {
    format!("{:016x}", xxh3_64(format!("{key:032x} {summary}").as_bytes()))
}

impl DatasetValues {
    fn add(&mut self, value: Option<&Value>) {
        match self {
            Self::Integer(cells) => cells.push(value.and_then(Value::as_i64)),
            Self::Float(cells) => cells.push(value.and_then(Value::as_f64)),
            Self::Boolean(cells) => cells.push(value.and_then(Value::as_bool)),
            Self::Text(cells) => cells.push(match value {
                None | Some(Value::Null) => None,
                Some(Value::String(text)) => Some(text.clone()),
                Some(other) => Some(other.to_string()),
            }),
        }
    }
}

struct Layout {
    table: Table,
    /// Name, type and unit: first the columns of the run, then those of the summary.
    columns: Vec<(String, Sort, Option<&'static str>)>,
    /// Index of each summary column by its path.
    paths: BTreeMap<String, usize>,
}

impl Layout {
    fn new<'a>(table: Table, columns: impl Iterator<Item = (&'a Column, Sort)>, needed: Columns) -> Self {
        let mut names = vec![("run".to_owned(), Sort::Integer, None), ("point".to_owned(), Sort::Integer, None)];
        let taken: Vec<String> = needed.0.keys().map(|path| renamed(table, path)).collect();
        for (column, sort) in columns {
            let own = ["run", "point", "seed", "scenario_hash", "run_key", "code", "summary", "checksum"];
            let clashes = own.contains(&column.name.as_str()) || taken.contains(&column.name);
            let name = if clashes { column.key.clone() } else { column.name.clone() };
            names.push((name, sort, column.unit));
        }
        names.push(("seed".to_owned(), Sort::Integer, None));
        names.push(("scenario_hash".to_owned(), Sort::Text, None));
        names.push(("code".to_owned(), Sort::Text, None));
        if table == Table::Runs {
            names.extend(["run_key", "checksum", "summary"].map(|name| (name.to_owned(), Sort::Text, None)));
        }
        let mut paths = BTreeMap::new();
        for (key, sort) in needed.0 {
            paths.insert(key.clone(), names.len());
            names.push((renamed(table, &key), sort, None));
        }
        Self { table, columns: names, paths }
    }
}

/// Cells of some rows of a table.
struct Gathered<'a> {
    layout: &'a Layout,
    columns: Vec<DatasetValues>,
}

impl<'a> Gathered<'a> {
    fn new(layout: &'a Layout) -> Self {
        Self { layout, columns: layout.columns.iter().map(|(_, sort, _)| DatasetValues::new(*sort)).collect() }
    }

    fn add(&mut self, row: &Row<'_>, summary: &Map<String, Value>) {
        let count = |number: usize| Value::from(number as u64);
        let seed = summary.get("seed").and_then(Value::as_u64).map_or(Value::Null, |seed| (seed as i64).into());
        let mut of_run = vec![count(row.run), count(row.point)];
        of_run.extend(row.cells.iter().map(value));
        of_run.extend([seed, Value::from(format!("{:032x}", row.scenario_hash)), Value::from(CODE)]);
        if self.layout.table == Table::Runs {
            of_run.push(Value::from(format!("{:032x}", row.key)));
            of_run.push(Value::from(checksum(row.key, &row.summary)));
            of_run.push(Value::from(row.summary.clone()));
        }
        for below in self.layout.table.rows(summary) {
            let mut values: Vec<Option<&Value>> = of_run.iter().map(Some).collect();
            values.resize(self.columns.len(), None);
            walk("", &below, &mut |path, value| {
                if let Some(place) = self.layout.paths.get(path) {
                    values[*place] = Some(value);
                }
            });
            self.columns.iter_mut().zip(values).for_each(|(column, value)| column.add(value));
        }
    }
}

/// A table that is being written.
struct TableWriter {
    layout: Arc<Layout>,
    writer: ParquetWriter<Sink>,
    path: PathBuf,
}

impl TableWriter {
    fn begin(folder: &Folder, layout: Layout) -> Result<Self, Error> {
        let path = folder.path(layout.table.file());
        let sink = Sink(folder.begin(layout.table.file())?);
        let writer = ParquetWriter::begin(sink, &layout.columns).map_err(not_written(&path))?;
        Ok(Self { layout: Arc::new(layout), writer, path })
    }

    fn write<'a>(&mut self, parts: impl Iterator<Item = &'a Vec<DatasetValues>> + Clone) -> Result<(), Error> {
        self.writer.write(parts).map_err(not_written(&self.path))
    }

    fn end(self) -> Result<Sink, Error> {
        self.writer.end().map_err(not_written(&self.path))
    }
}

/// Returns the type of a column with this cell; all its cells have one type.
const fn sort_of(cell: &Cell) -> Sort {
    match cell {
        Cell::Integer(_) => Sort::Integer,
        Cell::Number(_) => Sort::Float,
        Cell::Boolean(_) => Sort::Boolean,
        Cell::Text(_) => Sort::Text,
    }
}

fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Integer(number) => Value::from(*number),
        Cell::Number(number) => Value::from(*number),
        Cell::Boolean(value) => Value::from(*value),
        Cell::Text(text) => Value::from(text.clone()),
    }
}

fn not_written(path: &Path) -> impl FnOnce(ParquetError) -> Error {
    move |error| Error::Record { path: path.to_owned(), reason: format!("it could not be written: {error}").into() }
}

/// Destination of a table.
struct Sink(crate::PartialFile);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.writer().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.writer().flush()
    }
}
