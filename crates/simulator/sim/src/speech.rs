//! Speech quality of a flow.

use headway_record::{EModel, FlowSummary, mos};
use headway_units::MediaKind;

/// Sets `r_factor` and `mos` of a flow whose audio has a lifetime; leaves those of other flows unchanged.
///
/// The receiver plays each packet at its deadline: the mouth-to-ear delay is the lifetime plus the codec delay.
/// Packets that miss their deadline count as lost, whether lost in the network, late, or never sent.
pub fn rate_speech(summary: &mut FlowSummary, flow: &headway_scenario::Flow) {
    let on_time = summary.on_time_ratio.get(&MediaKind::Audio);
    let Some((on_time, lifetime)) = on_time.zip(flow.source.lifetime()) else { return };
    let options = &flow.e_model;
    let model = EModel { ie: options.ie(), bpl: options.bpl(), burst_ratio: options.burst_ratio };
    let r = model.r_factor(lifetime + options.codec_delay, 1.0 - on_time);
    (summary.r_factor, summary.mos) = (Some(r), Some(mos(r)));
}
