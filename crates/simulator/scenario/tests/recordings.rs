//! Packet captures as sources, and the parameters of the E-model.

use crate::common::{SMALL, capture};
use headway_media::Trace;
use headway_scenario::{EModelOptions, Files, Loaded, SpeechCodec, load};
use headway_units::{Bytes, Duration, MediaKind};

/// Files that all are a captured call over loopback, without its last `missing` bytes.
struct Call {
    missing: usize,
}

impl Files for Call {
    fn read(&self, _: &str, limit: u64) -> std::io::Result<Vec<u8>> {
        assert_eq!(limit, 64 << 20);
        let bytes = capture("ethernet");
        Ok(bytes[..bytes.len() - self.missing].to_vec())
    }
}

fn with(source: &str, missing: usize) -> Result<Loaded, String> {
    let udp = SMALL.replace("kind = \"tcp-newreno\", window = \"15packets\"", "kind = \"udp\"");
    let text = udp.replace("{ kind = \"ftp\" }", source);
    load("small.toml", &text, &[], &Call { missing }).map_err(|error| error.to_string())
}

const RULES: &str = r#"{ kind = "capture", file = "call.pcap", from = "127.0.0.1:5004", lifetime = "150ms", media = "video",
    kinds = [{ payload_type = 0, kind = "audio" }, { max_size = "100B", kind = "data" }] }"#;
/// Returns [`RULES`] on one line: inline tables of TOML before 1.1 have no line breaks.
fn rules() -> String {
    RULES.replace('\n', "")
}

#[test]
fn a_capture_is_a_source() {
    let loaded = with(&rules(), 0).unwrap();
    assert_eq!(loaded.warnings, []);
    let flow = &loaded.scenario.flows[0];
    let frames =
        |trace: &Trace| trace.frames().iter().map(|frame| (frame.bytes.count(), frame.kind)).collect::<Vec<_>>();
    let expected = [(172, MediaKind::Audio), (1000, MediaKind::Video), (8, MediaKind::Data)];
    assert_eq!(frames(flow.trace.as_ref().unwrap()), expected);
    assert_eq!(flow.source.lifetime(), Some(Duration::from_millis(150)));
    let again = load("resolved.toml", &loaded.resolved_toml, &[], &Call { missing: 0 }).unwrap();
    assert_eq!(again.scenario, loaded.scenario);
    assert_eq!(flow.source.largest_write(flow.trace.as_deref()).unwrap().payload(Bytes::new(0)), Bytes::new(1000));
}

#[test]
fn truncated_captures_and_unused_rules_have_warnings() {
    let rules = "{ kind = \"capture\", file = \"call.pcap\", from = \"127.0.0.1:5004\", kinds = [{ port = 9, kind = \"audio\" }] }";
    let messages: Vec<String> = with(rules, 5).unwrap().warnings.iter().map(ToString::to_string).collect();
    assert_eq!(messages.len(), 2);
    assert!(
        messages[0].starts_with(
            "small.toml:15:1: flow[0].source: \"call.pcap\": the file was cut within the record at byte 330; the 4 packets before it are used"
        ),
        "{}",
        messages[0]
    );
    assert!(messages[1].contains("flow[0].source: rule 1 of kinds decides for no datagram"), "{}", messages[1]);
}

