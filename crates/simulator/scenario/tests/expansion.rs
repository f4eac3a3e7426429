//! Replicas, presets, overrides and `[vary]`: the expansion of a text into runs.

use crate::common::{OneTrace, SMALL, changed, with};
use headway_engine::Ties;
use headway_scenario::{Loaded, NoFiles, Override, Scenario, Start, Transport, load, plan};
use headway_units::{Duration, Instant, Registry};

fn set(all: &[&str]) -> Vec<Override> {
    all.iter().map(|set| set.parse().unwrap()).collect()
}

fn small_with(all: &[&str]) -> Scenario {
    load("small.toml", SMALL, &set(all), &NoFiles).unwrap_or_else(|error| panic!("{error}")).scenario
}

fn assert_resolves(loaded: &Loaded) {
    let again = load("again.toml", &loaded.resolved_toml, &[], &OneTrace).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again.scenario, loaded.scenario);
}

const STAR: &str = r#"
duration = "1s"
[[node]]
name = "c"
count = 3
[[link]]
between = ["c", "r"]
rate = "10Mbps"
delay = "1ms"
[[link]]
between = ["r", "s"]
rate = "10Mbps"
delay = "1ms"
one_way = true
[[flow]]
name = "up"
from = "c"
to = "s"
start = ["0s", "0.1s", "0.2s"]
transport = { kind = "udp" }
source = { kind = "cbr", rate = "1Mbps", size = "1000B" }
[[flow]]
name = "one"
from = "c2"
to = "c3"
transport = { kind = "tcp-reno" }
source = { kind = "ftp" }
"#;

#[test]
fn replicas_are_numbered_from_one_in_file_order() {
    let loaded = load("star.toml", STAR, &[], &NoFiles).unwrap();
    assert_resolves(&loaded);
    let scenario = loaded.scenario;
    assert_eq!(scenario.name, "star");
    assert_eq!(scenario.nodes, ["c1", "c2", "c3", "r", "s"]);
    let links: Vec<&str> = scenario.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(links, ["c1->r", "r->c1", "c2->r", "r->c2", "c3->r", "r->c3", "r->s"]);
    let flows: Vec<(&str, usize, usize, Start)> =
        scenario.flows.iter().map(|flow| (flow.name.as_str(), flow.from, flow.to, flow.start)).collect();
    let at = |millis| Start::At(Instant::from_millis(millis));
    assert_eq!(flows, [("up1", 0, 4, at(0)), ("up2", 1, 4, at(100)), ("up3", 2, 4, at(200)), ("one", 1, 2, at(0))]);
}

#[test]
fn replicas_at_both_ends_are_paired() {
    let text = STAR.replace("[[link]]\nbetween = [\"r\"", "[[node]]\nname = \"d\"\ncount = 3\n[[link]]\nbetween = [\"c\", \"d\"]\nrate = \"1Mbps\"\ndelay = \"1ms\"\n[[link]]\nbetween = [\"r\"");
    let scenario = load("pairs.toml", &text, &[], &NoFiles).unwrap().scenario;
    let names: Vec<&str> = scenario.links.iter().map(|link| link.name.as_str()).skip(6).take(6).collect();
    assert_eq!(names, ["c1->d1", "d1->c1", "c2->d2", "d2->c2", "c3->d3", "d3->c3"]);
}

#[test]
fn count_creates_flows_between_the_same_nodes() {
    let scenario = small_with(&["flow[ftp].count=3", "flow[ftp].start={ uniform = [\"0s\", \"0.1s\"] }"]);
    let names: Vec<&str> = scenario.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["ftp1", "ftp2", "ftp3"]);
    assert_eq!(scenario.flows[2].start, Start::Uniform(Duration::ZERO, Duration::from_millis(100)));
}

#[test]
fn absent_keys_have_their_defaults() {
    let loaded = changed("queue = { kind = \"droptail\", limit = \"20packets\" }\n", "").unwrap();
    let scenario = &loaded.scenario;
    assert_eq!((scenario.seed, scenario.series), (1, Some(Duration::from_millis(100))));
    assert_eq!(scenario.measure_from, Duration::ZERO);
    let link = &scenario.links[0];
    assert_eq!((link.queue.kind(), link.mtu, link.overhead.count(), link.two_events), ("droptail", None, 0, false));
    assert!(loaded.resolved_toml.contains("limit = \"50packets\""), "{}", loaded.resolved_toml);
}

