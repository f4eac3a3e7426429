//! Transports with a rate controller, whose options are in the table `controller`.

use headway_rate::ControllerOptions;
use headway_scenario::{Loaded, NoFiles, Scenario, Transport};
use headway_units::{Bytes, Duration};

fn scenario(transport: &str) -> String {
    format!(
        r#"duration = "10s"
[[link]]
between = ["a", "b"]
rate = "2Mbps"
delay = "10ms"
[[flow]]
name = "call"
from = "a"
to = "b"
transport = {transport}
source = {{ kind = "ftp" }}
"#
    )
}

fn load(text: &str) -> Loaded {
    headway_scenario::load("test.toml", text, &[], &NoFiles).unwrap_or_else(|error| panic!("{error}"))
}

fn error(text: &str) -> String {
    headway_scenario::load("test.toml", text, &[], &NoFiles).unwrap_err().to_string()
}

fn agent(scenario: &Scenario) -> &headway_scenario::Controlled<headway_scenario::AgentOptions> {
    let Transport::Agent(agent) = &*scenario.flows[0].transport else { panic!("{:?}", scenario.flows[0].transport) };
    agent
}

#[test]
fn absent_keys_of_nested_tables_have_the_value_of_the_preset() {
    let loaded =
        load(&scenario(r#"{ kind = "tcp-like", header = "40B", controller = { expert = { initial_rto = "2s" } } }"#));
    let agent = agent(&loaded.scenario);
    assert_eq!((agent.carrier.header, agent.carrier.datagram), (Bytes::new(40), Bytes::new(1500)));
    let ControllerOptions::TcpLike(options) = &agent.controller else { panic!("{agent:?}") };
    assert_eq!(options.expert.initial_rto, Duration::from_secs(2));
    assert_eq!(options.expert.max_rto, Duration::from_secs(60));
}

/// TOML has no null: `false` removes an option of a preset, also in the resolved scenario.
#[test]
fn options_of_nested_tables_can_be_disabled() {
    let loaded = load(&scenario(r#"{ kind = "tcp-like", controller = { expert = { delayed_ack = false } } }"#));
    let ControllerOptions::TcpLike(options) = &agent(&loaded.scenario).controller else { panic!() };
    assert_eq!(options.expert.delayed_ack, None);
    assert!(loaded.resolved_toml.contains("delayed_ack = false"), "{}", loaded.resolved_toml);
    assert_eq!(load(&loaded.resolved_toml).scenario, loaded.scenario);
}

#[test]
fn errors_in_nested_tables_name_their_place() {
    for (transport, message) in [
        (
            r#"{ kind = "tcp-like", controller = { expert = { delayd_ack = "1s" } } }"#,
            r#"10:60: flow[0].transport.controller.expert: unknown key "delayd_ack"; did you mean "delayed_ack"?"#,
        ),
        (
            r#"{ kind = "tcp-like", controller = { expert = { delayed_ack = 7 } } }"#,
            r"10:74: flow[0].transport.controller.expert.delayed_ack: ",
        ),
        (
            r#"{ kind = "tcp-like", controller = { expert = { slow_start_packets = 0 } } }"#,
            r"10:81: flow[0].transport.controller.expert.slow_start_packets: 0 is out of range; expected 1 or more",
        ),
        (r#"{ kind = "tcp-like", controller = 7 }"#, r"10:47: flow[0].transport.controller: "),
        (r#"{ kind = "none" }"#, r#"unknown transport "none""#),
    ] {
        let text = error(&scenario(transport));
        assert!(text.contains(message), "{transport}\n{text}");
    }
}

#[test]
fn resend_needs_a_receiver_that_acknowledges_each_packet() {
    let text = |transport: &str, source: &str| {
        let queue = r#"send_queue = { kind = "sfdps2", resend = true }"#;
        let with_queue = format!("transport = {transport}\n{queue}");
        scenario(transport)
            .replace(&format!("transport = {transport}"), &with_queue)
            .replace(r#"{ kind = "ftp" }"#, &format!("{{ {source} }}"))
    };
    let cbr = r#"kind = "cbr", payload = "160B", interval = "20ms""#;
    for transport in [r#"{ kind = "tcp-like" }"#, r#"{ kind = "dccp", ccid = 2 }"#] {
        assert!(load(&text(transport, cbr)).scenario.flows[0].send_queue.rules.resend);
        let error = error(&text(transport, r#"kind = "ftp""#));
        assert!(
            error.starts_with("test.toml:11:42: flow[0].send_queue.resend: resend has no effect with an ftp source"),
            "{error}"
        );
    }
    for (transport, kind) in [
        (r#"{ kind = "tfrc" }"#, "tfrc"),
        (r#"{ kind = "tfrc-sp" }"#, "tfrc-sp"),
        (r#"{ kind = "dccp", ccid = 3 }"#, "tfrc"),
        (r#"{ kind = "dccp", ccid = 4 }"#, "tfrc-sp"),
    ] {
        let error = error(&text(transport, cbr));
        let sentence = format!(
            "test.toml:11:42: flow[0].send_queue.resend: resend needs a receiver that acknowledges each packet as in Ack \
             Vectors, and that of {kind} does not: write resend = false, or a transport tcp-like, rap, or dccp with ccid = 2 or 254"
        );
        assert!(error.starts_with(&sentence), "{error}");
    }
}

/// Keys without effect were accepted silently. The values differ from the presets, which a resolved scenario contains.
#[test]
fn keys_without_effect_are_errors_that_name_the_condition() {
    let spacing = |keys: &str| format!("{{ kind = \"spacing\", line_rate = \"1Gbps\", controller = {{ {keys} }} }}");
    let of = |kind: &str, keys: &str| format!("{{ kind = \"{kind}\", controller = {{ {keys} }} }}");
    for (transport, key, why) in [
        (
            of("udpm", "levels = 5, ladder = [\"64kbps\"]"),
            "controller.levels",
            "a ladder has all rates, so that levels has no effect",
        ),
        (
            of("udpm", "step = \"1kbps\", ladder = [\"64kbps\"]"),
            "controller.step",
            "a ladder has all rates, so that step has no effect",
        ),
        (
            of("udpm", "decide = \"packet\", interval = \"1s\""),
            "controller.interval",
            "no effect without decide = \"interval\"",
        ),
        (of("udpm", "round_trip = \"one-way\""), "controller.round_trip", "no effect without decide = \"round-trip\""),
        (spacing("step = \"1ms\""), "controller.step", "no effect without shorten = \"step\""),
        (spacing("factor = 0.9"), "controller.factor", "no effect without shorten = \"factor\""),
        (spacing("shorten = \"step\", packets = 2.0"), "controller.packets", "no effect without shorten = \"rate\""),
        (
            spacing("silence = 0, silence_is_one_loss = false"),
            "controller.silence_is_one_loss",
            "no effect without silence above 0",
        ),
        (
            of("tfrc", "discounting = false, expert = { discount_threshold = 0.5 }"),
            "controller.expert.discount_threshold",
            "no effect without discounting = true",
        ),
        (of("tfrc-sp", "tcp_tick = \"1ms\""), "controller.tcp_tick", "no effect without expert.t_rto = \"tcp\""),
        (
            "{ kind = \"spacing-equation\", line_rate = \"1Gbps\" }".to_owned(),
            "line_rate",
            "this controller does not use the line rate, so that line_rate has no effect",
        ),
        (
            "{ kind = \"dccp\", ccid = 3, connection = { line_rate = \"1Gbps\" } }".to_owned(),
            "connection.line_rate",
            "this controller does not use the line rate",
        ),
    ] {
        let error = error(&scenario(&transport));
        let (first, _) = error.split_once('\n').unwrap();
        assert!(first.contains(&format!("flow[0].transport.{key}: ")) && first.contains(why), "{transport}: {error}");
        assert_eq!(error.matches("test.toml:").count(), 1, "{error}");
    }
    // A resolved scenario contains the values of the preset.
    let ladder = load(&scenario(&of("udpm", "ladder = [\"64kbps\", \"1Mbps\"]")));
    assert!(ladder.resolved_toml.contains("levels = 10"), "{}", ladder.resolved_toml);
    assert_eq!(load(&ladder.resolved_toml).scenario, ladder.scenario);
    // With the condition, the key is allowed.
    load(&scenario(&spacing("shorten = \"step\", step = \"1ms\"")));
}
