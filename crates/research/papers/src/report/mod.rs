//! The replication report: one self-contained HTML page for all papers. Every number in it is from [`Results`],
//! [`Reference`] or the claims; nothing is computed here.

mod claim;
mod command;
mod html;
mod item;
mod paper;
mod picture;
mod table;
mod verdicts;

pub(crate) use command::quoted;
pub use html::Escaped;
pub(crate) use item::Item;

use crate::claims::Claims;
use crate::pattern::PatternError;
use crate::reference::Reference;
use crate::results::Results;
use crate::verdict::Verdict;
use headway_record::plot::PlotError;
use headway_units::counted;
use std::fmt::Write;

/// A paper with its results, as input of [`report()`].
#[derive(Clone, Copy, Debug)]
pub struct ReportedPaper<'a> {
    /// Name of the paper in commands: its ID, or its folder.
    pub name: &'a str,
    /// Claims of the paper, with its cells, tables and figures.
    pub claims: &'a Claims,
    /// Means of ns-2 for the same experiments.
    pub ns2: &'a Reference,
    /// Results of the runs.
    pub results: &'a Results,
    /// Source of the results as shown on the page, such as the path of `results.json`.
    pub from: &'a str,
}

/// Error while making the report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A pattern is invalid, which parsing of the claims excludes.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A picture could not be drawn.
    #[error(transparent)]
    Plot(#[from] PlotError),
}

/// Content security policy: no scripts, no resources, no forms; only styles in the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Returns the replication report of these papers as one HTML page.
///
/// # Errors
/// [`ReportError`]; no input is known to cause one.
pub fn report(papers: &[ReportedPaper<'_>]) -> Result<String, ReportError> {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Headway: replication report</title>\n<style>\n{}</style></head>\n<body>\n{}",
        include_str!("style.css"),
        verdicts::shapes()
    );
    overview(&mut page, papers);
    page.push_str("<main>\n");
    for paper in papers {
        page.push_str(&paper::section(paper)?);
    }
    page.push_str("</main>\n</body></html>\n");
    Ok(page)
}

/// Adds the overview: papers, counts of verdicts, and the meaning of verdicts.
fn overview(page: &mut String, papers: &[ReportedPaper<'_>]) {
    let claims: usize = papers.iter().map(|paper| paper.results.claims.len()).sum();
    let _ = writeln!(
        page,
        "<header><h1>Replication report</h1>\n<p>{}, replicated figure by figure and claim by claim with Headway {}: {}. The numbers of the paper, of ns-2 and of Headway are shown \
         side by side. Below each picture are its numbers and the command that runs it again.</p>",
        counted(papers.len() as u64, "paper"),
        env!("CARGO_PKG_VERSION"),
        counted(claims as u64, "claim")
    );
    page.push_str("<nav class=\"wide\"><table class=\"overview\"><thead><tr><th>paper<th>claims");
    for verdict in Verdict::ALL {
        let _ = write!(page, "<th>{verdict}");
    }
    page.push_str("<tbody>\n");
    papers.iter().for_each(|paper| page.push_str(&paper::row(paper)));
    page.push_str("</table></nav>\n<dl class=\"verdicts\">");
    for verdict in Verdict::ALL {
        let _ = write!(page, "<dt>{}<dd>{}", verdicts::badge(verdict), verdicts::meaning(verdict));
    }
    page.push_str(
        "</dl>\n<p class=\"note\">A claim is derivable (it follows from what the paper states), needs-assumption (it depends on a parameter that the paper does not \
         state) or contradictory (to physics or to the paper itself). It is fitted if a parameter was fitted to the paper's results and the claim depends on \
         that choice. Intervals are 95 % (Student).</p></header>\n",
    );
}
