//! Expressions over records, through the public functions. `docs/src/sweeps.md` describes them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use headway_record::{
    Expression, ExpressionError, ExpressionFault, FlowLabel, FlowMeter, Interval, Measured, Names, Numbers, Summary,
};
use headway_units::Instant;
use serde_json::json;

fn of(text: &str, numbers: &Numbers) -> Result<Option<f64>, String> {
    let expression: Expression = text.parse().map_err(|error: ExpressionError| error.to_string())?;
    expression.evaluate(numbers).map_err(|error| error.to_string())
}

fn record() -> Numbers {
    Numbers::from(json!({
        "flows": [{ "name": "a", "kind": "udp", "stuck": true, "on_time_ratio": {}, "lost_packets": { "early": 1, "host": 2 } }],
        "links": [],
    }))
}

/// The keys that an error lists are those with numbers: a text is not one.
#[test]
fn an_unknown_key_lists_the_keys_that_have_numbers() {
    let message = of("flow[a].delay", &record()).unwrap_err();
    assert_eq!(
        message,
        "flow[a].delay: there is no \"delay\"; there are duplicate_packets, lost_packets, on_time_ratio, stuck"
    );
    let message = of("flow[a].lost_packets.late", &record()).unwrap_err();
    assert_eq!(message, "flow[a].lost_packets.late: there is no \"late\" in lost_packets; there are early, host");
}

/// An object without entries has no numbers, so that its sum has no value. A logical value is 0 or 1.
#[test]
fn values_of_a_record_are_numbers() {
    for (text, expected) in [
        ("sum(flow[a].on_time_ratio)", None),
        ("count(flow[a].on_time_ratio)", None),
        ("sum(flow[a].lost_packets)", Some(3.0)),
        ("count(flow[a].lost_packets)", Some(2.0)),
        ("flow[a].stuck", Some(1.0)),
        ("flow[a].duplicate_packets", Some(0.0)),
    ] {
        assert_eq!(of(text, &record()), Ok(expected), "{text}");
    }
}

/// Numbers of a summary are those of its file.
#[test]
fn numbers_are_those_of_a_summary() {
    let (from, end) = (Instant::from_secs(1), Instant::from_secs(3));
    let meter = FlowMeter::new(&Measured::between(from, end));
    let summary = Summary {
        version: "0.1.0".into(),
        name: "n".into(),
        seed: 7,
        complete: true,
        interval: Interval { from: 1.0, to: 3.0 },
        flows: vec![meter.summary(FlowLabel { name: "a".into(), ..FlowLabel::default() }, end)],
        links: vec![],
        hosts: vec![],
        attackers: vec![],
        jain_index: None,
        packet_hops: 12,
        fingerprint: String::new(),
    };
    let numbers = Numbers::new(&summary);
    for (text, expected) in [
        ("interval.to - interval.from", Some(2.0)),
        ("packet_hops * seed", Some(84.0)),
        ("complete", Some(1.0)),
        ("jain_index", None),
        ("flow[a].loss_ratio", Some(0.0)),
        ("flow[a].rtt_s.mean", None),
    ] {
        assert_eq!(of(text, &numbers), Ok(expected), "{text}");
    }
}

/// An expression is shown as it was written, without the spaces around it, and read from a text.
#[test]
fn an_expression_is_shown_as_it_was_written() {
    let expression: Expression = "  1 +  2 ".parse().unwrap();
    assert_eq!(expression.to_string(), "1 +  2");
    assert_eq!(Expression::try_from("1 +  2".to_owned()).unwrap(), expression);
    assert_eq!(serde_json::from_str::<Expression>("\"1 +  2\"").unwrap(), expression);
    assert!(serde_json::from_str::<Expression>("\"1 +\"").is_err());
}

/// 32 brackets and signs may be inside of one another, and an expression has 4096 bytes at most.
#[test]
fn expressions_have_a_depth_and_a_length() {
    let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    // The number inside is one more.
    assert_eq!(of(&nested(31), &record()), Ok(Some(1.0)));
    assert!(
        of(&nested(32), &record()).unwrap_err().ends_with("brackets and signs are nested more than 32 levels deep")
    );
    // Depth is not length: 40 brackets side by side.
    let side_by_side = vec!["(1)"; 40].join("+");
    assert_eq!(of(&side_by_side, &record()), Ok(Some(40.0)));
    let long = |length: usize| format!("{:>length$}", 1);
    assert_eq!(of(&long(4096), &record()), Ok(Some(1.0)));
    let error = long(4097).parse::<Expression>().unwrap_err();
    assert_eq!(error.fault, ExpressionFault::TooLong(4097));
}

