//! The replication report: all papers as one page that needs nothing else, to read, to print, to send.
//!
//! Every number in it is of [`Results`], of [`Reference`] or of the claims; nothing is computed here.

mod claim;
mod command;
mod html;
mod item;
mod paper;
mod picture;
mod table;
mod verdicts;

pub(crate) use command::quoted;
pub(crate) use item::Item;

use crate::claims::Claims;
use crate::pattern::PatternError;
use crate::reference::Reference;
use crate::results::Results;
use crate::verdict::Verdict;
use headway_record::plot::PlotError;
use headway_units::counted;
use std::fmt::Write;

/// A paper to report on.
#[derive(Clone, Copy, Debug)]
pub struct Reported<'a> {
    /// What commands call it: its ID, or its folder.
    pub name: &'a str,
    /// What it says.
    pub claims: &'a Claims,
    /// What ns-2 gave.
    pub ns2: &'a Reference,
    /// What its runs gave.
    pub results: &'a Results,
    /// The file that the results are from.
    pub from: &'a str,
}

/// The report could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A pattern is wrong, which reading the claims has excluded.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A picture could not be drawn.
    #[error(transparent)]
    Plot(#[from] PlotError),
}

/// Nothing runs, nothing is loaded, nothing is sent; styles are those of the page itself.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The whole page as HTML.
///
/// # Errors
/// [`ReportError`], which no input is known to cause.
pub fn report(papers: &[Reported<'_>]) -> Result<String, ReportError> {
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

/// Which papers, how many claims have which verdict, and what verdicts mean.
fn overview(page: &mut String, papers: &[Reported<'_>]) {
    let claims: usize = papers.iter().map(|paper| paper.results.claims.len()).sum();
    let _ = writeln!(
        page,
        "<header><h1>Replication report</h1>\n<p>What {} figure by figure and claim by claim, and what comes of it in Headway {}: {}. The paper's numbers, ns-2's and Headway's stand beside one another. Under each picture are its numbers, and the command that runs \
         it again.</p>",
        if papers.len() == 1 { "1 paper claims,".to_owned() } else { format!("{} papers claim,", papers.len()) },
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
        "</dl>\n<p class=\"note\">A claim is derivable (it follows from what the paper says), needs-assumption (on a parameter that the paper does not \
         say) or contradictory (to physics or to the paper itself). It is fitted if a parameter was chosen by the paper's results and it does not hold without that choice. \
         Intervals are of 95 % (Student).</p></header>\n",
    );
}
