//! A claim in the report: statement, verdict, reason and command.

use super::command;
use super::html::{Escaped, anchor};
use super::picture::numbers;
use super::verdicts::badge;
use crate::claim::Claim;
use crate::claims::Claims;
use crate::number::shortest;
use crate::tables::two_digits;
use crate::verdict::JudgedClaim;
use headway_record::plot::PlotError;
use std::fmt::Write;

/// Returns the article on a claim. `is_drawn` adds a picture of its numbers.
pub(super) fn claim(
    judged: &JudgedClaim,
    claims: &Claims,
    (paper, profile): (&str, &str),
    is_drawn: bool,
) -> Result<String, PlotError> {
    let place = anchor(&judged.id);
    let mut text = format!(
        "<article class=\"claim\" id=\"{place}\"><h5><a href=\"#{place}\">{}</a> {}<small>{}{}, {}</small></h5>\n<blockquote>{}</blockquote>\n",
        Escaped(&judged.id),
        badge(judged.verdict),
        if judged.place.is_empty() { String::new() } else { format!("{}; ", Escaped(&judged.place)) },
        judged.class.name(),
        if judged.fitted { "fitted" } else { "not fitted" },
        Escaped(&judged.statement),
    );
    let mut drawn = Vec::new();
    let mut row = String::new();
    for (of, source, value, ci95) in [
        ("paper", "paper", judged.paper_value, None),
        ("ns2", "ns-2.35", judged.ns2_value, None),
        ("headway", "Headway", judged.value, judged.ci95),
    ] {
        let Some(value) = value else { continue };
        drawn.push((source, value, ci95.unwrap_or(0.0)));
        let _ = write!(
            row,
            "<dt>{source}<dd data-claim=\"{}\" data-of=\"{of}\" data-value=\"{value}\"",
            Escaped(&judged.id)
        );
        let _ = match ci95 {
            Some(ci95) => write!(row, " data-ci95=\"{ci95}\">{} ± {}", shortest(value), two_digits(ci95)),
            None => write!(row, ">{}", shortest(value)),
        };
    }
    if !row.is_empty() {
        let _ = writeln!(text, "<dl>{row}</dl>");
    }
    let of = claims.claims.iter().find(|claim| claim.id == judged.id);
    if is_drawn && of.is_none_or(Claim::compares) && judged.paper_value.is_some() && judged.value.is_some() {
        text.push_str(&numbers(&judged.id, &drawn)?);
    }
    if !judged.reason.is_empty() {
        let _ = writeln!(text, "<p>{}</p>", Escaped(&judged.reason));
    }
    if !judged.readings.is_empty() {
        let _ =
            writeln!(text, "<p>Reading \"{}\": {}.</p><ul class=\"links\">", Escaped(&judged.reading), judged.verdict);
        for under in &judged.readings {
            let _ = writeln!(
                text,
                "<li>{} Reading \"{}\": {}.{}</li>",
                super::verdicts::mark(under.verdict),
                Escaped(&under.reading),
                under.verdict,
                Escaped(&under.spaced_additional())
            );
        }
        text.push_str("</ul>\n");
    }
    if let Some(claim) = of {
        for line in command::of_claim(paper, profile, claim) {
            let _ = writeln!(text, "<p><code>{}</code></p>", Escaped(&line));
        }
    }
    text.push_str("</article>\n");
    Ok(text)
}

pub(super) fn link(judged: &JudgedClaim) -> String {
    format!(
        "<li>{} <a href=\"#{}\">{}</a> {}</li>\n",
        super::verdicts::mark(judged.verdict),
        anchor(&judged.id),
        Escaped(&judged.id),
        Escaped(&judged.statement)
    )
}

/// Draws the verdicts of claims, for a figure that has no numbers.
pub(super) fn strip(judged: &[&JudgedClaim]) -> String {
    const ROW: usize = 24;
    let verdicts: Vec<String> = judged.iter().map(|judged| format!("{} is {}", judged.id, judged.verdict)).collect();
    let mut text = format!(
        "<svg class=\"strip\" viewBox=\"0 0 640 {}\" role=\"img\" aria-label=\"{}\">",
        ROW * judged.len().max(1),
        Escaped(&verdicts.join(", "))
    );
    for (row, judged) in judged.iter().enumerate() {
        let short = judged.verdict.name().replace(' ', "-");
        let (top, base) = (row * ROW + 5, row * ROW + 17);
        let _ = write!(
            text,
            "<g class=\"{short}\"><use href=\"#v-{short}\" x=\"0\" y=\"{top}\" width=\"14\" height=\"14\"/><text x=\"22\" y=\"{base}\">{}</text>\
             <text x=\"320\" y=\"{base}\">{}{}</text></g>",
            Escaped(&judged.id),
            judged.verdict,
            judged.value.map_or(String::new(), |value| format!(", {}", shortest(value))),
        );
    }
    text + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mark and the words of a verdict are in the row of its claim, one row below the other.
    #[test]
    fn each_verdict_of_a_strip_has_its_row() {
        let judged = |id: &str| -> JudgedClaim {
            serde_json::from_value(serde_json::json!({
                "id": id, "paper": "p", "class": "derivable", "kind": "number", "where": "1", "statement": "s",
                "verdict": "reproduced", "paper_value": null, "ns2_value": null, "value": null, "ci95": null, "runs": 10,
                "fitted": false, "reason": "", "checks": [],
            }))
            .unwrap()
        };
        let all = ["a", "b", "c"].map(judged);
        let svg = strip(&all.each_ref());
        let places = |attributes: &str| -> Vec<f64> {
            let found = svg.split(attributes).skip(1);
            found.map(|rest| rest.split_once('"').unwrap().0.parse().unwrap()).collect()
        };
        assert_eq!(places(" x=\"0\" y=\""), [5.0, 29.0, 53.0], "{svg}");
        for texts in [" x=\"22\" y=\"", " x=\"320\" y=\""] {
            assert_eq!(places(texts), [17.0, 41.0, 65.0], "{svg}");
        }
        assert!(svg.contains("viewBox=\"0 0 640 72\""), "{svg}");
    }
}
