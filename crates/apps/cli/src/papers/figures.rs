//! `headway papers figures`: draws figures that need no simulation.

use super::Read;
use crate::error::Failure;
use crate::output;
use headway_papers::{PAPERS, drawings};
use headway_run::{Folder, folder_name};
use std::path::Path;

/// Writes the drawings of these papers, or of all papers if `ids` is empty, to `OUT/ID/drawings`.
pub(super) fn write(ids: &[String], out: Option<&Path>) -> Result<(), Failure> {
    let papers = match ids {
        [] => PAPERS.iter().map(Read::new).collect::<Result<Vec<_>, _>>()?,
        ids => ids.iter().map(|id| Read::find(id)).collect::<Result<Vec<_>, _>>()?,
    };
    for Read { name, paper, .. } in &papers {
        let figures = drawings(paper).map_err(|error| Failure::Papers(format!("{name}: {error}")))?;
        if figures.is_empty() {
            output::text(&format!("{}: all figures need runs; use headway papers run {name}", paper.id))?;
            continue;
        }
        let place = out.unwrap_or(Path::new("out/papers")).join(folder_name(&paper.id));
        let folder = Folder::named(&place).below("drawings")?;
        let _lock = folder.claim_for_pictures()?;
        for figure in figures {
            let file = format!("{}.svg", figure.name);
            folder.write(&file, figure.svg.as_bytes())?;
            output::text(&format!("{}: {}", folder.0.join(&file).display(), figure.title))?;
        }
    }
    Ok(())
}
