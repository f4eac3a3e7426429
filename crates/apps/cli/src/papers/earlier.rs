//! Stored results that the runs of some cells complete. They are read and checked before the first run.

use super::{Read, profile, report};
use crate::arguments::PapersOptions;
use crate::error::Failure;
use headway_papers::Results;
use headway_run::Folder;
use std::path::Path;

/// Returns the results of `--onto`, which the runs complete.
pub(super) fn onto(read: &Read, _: &Folder, options: &PapersOptions) -> Result<Option<Results>, Failure> {
    options
        .onto
        .as_ref()
        .map(|file| fitting(read, file, options, "name other results, or leave --onto out"))
        .transpose()
}

/// Returns the results that a run completes: without `--onto` a run of some cells completes the results of its folder.
pub(super) fn of_part(read: &Read, out: &Folder, options: &PapersOptions) -> Result<Option<Results>, Failure> {
    let is_partial = !options.cells.is_empty() || !options.only.is_empty();
    let kept = out.path("results.json");
    if options.onto.is_none() && is_partial && kept.exists() {
        let remedy = "run all cells, without --cell and --only, or name another folder with --out";
        return fitting(read, &kept, options, remedy).map(Some);
    }
    onto(read, out, options)
}

/// Reads results, and checks that the runs of these options fit them.
fn fitting(
    Read { paper, claims, .. }: &Read,
    file: &Path,
    options: &PapersOptions,
    remedy: &str,
) -> Result<Results, Failure> {
    let stored = report::stored(&paper.id, file, remedy)?;
    let fit = stored.check_fit(paper, claims, profile(options));
    fit.map_err(|why| Failure::Papers(format!("{}: {why}; {remedy}", file.display())))?;
    Ok(stored)
}
