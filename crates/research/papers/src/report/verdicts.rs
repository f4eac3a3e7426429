//! Symbols of verdicts. Each verdict has a distinct shape, so that verdicts can be distinguished without color.

use super::html::Escaped;
use crate::results::Results;
use crate::verdict::Verdict;
use std::fmt::Write;

/// Returns the name of a verdict in style classes and symbol IDs.
fn short(verdict: Verdict) -> String {
    verdict.name().replace(' ', "-")
}

pub(super) fn meaning(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "every check holds: the whole 95 % interval lies inside the tolerance",
        Verdict::Trend => "the sign or the order holds, but not the number",
        Verdict::Explained => "the claim contradicts the paper or physics, and the runs show the contradiction",
        Verdict::Tested => "a definition that tests cover, or an input that is read back",
        Verdict::NotReproduced => "a check fails; the reason has the difference",
        Verdict::NotMeasurable => "the paper states too little, or the claim is outside the scope of the runs",
        Verdict::NotRun => "cells are missing, or have too few runs",
    }
}

/// Returns the shape in a box of 16: a disc, a triangle, a diamond, a square, a cross, a ring or a bar.
fn shape(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "<circle cx=\"8\" cy=\"8\" r=\"6\"/>",
        Verdict::Trend => "<path d=\"M8 1.5 15 14H1z\"/>",
        Verdict::Explained => "<path d=\"M8 1l7 7-7 7-7-7z\"/>",
        Verdict::Tested => "<path d=\"M2.5 2.5h11v11h-11z\"/>",
        Verdict::NotReproduced => "<path d=\"M3 3l10 10M13 3 3 13\" class=\"stroke\"/>",
        Verdict::NotMeasurable => "<circle cx=\"8\" cy=\"8\" r=\"5\" class=\"stroke\"/>",
        Verdict::NotRun => "<path d=\"M2 8h12\" class=\"stroke\"/>",
    }
}

pub(super) fn shapes() -> String {
    let mut text = "<svg class=\"shapes\" width=\"0\" height=\"0\" aria-hidden=\"true\">".to_owned();
    for verdict in Verdict::ALL {
        let _ = write!(text, "<symbol id=\"v-{}\" viewBox=\"0 0 16 16\">{}</symbol>", short(verdict), shape(verdict));
    }
    text + "</svg>\n"
}

/// Returns the symbol without its name.
pub(super) fn mark(verdict: Verdict) -> String {
    let short = short(verdict);
    format!(
        "<svg class=\"mark {short}\" width=\"14\" height=\"14\" role=\"img\" aria-label=\"{verdict}\"><title>{verdict}</title>\
         <use href=\"#v-{short}\"/></svg>"
    )
}

/// Returns the symbol with its name.
pub(super) fn badge(verdict: Verdict) -> String {
    format!("<span class=\"badge\">{} {verdict}</span>", mark(verdict))
}

/// Draws a bar chart of the number of claims with each verdict.
pub(super) fn scorecard(results: &Results) -> String {
    const ROW: usize = 22;
    const LEFT: f64 = 145.0;
    const WIDTH: f64 = 430.0;
    let counts = results.counts();
    let some: Vec<(Verdict, usize)> = Verdict::ALL
        .into_iter()
        .map(|verdict| (verdict, counts[verdict.name()]))
        .filter(|(_, count)| *count > 0)
        .collect();
    let most = some.iter().map(|(_, count)| *count).max().unwrap_or(1);
    let labels: Vec<String> = some.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
    let mut text = format!(
        "<svg class=\"score\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">",
        LEFT + WIDTH + 50.0,
        ROW * some.len(),
        Escaped(&labels.join(", "))
    );
    for (row, (verdict, count)) in some.into_iter().enumerate() {
        let (top, short) = (row * ROW, short(verdict));
        let length = WIDTH * count as f64 / most as f64;
        let _ = write!(
            text,
            "<g class=\"{short}\" data-verdict=\"{verdict}\" data-count=\"{count}\"><use href=\"#v-{short}\" x=\"0\" y=\"{}\" width=\"14\" \
             height=\"14\"/><text x=\"22\" y=\"{}\">{verdict}</text><rect x=\"{LEFT}\" y=\"{}\" width=\"{length:.1}\" height=\"14\" rx=\"2\"/>\
             <text x=\"{:.1}\" y=\"{}\">{count}</text></g>",
            top + 4,
            top + 16,
            top + 4,
            LEFT + length + 8.0,
            top + 16,
        );
    }
    text + "</svg>\n"
}
