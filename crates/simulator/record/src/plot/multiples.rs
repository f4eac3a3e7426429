//! Small multiples: several panels with the same axes, if one panel cannot show all lines by name.

use super::curves::{Curve, Grouping, MAX_LINES, Trace, reduce};

/// Maximum number of panels.
const MAX_MULTIPLES: usize = 6;

/// A curve with the title of the panel in which it is drawn if there are several.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// Its run, without the seed.
    pub(super) panel: String,
    /// With the label of the run.
    pub(super) curve: Curve,
    /// Without the label of the run, for a panel of it.
    pub(super) in_panel: Curve,
}

/// Title, lines and grouping of each panel.
pub(super) type Panels = Vec<(String, Vec<Trace>, Grouping)>;

/// Returns one panel if it shows the lines by name, or bands of the flows of one name. Otherwise returns a panel for each
/// run, or for each eight lines of a single run; or one panel of coarser bands if these panels are too many.
pub(super) fn panels(members: Vec<Member>) -> Panels {
    let (traces, grouping) = reduce(members.iter().map(|member| member.curve.clone()).collect());
    let mut of_runs: Vec<(String, Vec<Curve>)> = Vec::new();
    if matches!(grouping, Grouping::Coarse | Grouping::All) {
        for Member { panel, in_panel, .. } in members {
            match of_runs.iter_mut().find(|(known, _)| *known == panel) {
                Some((_, curves)) => curves.push(in_panel),
                None => of_runs.push((panel, vec![in_panel])),
            }
        }
    }
    let multiples: Panels = match &mut of_runs[..] {
        [] => Vec::new(),
        [(_, curves)] => {
            let parts = curves.chunks(MAX_LINES).map(|part| reduce(part.to_vec()));
            parts.map(|(traces, grouping)| (String::new(), traces, grouping)).collect()
        }
        _ => {
            let parts = of_runs.into_iter().map(|(title, curves)| (title, reduce(curves)));
            parts.map(|(title, (traces, grouping))| (title, traces, grouping)).collect()
        }
    };
    let are_named = multiples.iter().all(|(.., grouping)| !matches!(grouping, Grouping::Coarse | Grouping::All));
    if (2..=MAX_MULTIPLES).contains(&multiples.len()) && are_named {
        return multiples;
    }
    vec![(String::new(), traces, grouping)]
}

#[cfg(test)]
mod tests {
    use super::super::curves::Names;
    use super::*;
    use headway_units::Instant;

    fn member(run: &str, flow: &str) -> Member {
        let curve = |prefix: &str| {
            let label = format!("{prefix}{flow}");
            let coarse = if prefix.is_empty() { "all" } else { run };
            let names =
                Names { label: label.clone(), of_run: label.clone(), of_seeds: label, coarse: coarse.to_owned() };
            Curve::new(names, &[(Instant::ZERO, 1.0)]).unwrap()
        };
        Member { panel: run.to_owned(), curve: curve(&format!("{run}: ")), in_panel: curve("") }
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
