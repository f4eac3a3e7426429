//! Results of a sweep from its dataset, without its scenario.

use super::dataset::{RUNS, read_table};
use super::results::{Key, ResultRow, ResultTable, estimate};
use super::{DatasetColumn, DatasetValues, Metric};
use crate::{Error, Folder};
use headway_record::{ExpressionError, Numbers, Summary, quantity};
use headway_scenario::Cell;
use serde_json::Value;

impl ResultTable {
    /// Returns the results in the dataset of a folder, with the [default](Metric::defaults) metrics if `metrics` is
    /// empty; `None` if the folder has no dataset. Values of the varied keys are those of the dataset, in readable
    /// units.
    ///
    /// # Errors
    /// The dataset cannot be read, has no runs, or none of its runs has a metric.
    pub fn of_dataset(folder: &Folder, metrics: &[Metric]) -> Result<Option<Self>, Error> {
        let path = folder.path(RUNS);
        if !path.exists() {
            return Ok(None);
        }
        let wrong = |reason: String| Error::Record { path: path.clone(), reason: reason.into() };
        let columns = read_table(folder, RUNS)?;
        let place = |name: &str| columns.iter().position(|column| column.name == name);
        let (Some(point), Some(seed), Some(summary)) = (place("point"), place("seed"), place("summary")) else {
            return Err(wrong("it is not a table of a sweep: point, seed or summary is missing".to_owned()));
        };
        // The varied keys are the columns between these two.
        let keys = columns.get(point + 1..seed).unwrap_or(&[]);
        let DatasetValues::Text(summaries) = &columns[summary].values else {
            return Err(wrong("it is not a table of a sweep: a summary is no text".to_owned()));
        };
        let defaults = match summaries.first() {
            Some(Some(first)) if metrics.is_empty() => {
                Metric::defaults(&Summary::from_json(first).map_err(|error| wrong(error.to_string()))?)
            }
            Some(_) => Vec::new(),
            None => return Err(wrong("it has no runs".to_owned())),
        };
        let used = if metrics.is_empty() { &defaults[..] } else { metrics };
        let mut rows: Vec<(Option<i64>, ResultRow)> = Vec::new();
        // Of each metric, whether a run has it, and why another run does not.
        let mut found: Vec<(bool, Option<ExpressionError>)> = vec![(false, None); used.len()];
        for (number, summary) in summaries.iter().enumerate() {
            let Some(summary) = summary else { return Err(wrong("a run has no summary".to_owned())) };
            let numbers: Value = serde_json::from_str(summary).map_err(|error| wrong(error.to_string()))?;
            let numbers = Numbers::from(numbers);
            let seed = integer(&columns[seed], number).unwrap_or_default().cast_unsigned();
            let point = integer(&columns[point], number);
            if rows.last().is_none_or(|(known, _)| *known != point) {
                rows.push((point, empty_row(keys, number, used.len())));
            }
            let Some((_, row)) = rows.last_mut() else { continue };
            row.runs += 1;
            for ((metric, samples), (is_found, why_not)) in used.iter().zip(&mut row.samples).zip(&mut found) {
                match metric.of.evaluate(&numbers) {
                    Ok(value) => {
                        *is_found = true;
                        samples.extend(value.map(|value| (seed, value)));
                    }
                    Err(error) => *why_not = Some(error),
                }
            }
        }
        if !metrics.is_empty()
            && let Some(error) = found.into_iter().find_map(|(is_found, why_not)| why_not.filter(|_| !is_found))
        {
            return Err(Error::Metric(error));
        }
        let rows = rows.into_iter().map(|(_, row)| ResultRow {
            metrics: row.samples.iter().map(|samples| estimate(samples)).collect(),
            ..row
        });
        let key = |column: &DatasetColumn| Key {
            key: column.name.clone(),
            name: column.name.clone(),
            unit: column.unit.clone(),
        };
        Ok(Some(Self::new(keys.iter().map(key).collect(), used, rows.collect())))
    }
}

fn integer(column: &DatasetColumn, row: usize) -> Option<i64> {
    match &column.values {
        DatasetValues::Integer(cells) => cells.get(row).copied().flatten(),
        DatasetValues::Float(_) | DatasetValues::Boolean(_) | DatasetValues::Text(_) => None,
    }
}

fn empty_row(keys: &[DatasetColumn], number: usize, metrics: usize) -> ResultRow {
    let cells: Vec<Cell> = keys.iter().map(|column| cell(column, number)).collect();
    ResultRow {
        values: cells.iter().zip(keys).map(|(cell, column)| label(cell, column.unit.as_deref())).collect(),
        runs: 0,
        identical: false,
        metrics: Vec::new(),
        samples: vec![Vec::new(); metrics],
        cells,
        overrides: Vec::new(),
    }
}

fn cell(column: &DatasetColumn, row: usize) -> Cell {
    fn at<T: Clone>(cells: &[Option<T>], row: usize) -> Option<T> {
        cells.get(row).cloned().flatten()
    }
    let cell = match &column.values {
        DatasetValues::Integer(cells) => at(cells, row).map(Cell::Integer),
        DatasetValues::Float(cells) => at(cells, row).map(Cell::Number),
        DatasetValues::Boolean(cells) => at(cells, row).map(Cell::Boolean),
        DatasetValues::Text(cells) => at(cells, row).map(Cell::Text),
    };
    cell.unwrap_or_else(|| Cell::Text(String::new()))
}

fn label(cell: &Cell, unit: Option<&str>) -> String {
    match cell {
        Cell::Integer(number) => quantity(*number as f64, unit),
        Cell::Number(number) => quantity(*number, unit),
        Cell::Boolean(is_on) => is_on.to_string(),
        Cell::Text(text) => text.clone(),
    }
}