#[test]
fn series_can_be_off() {
    for off in ["false", "\"0s\""] {
        let loaded = changed("\"10s\"\n", &format!("\"10s\"\nrecord = {{ series = {off} }}\n")).unwrap();
        assert_eq!(loaded.scenario.series, None);
        assert_resolves(&loaded);
    }
}

/// A resolved scenario without distributions has no such key.
#[test]
fn distributions_are_recorded_on_request() {
    for (written, kept) in
        [("", false), ("record = { distributions = false }\n", false), ("record = { distributions = true }\n", true)]
    {
        let loaded = changed("\"10s\"\n", &format!("\"10s\"\n{written}")).unwrap();
        assert_eq!(loaded.scenario.distributions, kept, "{written}");
        assert_eq!(loaded.scenario.series, Some(Duration::from_millis(100)));
        assert_eq!(loaded.resolved_toml.contains("distributions"), kept, "{}", loaded.resolved_toml);
        assert_resolves(&loaded);
    }
}

/// The innermost dialect applies: that of the table, of its flow or link, or of the scenario.
#[test]
fn dialects_are_inherited() {
    let header = |text: &str| {
        let flow = format!(
            "[[flow]]\nname = 'u'\nfrom = 'a'\nto = 'b'\n{text}\nsource = {{ kind = 'cbr', rate = '1Mbps', size = '1000B' }}\n"
        );
        let loaded = with(&flow).unwrap();
        assert_resolves(&loaded);
        let Transport::Udp(udp) = &*loaded.scenario.flows[1].transport else { panic!() };
        udp.header.count()
    };
    assert_eq!(header("transport = { kind = 'udp' }"), 28);
    assert_eq!(header("dialect = 'ns2'\ntransport = { kind = 'udp' }"), 0);
    assert_eq!(header("transport = { kind = 'udp', dialect = 'ns2' }"), 0);
    assert_eq!(header("dialect = 'ns2'\ntransport = { kind = 'udp', dialect = 'rfc' }"), 28);
}

/// ns-2 handles simultaneous events in the order of scheduling. An explicit `ties` has precedence.
#[test]
fn the_dialect_determines_the_default_of_ties() {
    for (keys, ties) in [
        ("", Ties::Drawn),
        ("dialect = 'linux'", Ties::Drawn),
        ("dialect = 'ns2'", Ties::Scheduled),
        ("dialect = 'ns2'\nties = 'drawn'", Ties::Drawn),
        ("ties = 'scheduled'", Ties::Scheduled),
    ] {
        let loaded = changed("\"10s\"\n", &format!("\"10s\"\n{keys}\n")).unwrap();
        assert_eq!(loaded.scenario.ties, ties, "{keys}");
        assert_resolves(&loaded);
    }
}

/// Delayed acknowledgements of RFC 5681 are disabled by `false`.
#[test]
fn options_of_a_preset_can_be_disabled() {
    let delayed = |loaded: &Loaded| {
        let Transport::Tcp(tcp) = &*loaded.scenario.flows[0].transport else { panic!() };
        tcp.rules.delayed_ack
    };
    assert!(delayed(&changed("small", "small").unwrap()).is_some());
    let off = changed("window = ", "delayed_ack = false, window = ").unwrap();
    assert_eq!(delayed(&off), None);
    assert_resolves(&off);
    // Required options cannot be disabled.
    let error = changed("window = \"15packets\"", "window = false").unwrap_err();
    assert!(error.contains("flow[0].transport.window: false is not the size of a queue"), "{error}");
}

#[test]
fn overrides_reach_every_key() {
    let scenario = small_with(&[
        "duration=20s",
        "name=other",
        "seed=7",
        "link[0].queue.limit=30packets",
        "link[a->b].mtu = \"9000B\"",
        "flow[ftp].transport.window=99packets",
        "record.series=1s",
        "flow[0].stop = 19s",
    ]);
    assert_eq!((scenario.duration, scenario.seed), (Duration::from_secs(20), 7));
    assert_eq!((scenario.name.as_str(), scenario.series), ("other", Some(Duration::from_secs(1))));
    assert!(format!("{:?}", scenario.links[1].queue).contains("30packets"));
    assert_eq!(scenario.links[0].mtu.unwrap().count(), 9000);
    assert_eq!(scenario.flows[0].stop, Some(Instant::from_secs(19)));
    let Transport::Tcp(tcp) = &*scenario.flows[0].transport else { panic!() };
    assert_eq!(tcp.rules.window.to_string(), "99packets");
}

