//! `headway plot`: records to pictures.

use crate::arguments::PlotOptions;
use crate::error::Failure;
use crate::files::Folder;
use crate::output;
use headway_record::SeriesTable;
use headway_record::plot::{Run, figures};
use std::fs;
use std::path::Path;

/// Pixels a point, so that a picture fills a page.
const SCALE: f32 = 2.0;

pub(crate) fn plot(options: &PlotOptions) -> Result<(), Failure> {
    let mut records = Vec::with_capacity(options.records.len());
    for folder in &options.records {
        records.push((label(folder), read(folder)?));
    }
    let runs: Vec<_> = records.iter().map(|(label, series)| Run { label, series }).collect();
    let figures = figures(&runs).map_err(|error| Failure::Plot(error.to_string()))?;
    let out = options.out.as_ref().unwrap_or(&options.records[0]);
    fs::create_dir_all(out).map_err(Failure::file("create the folder", out))?;
    for figure in &figures {
        let png = figure.to_png(SCALE).map_err(|error| Failure::Plot(error.to_string()))?;
        for (ending, bytes) in [("svg", figure.svg.as_bytes()), ("png", &png)] {
            let path = out.join(format!("{}.{ending}", figure.name));
            fs::write(&path, bytes).map_err(Failure::file("write", &path))?;
            output::text(&path.display().to_string())?;
        }
    }
    Ok(())
}

fn read(folder: &Path) -> Result<SeriesTable, Failure> {
    let record = Folder(folder.to_owned());
    if !record.path(Folder::SUMMARY).exists() {
        let reason = "this is no record: a folder that `headway run` has left holds summary.json";
        return Err(Failure::Record { path: folder.to_owned(), reason: reason.to_owned() });
    }
    if !record.path(Folder::SERIES).exists() {
        let reason = "the run has recorded no series; give its scenario `[record] series = \"100ms\"`";
        return Err(Failure::Record { path: folder.to_owned(), reason: reason.to_owned() });
    }
    record.series()
}

/// What the legend calls a record: its folder.
fn label(folder: &Path) -> String {
    let canonical = folder.canonicalize();
    let named = canonical.as_deref().unwrap_or(folder);
    named.file_name().map_or_else(|| named.display().to_string(), |name| name.to_string_lossy().into_owned())
}
