//! `[vary]` and `--vary`: their notations, and the typed columns of a plan.

use headway_scenario::{Cell, NoFiles, Override, Plan, Vary, load, plan};
use proptest::prelude::*;

const TWO_LINKS: &str = r#"
duration = "1s"
[[link]]
name = "up"
between = ["a", "b"]
rate = "1Mbps"
delay = "5ms"
queue = { kind = "droptail", limit = "20packets" }
[[link]]
name = "down"
between = ["b", "c"]
rate = "1Mbps"
delay = "5ms"
[[flow]]
name = "voice"
from = "a"
to = "c"
transport = { kind = "udp" }
source = { kind = "cbr", interval = "20ms", payload = "160B" }
"#;

fn planned(vary: &str, varies: &[&str]) -> Result<Plan, String> {
    let varies: Result<Vec<Vary>, _> = varies.iter().map(|vary| vary.parse()).collect();
    let varies = varies.map_err(|error| error.to_string())?;
    let text = format!("{TWO_LINKS}[vary]\n{vary}\n");
    plan("sweep.toml", &text, &[], &varies).map_err(|error| error.to_string())
}

fn labels(vary: &str, varies: &[&str]) -> Vec<String> {
    planned(vary, varies).unwrap().runs.into_iter().map(|run| run.label).collect()
}

#[test]
fn seeds_change_fastest() {
    let expected = [
        "link[0].delay=1ms seed=1",
        "link[0].delay=1ms seed=2",
        "link[0].delay=2ms seed=1",
        "link[0].delay=2ms seed=2",
    ];
    assert_eq!(labels("seeds = 2\n\"link[0].delay\" = [\"1ms\", \"2ms\"]", &[]), expected);
    assert_eq!(labels("seed = [7, 9]", &["seeds=2"]), ["seed=1", "seed=2"], "the command line replaces it");
    assert_eq!(labels("seeds = { first = 101, count = 2 }", &[]), ["seed=101", "seed=102"]);
    let runs = planned("seeds = 2\n\"link[0].delay\" = [\"1ms\", \"2ms\"]", &[]).unwrap().runs;
    assert_eq!(
        runs.iter().map(|run| (run.point, run.seed)).collect::<Vec<_>>(),
        [(0, Some(1)), (0, Some(2)), (1, Some(1)), (1, Some(2))]
    );
}

#[test]
fn a_star_sets_all_matching_keys() {
    let run = planned("\"link[*].delay\" = [\"9ms\"]", &[]).unwrap().runs.remove(0);
    let loaded = load("sweep.toml", TWO_LINKS, &run.overrides, &NoFiles).unwrap();
    assert_eq!(loaded.resolved_toml.matches("delay = \"9ms\"").count(), 2, "{}", loaded.resolved_toml);
    let error = planned("\"link[x*].delay\" = [\"9ms\"]", &[]).unwrap_err();
    assert!(error.contains("there is no link with a name like \"x*\""), "{error}");
}

#[test]
fn values_of_ranges_are_exact() {
    for (range, expected) in [
        ("{ from = \"10ms\", to = \"40ms\", steps = 4 }", &["10ms", "20ms", "30ms", "40ms"][..]),
        ("{ from = \"0.1s\", to = \"0.3s\", step = \"0.1s\" }", &["0.1s", "0.2s", "0.3s"]),
        ("{ from = \"1ms\", to = \"1s\", steps = 4, scale = \"log\" }", &["1ms", "10ms", "100ms", "1000ms"]),
    ] {
        // Both ends in one unit.
        let range = range.replace("to = \"1s\"", "to = \"1000ms\"");
        let found = labels(&format!("\"link[0].delay\" = {range}"), &[]);
        assert_eq!(found, expected.iter().map(|value| format!("link[0].delay={value}")).collect::<Vec<_>>());
    }
    assert_eq!(
        labels("", &["link[0].rate=1Mbps..3Mbps/3"]),
        ["link[0].rate=1Mbps", "link[0].rate=2Mbps", "link[0].rate=3Mbps"]
    );
    let table = "link[0].rate={ from = \"1Mbps\", to = \"2Mbps\", steps = 2 }";
    assert_eq!(labels("", &[table]), ["link[0].rate=1Mbps", "link[0].rate=2Mbps"]);
    assert_eq!(labels("", &["link[0].rate=[\"1Mbps\", \"2Mbps\"]"]), ["link[0].rate=1Mbps", "link[0].rate=2Mbps"]);
    assert_eq!(labels("", &["seed=3..5"]), ["seed=3", "seed=4", "seed=5"]);
}

