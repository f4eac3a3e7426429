//! `headway plot`: records to pictures.

use crate::arguments::PlotOptions;
use crate::error::Failure;
use crate::output;
use headway_record::plot::{Run, Style, figures};
use headway_record::{SeriesTable, Summary};
use headway_run::{Folder, listed};
use std::path::{Path, PathBuf};

/// Pixels a point, so that a picture fills a page.
const SCALE: f32 = 2.0;

pub(crate) fn plot(options: &PlotOptions) -> Result<(), Failure> {
    let mut records = Vec::with_capacity(options.records.len());
    for folder in chosen(&options.records)? {
        records.push((label(&folder.0), read(&folder)?));
    }
    let runs: Vec<_> = records.iter().map(|(label, (series, from))| Run { label, series, from: *from }).collect();
    let figures = figures(&runs, &Style::default()).map_err(|error| Failure::Plot(error.to_string()))?;
    let out = Folder::named(options.out.as_ref().unwrap_or(&options.records[0]));
    let _lock = out.claim_for_pictures()?;
    for figure in &figures {
        let png = figure.to_png(SCALE).map_err(|error| Failure::Plot(error.to_string()))?;
        for (ending, bytes) in [("svg", figure.svg.as_bytes()), ("png", &png)] {
            let name = format!("{}.{ending}", figure.name);
            out.write(&name, bytes)?;
            output::text(&out.path(&name).display().to_string())?;
        }
    }
    Ok(())
}

/// The records to draw. The folder of a sweep stands for its runs, as far as they are done. A record in it that is left of
/// others is no part of it.
fn chosen(asked: &[PathBuf]) -> Result<Vec<Folder>, Failure> {
    let mut records = Vec::new();
    for path in asked {
        let folder = Folder(path.clone());
        if let Some(runs) = listed(&folder)? {
            let all = runs.len();
            let done: Vec<Folder> = runs.into_iter().filter(|run| run.path(Folder::SUMMARY).exists()).collect();
            if done.len() < all {
                output::note(&format!("warning: {}: {} of {all} runs are done", path.display(), done.len()));
            }
            records.extend(done);
        } else if is_left_over(path) {
            output::note(&format!(
                "warning: {} is left out: the sweep beside it has no such run; move it elsewhere to draw it",
                path.display()
            ));
        } else {
            records.push(folder);
        }
    }
    if records.is_empty() {
        return Err(Failure::Plot("there is no record left to draw".to_owned()));
    }
    Ok(records)
}

/// Whether it lies in the folder of a sweep that is not for it.
fn is_left_over(record: &Path) -> bool {
    let Ok(record) = record.canonicalize() else { return false };
    // What stands above need not be Headway's, and a record can be drawn without it.
    let sweep = record.parent().and_then(|parent| listed(&Folder(parent.to_owned())).ok().flatten());
    sweep.is_some_and(|runs| runs.iter().all(|run| run.0 != record))
}

/// The samples, and from when on the run was measured.
fn read(record: &Folder) -> Result<(SeriesTable, f64), Failure> {
    let wrong = |reason: &str| Failure::record(record.0.clone(), reason);
    if !record.path(Folder::SUMMARY).exists() {
        return Err(wrong("this is no record: a folder that `headway run` has left holds summary.json"));
    }
    if !record.path(Folder::SERIES).exists() {
        return Err(wrong("the run has recorded no series; give its scenario `[record] series = \"100ms\"`"));
    }
    let summary = String::from_utf8_lossy(&record.read(Folder::SUMMARY)?).into_owned();
    let summary = Summary::from_json(&summary).map_err(|error| wrong(&error.to_string()))?;
    Ok((record.series()?, summary.interval.from))
}

/// What the legend calls a record: its folder.
fn label(folder: &Path) -> String {
    let canonical = folder.canonicalize();
    let named = canonical.as_deref().unwrap_or(folder);
    named.file_name().map_or_else(|| named.display().to_string(), |name| name.to_string_lossy().into_owned())
}
