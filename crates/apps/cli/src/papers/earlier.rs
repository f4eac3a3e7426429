//! Stored results that are merged with the results of a partial run. They are checked before the first run.

use super::{Read, profile, report};
use crate::arguments::PapersOptions;
use crate::error::Failure;
use headway_papers::Results;
use headway_run::Folder;
use std::path::Path;

/// Returns the results of `--merge`.
pub(super) fn merged(read: &Read, _: &Folder, options: &PapersOptions) -> Result<Option<Results>, Failure> {
    options.merge.as_ref().map(|file| fitting(read, file, options, "set other results, or remove --merge")).transpose()
}

/// Returns the results of `--merge`, or for a run of some cells those in its folder.
pub(super) fn of_part(read: &Read, out: &Folder, options: &PapersOptions) -> Result<Option<Results>, Failure> {
    let is_partial = !options.cells.is_empty() || !options.only.is_empty();
    let stored = out.path("results.json");
    if options.merge.is_none() && is_partial && stored.exists() {
        let remedy = "run all cells, without --cell and --only, or set another folder with --out";
        return fitting(read, &stored, options, remedy).map(Some);
    }
    merged(read, out, options)
}

/// Reads results and checks that they can be merged with runs of these options.
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