#[test]
fn keys_can_vary_together() {
    let vary = "\"link[0].rate\" = [\"1Mbps\", \"2Mbps\"]\n\"link[1].rate\" = [\"3Mbps\", \"4Mbps\"]\nzip = [[\"link[up].rate\", \"link[1].rate\"]]";
    let plan = planned(vary, &[]).unwrap();
    assert_eq!(
        plan.runs.iter().map(|run| &run.label[..]).collect::<Vec<_>>(),
        ["link[0].rate=1Mbps link[1].rate=3Mbps", "link[0].rate=2Mbps link[1].rate=4Mbps",]
    );
    assert_eq!(plan.columns.iter().map(|column| &column.name[..]).collect::<Vec<_>>(), ["0.rate", "1.rate"]);
    let list = "list = [{ \"link[0].rate\" = \"1Mbps\", \"link[0].delay\" = \"1ms\" }, { \"link[0].rate\" = \"2Mbps\", \"link[0].delay\" = \"9ms\" }]\nseeds = 2";
    assert_eq!(
        labels(list, &[]),
        [
            "link[0].delay=1ms link[0].rate=1Mbps seed=1",
            "link[0].delay=1ms link[0].rate=1Mbps seed=2",
            "link[0].delay=9ms link[0].rate=2Mbps seed=1",
            "link[0].delay=9ms link[0].rate=2Mbps seed=2",
        ]
    );
}

#[test]
fn columns_have_types_and_short_names() {
    let vary = "\"link[up].rate\" = [\"1Mbps\", \"500kbps\"]\n\"link[down].rate\" = [\"2Mbps\"]\n\"link[0].queue\" = [{ kind = \"droptail\", limit = \"5packets\" }, { kind = \"red\", limit = \"20packets\", min_threshold = \"5packets\", max_threshold = \"10packets\" }]\nmeasure_from = [0, \"100ms\"]";
    let plan = planned(vary, &[]).unwrap();
    let columns: Vec<_> = plan.columns.iter().map(|column| (&column.name[..], column.unit)).collect();
    assert_eq!(
        columns,
        [("up.rate", Some("bps")), ("down.rate", Some("bps")), ("queue", None), ("measure_from", Some("s"))]
    );
    let last = &plan.runs.last().unwrap().values;
    assert_eq!(
        last[..],
        [Cell::Integer(500_000), Cell::Integer(2_000_000), Cell::Text("red".to_owned()), Cell::Number(0.1)]
    );
}