#[test]
fn an_override_of_a_missing_queue_sets_the_default_queue() {
    let text = SMALL.replace("queue = { kind = \"droptail\", limit = \"20packets\" }\n", "");
    let loaded = load("small.toml", &text, &set(&["link[0].queue.limit=7packets"]), &NoFiles).unwrap();
    assert!(format!("{:?}", loaded.scenario.links[0].queue).contains("limit: 7packets"));
}

#[test]
fn a_flow_that_never_starts_has_a_warning() {
    let loaded = load("small.toml", SMALL, &set(&["flow[0].start=10s"]), &NoFiles).unwrap();
    assert_eq!(loaded.warnings.len(), 1);
    assert!(loaded.warnings[0].to_string().contains("this flow never starts: the run ends at 10s"));
}

/// Events at the end of the run or later have no effect, and were accepted silently.
#[test]
fn events_after_the_end_have_a_warning() {
    let warned = |from: &str, to: &str| -> Vec<String> {
        let text = SMALL.replacen(from, to, 1);
        assert_ne!(text, SMALL, "{from}");
        let loaded = load("small.toml", &text, &[], &NoFiles).unwrap_or_else(|error| panic!("{to}:\n{error}"));
        loaded
            .warnings
            .iter()
            .map(|warning| warning.to_string().lines().next().unwrap_or_default().to_owned())
            .collect()
    };
    let link = |keys: &str| warned("\"10ms\"", &format!("\"10ms\"\n{keys}"));
    let changes =
        |at: &str| format!("changes = [{{ at = \"1s\", rate = \"1Mbps\" }}, {{ at = \"{at}\", rate = \"3Mbps\" }}]");
    let never = "this change never happens: the run ends at 10s";
    for (keys, key) in [
        (changes("10s"), "link[0].changes[1].at"),
        (format!("reverse = {{ {} }}", changes("11s")), "link[0].reverse.changes[1].at"),
        (
            format!("shaper = {{ rate = \"1Mbps\", burst = \"15kB\", {} }}", changes("10s")),
            "link[0].shaper.changes[1].at",
        ),
        (
            "loss = { kind = \"bernoulli\", probability = 0, changes = [{ at = \"20s\", probability = 0.5 }] }"
                .to_owned(),
            "link[0].loss.changes[0].at",
        ),
    ] {
        let found = link(&keys);
        assert!(found.len() == 1 && found[0].ends_with(&format!("{key}: {never}")), "{keys}: {found:?}");
    }
    assert_eq!(link(&changes("9.999s")), [""; 0]);
    let found = warned("to = \"b\"", "to = \"b\"\ncount = 2\nstart = [\"0s\", \"10s\"]");
    assert!(
        found.len() == 1 && found[0].ends_with("flow[0].start[1]: this flow never starts: the run ends at 10s"),
        "{found:?}"
    );
    let found = warned("\"10s\"\n", "\"10s\"\nrecord = { series = \"11s\" }\n");
    assert!(
        found.len() == 1 && found[0].ends_with("record.series: no sample is taken: the run ends at 10s"),
        "{found:?}"
    );
}

#[test]
fn vary_runs_every_combination() {
    let text = format!("{SMALL}\n[vary]\n\"link[0].rate\" = [\"1Mbps\", \"2Mbps\"]\nseed = [1, 2, 3]\n");
    let labels = |all: &[&str]| -> Vec<String> {
        plan("vary.toml", &text, &set(all), &[]).unwrap().runs.into_iter().map(|run| run.label).collect()
    };
    assert_eq!(
        labels(&[]),
        [
            "link[0].rate=1Mbps seed=1",
            "link[0].rate=1Mbps seed=2",
            "link[0].rate=1Mbps seed=3",
            "link[0].rate=2Mbps seed=1",
            "link[0].rate=2Mbps seed=2",
            "link[0].rate=2Mbps seed=3",
        ]
    );
    assert_eq!(labels(&["seed=9"]), ["link[0].rate=1Mbps", "link[0].rate=2Mbps"], "a key that is set does not vary");
    assert_eq!(labels(&["link[a->b].rate=9Mbps", "seed=9"]), [""], "by any of its names");

    let runs = plan("vary.toml", &text, &[], &[]).unwrap().runs;
    let last = load("vary.toml", &text, &runs[5].overrides, &NoFiles).unwrap();
    assert_eq!((last.scenario.links[0].rate.to_string().as_str(), last.scenario.seed), ("2Mbps", 3));
    assert!(!last.resolved_toml.contains("vary"), "a resolved scenario is one run");
    assert_resolves(&last);
}

