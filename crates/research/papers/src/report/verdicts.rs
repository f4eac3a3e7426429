//! Verdicts as they are drawn: each has a shape of its own, its colour is only added.

use super::html::Escaped;
use crate::results::Results;
use crate::verdict::Verdict;
use std::fmt::Write;

/// What stands for a verdict in names of styles and shapes.
fn short(verdict: Verdict) -> String {
    verdict.name().replace(' ', "-")
}

/// What it means, in few words.
pub(super) fn meaning(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "every check holds: the whole 95 % interval lies inside the tolerance",
        Verdict::Trend => "the number does not hold, its sign or order does",
        Verdict::Explained => "it contradicts itself or physics, and the runs show how",
        Verdict::Tested => "a definition that tests hold, or a setting that is read back",
        Verdict::NotReproduced => "some check fails; the reason tells by how much",
        Verdict::NotMeasurable => "the paper says too little, or quotes what no run here could show",
        Verdict::NotRun => "cells are missing, or have too few runs",
    }
}

/// A filled circle, a triangle, a diamond, a square, a cross, a ring, a bar: in a box of 16.
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

/// The shapes, once a page.
pub(super) fn shapes() -> String {
    let mut text = "<svg class=\"shapes\" width=\"0\" height=\"0\" aria-hidden=\"true\">".to_owned();
    for verdict in Verdict::ALL {
        let _ = write!(text, "<symbol id=\"v-{}\" viewBox=\"0 0 16 16\">{}</symbol>", short(verdict), shape(verdict));
    }
    text + "</svg>\n"
}

/// The shape alone, where its name stands beside it or in the line.
pub(super) fn mark(verdict: Verdict) -> String {
    let short = short(verdict);
    format!(
        "<svg class=\"mark {short}\" width=\"14\" height=\"14\" role=\"img\" aria-label=\"{verdict}\"><title>{verdict}</title>\
         <use href=\"#v-{short}\"/></svg>"
    )
}

/// The shape with its name.
pub(super) fn badge(verdict: Verdict) -> String {
    format!("<span class=\"badge\">{} {verdict}</span>", mark(verdict))
}

/// A bar for each verdict that a claim has, as long as there are many.
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
    let told: Vec<String> = some.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
    let mut text = format!(
        "<svg class=\"score\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">",
        LEFT + WIDTH + 50.0,
        ROW * some.len(),
        Escaped(&told.join(", "))
    );
    for (row, (verdict, count)) in some.into_iter().enumerate() {
        let (top, short) = (row * ROW, short(verdict));
        let long = WIDTH * count as f64 / most as f64;
        let _ = write!(
            text,
            "<g class=\"{short}\" data-verdict=\"{verdict}\" data-count=\"{count}\"><use href=\"#v-{short}\" x=\"0\" y=\"{}\" width=\"14\" \
             height=\"14\"/><text x=\"22\" y=\"{}\">{verdict}</text><rect x=\"{LEFT}\" y=\"{}\" width=\"{long:.1}\" height=\"14\" rx=\"2\"/>\
             <text x=\"{:.1}\" y=\"{}\">{count}</text></g>",
            top + 4,
            top + 16,
            top + 4,
            LEFT + long + 8.0,
            top + 16,
        );
    }
    text + "</svg>\n"
}