/// A value that is not finite is no value; a constant that is not finite is an error.
#[test]
fn values_are_finite() {
    let numbers = Numbers::from(json!({ "zero": 0.0, "most": 1e308 }));
    for (text, expected) in
        [("1 / zero", None), ("most * most", None), ("most / 2", Some(5e307)), ("zero / 2", Some(0.0))]
    {
        assert_eq!(of(text, &numbers), Ok(expected), "{text}");
    }
    assert!(of("1e308 * 1e308", &numbers).unwrap_err().ends_with("a constant part of it overflows"));
}

/// Digits after an `e` are an exponent; without them the `e` is not part of the number.
#[test]
fn numbers_may_have_an_exponent() {
    let numbers = record();
    for (text, expected) in [("1e3", 1000.0), ("1E+3", 1000.0), ("2.5e-1", 0.25), ("1e3 + 1", 1001.0)] {
        assert_eq!(of(text, &numbers), Ok(Some(expected)), "{text}");
    }
    for (text, rest) in [("1e", "e"), ("1e+", "e+"), ("1e-x", "e-x")] {
        let error = text.parse::<Expression>().unwrap_err();
        assert_eq!(error.fault, ExpressionFault::Unexpected(rest.into()), "{text}");
    }
}

/// A message quotes 120 characters of an expression and lists 12 names at most. A line break is shown as a space.
#[test]
fn messages_are_short() {
    let long = |length: usize| format!("{}?", "1".repeat(length - 1));
    let quoted = |text: &str| text.parse::<Expression>().unwrap_err().expression;
    assert_eq!(quoted(&long(120)), long(120));
    assert_eq!(quoted(&long(121)), format!("{}...", "1".repeat(120)));
    assert_eq!(quoted("1\n?"), "1 ?");
    let known = |many: usize| {
        let flows: Vec<_> = (0..many).map(|n| json!({ "name": format!("f{n}"), "x": 1 })).collect();
        of("flow[z].x", &Numbers::from(json!({ "flows": flows }))).unwrap_err()
    };
    let twelve = "f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11";
    assert_eq!(known(12), format!("flow[z].x: there is no flow \"z\"; there are {twelve}"));
    assert_eq!(known(13), format!("flow[z].x: there is no flow \"z\"; there are {twelve}, .."));
    assert_eq!(known(0), "flow[z].x: there is no flow \"z\"");
}

/// A percentile is a key of `p` and digits.
#[test]
fn percentiles_are_known_by_their_key() {
    let reads = |text: &str| text.parse::<Expression>().unwrap().uses_percentile();
    assert!(reads("flow[a].one_way_delay_s.p95") && reads("p5"));
    assert!(!reads("flow[a].packets") && !reads("flow[a].one_way_delay_s.p95x") && !reads("flow[a].p95.mean"));
}

/// The first mistake of several paths is reported, wherever it is.
#[test]
fn each_path_is_checked_against_the_names() {
    let names = Names { flows: vec!["a".into()], hosts: vec!["h".into()], ..Names::default() };
    let check = |text: &str| text.parse::<Expression>().unwrap().check_names(&names).map_err(|error| error.to_string());
    let z = "there is no flow \"z\"; there are a";
    for (text, expected) in [
        ("flow[a].sent_packets + host[h].arrived_packets", Ok(())),
        ("flow[z].sent_packets + flow[a].sent_packets", Err(z)),
        ("flow[a].sent_packets + flow[z].sent_packets", Err(z)),
        ("flow[z].sent_packets + flow[y].sent_packets", Err(z)),
        ("link[a->b].arrived_packets", Err("there is no list \"link\"; there are flow, host")),
        ("host[h].name", Err("\"name\" is a string; expected a number")),
    ] {
        assert_eq!(check(text), expected.map_err(|why| format!("{text}: {why}")));
    }
}