#[test]
fn errors_name_their_place() {
    for (vary, varies, part) in [
        ("seeds = 0", &[][..], "write how many seeds"),
        ("seeds = 3\nseed = [1]", &[], "leave one of the two out"),
        ("\"link[0].delay\" = { from = \"1ms\", to = \"2ms\" }", &[], "write steps"),
        ("\"link[0].delay\" = { from = \"1ms\", to = \"2s\", steps = 3 }", &[], "write all in one unit"),
        ("\"link[0].delay\" = { from = \"1ms\", to = \"2ms\", stps = 3 }", &[], "did you mean \"steps\""),
        ("zip = [[\"link[0].rate\", \"link[0].delay\"]]\n\"link[0].rate\" = [\"1Mbps\"]", &[], "has no values"),
        (
            "zip = [[\"link[0].rate\", \"duration\"]]\n\"link[0].rate\" = [\"1Mbps\"]\nduration = [\"1s\", \"2s\"]",
            &[],
            "they vary together",
        ),
        ("list = [{ seed = 1 }]", &[], "each combination runs with all seeds"),
        ("list = [{ duration = \"1s\" }, { measure_from = \"1s\" }]", &[], "all tables need the same keys"),
        ("\"link[0].rate\" = [\"1Mbps\"]\n\"link[*].rate\" = [\"1Mbps\"]", &[], "is also set by another key"),
        ("design = { kind = \"random\", points = 3 }", &[], "unknown key \"design\"; it was removed"),
        ("", &["design={kind=random, points=3}"], "--vary design: unknown key \"design\"; it was removed"),
        ("", &["link[0].rate"], "--vary link[0].rate: values are missing"),
        // Keys that arguments vary are not in the file.
        ("", &["link[7].rate=1Mbps"], "--vary link[7].rate: there is no link[7]"),
        ("", &["seeds=many"], "--vary seeds: "),
        ("", &["seeds=0"], "--vary seeds: write how many seeds, from 1 to 100000"),
        ("", &["link[0].rate=1000kbps,1Mbps"], "--vary link[0].rate: link[0].rate has the same value twice"),
        ("", &["seed=1..60000", "link[0].rate=1Mbps,2Mbps"], "--vary seed: these are more than 100000 runs"),
        ("", &["link[0].delay=1ms..2s/3"], "--vary link[0].delay: "),
        // The last value was 2.4 s, although both ends are included.
        (
            "\"link[0].delay\" = { from = \"1s\", to = \"3s\", step = \"0.7s\" }",
            &[],
            ".step: the range is not a multiple of this step: write another step, or the number of values, such as steps = 4",
        ),
        ("", &["link[0].delay=1s..3s"], "--vary link[0].delay: \"1s..3s\" is not a range: write FROM..TO"),
        ("seeds = 3", &["link[0].rate=1Mbps,1Mbps"], "--vary link[0].rate: link[0].rate has the same value twice"),
        // The first of two arguments was ignored, or the error was about other keys.
        ("", &["seeds=2", "seeds=3"], "--vary seeds: seeds is varied twice: write all of its values in one place"),
        ("", &["link[0].rate=1Mbps", "link[0].rate=2Mbps"], "--vary link[0].rate: link[0].rate is varied twice"),
        ("", &["link[up].rate=1Mbps", "link[0].rate=2Mbps"], "--vary link[0].rate: link[up].rate is varied twice"),
        (
            "seeds = { first = -1, count = 2 }",
            &[],
            "vary.seeds.first: -1 is out of range: write a whole number from 0 to 9",
        ),
        ("seeds = { first = 1, count = -2 }", &[], "vary.seeds.count: -2 is out of range: from 1 to 100000"),
        (
            "\"link[0].delay\" = { from = \"1ms\", to = \"2ms\", steps = -3 }",
            &[],
            ".steps: -3 is out of range: from 2, both ends counted, to 100000",
        ),
    ] {
        let error = planned(vary, varies).unwrap_err();
        assert!(error.contains(part), "{vary} {varies:?}:\n{error}");
    }
}

