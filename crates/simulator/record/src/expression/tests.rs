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

fn of(text: &str) -> Result<Option<f64>, String> {
    let expression: Expression = text.parse().map_err(|error: ExpressionError| error.to_string())?;
    expression.of(&record()).map_err(|error| error.to_string())
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
        // A summary leaves out what there is none of: there are 0 of these.
        ("link[a->b].duplicated_packets + link[a->b].reordered_packets", Some(0.0)),
        ("sum(flow[*].duplicate_packets)", Some(0.0)),
        ("flow[ftp[1]].sessions.refused", Some(0.0)),
        ("flow[ftp[1]].sessions.completion_s_by_size.up_to_10kB.p99", Some(0.5)),
        // No session of that size in this run.
        ("flow[ftp[1]].sessions.completion_s_by_size.above_10MB.p99", None),
        ("flow[media-1].on_time_ratio.audio", Some(0.5)),
        ("(interval.to - interval.from) * jain_index", Some(15.0)),
        ("2 + 3 * 4 - 6 / 3 - -1", Some(13.0)),
        ("(2 + 3) * .5", Some(2.5)),
        ("sum(flow[*].throughput_bps / flow[*].throughput_bps)", Some(3.0)),
        // Others have such a key, or it holds nothing.
        ("flow[media-1].timeouts", None),
        ("sum(flow[*].timeouts)", None),
        ("or(flow[media-1].timeouts, 0)", Some(0.0)),
        ("or(flow[ftp*].timeouts, 0)", Some(7.0)),
        ("flow[media-2].one_way_delay_s.mean", None),
        // A key of flows that no flow of this record has, or that holds nothing here.
        ("or(flow[*].retransmitted_packets, 7)", Some(7.0)),
        ("or(flow[media-1].mos, 7)", Some(7.0)),
        ("or(flow[media-2].on_time_ratio.data, 5)", Some(5.0)),
        ("mean(flow[media*].one_way_delay_s.mean)", None),
    ] {
        assert_eq!(of(text), Ok(expected), "{text}");
    }
}

#[test]
fn mistakes_are_named() {
    for (text, why) in [
        ("", "a number, a path or a function is missing at its end"),
        ("1 +", "missing at its end"),
        // `--metric 'x=1/0'` once gave a column of dashes.
        ("1 / 0", "it divides by 0"),
        ("flow[media-1].throughput_bps / (2 - 2)", "it divides by 0"),
        ("mean(0 / 0)", "it divides by 0"),
        ("1e308 * 10", "larger than any number"),
        ("1 2", "nothing can be made of \"2\""),
        ("(1", "\")\" is missing at its end"),
        ("mean(1", "\")\" is missing at its end"),
        ("1 + ?", "missing before \"?\""),
        ("1.2.3", "\"1.2.3\" is no number"),
        ("mode(1)", "there is no function \"mode\"; there are mean, sum"),
        ("or(1)", "or takes two arguments, and not 1"),
        ("flow[x", "\"]\" is missing at its end"),
        ("flow[x]", "no key of flow[x] is named: write flow[x].KEY"),
        ("flow[x].", "a key is missing"),
        ("flows[*].timeouts", "there is no list \"flows\"; there are flow, link"),
        ("flow[meda].timeouts", "there is no flow \"meda\"; there are media-1, media-2, ftp[1]"),
        ("flow[media*].troughput", "there is no \"troughput\"; there are "),
        ("flow[media-1].one_way_delay_s.p99", "there is no \"p99\" in one_way_delay_s; there are mean, p95"),
        ("jain", "there is no \"jain\"; there are flows, interval, jain_index, links"),
        ("link[a->b].dropped_packets", "these are 2 numbers where one is wanted"),
        ("flow[media-1].kind", "\"kind\" is a text where a number is wanted"),
        ("name", "\"name\" is a text where a number is wanted"),
        ("flow[*].throughput_bps", "these are 3 numbers where one is wanted"),
        ("sum(flow[*].throughput_bps / flow[media*].throughput_bps)", "3 numbers do not go with 2"),
        (&"(".repeat(1000), "more than 32 brackets"),
        (&"1+".repeat(5000), "4096 are the most"),
    ] {
        let error = of(text).unwrap_err();
        assert!(error.contains(why), "{text}: {error}");
        assert!(error.len() < 400, "{error}");
    }
}

#[test]
fn percentiles_are_found_wherever_they_are_read() {
    let reads = |text: &str| text.parse::<Expression>().unwrap().reads_percentile();
    assert!(reads("1e3 * flow[a].one_way_delay_s.p95") && reads("-max(1, mean(flow[*].rtt_s.p50))"));
    assert!(!reads("flow[p95].packets") && !reads("1e3 * flow[a].one_way_delay_s.max"));
}

proptest! {
    /// Whatever is written, the answer is a number, none, or a sentence.
    #[test]
    fn nothing_panics(text in "[a-z0-9.+*/()\\[\\], >-]{0,40}|.{0,40}") {
        let _ = of(&text);
    }

    /// As written, so read.
    #[test]
    fn sums_and_products(a in 0u32..1000, b in 0u32..1000, c in 1u32..1000) {
        let expected = f64::from(a) - f64::from(b) * 2.5 / f64::from(c);
        prop_assert_eq!(of(&format!("{a}-{b}*2.5/{c}")), Ok(Some(expected)));
    }
}
