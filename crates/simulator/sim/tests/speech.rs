//! E-model rating of simulated speech.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use headway_record::FlowSummary;

/// Runs a call of 1000 packets, one every 20 ms, over a link of 10 ms.
fn call(source: &str, loss: &str, more: &str) -> FlowSummary {
    let scenario = common::scenario(&format!(
        r#"duration = "21s"
[[link]]
between = ["a", "b"]
rate = "10Mbps"
delay = "10ms"
{loss}
[[flow]]
name = "call"
from = "a"
to = "b"
transport = {{ kind = "udp" }}
source = {{ kind = "cbr", interval = "20ms", payload = "160B", packets = 1000, {source} }}
{more}
"#
    ));
    common::run(&scenario, ()).summary.flows.remove(0)
}

/// Rows of `media_vectors.py`, an independent program for ITU-T G.107: R and MOS for a mouth-to-ear delay (lifetime
/// plus 20 ms of codec) and a loss ratio.
#[test]
fn speech_is_rated_at_its_play_out_delay_and_loss() {
    for (lifetime, period, e_model, r, mos) in [
        ("30ms", None, "", 93.2, 4.409_285_8),
        ("130ms", Some(100), "", 89.396_622_1, 4.323_938_4),
        ("130ms", Some(100), "e_model = { codec = \"g711\" }", 75.111_940_5, 3.826_668_7),
        ("230ms", Some(20), "e_model = { codec = \"g729a-vad\" }", 55.783_290_2, 2.879_610_0),
        ("380ms", Some(10), "e_model = { codec = \"g7231-vad\" }", 23.478_569_8, 1.362_445_6),
    ] {
        let source = format!("media = \"audio\", lifetime = \"{lifetime}\"");
        let lost = |period| (0..1000).step_by(period).map(|packet| packet.to_string()).collect::<Vec<_>>().join(", ");
        let loss = |period| format!("loss = {{ kind = \"list\", packets = [{}] }}", lost(period));
        let loss = period.map_or(String::new(), loss);
        let flow = call(&source, &loss, e_model);
        let (found_r, found_mos) = (flow.r_factor.unwrap(), flow.mos.unwrap());
        assert!(
            (found_r - r).abs() < 5e-7 && (found_mos - mos).abs() < 5e-7,
            "{lifetime} {e_model}: {found_r} {found_mos}"
        );
    }
}

/// A packet that misses its play-out time is useless: here all of them, since the lifetime is below the path delay.
/// Ppl is 100, so that R = 93.2 - 95 * 100 / (100 + 25.1).
#[test]
fn late_speech_counts_as_lost() {
    let flow = call("media = \"audio\", lifetime = \"9ms\"", "", "");
    let r = flow.r_factor.unwrap();
    assert!(flow.loss_ratio == 0.0 && (r - (93.2 - 9500.0 / 125.1)).abs() < 1e-9, "{r}");
}

#[test]
fn without_a_play_out_time_or_without_audio_there_is_no_rating() {
    for source in ["media = \"audio\"", "media = \"video\", lifetime = \"100ms\""] {
        let flow = call(source, "", "");
        assert_eq!((flow.r_factor, flow.mos), (None, None), "{source}");
    }
}