#[test]
fn errors_of_a_capture_name_their_place() {
    let source = |keys: &str| format!("{{ kind = \"capture\", {keys} }}");
    for (source, missing, expected) in [
        (source("loop = true"), 0, "flow[0].source.file: a capture source needs file"),
        (
            source("file = \"call.pcap\""),
            0,
            "flow[0].source.from: choose one direction with from, to or both; \"call.pcap\" has 127.0.0.1:5004 > 127.0.0.1:5006 (3)",
        ),
        (
            source("file = \"call.pcap\", from = \"10.0.0.1\""),
            0,
            "flow[0].source.from: no datagram matches; \"call.pcap\" has 127.0.0.1:5004",
        ),
        (
            source("file = \"call.pcap\", from = \"localhost\""),
            0,
            "flow[0].source.from: \"localhost\" is not an address: write one such as 192.0.2.1, 192.0.2.1:5004",
        ),
        (
            source("file = \"call.pcap\", from = \"::1\", kinds = [{ kind = \"audio\" }]"),
            0,
            "flow[0].source.kinds: rule 1: no condition",
        ),
        (
            source("file = \"call.pcap\", from = \"::1\", kinds = [{ payload_typ = 0, kind = \"audio\" }]"),
            0,
            "unknown key \"payload_typ\"; did you mean \"payload_type\"?",
        ),
        (
            source("file = \"call.pcap\""),
            400,
            "flow[0].source.file: cannot read \"call.pcap\": byte 0: the file does not start like a capture",
        ),
        (source("file = \"call.pcap\", from = \"::1\", loop = true"), 0, "lasts no time and cannot be repeated"),
    ] {
        let error = with(&source, missing).unwrap_err();
        assert!(error.contains(expected), "{source}:\n{error}");
    }
}

#[test]
fn a_flow_has_a_codec_for_the_e_model() {
    let source = "{ kind = \"cbr\", interval = \"20ms\", payload = \"160B\", media = \"audio\", lifetime = \"150ms\" }";
    let of = |e_model: &str| with(&format!("{source}\ne_model = {e_model}"), 0);
    let loaded = with(source, 0).unwrap();
    assert_eq!(loaded.scenario.flows[0].e_model, EModelOptions::default());
    assert!(!loaded.resolved_toml.contains("e_model"));
    // Ie and Bpl of ITU-T G.113 appendix I.
    for (codec, is, ie, bpl) in [
        ("g711", SpeechCodec::G711, 0.0, 4.3),
        ("g711-plc", SpeechCodec::G711Plc, 0.0, 25.1),
        ("g729a-vad", SpeechCodec::G729aVad, 11.0, 19.0),
        ("g7231-vad", SpeechCodec::G7231Vad, 15.0, 16.1),
    ] {
        let loaded = of(&format!("{{ codec = \"{codec}\" }}")).unwrap();
        let model = loaded.scenario.flows[0].e_model;
        assert_eq!((model.codec, model.ie(), model.bpl()), (is, ie, bpl));
        assert_eq!((model.burst_ratio, model.codec_delay), (1.0, Duration::from_millis(20)));
    }
    let loaded = of("{ ie = 10, bpl = 20.5, burst_ratio = 2, codec_delay = \"25ms\" }").unwrap();
    let model = loaded.scenario.flows[0].e_model;
    assert_eq!((model.ie(), model.bpl(), model.burst_ratio), (10.0, 20.5, 2.0));
    assert_eq!(model.codec_delay, Duration::from_millis(25));
    let again = load("resolved.toml", &loaded.resolved_toml, &[], &Call { missing: 0 }).unwrap();
    assert_eq!(again.scenario, loaded.scenario);
    for (e_model, expected) in [
        ("{ codec = \"opus\" }", "flow[0].e_model.codec: unknown value \"opus\""),
        ("{ ie = 96 }", "flow[0].e_model.ie: 96 is out of range: from 0 to 95"),
        ("{ bpl = 0 }", "flow[0].e_model.bpl: 0 is out of range: from 1 to 100"),
        ("{ burst_ratio = 0.5 }", "flow[0].e_model.burst_ratio: 0.5 is out of range: from 1 to 100"),
        ("{ codec_delay = \"2s\" }", "flow[0].e_model.codec_delay: 2s is out of range: from 0s to 1s"),
        ("{ code = \"g711\" }", "unknown key \"code\"; did you mean \"codec\"?"),
    ] {
        let error = of(e_model).unwrap_err();
        assert!(error.contains(expected), "{e_model}:\n{error}");
    }
    let source = "{ kind = \"cbr\", interval = \"20ms\", payload = \"160B\", media = \"audio\" }\ne_model = { codec = \"g711\" }";
    let warning = with(source, 0).unwrap().warnings[0].to_string();
    assert!(warning.contains("flow[0].e_model: the E-model needs packets with a deadline"), "{warning}");
}