#[test]
fn different_values_have_different_labels() {
    let long = |end: &str| format!("\"{}{end}\"", "x".repeat(70));
    let text = format!("{SMALL}\n[vary]\n\"flow[0].from\" = [{}, {}, \"a\"]\n", long("1"), long("2"));
    let runs = plan("vary.toml", &text, &[], &[]).unwrap().runs;
    let cut = format!("flow[0].from={}...", "x".repeat(60));
    let labels: Vec<&str> = runs.iter().map(|run| run.label.as_str()).collect();
    assert_eq!(labels, [cut.as_str(), &format!("{cut} #2"), "flow[0].from=a"]);
    assert_eq!(runs[2].varied, [("flow[0].from".to_owned(), "a".to_owned())]);
}

#[test]
fn a_scenario_without_vary_is_one_run() {
    let plan = plan("small.toml", SMALL, &set(&["seed=3"]), &[]).unwrap();
    assert_eq!((plan.runs.len(), plan.runs[0].label.as_str()), (1, ""));
    assert_eq!(plan.runs[0].overrides, set(&["seed=3"]));
}

#[test]
fn errors_of_vary_name_their_line() {
    for (vary, expected) in [
        ("\"link[0].rate\" = [\"1Mb\"]", "vary.toml:18:19: link[0].rate: \"1Mb\": unknown unit"),
        ("\"link[3].rate\" = [\"1Mbps\"]", "vary.toml:18:1: vary: there is no link[3]"),
        ("seed = 1", "vary: seed varies over an array of one or more values"),
        ("seed = []", "vary: seed varies over an array"),
        ("seed = [1, -1]", "vary: seed -1 is not a whole number from 0 to 9223372036854775807"),
        ("seed = [1, \"2\"]", "vary: seed 2 is not a whole number"),
        ("seed = [1, 2.5]", "vary: seed 2.5 is not a whole number"),
        ("seed = [1, true]", "vary: seed true is not a whole number"),
        ("seed = { from = 1, to = 2, steps = 5 }", "vary: seed 1 is listed twice: each seed is run once"),
        ("seed = [1, 2, 1]", "vary: seed 1 is listed twice: each seed is run once"),
        ("\"link[0].rate\" = [\"1Mbps\", \"1000kbps\"]", "link[0].rate has the same value twice"),
        ("link.rate = [1]", "vary: put the whole key in quotes"),
        ("\"vary.seed\" = [1]", "vary: [vary] cannot vary itself"),
        ("\"a b\" = [1]", "vary: \"a b\" is not a key"),
    ] {
        let text = format!("{SMALL}\n[vary]\n{vary}\n");
        let error = plan("vary.toml", &text, &[], &[])
            .and_then(|plan| load("vary.toml", &text, &plan.runs[0].overrides, &NoFiles))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with(expected) || error.contains(expected), "{vary}:\n{error}");
    }
    let many: String = (0..99).map(|step| format!("\"flow[0].x{step}\" = [1, 2]\n")).collect();
    let error = plan("vary.toml", &format!("{SMALL}\n[vary]\n{many}"), &[], &[]).unwrap_err().to_string();
    assert!(error.contains("vary: these are more than 100000 runs"), "{error}");
}

#[test]
fn the_maximum_is_a_hundred_thousand_flows() {
    let series_off = "record.series=false";
    let scenario = small_with(&["flow[0].count=100000", series_off]);
    assert_eq!(scenario.flows.len(), 100_000);
    let error = load("small.toml", SMALL, &set(&["flow[0].count=100001", series_off]), &NoFiles).unwrap_err();
    assert!(error.to_string().contains("100001 is out of range"), "{error}");
    let second = "[[flow]]\nname = 'x'\nfrom = 'b'\nto = 'a'\ncount = 60000\ntransport = { kind = 'tcp-reno' }\n\
                  source = { kind = 'ftp' }\n";
    let text = format!("{SMALL}{second}{}", second.replace('x', "y"));
    let error = load("small.toml", &text, &[], &NoFiles).unwrap_err();
    assert!(error.to_string().contains("flow[2]: there are too many flows: at most 100000"), "{error}");
}
