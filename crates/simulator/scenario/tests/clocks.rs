//! `clock` of a `[[node]]`.

use headway_scenario::{ClockOptions, Loaded, NoFiles, ScenarioError, Spread, load};
use headway_units::{Drift, Duration, Offset, Skew};

fn with(clock: &str, set: &[&str]) -> Result<Loaded, ScenarioError> {
    let text = format!(
        r#"
        duration = "1s"
        [[node]]
        name = "a"
        count = 2
        {clock}
        [[node]]
        name = "plain"
        [[link]]
        between = ["a", "b"]
        rate = "1Mbps"
        delay = "1ms"
        [[flow]]
        name = "up"
        from = "a"
        to = "b"
        transport = {{ kind = "udp" }}
        source = {{ kind = "cbr", rate = "1Mbps", size = "1000B" }}
        "#
    );
    let set: Vec<_> = set.iter().map(|set| set.parse().unwrap()).collect();
    load("clocks.toml", &text, &set, &NoFiles)
}

fn clocks(clock: &str, set: &[&str]) -> Vec<Option<ClockOptions>> {
    let loaded = with(clock, set).unwrap();
    let again = load("again.toml", &loaded.resolved_toml, &[], &NoFiles).unwrap();
    assert_eq!(again.scenario, loaded.scenario, "{}", loaded.resolved_toml);
    assert_eq!(loaded.scenario.nodes, ["a1", "a2", "plain", "b"]);
    loaded.scenario.clocks
}

#[test]
fn a_table_gives_each_of_its_replicas_a_clock() {
    assert_eq!(clocks("", &[]), [None; 4]);
    let exact = ClockOptions {
        skew: Spread::Same(Skew::new(0)),
        offset: Spread::Same(Offset::new(0)),
        drift: Drift::new(0),
        granularity: Duration::from_nanos(1),
    };
    let all = clocks("clock = {}", &[]);
    assert_eq!(all, [Some(exact), Some(exact), None, None]);
    let written = ClockOptions {
        skew: Spread::Same(Skew::new(-500_000)),
        offset: Spread::Uniform { uniform: [Offset::new(-3_000_000), Offset::new(0)] },
        drift: Drift::new(1_500),
        granularity: Duration::from_millis(1),
    };
    let text = r#"clock = { skew = "-500ppm", offset = { uniform = ["-3ms", "0s"] }, drift = "1.5ppm/h", granularity = "1ms" }"#;
    assert_eq!(clocks(text, &[])[..2], [Some(written); 2]);
}

#[test]
fn an_override_creates_a_clock() {
    let skew = |set: &[&str]| clocks("", set).iter().map(|clock| clock.map(|clock| clock.skew)).collect::<Vec<_>>();
    let slow = Some(Spread::Same(Skew::new(-500_000)));
    assert_eq!(skew(&["node[a].clock.skew=-500ppm"]), [slow, slow, None, None]);
    assert_eq!(skew(&["node[1].clock.skew=-500ppm"]), [None, None, slow, None]);
    let drawn = Some(Spread::Uniform { uniform: [Skew::new(-1_000_000), Skew::new(0)] });
    assert_eq!(skew(&["node[plain].clock.skew={ uniform = [\"-1000ppm\", \"0ppm\"] }"])[2], drawn);
}

#[test]
fn errors_name_their_place() {
    for (clock, expected) in [
        ("clock = { skwe = '1ppm' }", r#"node[0].clock: unknown key "skwe"; did you mean "skew"?"#),
        (
            "clock = { skew = '500' }",
            r#"node[0].clock.skew: "500" has no unit: a skew is written "-500ppm" or "20ppb""#,
        ),
        ("clock = { skew = '200000ppm' }", "out of range: write a skew from -100000ppm to 100000ppm"),
        ("clock = { skew = { uniform = ['0ppm', '-1ppm'] } }", "node[0].clock.skew.uniform: 0ppb is not before -1ppm"),
        ("clock = { skew = { normal = '1ppm' } }", r#"node[0].clock.skew: unknown key "normal""#),
        ("clock = { offset = {} }", r#"the key "uniform" is missing; write it like uniform = ["0ms", "10ms"]"#),
        ("clock = { offset = '-12d' }", r#"unknown unit "d" for an offset"#),
        ("clock = { drift = '1ppm' }", r#"unknown unit "ppm" for a drift; known are ppb/h, ppm/h"#),
        ("clock = { granularity = '0s' }", "node[0].clock.granularity: 0s is out of range: from 1ns to 1s"),
        ("clock = { granularity = '2s' }", "2s is out of range: from 1ns to 1s"),
        (
            "clock = '1ppm'",
            "node[0].clock: \"1ppm\" is not a table: write one with the keys drift, granularity, offset, skew",
        ),
    ] {
        let error = with(clock, &[]).unwrap_err().to_string();
        assert!(error.contains(expected), "{clock}:\n{error}");
    }
}
