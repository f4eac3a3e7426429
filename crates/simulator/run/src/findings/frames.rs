//! Video frames that arrived incomplete or late.

use super::evidence::Evidence;
use super::{Finding, Severity, count, one_per_cause};
use headway_units::MediaKind;

/// Minimum part of a kind's frames that arrive complete and on time. Viewers notice when 5 % of frames freeze.
const MIN_COMPLETE: f64 = 0.95;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let measured = evidence.summary.interval;
    let mut found = Vec::new();
    for flow in &evidence.summary.flows {
        let pictures = |kind: &MediaKind| !matches!(kind, MediaKind::Data | MediaKind::Audio);
        for (kind, frames) in flow.frames.iter().filter(|(kind, _)| pictures(kind)) {
            let (in_time, arrived) = match frames.on_time_frames {
                Some(frames) => (frames, "arrived whole and on time"),
                None => (frames.complete_frames, "arrived whole"),
            };
            if frames.written_frames > 0 && (in_time as f64) < MIN_COMPLETE * frames.written_frames as f64 {
                let missing = 1.0 - in_time as f64 / frames.written_frames as f64;
                let finding = Finding {
                    time_from_s: measured.from,
                    time_to_s: measured.to,
                    severity: Severity::Problem,
                    subject: flow.name.clone(),
                    text: format!(
                        "{}: only {in_time} of {} of {kind} {arrived}",
                        flow.name,
                        count(frames.written_frames, "frame")
                    ),
                };
                found.push((*kind, missing, finding));
            }
        }
    }
    one_per_cause(found, "more flow")
}