/// The error named the line of the file, which is valid with the kind in the file.
#[test]
fn unknown_keys_of_a_varied_kind_are_errors_of_the_override() {
    let red = "kind = \"red\", limit = \"20packets\", min_threshold = \"4packets\"";
    let text = TWO_LINKS.replacen("kind = \"droptail\", limit = \"20packets\"", red, 1);
    let (line, column) = text
        .lines()
        .enumerate()
        .find_map(|(index, line)| Some((index + 1, line.find("min_threshold")? + 1)))
        .expect("the first link has a threshold");
    let expected = format!(
        "\"droptail\" does not fit sweep.toml:{line}:{column}: link[0].queue: this kind has no key \"min_threshold\": leave"
    );
    let varies: Vary = "link[up].queue.kind=red,droptail".parse().unwrap();
    let runs = plan("sweep.toml", &text, &[], &[varies]).unwrap().runs;
    let loaded = |overrides: &[Override]| {
        load("sweep.toml", &text, overrides, &NoFiles).map(|_| ()).map_err(|error| error.to_string())
    };
    loaded(&runs[0].overrides).unwrap();
    let error = loaded(&runs[1].overrides).unwrap_err();
    assert!(error.starts_with(&format!("--vary link[up].queue.kind: {expected}")), "{error}");
    let error = loaded(&["link[0].queue.kind=droptail".parse().unwrap()]).unwrap_err();
    assert!(error.starts_with(&format!("--set link[0].queue.kind: {expected}")), "{error}");
    // [vary] of the file has its own line.
    let varied = format!("{text}[vary]\n\"link[0].queue.kind\" = [\"droptail\"]\n");
    let runs = plan("sweep.toml", &varied, &[], &[]).unwrap().runs;
    let error = load("sweep.toml", &varied, &runs[0].overrides, &NoFiles).unwrap_err().to_string();
    let last = varied.lines().count();
    let column = 1 + varied.lines().last().and_then(|line| line.find("\"droptail\"")).unwrap();
    assert!(error.starts_with(&format!("sweep.toml:{last}:{column}: {expected}")), "{error}");
    // Sources likewise.
    let error = loaded(&["flow[0].source.kind=exponential".parse().unwrap()]).unwrap_err();
    assert!(error.starts_with("--set flow[0].source.kind: \"exponential\" does not fit sweep.toml:"), "{error}");
    // A key of the override is an error of the override.
    let error = loaded(&["link[0].queue={kind=droptail, min_threshold=5packets}".parse().unwrap()]).unwrap_err();
    assert!(error.starts_with("--set link[0].queue: unknown key \"min_threshold\""), "{error}");
}

#[test]
fn keys_set_by_overrides_do_not_vary() {
    let set: Override = "link[0].rate=9Mbps".parse().unwrap();
    let text = format!(
        "{TWO_LINKS}[vary]\n\"link[0].rate\" = [\"1Mbps\", \"2Mbps\"]\n\"link[1].rate\" = [\"3Mbps\", \"4Mbps\"]\nzip = [[\"link[0].rate\", \"link[1].rate\"]]\n"
    );
    let plan = plan("sweep.toml", &text, &[set], &[]).unwrap();
    assert_eq!(
        plan.runs.iter().map(|run| &run.label[..]).collect::<Vec<_>>(),
        ["link[1].rate=3Mbps", "link[1].rate=4Mbps"]
    );
}

proptest! {
    #[test]
    fn with_seed_equals_loading_with_that_seed(seed in 0..i64::MAX as u64, name in "[a-z][a-z :.-]{0,20}") {
        let text = format!("name = \"{name}\"\n{TWO_LINKS}");
        let set: Override = format!("seed={seed}").parse().unwrap();
        let again = load("sweep.toml", &text, &[set], &NoFiles).unwrap();
        prop_assert_eq!(load("sweep.toml", &text, &[], &NoFiles).unwrap().with_seed(seed), again);
    }

    #[test]
    fn column_names_are_unique(keys in proptest::collection::btree_set(prop::sample::select(vec![
        "link[0].rate", "link[1].rate", "link[0].delay", "link[up].queue.limit", "flow[voice].start", "flow[0].source.interval", "duration", "record.series", "flow[0].count",
    ]), 1..9)) {
        let vary: String = keys.iter().map(|key| format!("\"{key}\" = [1]\n")).collect();
        let plan = planned(&vary, &[]).unwrap();
        let names: std::collections::BTreeSet<_> = plan.columns.iter().map(|column| &column.name).collect();
        prop_assert_eq!(names.len(), keys.len());
        prop_assert!(plan.columns.iter().all(|column| !column.name.is_empty() && column.name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c))));
    }
}
