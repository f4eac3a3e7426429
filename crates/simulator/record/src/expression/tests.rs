use super::*;
use proptest::prelude::*;
use serde_json::json;

fn record() -> Numbers {
    let delay = json!({ "mean": 0.25, "p95": 0.5 });
    Numbers::from(json!({
        "name": "x",
        "interval": { "from": 5.0, "to": 25.0 },
        "flows": [
            { "name": "media-1", "kind": "tfrc", "throughput_bps": 1e6, "one_way_delay_s": delay, "on_time_ratio": { "audio": 0.5 } },
            { "name": "media-2", "kind": "tfrc", "throughput_bps": 3e6, "one_way_delay_s": null, "on_time_ratio": {} },
            { "name": "ftp[1]", "kind": "tcp-reno", "throughput_bps": 2e6, "one_way_delay_s": delay, "timeouts": 7,
              "sessions": { "completion_s_by_size": { "up_to_10kB": { "completed": 9, "p99": 0.5 }, "above_10MB": null } } },
        ],
        "links": [{ "name": "a->b", "dropped_packets": { "early": 3, "queue_full": 4 } }],
        "jain_index": 0.75,
    }))
}

fn evaluate(text: &str) -> Result<Option<f64>, String> {
    let expression: Expression = text.parse().map_err(|error: ExpressionError| error.to_string())?;
    expression.evaluate(&record()).map_err(|error| error.to_string())
}

#[test]
fn numbers_of_a_record() {
    for (text, expected) in [
        ("flow[media-1].throughput_bps / 1e3", Some(1000.0)),
        (" mean( flow[media*].throughput_bps )/1e6 ", Some(2.0)),
        ("sum(flow[*].throughput_bps) - 6e+6", Some(0.0)),
        ("max(flow[*].throughput_bps) / min(flow[*].throughput_bps)", Some(3.0)),
        ("count(flow[*].throughput_bps, 1)", Some(4.0)),
        ("jain(2, 2)", Some(1.0)),
        ("sum(link[a->b].dropped_packets)", Some(7.0)),
        ("link[a->b].dropped_packets.early", Some(3.0)),
        ("flow[ftp[1]].timeouts * 2", Some(14.0)),
        // Counts that a summary omits are 0.
        ("link[a->b].duplicated_packets + link[a->b].reordered_packets", Some(0.0)),
        ("sum(flow[*].duplicate_packets)", Some(0.0)),
        ("flow[ftp[1]].sessions.refused", Some(0.0)),
        ("flow[ftp[1]].sessions.completion_s_by_size.up_to_10kB.p99", Some(0.5)),
        // No session has this size.
        ("flow[ftp[1]].sessions.completion_s_by_size.above_10MB.p99", None),
        ("flow[media-1].on_time_ratio.audio", Some(0.5)),
        ("(interval.to - interval.from) * jain_index", Some(15.0)),
        ("2 + 3 * 4 - 6 / 3 - -1", Some(13.0)),
        ("(2 + 3) * .5", Some(2.5)),
        ("sum(flow[*].throughput_bps / flow[*].throughput_bps)", Some(3.0)),
        // Only other flows have the key, or it has no value.
        ("flow[media-1].timeouts", None),
        ("sum(flow[*].timeouts)", None),
        ("or(flow[media-1].timeouts, 0)", Some(0.0)),
        ("or(flow[ftp*].timeouts, 0)", Some(7.0)),
        ("flow[media-2].one_way_delay_s.mean", None),
        // A valid key that no flow of this record has, or without a value.
        ("or(flow[*].retransmitted_packets, 7)", Some(7.0)),
        ("or(flow[media-1].mos, 7)", Some(7.0)),
        ("or(flow[media-2].on_time_ratio.data, 5)", Some(5.0)),
        ("mean(flow[media*].one_way_delay_s.mean)", None),
    ] {
        assert_eq!(evaluate(text), Ok(expected), "{text}");
    }
}

#[test]
fn errors_name_the_mistake() {
    for (text, why) in [
        ("", "a number, a path or a function is missing at its end"),
        ("1 +", "missing at its end"),
        // Regression: `--metric 'x=1/0'` gave a column of dashes.
        ("1 / 0", "division by 0"),
        ("flow[media-1].throughput_bps / (2 - 2)", "division by 0"),
        ("mean(0 / 0)", "division by 0"),
        ("1e308 * 10", "a constant part of it overflows"),
        ("1 2", "unexpected \"2\""),
        ("(1", "\")\" is missing at its end"),
        ("mean(1", "\")\" is missing at its end"),
        ("1 + ?", "missing before \"?\""),
        ("1.2.3", "\"1.2.3\" is not a number"),
        ("mode(1)", "there is no function \"mode\"; there are mean, sum"),
        ("or(1)", "or takes two arguments, but has 1"),
        ("flow[x", "\"]\" is missing at its end"),
        ("flow[x]", "flow[x] has no key: write flow[x].KEY"),
        ("flow[x].", "a key is missing"),
        ("flows[*].timeouts", "there is no list \"flows\"; there are flow, link"),
        ("flow[meda].timeouts", "there is no flow \"meda\"; there are media-1, media-2, ftp[1]"),
        ("flow[media*].troughput", "there is no \"troughput\"; there are "),
        ("flow[media-1].one_way_delay_s.p99", "there is no \"p99\" in one_way_delay_s; there are mean, p95"),
        ("jain", "there is no \"jain\"; there are flows, interval, jain_index, links"),
        ("link[a->b].dropped_packets", "it has 2 values; expected one number"),
        ("flow[media-1].kind", "\"kind\" is a string; expected a number"),
        ("name", "\"name\" is a string; expected a number"),
        ("flow[*].throughput_bps", "it has 3 values; expected one number"),
        ("sum(flow[*].throughput_bps / flow[media*].throughput_bps)", "its operands have 3 and 2 values"),
        (&"(".repeat(1000), "nested more than 32 levels"),
        (&"1+".repeat(5000), "expected at most 4096"),
    ] {
        let error = evaluate(text).unwrap_err();
        assert!(error.contains(why), "{text}: {error}");
        assert!(error.len() < 400, "{error}");
    }
}

#[test]
fn percentiles_are_found_in_subexpressions() {
    let reads = |text: &str| text.parse::<Expression>().unwrap().uses_percentile();
    assert!(reads("1e3 * flow[a].one_way_delay_s.p95") && reads("-max(1, mean(flow[*].rtt_s.p50))"));
    assert!(!reads("flow[p95].packets") && !reads("1e3 * flow[a].one_way_delay_s.max"));
}

proptest! {
    /// Any text gives a value, no value or an error.
    #[test]
    fn no_text_panics(text in "[a-z0-9.+*/()\\[\\], >-]{0,40}|.{0,40}") {
        let _ = evaluate(&text);
    }

    #[test]
    fn sums_and_products_have_their_precedence(a in 0u32..1000, b in 0u32..1000, c in 1u32..1000) {
        let expected = f64::from(a) - f64::from(b) * 2.5 / f64::from(c);
        prop_assert_eq!(evaluate(&format!("{a}-{b}*2.5/{c}")), Ok(Some(expected)));
    }
}
