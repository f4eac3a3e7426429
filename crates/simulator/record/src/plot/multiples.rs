//! Small multiples: several panels with the same axes, if one panel cannot show all lines by name.

use super::curves::{Curve, Grouping, MAX_LINES, Names, Trace, reduce};

/// Maximum number of panels.
pub(super) const MAX_MULTIPLES: usize = 6;

/// A curve, and how it is named if there are several panels.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) curve: Curve,
    /// Title of its panel: its run, without the seed.
    pub(super) panel: String,
    /// Names without the run, for a panel of it.
    pub(super) in_panel: Names,
}

/// Title, lines and grouping of each panel.
pub(super) type Panels = Vec<(String, Vec<Trace>, Grouping)>;

/// Returns one panel if it shows the lines by name, or bands of the flows of one name. Otherwise returns a panel for each
/// run, or for each eight lines of a single run; or one panel of coarser bands if these panels are too many.
pub(super) fn panels(members: Vec<Member>) -> Panels {
    let of_all = Grouping::of(members.len(), members.iter().map(|member| member.curve.names()));
    let parts = if of_all.has_names() { vec![(String::new(), members)] } else { parts(members) };
    let has_names = |part: &[Member]| Grouping::of(part.len(), part.iter().map(|member| &member.in_panel)).has_names();
    if (2..=MAX_MULTIPLES).contains(&parts.len()) && parts.iter().all(|(_, part)| has_names(part)) {
        let panel = |(title, part): (String, Vec<Member>)| {
            let curves = part.into_iter().map(|member| member.curve.with_names(member.in_panel));
            let (traces, grouping) = reduce(curves.collect());
            (title, traces, grouping)
        };
        return parts.into_iter().map(panel).collect();
    }
    let (traces, grouping) = reduce(parts.into_iter().flat_map(|(_, part)| part).map(|member| member.curve).collect());
    vec![(String::new(), traces, grouping)]
}

/// Returns the title and the members of each panel: those of a run, or without a title eight of a single run.
fn parts(members: Vec<Member>) -> Vec<(String, Vec<Member>)> {
    let is_one_run = members.iter().all(|member| member.panel == members[0].panel);
    let mut parts: Vec<(String, Vec<Member>)> = Vec::new();
    for (number, member) in members.into_iter().enumerate() {
        let known = match is_one_run {
            true => parts.get_mut(number / MAX_LINES),
            false => parts.iter_mut().find(|(title, _)| *title == member.panel),
        };
        match known {
            Some((_, part)) => part.push(member),
            None => parts.push((if is_one_run { String::new() } else { member.panel.clone() }, vec![member])),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Instant;

    fn member(run: &str, flow: &str) -> Member {
        let names = |label: String, coarse: &str| {
            let (of_run, of_seeds, coarse) = (label.clone(), label.clone(), coarse.to_owned());
            Names { label, of_run, of_seeds, coarse }
        };
        let curve = Curve::new(names(format!("{run}: {flow}"), run), &[(Instant::ZERO, 1.0)]).unwrap();
        Member { curve, panel: run.to_owned(), in_panel: names(flow.to_owned(), "all") }
    }

    fn shown(members: Vec<Member>) -> Vec<(String, Vec<String>)> {
        let labels = |traces: Vec<Trace>| traces.iter().map(|trace| trace.label().to_owned()).collect();
        panels(members).into_iter().map(|(title, traces, _)| (title, labels(traces))).collect()
    }

    #[test]
    fn few_lines_share_a_panel() {
        let members = ["a", "b"].iter().flat_map(|run| (0..4).map(|n| member(run, &format!("f{n}")))).collect();
        let panels = shown(members);
        assert_eq!((panels.len(), panels[0].1.len()), (1, 8));
    }

    #[test]
    fn many_lines_have_a_panel_for_each_run() {
        let flows = ["audio", "video", "web"];
        let members = ["a", "b", "c"].iter().flat_map(|run| flows.map(|flow| member(run, flow))).collect();
        let panels = shown(members);
        assert_eq!(panels.iter().map(|(title, _)| title.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
        assert!(panels.iter().all(|(_, labels)| *labels == flows), "{panels:?}");
    }

    #[test]
    fn many_lines_of_one_run_have_panels_of_eight() {
        let letters = ('a'..='l').map(|letter| member("", &letter.to_string())).collect();
        let lines: Vec<usize> = shown(letters).iter().map(|(_, labels)| labels.len()).collect();
        assert_eq!(lines, [8, 4]);
    }

    /// Seven runs with two flows each.
    #[test]
    fn too_many_panels_are_one_of_bands() {
        let runs = ["a", "b", "c", "d", "e", "f", "g"];
        let panels = shown(runs.iter().flat_map(|run| ["x", "y"].map(|flow| member(run, flow))).collect());
        assert_eq!((panels.len(), panels[0].1.len()), (1, 7));
        assert_eq!(panels[0].1[0], "a (mean of 2)");
    }
}
