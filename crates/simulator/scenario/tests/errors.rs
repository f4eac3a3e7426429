//! Errors name the file, the line, the column, the key and the allowed values.

use crate::common::{OneTrace, SMALL, changed, with};
use headway_scenario::{Files, NoFiles, Override, load};

fn first(error: &str) -> &str {
    error.lines().next().unwrap_or_default()
}

#[test]
fn the_small_scenario_is_valid() {
    changed("small", "other").unwrap();
}

#[test]
fn misspelled_words_are_errors_with_a_suggestion() {
    for (from, to, expected) in [
        ("limit", "limits", r#"small.toml:8:30: link[0].queue: unknown key "limits"; did you mean "limit"?"#),
        (
            "droptail",
            "droptial",
            r#"small.toml:8:18: link[0].queue.kind: unknown queue "droptial"; did you mean "droptail"?"#,
        ),
        (
            "tcp-newreno",
            "tcp-newrno",
            r#"flow[0].transport.kind: unknown transport "tcp-newrno"; did you mean "tcp-newreno"?"#,
        ),
        ("\"ftp\" }", "\"fpt\" }", r#"flow[0].source.kind: unknown source "fpt"; did you mean "ftp"?"#),
        ("duration", "duraton", r#"unknown key "duraton"; did you mean "duration"?"#),
        ("duration", "length", r#"small.toml: the key "duration" is missing; write it like duration = "50s""#),
        ("to = \"b\"", "to = \"bb\"", r#"small.toml:13:6: flow[0].to: unknown node "bb"; did you mean "b"?"#),
        ("to = \"b\"", "to = \"server\"", r#"flow[0].to: unknown node "server"; known are a, b"#),
        ("window", "windw", r#"flow[0].transport: unknown key "windw"; did you mean "window"?"#),
        ("[[link]]", "[[links]]", r#"unknown key "links"; did you mean "link"?"#),
        ("[[flow]]", "[flow]", "flow: a table is not an array: write [[flow]] with two brackets"),
        ("name = \"ftp\"\n", "", r#"small.toml:10:1: flow[0]: the key "name" is missing; write it like name = "ftp""#),
    ] {
        let error = changed(from, to).unwrap_err();
        assert!(error.contains(expected), "{from} -> {to}:\n{error}");
    }
}

/// One mistake is one error: the proposed key is not reported as missing, too.
#[test]
fn a_misspelled_key_is_not_also_missing() {
    for (from, to) in [("duration", "duraton"), ("delay", "dealy"), ("between", "betwen"), ("transport", "tansport")] {
        let error = changed(from, to).unwrap_err();
        assert!(error.contains("did you mean") && !error.contains("is missing"), "{error}");
    }
}

#[test]
fn wrong_values_are_errors_with_the_allowed_values() {
    for (from, to, expected) in [
        ("\"10s\"", "\"10\"", r#"small.toml:2:12: duration: "10" has no unit: a duration is written "10ms" or "1.5s""#),
        ("\"10s\"", "10", "duration: 10 has no unit: a duration is written \"10ms\""),
        ("\"10s\"", "\"0s\"", "duration: 0s is out of range: a run lasts more than 0s and at most 1000000s"),
        ("\"10s\"", "\"500h\"", "duration: 1800000s is out of range"),
        ("\"10s\"", "nan", "duration: nan is not a duration with its unit, such as \"10ms\""),
        ("\"10s\"", "1979-05-27", "duration: the date 1979-05-27 is not a duration"),
        ("\"10s\"\n", "\"10s\"\nmeasure_from = \"10s\"\n", "measure_from: 10s is not before the end of the run at 10s"),
        (
            "\"10s\"\n",
            "\"10s\"\nseed = -1\n",
            "seed: -1 is out of range: write a whole number from 0 to 9223372036854775807",
        ),
        ("\"10s\"\n", "\"10s\"\nseed = 99999999999999999999\n", "99999999999999999999 is out of range"),
        (
            "\"10s\"\n",
            "\"10s\"\ndialect = \"ns4\"\n",
            r#"dialect: unknown value "ns4"; did you mean "ns2"? Known are headway, headway-1"#,
        ),
        ("\"10s\"\n", "\"10s\"\nrecord = { series = true }\n", "record.series: true has no interval"),
        (
            "\"10s\"\n",
            "\"10s\"\nrecord = { distributions = \"all\" }\n",
            "record.distributions: \"all\" is not true or false",
        ),
        (
            "\"10s\"\n",
            "\"10s\"\nrecord = { series = \"1ns\" }\n",
            "record.series: 140000000000 samples are too many: at most 50000000; write an interval longer than 1ns",
        ),
        (
            "\"2Mbps\"\ndelay = \"10ms\"",
            "\"8.1Gbps\"\ndelay = \"0s\"",
            "link[0].delay: a link with a delay of 0s transmits at 8Gbps at most, which is 1ns per byte",
        ),
        ("name = \"small\"", "name = \"a/b\"", r#"name: "a/b" is not a name"#),
        ("name = \"small\"", "name = \"\"", r#"name: "" is not a name"#),
        ("name = \"small\"", "name = \"a/b\"", "write 1 to 64 letters, digits, blanks and _ - . :"),
        ("name = \"ftp\"", "name = \"a b\"", "write 1 to 64 letters, digits and _ - . :"),
        ("[\"a\", \"b\"]", "[\"a\"]", "link[0].between: a link has two ends"),
        ("[\"a\", \"b\"]", "[\"a\", 1]", "link[0].between[1]: 1 is not text in quotes"),
        ("[\"a\", \"b\"]", "[\"a\", \"a\"]", r#"link[0].between: a link cannot lead from "a" to itself"#),
        ("2Mbps", "2mbps", r#"unknown unit "mbps" for a rate; known are bps, kbps, Mbps"#),
        ("2Mbps", "0bps", "link[0].rate: a link of 0bps transmits nothing"),
        ("\"10ms\"", "\"-10ms\"", r#"link[0].delay: "-10ms" is out of range"#),
        ("\"10ms\"", "\"10ms\"\nmtu = \"0B\"", "link[0].mtu: a link with an mtu of 0B transmits nothing"),
        (
            "\"10ms\"",
            "\"10ms\"\nmtu = \"1000B\"",
            r#"flow[0]: packets of 1500B exceed the mtu of every path from "a" to "b""#,
        ),
        ("\"10ms\"", "\"10ms\"\noverhead = \"1MB\"", "link[0].overhead: 1MB is out of range"),
        (
            "\"10ms\"",
            "\"10ms\"\nloss = { kind = \"bernoulli\", probability = 2 }",
            "link[0].loss.probability: 2 is out of range: write a probability from 0 to 1",
        ),
        (
            "source = { kind = \"ftp\" }\n",
            "source = { kind = \"ftp\" }\ncount = 90000\n[[node]]\nname = \"x\"\ncount = 6\n\
             [[link]]\nbetween = [\"a\", \"x\"]\nrate = \"1Mbps\"\ndelay = \"1ms\"\nby_flow = true\n",
            "link: flows by links with by_flow make 1080000 counters, above the limit of 1000000",
        ),
        (
            "to = \"b\"",
            "to = \"b\"\ndscp = \"eff\"",
            r#"flow[0].dscp: "eff" is no DSCP: write cs0 to cs7, af11 to af43"#,
        ),
        ("to = \"b\"", "to = \"b\"\ndscp = 64", r#"flow[0].dscp: "64" is no DSCP"#),
        (
            "to = \"b\"",
            "to = \"b\"\ndscp = { vidoe = \"ef\" }",
            r#"flow[0].dscp: unknown key "vidoe"; did you mean "video"?"#,
        ),
        ("to = \"b\"", "to = \"b\"\ndscp = { audio = \"af44\" }", r#"flow[0].dscp.audio: "af44" is no DSCP"#),
        ("to = \"b\"", "to = \"b\"\ndscp = [\"ef\"]", "flow[0].dscp: an array is not a DSCP, such as \"ef\" or 46"),
        (
            "{ kind = \"droptail\", limit = \"20packets\" }",
            "{ kind = \"red\", classes = [{ dscp = [], on_congestion = \"drop\" }] }",
            "link[0].queue.classes: class 0 has no DSCP; expected one, such as dscp = [\"af41\", \"ef\"]",
        ),
        (
            "{ kind = \"droptail\", limit = \"20packets\" }",
            "{ kind = \"red\", classes = [{ dscp = [\"ef\", 46], on_congestion = \"drop\" }] }",
            "link[0].queue.classes: the DSCP ef is listed twice; expected each DSCP in one class, once",
        ),
        (
            "{ kind = \"droptail\", limit = \"20packets\" }",
            "{ kind = \"red\", classes = [{ dscp = [\"ef\"], on_congestion = \"mark\" }] }",
            r#"on_congestion: unknown value "mark""#,
        ),
        (
            "{ kind = \"droptail\", limit = \"20packets\" }",
            "{ kind = \"red\", classes = [{ dscp = [\"ef\"], on_congestion = \"mark-head\" }] }\nevents = \"one\"",
            "link[0].events: this queue drops or marks queued packets: its link needs events = \"two\"",
        ),
        (
            "20packets",
            "20Packets",
            r#"link[0].queue.limit: "20Packets": unknown unit "Packets" for the size of a queue; known are packets, B, kB"#,
        ),
        ("20packets", "0packets", "link[0].queue.limit: a queue of 0 packets passes nothing"),
        (
            "{ kind = \"droptail\", limit = \"20packets\" }",
            "{ kind = \"codel\", targett = \"5ms\" }",
            "link[0].queue: unknown key \"targett\"; did you mean \"target\"?",
        ),
        (
            "{ kind = \"droptail\", limit = \"20packets\" }",
            "{ kind = \"fq-codel\", quantum = \"100B\" }",
            "link[0].queue.quantum: must be from 256B to 1MiB",
        ),
        (
            "{ kind = \"droptail\", limit = \"20packets\" }",
            "{ kind = \"drr\", classes = [{ dscp = [\"ef\"], quantum = \"1B\" }] }",
            "link[0].queue.classes.quantum: must be from 64B to 1GB",
        ),
        (
            "{ kind = \"droptail\", limit = \"20packets\" }",
            "{ kind = \"cake\", bandwidth = \"1bps\" }",
            "link[0].queue.bandwidth: must be at least 1kbps; without it",
        ),
        (
            "{ kind = \"droptail\", limit = \"20packets\" }",
            "\"droptail\"",
            "link[0].queue: \"droptail\" is not a table: the queue is a table, such as { kind =",
        ),
        (
            "kind = \"droptail\", ",
            "",
            r#"link[0].queue: the key "kind" is missing: the kinds of queue are droptail, red, codel, pie, fq-codel, dualpi2, drr, priority, cake, early-random-drop"#,
        ),
        ("to = \"b\"", "to = \"a\"", r#"flow[0].to: a flow cannot go from "a" to itself"#),
        ("to = \"b\"", "to = \"b\"\ncount = 1000000000", "flow[0].count: 1000000000 is out of range: from 1 to 100000"),
        ("to = \"b\"", "to = \"b\"\ncount = 1.5", "flow[0].count: 1.5 is not a whole number"),
        ("to = \"b\"", "to = \"b\"\nstart = \"5s\"\nstop = \"5s\"", "flow[0].stop: 5s is not after the start at 5s"),
        (
            "to = \"b\"",
            "to = \"b\"\nstart = { uniform = [\"1s\", \"1s\"] }",
            "flow[0].start.uniform: 1s is not before 1s",
        ),
        ("to = \"b\"", "to = \"b\"\nstart = [\"1s\", \"2s\"]", "flow[0].start: 2 times for 1 flow: write one for each"),
        (
            "tcp-newreno\", window = \"15packets\"",
            "tfrc\", controller = { idle = \"linux\" }",
            r#"flow[0].transport.controller.idle: unknown value "linux"; it is called "halved-and-lifted" now"#,
        ),
        (
            "tcp-newreno\", window = \"15packets\"",
            "tfrc\", controller = { feedback = \"linux\" }",
            r#"flow[0].transport.controller.feedback: unknown value "linux"; it is called "window-counter-settled" now"#,
        ),
        (
            "tcp-newreno\", window = \"15packets\"",
            "udp\"",
            "flow[0].source: udp would send all data of an ftp source at once",
        ),
        (
            "\"ftp\" }",
            "\"ftp\", segments = -1 }",
            "flow[0].source.segments: -1 is out of range: segments is at least 1",
        ),
        ("\"10ms\"\n", "\"10ms\"\none_way = true\n", r#"flow[0]: there is no path from "b" to "a""#),
    ] {
        let error = changed(from, to).unwrap_err();
        assert!(error.contains(expected), "{from} -> {to}:\n{error}");
    }
}

/// The error of `rate = nan` had no key and no example. An error of a number has the line, the column and the key, the
/// value as written, and an allowed value or the range.
#[test]
fn errors_of_numbers_show_the_value_and_what_is_allowed() {
    let link = |key: &str| ("\"10ms\"\n", format!("\"10ms\"\n{key} = VALUE\n"));
    let inside = |from: &'static str, table: &str| (from, table.to_owned());
    let queue = "{ kind = \"droptail\", limit = \"20packets\" }";
    let clock = |key: &str| ("[[flow]]", format!("[[node]]\nname = \"a\"\nclock = {{ {key} = VALUE }}\n[[flow]]"));
    // Key, its place, and parts of the errors: of a number without unit, of an unknown unit, of a negative number.
    for ((from, to), key, example, units, range) in [
        (("\"2Mbps\"", "VALUE".to_owned()), "link[0].rate", "\"2Mbps\"", "known are bps, kbps", "above 0bps"),
        (("\"10ms\"", "VALUE".to_owned()), "link[0].delay", "\"10ms\"", "known are ns, us", "from 0s to 1000000s"),
        (("\"10s\"", "VALUE".to_owned()), "duration", "\"10ms\"", "known are ns, us", "more than 0s"),
        (link("mtu"), "link[0].mtu", "\"1000B\"", "known are B, kB", "at least \"1B\""),
        (
            inside("\"20packets\"", "VALUE"),
            "link[0].queue.limit",
            "\"20packets\" or \"30kB\"",
            "known are packets, B",
            "or more",
        ),
        (
            inside(queue, "{ kind = \"red\", min_threshold = VALUE }"),
            "link[0].queue.min_threshold",
            "\"5packets\" or \"2500B\"",
            "known are packets, B",
            "\"5packets\"",
        ),
        (clock("offset"), "node[0].clock.offset", "\"3ms\" or \"-2h\"", "known are ns, us", "\"3ms\""),
        (clock("skew"), "node[0].clock.skew", "\"-500ppm\" or \"20ppb\"", "known are ppb, ppm", "\"20ppb\""),
        (clock("drift"), "node[0].clock.drift", "\"0.5ppm/h\"", "known are ppb/h, ppm/h", "\"0.5ppm/h\""),
    ] {
        let error = |value: &str| {
            let text = SMALL.replacen(from, &to.replace("VALUE", value), 1);
            let error = load("small.toml", &text, &[], &OneTrace).unwrap_err().to_string();
            let line = first(&error).to_owned();
            let (place, message) = line.split_once(": ").unwrap();
            let place: Vec<&str> = place.split(':').collect();
            assert!(matches!(place[..], ["small.toml", _, _]), "{line}");
            assert!(message.starts_with(&format!("{key}: {value}")), "{line}");
            line
        };
        for value in ["nan", "inf", "-inf", "1e400", "99999999999999999999", "\"nan\"", "\"inf\"", "\"\""] {
            let line = error(value);
            assert!(line.contains(&format!("{value} is not ")) && line.contains(example), "{line}");
        }
        for value in ["2", "2.5", "\"2\"", "\"1e3\""] {
            let line = error(value);
            assert!(line.contains(&format!("{value} has no unit: ")) && line.contains(example), "{line}");
        }
        assert!(error("\"2furlongs\"").contains("unknown unit \"furlongs\" for "), "{key}");
        assert!(error("\"2furlongs\"").contains(units), "{key}");
        for value in ["-1", "-1.5"] {
            let line = error(value);
            assert!(line.contains(range), "{line}");
        }
    }
    let loss = "\"10ms\"\nloss = { kind = \"bernoulli\", probability = VALUE }";
    let red = "{ kind = \"red\", queue_weight = VALUE }";
    let share = "a probability from 0 to 1, such as 0.01 or \"1%\"";
    for ((from, to), value, expected) in [
        (inside("\"10ms\"", loss), "nan", format!("nan is not {share}")),
        (inside("\"10ms\"", loss), "1e400", format!("1e400 is not {share}")),
        (inside("\"10ms\"", loss), "\"nan%\"", "\"nan%\" is not a probability: write 0.01 or \"1%\"".to_owned()),
        (inside("\"10ms\"", loss), "\"\"", "\"\" is not a probability: write 0.01 or \"1%\"".to_owned()),
        (inside("\"10ms\"", loss), "\"5pct\"", "\"5pct\" is not a probability: write 0.01 or \"1%\"".to_owned()),
        (inside("\"10ms\"", loss), "\"101%\"", "\"101%\" is out of range: write a probability from 0 to 1".to_owned()),
        (inside("\"10ms\"", loss), "-0.1", "-0.1 is out of range: write a probability from 0 to 1".to_owned()),
        (inside(queue, red), "nan", "queue.queue_weight: nan is out of range: ".to_owned()),
        (inside(queue, red), "-inf", "queue.queue_weight: -inf is out of range: ".to_owned()),
        (
            inside("to = \"b\"", "to = \"b\"\ncount = VALUE"),
            "inf",
            "flow[0].count: inf is out of range: from 1".to_owned(),
        ),
        (
            inside("to = \"b\"", "to = \"b\"\ncount = VALUE"),
            "2.5",
            "flow[0].count: 2.5 is not a whole number".to_owned(),
        ),
    ] {
        let to = if to.contains("= VALUE\n") { to.replacen(" = VALUE\n", "\n", 1) } else { to };
        let text = SMALL.replacen(from, &to.replace("VALUE", value), 1);
        let error = load("small.toml", &text, &[], &OneTrace).unwrap_err().to_string();
        assert!(error.contains(&expected), "{to}:\n{error}");
    }
}

/// The errors showed 18446744TB for `overhead = -4`, and 4294967295 for `ecn_least_window = -1`.
#[test]
fn errors_show_the_range_of_the_key_not_of_its_type() {
    let media = |source: &str| ("{ kind = \"ftp\" }", format!("{{ {source} }}"));
    let tcp = |keys: &str| ("window = \"15packets\"", keys.to_owned());
    let link = |keys: &str| ("\"10ms\"", format!("\"10ms\"\n{keys}"));
    for ((from, to), expected) in [
        (link("overhead = -4"), "link[0].overhead: -4 is out of range: from 0B to 65.536kB"),
        (link("overhead = \"-4B\""), "link[0].overhead: \"-4B\" is out of range: from 0B to 65.536kB"),
        (link("mtu = \"-4B\""), "link[0].mtu: \"-4B\" is out of range: write at least \"1B\""),
        (("\"10ms\"", "\"-10ms\"".to_owned()), "link[0].delay: \"-10ms\" is out of range: from 0s to 1000000s"),
        (("\"2Mbps\"", "-3".to_owned()), "link[0].rate: -3 is out of range: write a rate above 0bps"),
        (("\"10s\"", "\"-1s\"".to_owned()), "duration: \"-1s\" is out of range: a run lasts more than 0s and at most"),
        (("to = \"b\"", "to = \"b\"\ncount = -1".to_owned()), "flow[0].count: -1 is out of range: from 1 to 100000"),
        (
            link("policer = { rate = \"1Mbps\", burst = \"-1B\" }"),
            "link[0].policer.burst: \"-1B\" is out of range: from 1.5kB to 2GB",
        ),
        (
            link("loss = { kind = \"periodic\", every = 10, burst = -1 }"),
            "link[0].loss.burst: -1 is out of range: 1 or more; at most 10",
        ),
        (
            tcp("expert = { ecn_least_window = -1 }"),
            "flow[0].transport.expert.ecn_least_window: -1 is out of range: 1 or 2",
        ),
        (tcp("overhead = \"-4ms\""), "flow[0].transport.overhead: \"-4ms\" is out of range: from 0s to 1s"),
        (tcp("overhead = -4"), "flow[0].transport.overhead: -4 is out of range: from 0s to 1s"),
        (
            tcp("expert = { max_rto = \"-1s\" }"),
            "flow[0].transport.expert.max_rto: \"-1s\" is out of range: from 1ms to 1000000s",
        ),
        (tcp("min_rto = \"-1s\""), "flow[0].transport.min_rto: \"-1s\" is out of range: from 0s to max_rto, 60s"),
        (tcp("tick = \"-1ms\""), "flow[0].transport.tick: \"-1ms\" is out of range: from 1ns to 1s"),
        (
            (
                "{ kind = \"tcp-newreno\", window = \"15packets\" }",
                "{ kind = \"tcp-sack\", expert = { sack_blocks = 256 } }".to_owned(),
            ),
            "flow[0].transport.expert.sack_blocks: 256 is out of range: ",
        ),
        (tcp("window = \"-4packets\""), "is out of range: from 1packets to 1073741824packets"),
        (
            media("kind = \"trace\", file = \"t\", frame_interval = \"-40ms\""),
            "flow[0].source.frame_interval: \"-40ms\" is out of range: must be from 1ns to 1000s",
        ),
        (media("kind = \"ftp\", segments = -1"), "flow[0].source.segments: -1 is out of range: segments is at least 1"),
        // Errors of values that are too large show the maximum.
        (
            ("\"2Mbps\"", "\"1e30bps\"".to_owned()),
            "link[0].rate: \"1e30bps\" is out of range: write a rate above 0bps and at most 18446744Tbps",
        ),
        (
            link("mtu = \"1e30B\""),
            "link[0].mtu: \"1e30B\" is out of range: write at least \"1B\" and at most \"18446744073GB\"",
        ),
        (
            ("to = \"b\"", "to = \"b\"\nstart = \"1e30s\"".to_owned()),
            "flow[0].start: \"1e30s\" is out of range: write a duration from 0s to 18446744073s (584 years)",
        ),
        (
            link("policer = { rate = \"1e30bps\", burst = \"20kB\" }"),
            "link[0].policer.rate: \"1e30bps\" is out of range: write a rate above 0bps and at most 18446744Tbps",
        ),
        (media("kind = \"cbr\", size = \"1000B\", rate = \"1e30bps\""), "at most 8Tbps, or more bytes"),
    ] {
        let text = SMALL.replacen(from, &to, 1);
        let error = load("small.toml", &text, &[], &OneTrace).unwrap_err().to_string();
        assert!(error.contains(expected), "{to}:\n{error}");
    }
}

/// RED with `min_threshold` above `limit` dropped nothing early.
#[test]
fn errors_of_ordered_keys_name_both_keys_and_values() {
    let queue = |keys: &str| ("{ kind = \"droptail\", limit = \"20packets\" }", format!("{{ {keys} }}"));
    let source = |keys: &str| ("{ kind = \"ftp\" }", format!("{{ {keys} }}"));
    let tcp = |keys: &str| ("window = \"15packets\"", keys.to_owned());
    let tcp_like = |keys: &str| (TCP, format!("{{ kind = \"tcp-like\", controller = {{ expert = {{ {keys} }} }} }}"));
    let sizes = "minimum = \"3kB\", maximum = \"2kB\"";
    for ((from, to), expected) in [
        (
            queue(
                "kind = \"red\", limit = \"20packets\", min_threshold = \"30packets\", max_threshold = \"40packets\"",
            ),
            "small.toml:8:33: link[0].queue.limit: 20packets is below min_threshold, 30packets, so that RED drops and \
             marks nothing early; expected at least 30packets, or a min_threshold of at most 20packets",
        ),
        (
            queue("kind = \"red\", limit = \"4packets\""),
            "link[0].queue.limit: 4packets is below min_threshold, 5packets, so that RED drops",
        ),
        (
            queue("kind = \"red\", in_bytes = true, limit = \"2kB\", min_threshold = \"5packets\""),
            "link[0].queue.limit: 2kB is below min_threshold, 5packets, so that RED drops",
        ),
        (
            queue("kind = \"red\", min_threshold = \"8packets\", max_threshold = \"7.5packets\""),
            "link[0].queue.max_threshold: 7.5packets is below min_threshold, 8packets; expected at least 8packets",
        ),
        (
            queue("kind = \"red\", min_threshold = false, max_threshold = \"3packets\""),
            "max_threshold: 3packets is below the automatic min_threshold, at least 5packets; expected at least 5packets",
        ),
        (
            queue("kind = \"red\", adaptive = \"aimd\", bottom = 0.6"),
            "link[0].queue.bottom: 0.6 is above top: expected at most 0.5",
        ),
        (
            queue("kind = \"early-random-drop\", limit = \"20packets\", drop_level = \"21packets\""),
            "link[0].queue.drop_level: 21packets is out of range: it must be below the limit of 20packets",
        ),
        (
            tcp("min_rto = \"3s\", expert = { max_rto = \"2s\", initial_rto = \"2s\" }"),
            "flow[0].transport.min_rto: 3s is out of range: from 0s to max_rto, 2s",
        ),
        (
            tcp("expert = { max_rto = \"2s\", initial_rto = \"3s\" }"),
            "flow[0].transport.expert.initial_rto: 3s is out of range: from 1ms to max_rto, 2s",
        ),
        (
            tcp("expert = { max_rto = \"2s\", initial_rto = \"2s\", syn_loss_rto = \"3s\" }"),
            "flow[0].transport.expert.syn_loss_rto: 3s is out of range: from 1ms to max_rto, 2s",
        ),
        (
            tcp_like("max_rto = \"2s\", initial_rto = \"3s\""),
            "expert.initial_rto: 3s is out of range; expected max_rto (2s) or less",
        ),
        (
            tcp_like("max_rto = \"2s\", min_rto = \"3s\""),
            "expert.max_rto: 2s is out of range; expected min_rto (3s) or more",
        ),
        (
            source(&format!(
                "kind = \"pages\", main = {{ lognormal = {{ mean = \"2kB\", deviation = \"1kB\", {sizes} }} }}"
            )),
            "flow[0].source.main: minimum = 3kB is above maximum = 2kB; expected a minimum of at most 2kB",
        ),
        (
            source("kind = \"pages\", objects = { pareto = { minimum = 5, shape = 1.1, maximum = 4 } }"),
            "flow[0].source.objects: minimum = 5 and maximum = 4 are out of range: minimum is at least 1",
        ),
    ] {
        let error = load("small.toml", &SMALL.replacen(from, &to, 1), &[], &OneTrace).unwrap_err().to_string();
        assert!(first(&error).contains(expected), "{to}:\n{error}");
    }
}

/// Keys of queues, sources and attacks without effect were accepted silently.
#[test]
fn keys_without_effect_are_errors_that_name_the_condition() {
    let queue = |keys: &str| ("{ kind = \"droptail\", limit = \"20packets\" }", format!("{{ {keys} }}"));
    let source = |keys: &str| ("{ kind = \"ftp\" }", format!("{{ {keys} }}"));
    let pages = "kind = \"pages\", arrivals = { every = \"1s\" }, reading_time = \"1s\"";
    for ((from, to), expected) in [
        (
            queue("kind = \"red\", alpha = 0.02"),
            "link[0].queue.alpha: this key has no effect without adaptive = \"aimd\" or \"feng\"",
        ),
        (
            queue("kind = \"red\", adaptive = \"feng\", alpha = 3.0, beta = 2.0, top = 0.6"),
            "link[0].queue.top: this key has no effect without adaptive = \"aimd\"",
        ),
        (
            queue("kind = \"red\", idle_packet = \"50B\""),
            "link[0].queue.idle_packet: this key has no effect without cautious = 3",
        ),
        (
            queue("kind = \"pie\", mark_ecnth = 0.2"),
            "link[0].queue.mark_ecnth: this key has no effect without ecn = true",
        ),
        (
            queue("kind = \"pie\", dq_threshold = \"8KiB\""),
            "link[0].queue.dq_threshold: this key has no effect without delay = \"dequeue-rate\"",
        ),
        (
            queue("kind = \"dualpi2\", tshift = \"1ms\""),
            "link[0].queue.tshift: this key has no effect without scheduler = \"ts-fifo\"",
        ),
        (source(pages), "flow[0].source.reading_time: pages arrive by arrivals and no user reads"),
    ] {
        let error = load("small.toml", &SMALL.replacen(from, &to, 1), &[], &OneTrace).unwrap_err().to_string();
        assert!(first(&error).contains(expected), "{to}:\n{error}");
    }
    let queue = "{ kind = \"sfdps2\", margin = 2.0 }";
    let tfrc = format!("{{ kind = \"tfrc\" }}\nsend_queue = {queue}");
    let error = changed("{ kind = \"tcp-newreno\", window = \"15packets\" }", &tfrc).unwrap_err();
    assert!(
        first(&error).contains("flow[0].send_queue.margin: this key has no effect without late = \"sure-first\""),
        "{error}"
    );
}

const QUEUE: &str = "{ kind = \"droptail\", limit = \"20packets\" }";
const TCP: &str = "{ kind = \"tcp-newreno\", window = \"15packets\" }";
const FTP: &str = "{ kind = \"ftp\" }";

/// Key, table in which it has no effect, condition for an effect, and table in which it has an effect.
type WithoutEffect<'a> = (&'a str, &'a str, &'a str, &'a str);

/// Checks that the first table of each case, in place of `from`, is an error at `path`, and that the second is
/// accepted.
fn refuses(path: &str, from: &str, cases: &[WithoutEffect<'_>]) {
    let load = |table: &str| load("small.toml", &SMALL.replacen(from, table, 1), &[], &OneTrace);
    for (key, table, needs, other) in cases {
        let error = load(table).err().map(|error| error.to_string()).unwrap_or_default();
        let expected = format!("{path}.{key}: this key has no effect without {needs}: write {needs}, or leave");
        assert!(first(&error).contains(&expected), "{table}:\n{error}");
        assert!(load(other).is_ok(), "{other}:\n{:?}", load(other).err());
    }
}

#[test]
fn keys_of_tcp_without_effect_are_errors() {
    let delay = "delayed_ack";
    refuses(
        "flow[0].transport",
        TCP,
        &[
            (
                "quick_acks",
                "{ kind = \"tcp-sack\", delayed_ack = false, quick_acks = 16 }",
                delay,
                "{ kind = \"tcp-sack\", quick_acks = 16 }",
            ),
            (
                "quick_acks_after_gap",
                "{ kind = \"tcp-sack\", dialect = \"ns2\", quick_acks_after_gap = 16 }",
                delay,
                "{ kind = \"tcp-sack\", dialect = \"ns2\", quick_acks_after_gap = 16, delayed_ack = \"100ms\" }",
            ),
        ],
    );
    refuses(
        "flow[0].transport.expert",
        TCP,
        &[
            (
                "ecn_on_retransmission",
                "{ kind = \"tcp-reno\", expert = { ecn_on_retransmission = true } }",
                "ecn = true",
                "{ kind = \"tcp-reno\", ecn = true, expert = { ecn_on_retransmission = true } }",
            ),
            (
                "ecn_least_window",
                "{ kind = \"tcp-cubic\", expert = { ecn_least_window = 2 } }",
                "ecn = true",
                "{ kind = \"tcp-dctcp\", expert = { ecn_least_window = 2 } }",
            ),
            (
                "delay_duplicates",
                "{ kind = \"tcp-sack\", dialect = \"ns2\", expert = { delay_duplicates = false } }",
                delay,
                "{ kind = \"tcp-sack\", expert = { delay_duplicates = true } }",
            ),
            (
                "slow_start_limit",
                "{ kind = \"tcp-reno\", expert = { ack_counting = \"acks\", slow_start_limit = 3 } }",
                "ack_counting = \"segments\"",
                "{ kind = \"tcp-reno\", expert = { slow_start_limit = 3 } }",
            ),
            (
                "exit_recovery_least_flight",
                "{ kind = \"tcp-newreno\", dialect = \"ns2\", expert = { exit_recovery_least_flight = 1 } }",
                "exit_recovery_fix = true",
                "{ kind = \"tcp-jtcp\", expert = { exit_recovery_least_flight = 0 } }",
            ),
        ],
    );
    // Values of the preset are allowed: the resolved scenario of a record contains all of them.
    for table in [
        "{ kind = \"tcp-reno\", dialect = \"linux\", delayed_ack = false }",
        "{ kind = \"tcp-reno\", dialect = \"linux\", delayed_ack = false, quick_acks = 2890 }",
        "{ kind = \"tcp-reno\", dialect = \"ns2\", expert = { ack_counting = \"acks\", slow_start_limit = 2 } }",
    ] {
        changed(TCP, table).unwrap();
    }
}

#[test]
fn keys_of_queues_without_effect_are_errors() {
    refuses(
        "link[0].queue",
        QUEUE,
        &[
            (
                "target_delay",
                "{ kind = \"red\", target_delay = \"10ms\" }",
                "min_threshold = false",
                "{ kind = \"red\", target_delay = \"10ms\", min_threshold = false }",
            ),
            (
                "target_delay",
                "{ kind = \"red\", dialect = \"ns2\", target_delay = \"10ms\", min_threshold = \"5packets\" }",
                "min_threshold = false",
                "{ kind = \"red\", dialect = \"ns2\", target_delay = \"10ms\" }",
            ),
            (
                "after_mark",
                "{ kind = \"codel\", after_mark = \"set\" }",
                "ecn = true",
                "{ kind = \"codel\", after_mark = \"set\", ecn = true }",
            ),
            (
                "ce_threshold_marks",
                "{ kind = \"codel\", ce_threshold_marks = \"ect1\" }",
                "ce_threshold",
                "{ kind = \"codel\", ce_threshold_marks = \"ect1\", ce_threshold = \"1ms\" }",
            ),
            (
                "after_mark",
                "{ kind = \"fq-codel\", ecn = false, after_mark = \"set\" }",
                "ecn = true",
                "{ kind = \"fq-codel\", after_mark = \"set\" }",
            ),
            (
                "ce_threshold_marks",
                "{ kind = \"fq-codel\", ce_threshold_marks = \"ect1\" }",
                "ce_threshold",
                "{ kind = \"fq-codel\", ce_threshold_marks = \"ect1\", ce_threshold = \"1ms\" }",
            ),
            (
                "mark_resets",
                "{ kind = \"pie\", ecn = true, mark_resets = false }",
                "ecn = true and derandomize = true",
                "{ kind = \"pie\", ecn = true, derandomize = true, mark_resets = false }",
            ),
        ],
    );
}

#[test]
fn keys_of_send_queues_without_effect_are_errors() {
    let in_flow = |queue: &str| format!("{{ kind = \"tfrc\" }}\nsend_queue = {{ {queue} }}");
    let score = "order = \"score\"";
    for (key, refused, needs, accepted) in [
        (
            "rtt_share",
            "kind = \"edf\", travel = \"forward\", rtt_share = 0.3",
            "travel = \"round-trip\" or \"one-way\"",
            "kind = \"edf\", travel = \"one-way\", rtt_share = 0.3",
        ),
        (
            "priority_weight",
            "kind = \"prio\", priority_weight = \"1s\"",
            score,
            "kind = \"score\", priority_weight = \"1s\"",
        ),
        (
            "size_weight",
            "kind = \"prio\", size_weight = \"1s\"",
            score,
            "kind = \"prio\", size_weight = \"1s\", methods = { audio = \"score\" }",
        ),
    ] {
        refuses("flow[0].send_queue", TCP, &[(key, &in_flow(refused), needs, &in_flow(accepted))]);
    }
}

#[test]
fn keys_of_sources_without_effect_are_errors() {
    let gop = |pattern: &str, key: &str| {
        format!("{{ kind = \"gop\", pattern = \"{pattern}\", i_mean = \"9kB\", p_mean = \"3kB\", {key} }}")
    };
    let of_frames = |letter| format!("a pattern that has {letter}-frames");
    let cbr = "kind = \"cbr\", rate = \"1Mbps\", size = \"1000B\", stop_by_sum = true";
    let all_frames = gop("IBP", "b_mean = \"1kB\", b_priority = 3, p_priority = 2");
    let only_i = "{ kind = \"gop\", pattern = \"I\", i_mean = \"9kB\" }";
    let small = SMALL.replacen(TCP, "{ kind = \"udp\" }", 1);
    let load = |source: &str| load("small.toml", &small.replacen(FTP, source, 1), &[], &OneTrace);
    for (key, source, needs, other) in [
        ("b_mean", gop("IPP", "b_mean = \"1kB\""), of_frames('B'), all_frames.clone()),
        ("b_priority", gop("IPP", "b_priority = 3"), of_frames('B'), all_frames.clone()),
        ("p_mean", gop("I", "variation = 0.1"), of_frames('P'), only_i.to_owned()),
        ("p_priority", only_i.replace(" }", ", p_priority = 2 }"), of_frames('P'), all_frames),
        ("stop_by_sum", format!("{{ {cbr}, dither = true }}"), "dither = false".to_owned(), format!("{{ {cbr} }}")),
    ] {
        let error = load(&source).unwrap_err().to_string();
        let expected = format!("flow[0].source.{key}: this key has no effect without {needs}");
        assert!(first(&error).contains(&expected), "{source}:\n{error}");
        assert!(load(&other).is_ok(), "{other}:\n{:?}", load(&other).err());
    }
}

#[test]
fn errors_of_moved_and_removed_keys_say_so() {
    for (transport, table, message) in [
        (
            "tfrc\", controller = { t_gran = \"1ms\" }",
            "controller",
            "unknown key \"t_gran\"; it is in the table \"expert\": write expert = { t_gran = .. }",
        ),
        ("tfrc\", controller = { dither = 0.1 }", "controller", "unknown key \"dither\"; it was removed"),
        (
            "tcp-like\", controller = { delayed_ack = false }",
            "controller",
            "unknown key \"delayed_ack\"; it is in the table \"expert\": write expert = { delayed_ack = .. }",
        ),
        (
            "dccp\", ccid = 3, connection = { delayed_ack = \"1ms\" }",
            "connection",
            "unknown key \"delayed_ack\"; it was removed",
        ),
        (
            "dccp\", ccid = 3, connection = { tail_ack = \"1ms\" }",
            "connection",
            "unknown key \"tail_ack\"; it is in the table \"expert\": write expert = { tail_ack = .. }",
        ),
    ] {
        let text = SMALL.replacen(TCP, &format!("{{ kind = \"{transport} }}"), 1);
        let error = load("small.toml", &text, &[], &NoFiles).unwrap_err().to_string();
        assert!(error.contains(&format!("flow[0].transport.{table}: {message}")), "{transport}:\n{error}");
    }
}

#[test]
fn an_override_without_effect_is_an_error() {
    let load = |text: &str| {
        let overrides: Vec<Override> = vec![text.parse().unwrap()];
        load("small.toml", SMALL, &overrides, &OneTrace).map_err(|error| error.to_string())
    };
    let error = load("flow[ftp].transport.expert.ecn_least_window=2").unwrap_err();
    assert!(error.contains("no effect without ecn = true"), "{error}");
    load("flow[ftp].transport.expert.ecn_least_window=1").unwrap();
}

#[test]
fn the_minimum_adapted_probability_is_at_most_the_maximum() {
    let red = |bottom: &str| {
        changed(QUEUE, &format!("{{ kind = \"red\", adaptive = \"aimd\", top = 0.1, bottom = {bottom} }}"))
    };
    let error = red("0.5").unwrap_err();
    let expected = "link[0].queue.bottom: 0.5 is above top: expected at most 0.1";
    assert!(first(&error).contains(expected), "{error}");
    red("0.1").unwrap();
}

/// `docs/src/scenario.md`: a probability of 0 disables the effect, for the start of a sweep.
#[test]
fn a_probability_of_0_is_allowed() {
    for keys in [
        "loss = { kind = \"bernoulli\", probability = 0 }",
        "loss = { kind = \"gilbert-elliott\", to_bad = 0, to_good = 0.5 }",
        "reorder = { kind = \"held-back\", probability = 0, by = \"5ms\" }",
        "reorder = { kind = \"let-ahead\", probability = 0, by = \"5ms\" }",
        "duplicate = { probability = 0 }",
    ] {
        changed("\"10ms\"", &format!("\"10ms\"\n{keys}")).unwrap();
    }
}

#[test]
fn the_maximum_values_in_errors_can_be_parsed() {
    use headway_units::{Bytes, Duration, Rate};
    assert!("18446744Tbps".parse::<Rate>().is_ok() && "18446745Tbps".parse::<Rate>().is_err());
    assert!("18446744073GB".parse::<Bytes>().is_ok() && "18446744074GB".parse::<Bytes>().is_err());
    assert!("18446744073s".parse::<Duration>().is_ok() && "18446744074s".parse::<Duration>().is_err());
    for (error, range) in [
        ("1e30bps".parse::<Rate>().unwrap_err(), "from 0bps to 18446744Tbps, in steps of 1bps"),
        ("1e30B".parse::<Bytes>().unwrap_err(), "from 0B to 18446744073GB, in whole bytes"),
        ("1e30s".parse::<Duration>().unwrap_err(), "from 0s to 18446744073s (584 years), in steps of 1ns"),
    ] {
        assert!(error.to_string().ends_with(range), "{error}");
    }
}

/// These values were accepted and made a sender flood its path, or wait longer than any timeout.
#[test]
fn durations_of_transports_have_sensible_ranges() {
    let tcp = |keys: &str| format!("{{ kind = \"tcp-newreno\", {keys} }}");
    let tfrc = |keys: &str| format!("{{ kind = \"tfrc\", controller = {{ {keys} }} }}");
    let dccp = |keys: &str| format!("{{ kind = \"dccp\", ccid = 3, connection = {{ {keys} }} }}");
    for (transport, expected) in [
        (tcp("overhead = \"120s\""), "120s is out of range: from 0s to 1s"),
        (tcp("delayed_ack = \"10s\""), "10s is out of range: from 0s to 500ms"),
        (tcp("expert = { max_rto = \"1ns\" }, min_rto = \"0s\""), "1ns is out of range: from 1ms to"),
        (tcp("expert = { initial_rto = \"1ns\" }"), "1ns is out of range: from 1ms to max_rto, 60s"),
        (tcp("expert = { syn_loss_rto = \"0s\" }"), "0s is out of range: from 1ms to max_rto, 60s"),
        (tfrc("probe_interval = \"1ns\""), "1ns is out of range: from 1ms to 64s"),
        (tfrc("probe_interval = \"100s\""), "100s is out of range: from 1ms to 64s"),
        (tfrc("expert = { t_gran = \"100s\" }"), "100s is out of range: from 0s to 1s"),
        (tfrc("tcp_tick = \"0s\""), "0s is out of range: from 1ns to 1s"),
        (tfrc("expert = { min_interval = \"1h\" }"), "3600s is out of range: from 0s to 64s"),
        (dccp("longest_change_wait = \"0s\""), "0s is out of range: from 1ms to 64s"),
        (dccp("longest_change_wait = \"1h\""), "3600s is out of range: from 1ms to 64s"),
        (dccp("expert = { tail_ack = \"0s\" }"), "0s is out of range: from 1ms to 64s"),
        (dccp("expert = { request_timeout = \"1ns\" }"), "1ns is out of range: from 1ms to 1000000s"),
        (dccp("expert = { request_give_up = \"0s\" }"), "0s is out of range: from 1ms to 1000000s"),
        (dccp("expert = { time_wait = \"0s\" }"), "0s is out of range: from 1ms to 1000000s"),
        (
            "{ kind = \"tcp-like\", controller = { expert = { granularity = \"5s\" } } }".to_owned(),
            "5s is out of range: from 0s to 1s",
        ),
        (
            "{ kind = \"udpm\", controller = { interval = \"1h\" } }".to_owned(),
            "3600s is out of range: from 1ms to 64s",
        ),
        (
            "{ kind = \"spacing\", line_rate = \"1Gbps\", controller = { first = \"1ns\" } }".to_owned(),
            "1ns is out of range: from 1us to 64s",
        ),
    ] {
        let text = SMALL.replacen("{ kind = \"tcp-newreno\", window = \"15packets\" }", &transport, 1);
        assert_ne!(text, SMALL, "the small scenario has another transport");
        let error = load("small.toml", &text, &[], &NoFiles).unwrap_err().to_string();
        assert!(error.contains(expected), "{transport}:\n{error}");
    }
}

/// Encodings and an encoder follow the rate of a controller. Over DCCP, the ladder of UDPm must fit into the value of a feature (RFC
/// 4340 sections 5.8 and 6.1).
#[test]
fn encodings_and_ladders_need_a_transport_that_carries_them() {
    let wrong = |transport: &str, source: &str| {
        let text = SMALL.replacen("{ kind = \"tcp-newreno\", window = \"15packets\" }", transport, 1);
        let text = text.replacen("{ kind = \"ftp\" }", source, 1);
        load("small.toml", &text, &[], &NoFiles).map(drop).map_err(|error| error.to_string())
    };
    let encodings = "{ kind = \"encodings\" }";
    for kind in ["udp", "tcp-reno"] {
        for source in [encodings, "{ kind = \"encoder\" }"] {
            let error = wrong(&format!("{{ kind = \"{kind}\" }}"), source).unwrap_err();
            assert!(error.contains(&format!("{kind} reports no rate for the source to follow")), "{error}");
        }
    }
    for kind in ["\"udpm\"", "\"tfrc\"", "\"dccp\", ccid = 248", "\"dccp\", ccid = 3"] {
        assert_eq!(wrong(&format!("{{ kind = {kind} }}"), encodings), Ok(()), "{kind}");
    }
    let error = wrong("{ kind = \"udpm\" }", "{ kind = \"encodings\", rates = [\"2bps\", \"1bps\"] }").unwrap_err();
    assert!(error.contains("source.rates: 1bps is not above 2bps; expected rising rates"), "{error}");
    let ladder = (1..=50).map(|rate| format!("\"{rate}kbps\"")).collect::<Vec<_>>().join(", ");
    let of = |kind: &str| wrong(&format!("{{ kind = {kind}, controller = {{ ladder = [{ladder}] }} }}"), encodings);
    assert_eq!(of("\"udpm\""), Ok(()));
    let error = of("\"dccp\", ccid = 248").unwrap_err();
    assert!(error.contains("controller.ladder: 50 rates are too many for a connection; expected 1 to 49"), "{error}");
}

/// The error of `controller = { zzz = 1 }` listed none of the more than 40 keys of TFRC.
#[test]
fn errors_of_unknown_keys_list_the_keys_of_the_transport() {
    let kinds =
        ["tfrc", "tfrc-sp", "tfrc-filtered", "tcp-like", "udpm", "spacing", "spacing-fixed", "spacing-equation", "rap"];
    let agents = kinds.map(|kind| format!("{{ kind = \"{kind}\", controller = {{ zzzzzzz = 1 }} }}"));
    let ccids = [2, 3, 4, 248, 249, 250, 252, 253, 254].map(|ccid| {
        format!("{{ kind = \"dccp\", ccid = {ccid}, controller = {{ zzzzzzz = 1 }}, connection = {{ yyyyyyy = 1 }} }}")
    });
    let tcp = ["tcp-reno", "tcp-cubic", "tcp-vegas"].map(|kind| format!("{{ kind = \"{kind}\", zzzzzzz = 1 }}"));
    for transport in agents.iter().chain(&ccids).chain(&tcp) {
        let text = SMALL.replacen("{ kind = \"tcp-newreno\", window = \"15packets\" }", transport, 1);
        let error = load("small.toml", &text, &[], &NoFiles).unwrap_err().to_string();
        let unknown = error.lines().filter(|line| line.contains("unknown key"));
        let listed: Vec<bool> = unknown.map(|line| line.contains("; known are ") && !line.contains(" more")).collect();
        assert!(!listed.is_empty() && listed.iter().all(|listed| *listed), "{transport}:\n{error}");
    }
}

/// Errors with a suggestion did not list the other values.
#[test]
fn errors_with_a_suggestion_list_all_values() {
    let link = |keys: &str| format!("\"10ms\"\n{keys}");
    for (from, to, expected) in [
        (
            "\"10s\"\n",
            "\"10s\"\ndialect = \"headway-2\"\n".to_owned(),
            "? Known are headway, headway-1, rfc, ns2, ns3, linux",
        ),
        ("\"10s\"\n", "\"10s\"\nties = \"drwn\"\n".to_owned(), "? Known are drawn, scheduled"),
        (
            "limit = \"20packets\"",
            "limit = \"20packets\", counts = \"in flight\"".to_owned(),
            "did you mean \"in-flight\"? Known are ",
        ),
        ("droptail", "droptial".to_owned(), "? Known are droptail, red, codel"),
        ("\"10ms\"", link("loss = { kind = \"bernouli\" }"), "? Known are "),
        ("\"10ms\"", link("events = \"tow\""), "nown are "),
        ("window = \"15packets\"", "halving = \"windw\"".to_owned(), "? Known are window, flight, network"),
        ("tcp-newreno", "tcp-newrno".to_owned(), "? Known are "),
    ] {
        let text = SMALL.replacen(from, &to, 1);
        let error = load("small.toml", &text, &[], &NoFiles).unwrap_err().to_string();
        assert!(error.contains(expected), "{to}:\n{error}");
    }
}

#[test]
fn nodes_and_lower_layer_bytes_have_a_maximum() {
    let nodes = |count: u32| with(&format!("[[node]]\nname = 'n'\ncount = {count}\n"));
    nodes(99_998).unwrap();
    let error = nodes(99_999).unwrap_err();
    assert!(error.contains("link: these links make 100001 nodes: at most 100000"), "{error}");
    let overhead = |bytes: &str| changed("\"10ms\"", &format!("\"10ms\"\noverhead = \"{bytes}\""));
    assert_eq!(overhead("38B").unwrap().scenario.links[0].overhead.count(), 38);
    overhead("65536B").unwrap();
    assert!(overhead("65537B").is_err());
}

#[test]
fn sources_are_checked_against_the_limits_of_a_run() {
    let udp = |source: &str| {
        with(&format!(
            "[[flow]]\nname = 'u'\nfrom = 'a'\nto = 'b'\ntransport = {{ kind = 'udp' }}\nsource = {{ {source} }}\n"
        ))
    };
    udp("kind = 'cbr', rate = '1Mbps', size = '1000B'").unwrap();
    udp("kind = 'trace', file = 'x', loop = true").unwrap();
    for (source, expected) in [
        (
            "kind = 'cbr', interval = '1ns', size = '100B'",
            "flow[1].source: with this cbr source the scenario sends more than",
        ),
        ("kind = 'cbr', interval = '1us', size = '16MB'", "sends more than 10000000000 packets"),
        ("kind = 'cbr', interval = '0s', size = '100B'", "flow[1].source.interval: an interval of 0s never ends"),
        ("kind = 'cbr', rate = '1Mbps'", "flow[1].source.size: a cbr source needs size"),
        ("kind = 'trace'", "flow[1].source.file: a trace source needs file"),
        ("kind = 'trace', file = 'x', streams = 'audio'", r#"flow[1].source.streams: "x" has no such stream"#),
    ] {
        let error = udp(source).unwrap_err();
        assert!(error.contains(expected), "{source}:\n{error}");
    }
}

#[test]
fn unreadable_files_are_errors() {
    let flow = "[[flow]]\nname = 'u'\nfrom = 'a'\nto = 'b'\ntransport = { kind = 'udp' }\n\
                source = { kind = 'trace', file = 'gone.txt' }\n";
    let error = load("small.toml", &format!("{SMALL}{flow}"), &[], &NoFiles).unwrap_err();
    assert!(first(&error.to_string()).contains("flow[1].source.file: cannot read \"gone.txt\": no files"), "{error}");
}

#[test]
fn a_queue_that_drops_queued_packets_needs_two_events() {
    let front = "\"droptail\", drop = \"front\",";
    assert!(changed("\"droptail\",", front).unwrap().scenario.links[0].needs_two_events());
    // Queues that decide at departure always need two events.
    for kind in ["codel", "pie", "fq-codel", "dualpi2", "drr", "priority", "cake"] {
        assert!(
            changed("\"droptail\",", &format!("\"{kind}\",")).unwrap().scenario.links[0].needs_two_events(),
            "{kind}"
        );
    }
    let text = SMALL.replace("\"droptail\",", front).replace("\"10ms\"", "\"10ms\"\nevents = \"one\"");
    let error = load("small.toml", &text, &[], &OneTrace).unwrap_err().to_string();
    assert!(error.contains("link[0].events: this queue drops or marks queued packets"), "{error}");
}

#[test]
fn scheduled_ties_need_two_events() {
    let one = SMALL.replace("\"10ms\"", "\"10ms\"\nevents = \"one\"");
    assert!(load("small.toml", &one, &[], &OneTrace).is_ok());
    let scheduled = one.replace("\"10s\"\n", "\"10s\"\nties = \"scheduled\"\n");
    let error = load("small.toml", &scheduled, &[], &OneTrace).unwrap_err().to_string();
    assert!(error.contains("link[0].events: ties = \"scheduled\" needs two events"), "{error}");
}

#[test]
fn errors_of_an_empty_scenario_name_the_missing_keys() {
    let error = load("empty.toml", "", &[], &OneTrace).unwrap_err().to_string();
    for part in [
        "empty.toml: the key \"duration\" is missing",
        "empty.toml: link: there is no link: write at least one [[link]], with between, rate and delay",
        "empty.toml: flow: there is no flow: write at least one [[flow]], with",
    ] {
        assert!(error.contains(part), "{error}");
    }
    let error = load("empty.toml", "flow = []", &[], &OneTrace).unwrap_err().to_string();
    assert!(error.contains("flow: there is no flow"), "{error}");
}

#[test]
fn names_are_unique() {
    let node = |text: &str| with(text).unwrap_err();
    for (text, expected) in [
        ("[[node]]\nname = 'c'\ncount = 3\n[[node]]\nname = 'c2'\n", r#"node[1].name: two nodes are called "c2""#),
        ("[[node]]\nname = 'c'\n[[node]]\nname = 'c'\n", r#"node[1].name: two nodes are called "c""#),
        ("[[link]]\nbetween = ['b', 'a']\nrate = '1Mbps'\ndelay = '1ms'\n", "there are two links b->a"),
        (
            "[[flow]]\nname = 'ftp'\nfrom = 'b'\nto = 'a'\ntransport = { kind = 'tcp-reno' }\nsource = { kind = 'ftp' }\n",
            r#"flow[1].name: two flows are called "ftp""#,
        ),
        (
            "[[node]]\nname = 'c'\ncount = 3\n[[link]]\nbetween = ['c4', 'a']\nrate = '1Mbps'\ndelay = '1ms'\n",
            r#"link[1].between[0]: there is no "c4": "c" has 3 replicas"#,
        ),
        (
            "[[node]]\nname = 'c'\ncount = 3\n[[node]]\nname = 'd'\ncount = 2\n\
          [[link]]\nbetween = ['c', 'd']\nrate = '1Mbps'\ndelay = '1ms'\n",
            r#"link[1].between: "c" has 3 replicas and "d" has 2"#,
        ),
    ] {
        let error = node(text);
        assert!(error.contains(expected), "{text}\n{error}");
    }
}

#[test]
fn all_errors_are_reported_at_once() {
    let text =
        SMALL.replace("2Mbps", "2").replace("limit", "limits").replace("\"15packets\"", "15").replace("10s", "10");
    let error = load("small.toml", &text, &[], &OneTrace).unwrap_err();
    assert_eq!(error.problems.len(), 4, "{error}");
    // Also in a table and a nested table of the same options.
    let text = SMALL.replace("window = \"15packets\"", "window = 15, segment = 1, min_rto = true");
    let error = load("small.toml", &text, &[], &OneTrace).unwrap_err();
    assert_eq!(error.problems.len(), 3, "{error}");
}

#[test]
fn errors_of_invalid_toml_show_the_line() {
    let error = changed("rate = ", "rate ").unwrap_err();
    assert!(error.starts_with("small.toml:6:"), "{error}");
    assert!(error.contains("this is not TOML"), "{error}");
    assert!(error.contains("  6 | rate \"2Mbps\"\n"), "{error}");
}

#[test]
fn errors_of_overrides_name_the_override() {
    let run = |set: &str| {
        let set: Override = set.parse().map_err(|error| format!("{error}"))?;
        load("small.toml", SMALL, &[set], &OneTrace).map_err(|error| error.to_string())
    };
    for (set, expected) in [
        ("link[0].rate=4", "--set link[0].rate: 4 has no unit: a rate is written \"2Mbps\""),
        ("link[0].rate=4Mb", "--set link[0].rate: \"4Mb\": unknown unit \"Mb\""),
        ("link[0].rat=4Mbps", "--set link[0].rat: link[0]: unknown key \"rat\"; did you mean \"rate\"?"),
        ("link[1].rate=4Mbps", "--set link[1].rate: there is no link[1]"),
        ("flow[fpt].start=1s", "--set flow[fpt].start: there is no flow called \"fpt\"; did you mean \"ftp\"?"),
        ("node[0].count=3", "--set node[0].count: there is no [[node]]: an override cannot create one"),
        ("duration.x=3", "--set duration.x: duration is neither a table nor an array"),
        ("duration", "--set duration: a value is missing: write KEY=VALUE"),
        (
            "link.rate=1Mbps",
            "--set link.rate: there may be several [[link]]: write link[0].rate, or by its name link[a->b].rate",
        ),
        (
            "flow.transport.window=3packets",
            "--set flow.transport.window: there may be several [[flow]]: write flow[0].transport.window, or by its name flow[ftp].transport.window",
        ),
        ("link[0.rate=1", "--set link[0.rate: \"link[0.rate\" is not a key: a bracket is not closed"),
    ] {
        let error = run(set).unwrap_err();
        assert!(first(&error).starts_with(expected), "{set}:\n{error}");
    }
}

#[test]
fn a_varied_key_of_an_array_needs_an_index() {
    let error = with("[vary]\n\"link.rate\" = [\"1Mbps\"]\n").unwrap_err();
    assert!(error.contains("small.toml:17:1: vary: there may be several [[link]]: write link[0].rate"), "{error}");
}

/// ECMA-48: ESC [ 2 J clears a terminal.
#[test]
fn quoted_text_has_no_control_characters() {
    let escape = "\u{1b}[2J";
    for (from, to) in [
        ("\"2Mbps\"", "\"2\\u001b[2J\\nMbps\""),
        ("\"droptail\"", "\"\\u001b[2J\\n\""),
        ("duration", "\"\\u001b[2J\\n\" = 1\nduration"),
        ("to = \"b\"", "to = \"\\u001b[2J\\n\""),
    ] {
        let error = changed(from, to).unwrap_err();
        assert!(error.contains("\\u001b[2J\\u000a"), "{error}");
        assert!(!error.contains(escape), "{error}");
    }
    let file = load(escape, "duration = 1", &[], &OneTrace).unwrap_err().to_string();
    assert!(file.starts_with("\\u001b[2J:"), "{file:?}");
}

#[test]
fn arrays_of_the_wrong_length_are_errors() {
    for (from, to, expected) in [
        (
            "to = \"b\"",
            "to = \"b\"\nstart = { uniform = [\"0s\", \"1s\", \"4s\"] }",
            "small.toml:14:21: flow[0].start.uniform: an array of 3 values has the wrong length: write an array of 2",
        ),
        (
            "to = \"b\"",
            "to = \"b\"\nstart = { uniform = [\"0s\", \"1s\", \"nonsense\"] }",
            "flow[0].start.uniform: an array of 3 values has the wrong length",
        ),
        (
            "to = \"b\"",
            "to = \"b\"\nstart = { uniform = [\"0s\"] }",
            "flow[0].start.uniform: an array of 1 value has the wrong length",
        ),
    ] {
        let error = changed(from, to).unwrap_err();
        assert!(error.contains(expected), "{from} -> {to}:\n{error}");
    }
}

#[test]
fn errors_of_lists_suggest_vary() {
    for (from, to, expected) in [
        (
            "\"10s\"\n",
            "\"10s\"\nseed = [1, 2]\n",
            "small.toml:3:8: seed: an array is not a whole number from 0 to 9223372036854775807: to make a run of each value, write them \
             under [vary], as \"seed\" = [...]",
        ),
        (
            "\"2Mbps\"",
            "[\"2Mbps\", \"4Mbps\"]",
            "link[0].rate: an array is not a rate with its unit, such as \"2Mbps\": to make a run of each value, write them under [vary], as \
             \"link[0].rate\" = [...]",
        ),
        ("\"15packets\"", "[\"15packets\"]", "as \"flow[0].transport.window\" = [...]"),
    ] {
        let error = changed(from, to).unwrap_err();
        assert!(error.contains(expected), "{from} -> {to}:\n{error}");
    }
    // An array within an array is not a list of runs.
    let error = changed("[\"a\", \"b\"]", "[\"a\", [\"b\"]]").unwrap_err();
    assert!(!error.contains("[vary]"), "{error}");
}

/// Errors of distributions contain a valid example.
#[test]
fn distributions_are_tables_with_valid_examples() {
    let source = |source: &str| changed("{ kind = \"ftp\" }", &format!("{{ {source} }}"));
    let sessions = |keys: &str| source(&format!("kind = \"sessions\", {keys}"));
    let pages = |keys: &str| source(&format!("kind = \"pages\", {keys}"));
    let sizes = "sizes = { constant = \"1kB\" }";
    for (loaded, expected) in [
        (
            sessions(&format!("arrivals = \"poisson\", {sizes}")),
            r#"small.toml:15:42: flow[0].source.arrivals: "poisson" needs a table: write { poisson = "10ms" }"#,
        ),
        (sessions(&format!("arrivals = \"at\", {sizes}")), r#""at" needs a table: write { at = ["10ms"] }"#),
        (
            sessions(&format!("arrivals = \"poison\", {sizes}")),
            r#"flow[0].source.arrivals: unknown value "poison"; did you mean "poisson"?"#,
        ),
        (
            sessions("arrivals = { every = \"1s\" }, sizes = \"pareto\""),
            r#"flow[0].source.sizes: "pareto" needs a table: write { pareto = { mean = .., minimum = .., shape = .. } }"#,
        ),
        (pages("main = \"constant\""), r#"source.main: "constant" needs a table: write { constant = "1000B" }"#),
        (
            pages("objects = \"pareto\""),
            r#""pareto" needs a table: write { pareto = { minimum = .., shape = .., maximum = .. } }"#,
        ),
        (pages("objects = \"constant\""), r#""constant" needs a table: write { constant = 5 }"#),
        (
            pages("objects = 5"),
            "flow[0].source.objects: 5 is not a table with one of the keys pareto, constant, such as { pareto = {",
        ),
        (
            sessions(&format!("arrivals = 3, {sizes}")),
            r#"3 is not a table with one of the keys poisson, every, at, such as { poisson = "10ms" }"#,
        ),
        (
            pages("main = []"),
            "source.main: an array is not a table with one of the keys pareto, lognormal, exponential, constant, list, such as",
        ),
        (
            pages("objects = { constant = -1 }"),
            "flow[0].source.objects.constant: -1 is out of range: write a whole number from 0 to 1000",
        ),
        (pages("objects = { constant = 1e308 }"), "constant: 1e308 is not a whole number from 0 to 1000"),
        (pages("objects = { constant = 1001 }"), "1001 is out of range: write a whole number from 0 to 1000"),
        (
            sessions("arrivals = { at = [\"0s\", \"1s\"] }, sizes = { list = [\"1kB\"] }"),
            "source.sizes: 1 size for 2 arrivals: write one for each",
        ),
        (
            sessions(sizes),
            r#"flow[0].source: the key "arrivals" is missing; write it like arrivals = { poisson = "45ms" }"#,
        ),
    ] {
        let error = loaded.unwrap_err();
        assert!(error.contains(expected), "{expected}:\n{error}");
    }
    for arrivals in ["{ poisson = \"10ms\" }", "{ at = [\"10ms\"] }"] {
        sessions(&format!("arrivals = {arrivals}, {sizes}")).unwrap();
    }
    pages("main = { constant = \"1000B\" }, objects = { constant = 5 }").unwrap();
    // A unit variant is not a table.
    for (dialect, expected) in [
        ("{ ns2 = 1 }", r#"dialect: "ns2" takes no table: write "ns2" in place of the table"#),
        ("5", "dialect: 5 is not one of the words headway, headway-1"),
    ] {
        let error = changed("\"10s\"\n", &format!("\"10s\"\ndialect = {dialect}\n")).unwrap_err();
        assert!(error.contains(expected), "{dialect}:\n{error}");
    }
}

#[test]
fn keys_without_a_preset_are_required() {
    for (keys, expected) in [
        (
            "jitter = { kind = \"exponential\" }",
            r#"link[0].jitter: the key "mean" is missing; write it like mean = "10ms""#,
        ),
        (
            "jitter = { kind = \"exponential\", mean = \"0s\" }",
            r#"link[0].jitter.mean: a jitter of 0s has no effect; expected no jitter, or a value such as "10ms""#,
        ),
        (
            "jitter = { kind = \"uniform\", least = \"30ms\" }",
            r#"link[0].jitter: the key "most" is missing; write it like most = "40ms""#,
        ),
        (
            "jitter = { kind = \"uniform\", least = \"30ms\", most = \"20ms\" }",
            r#"link[0].jitter.most: 20ms is not above least, 30ms; expected a value such as "40ms""#,
        ),
        (
            "reorder = { kind = \"held-back\", by = \"5ms\" }",
            r#"link[0].reorder: the key "probability" is missing; write it like probability = "1%""#,
        ),
        (
            "reorder = { kind = \"held-back\", probability = 0 }",
            r#"link[0].reorder: the key "by" is missing; write it like by = "10ms""#,
        ),
        (
            "reorder = { kind = \"let-ahead\" }",
            r#"link[0].reorder: the key "by" is missing; write it like by = "10ms""#,
        ),
    ] {
        let error = changed("\"10ms\"", &format!("\"10ms\"\n{keys}")).unwrap_err();
        assert!(error.contains(expected), "{keys}:\n{error}");
    }
}

/// A preset of 0 means that the key is required: `loss = { kind = "bernoulli" }` was accepted and lost no packet.
#[test]
fn keys_with_a_preset_of_zero_are_required() {
    let loss = |table: &str| changed("\"10ms\"", &format!("\"10ms\"\nloss = {table}"));
    for (kind, key, example) in [("bernoulli", "probability", "\"1%\""), ("periodic", "every", "100")] {
        let error = loss(&format!("{{ kind = \"{kind}\" }}")).unwrap_err();
        let expected = format!("link[0].loss: the key \"{key}\" is missing; write it like {key} = {example}");
        assert!(error.contains(&expected), "{error}");
        assert_eq!(error.matches("link[0].loss").count(), 1, "{error}");
    }
    // An explicit 0 is allowed for a probability.
    loss("{ kind = \"bernoulli\", probability = 0 }").unwrap();
    let error = loss("{ kind = \"periodic\", every = 0 }").unwrap_err();
    assert!(error.contains("link[0].loss.every: 0 loses no packet; expected 1 or more, or a change"), "{error}");
}

/// The error of a kind without its table contains a valid table.
#[test]
fn errors_of_a_kind_without_a_table_show_a_valid_table() {
    let with = |key: &str, value: &str| match key {
        "source" => changed("{ kind = \"ftp\" }", value),
        "queue" => changed("{ kind = \"droptail\", limit = \"20packets\" }", value),
        "transport" => changed("{ kind = \"tcp-newreno\", window = \"15packets\" }", value),
        _ => changed("\"10ms\"", &format!("\"10ms\"\n{key} = {value}")),
    };
    for (key, kinds) in [
        ("jitter", &["exponential", "normal", "pareto", "uniform"][..]),
        ("reorder", &["held-back", "let-ahead"]),
        ("loss", &["bernoulli", "list", "periodic"]),
        ("source", &["ftp", "sessions", "pages"]),
        ("queue", &["droptail", "red", "codel", "pie", "fq-codel", "cake"]),
        ("transport", &["tcp-reno", "dccp"]),
    ] {
        for kind in kinds {
            let error = with(key, &format!("\"{kind}\"")).unwrap_err();
            let line =
                error.lines().find(|line| line.contains("is a table, such as ")).unwrap_or_else(|| panic!("{error}"));
            let (_, example) = line.split_once("such as ").unwrap();
            assert!(example.contains(&format!("kind = \"{kind}\"")), "{error}");
            with(key, example).unwrap_or_else(|error| panic!("{key} = {example}:\n{error}"));
        }
    }
    let error = with("jitter", "\"normal\"").unwrap_err();
    assert!(error.contains(r#"the jitter is a table, such as { kind = "normal", deviation = "10ms" }"#), "{error}");
    // Kinds with alternative keys have no example.
    let error = with("loss", "\"gilbert-elliott\"").unwrap_err();
    assert!(error.contains(r#"such as { kind = "gilbert-elliott", .. }"#), "{error}");
}

/// Errors of binary files describe the expected text, or the command that converts a recording.
#[test]
fn errors_of_binary_files_describe_the_expected_text() {
    struct Recording;
    impl Files for Recording {
        fn read(&self, _: &str, _: u64) -> std::io::Result<Vec<u8>> {
            Ok(vec![0, 0, 0, 0x20, b'f', b't', b'y', b'p'])
        }
    }
    for (from, to, expected) in [
        (
            "{ kind = \"ftp\" }",
            "{ kind = \"trace\", file = \"x.mp4\" }",
            "cannot read \"x.mp4\": it is not text; convert a recording to a trace with ffprobe -v error",
        ),
        (
            "rate = \"2Mbps\"",
            "capacity = \"x\"",
            "cannot read \"x\": it is not text; a capacity trace has lines of milliseconds, such as 12",
        ),
        (
            "\"10ms\"",
            "\"10ms\"\nloss = { kind = \"trace\", file = \"x\" }",
            "cannot read \"x\": it is not text; a loss trace has packets, such as 00100, or steps",
        ),
    ] {
        let error = load("small.toml", &SMALL.replace(from, to), &[], &Recording).unwrap_err().to_string();
        assert!(error.contains(expected), "{from} -> {to}:\n{error}");
    }
}

#[test]
fn errors_of_keys_of_other_kinds_or_versions_name_their_place() {
    for (transport, expected) in [
        ("{ kind = \"tcp-reno\", vegas_alpha = 3 }", "unknown key \"vegas_alpha\"; it is a key of tcp-vegas"),
        ("{ kind = \"tcp-bic\", beta = 0.5 }", "unknown key \"beta\"; it is a key of tcp-cubic"),
        ("{ kind = \"tcp-reno\", l4s = true }", "unknown key \"l4s\"; it is a key of tcp-dctcp"),
        ("{ kind = \"tcp-reno\", partial_ack_timer = \"impatient\" }", "it is a key of tcp-newreno, tcp-jtcp"),
        (
            "{ kind = \"tcp-newreno\", expert = { rack_window = true } }",
            "it is a key of tcp-sack, tcp-cubic, tcp-westwood, tcp-vegas, tcp-dctcp, tcp-prague, tcp-veno, tcp-bic",
        ),
        (
            "{ kind = \"tcp-reno\", ecn = true, ecn_least_window = 2 }",
            "unknown key \"ecn_least_window\"; it is in the table \"expert\": write expert = { ecn_least_window = .. }",
        ),
        (
            "{ kind = \"tcp-reno\", expert = { tick = \"1ms\" } }",
            "unknown key \"tick\"; it is a key of the enclosing table",
        ),
        ("{ kind = \"tcp-cubic\", cubic_scale = 0.5 }", "unknown key \"cubic_scale\"; it was removed"),
        (
            "{ kind = \"tcp-tahoe\", expert = { max_rtt = \"9s\" } }",
            "unknown key \"max_rtt\"; did you mean \"max_rto\"?",
        ),
    ] {
        let error = changed(TCP, transport).unwrap_err();
        assert!(first(&error).contains("small.toml:"), "{error}");
        assert!(error.contains(expected), "{transport}:\n{error}");
    }
}
