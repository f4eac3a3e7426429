//! Arbitrary texts and mutated scenarios are read or rejected, without panics, hangs or unbounded memory.

use crate::common::{OneTrace, SMALL, shipped};
use headway_scenario::{Override, load, plan};
use proptest::prelude::*;

fn read(text: &str, set: &[Override]) -> Result<(), TestCaseError> {
    let _ = plan("mutant.toml", text, set, &[]);
    match load("mutant.toml", text, set, &OneTrace) {
        Err(error) => {
            prop_assert!(!error.problems.is_empty());
            prop_assert!(error.to_string().len() < 40_000);
        }
        // The resolved scenario loads again.
        Ok(loaded) => {
            let again = load("mutant.toml", &loaded.resolved_toml, &[], &OneTrace);
            let again = again.map_err(|error| TestCaseError::fail(format!("{error}\n{}", loaded.resolved_toml)))?;
            prop_assert_eq!(again.scenario, loaded.scenario);
        }
    }
    Ok(())
}

/// Values that replace others.
const ABSURD: &[&str] = &[
    "0",
    "-1",
    "1",
    "1e308",
    "nan",
    "-inf",
    "9223372036854775807",
    "99999999999999999999",
    "0.1",
    "true",
    "false",
    "\"\"",
    "\"0s\"",
    "\"1ns\"",
    "\"584y\"",
    "\"18446744073709551615ns\"",
    "\"0bps\"",
    "\"1bps\"",
    "\"18446744Tbps\"",
    "\"0B\"",
    "\"1B\"",
    "\"18446744073709551615B\"",
    "\"0packets\"",
    "\"18446744073709551615packets\"",
    "\"1e18packets\"",
    "[]",
    "[[]]",
    "{}",
    "{ kind = 1 }",
    "{ kind = \"red\" }",
    "{ kind = \"udp\" }",
    "{ kind = \"cbr\" }",
    "{ kind = \"tcp-cubic\" }",
    "{ uniform = [\"0s\", \"1ns\"] }",
    "[\"0s\"]",
    "\"n0\"",
    "\"n3\"",
    "1979-05-27T07:32:00Z",
    "\"\\u0000\"",
    "\"é\"",
    "100000",
];

fn any_shipped() -> impl Strategy<Value = String> {
    let texts: Vec<String> = shipped().into_iter().map(|(_, text)| text).collect();
    (0..texts.len()).prop_map(move |index| texts[index].clone())
}

/// Returns the lines that set a key.
fn settings(text: &str) -> Vec<usize> {
    text.lines().enumerate().filter(|(_, line)| line.contains(" = ")).map(|(index, _)| index).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_bytes(text in any_shipped(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = text.into_bytes();
        for (index, byte) in changes {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        read(&String::from_utf8_lossy(&bytes), &[])?;
    }

    #[test]
    fn cut_anywhere(text in any_shipped(), from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>()) {
        let (from, to) = (text.floor_char_boundary(from.index(text.len())), text.floor_char_boundary(to.index(text.len())));
        read(&text[..to], &[])?;
        if from <= to {
            read(&format!("{}{}", &text[..from], &text[to..]), &[])?;
        }
    }

    #[test]
    fn lines_doubled_swapped_or_lost(text in any_shipped(), picks in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..3u8), 1..4)) {
        let mut lines: Vec<&str> = text.lines().collect();
        for (a, b, what) in picks {
            let (a, b) = (a.index(lines.len()), b.index(lines.len()));
            match what {
                0 => lines.insert(b, lines[a]),
                1 => lines.swap(a, b),
                _ => lines[a] = "",
            }
        }
        read(&lines.join("\n"), &[])?;
    }

    #[test]
    fn absurd_values(text in any_shipped(), picks in prop::collection::vec((any::<prop::sample::Index>(), 0..ABSURD.len()), 1..3)) {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let settings = settings(&text);
        for (at, value) in picks {
            let line = &mut lines[settings[at.index(settings.len())]];
            let key = line.split(" = ").next().unwrap().to_owned();
            *line = format!("{key} = {}", ABSURD[value]);
        }
        read(&lines.join("\n"), &[])?;
    }

    #[test]
    fn absurd_overrides(
        text in any_shipped(),
        key in prop::sample::select(vec![
            "duration", "seed", "measure_from", "record.series", "record", "link", "flow", "node", "vary", "vary.seed", "link[0]", "link[0].rate",
            "link[0].delay", "link[0].mtu", "link[0].overhead", "link[0].between", "link[0].between[0]", "link[0].queue",
            "link[0].queue.kind", "link[0].queue.limit", "link[0].loss.kind", "flow[0].count", "flow[0].from", "flow[0].start",
            "flow[0].start[0]", "flow[0].stop", "flow[0].transport.kind", "flow[0].transport.window", "flow[0].source.rate",
            "flow[0].source.size", "flow[ftp].source", "node[0].count", "a.b.c.d.e",
        ]),
        value in 0..ABSURD.len(),
    ) {
        // Some values are rejected before the override is applied.
        if let Ok(set) = format!("{key}={}", ABSURD[value]).parse() {
            read(&text, &[set])?;
        }
    }

    #[test]
    fn any_text(text in "\\PC{0,200}") {
        read(&text, &[])?;
        let _ = text.parse::<Override>();
    }

    #[test]
    fn any_toml_like_text(text in "([a-c\"'=\\[\\]{},.#\\n 01-]|link|flow|node|vary|kind|name){0,120}") {
        read(&text, &[])?;
    }
}

/// Returns a scenario with `count` nodes and flows, in which each flow misspells its node.
fn unknown_nodes(count: usize) -> String {
    let link = |i| format!("[[link]]\nbetween = [\"node-{i}\", \"hub\"]\nrate = \"1Mbps\"\ndelay = \"1ms\"\n");
    let flow = |i| {
        format!(
            "[[flow]]\nname = \"f{i}\"\nfrom = \"nod-{i}\"\nto = \"hub\"\n\
             transport = {{ kind = \"udp\" }}\nsource = {{ kind = \"cbr\", rate = \"1kbps\", size = \"1B\" }}\n"
        )
    };
    let (links, flows): (String, String) = ((0..count).map(link).collect(), (0..count).map(flow).collect());
    format!("duration = \"1s\"\n{links}{flows}")
}

/// Texts that exceed the limits of depth, length and repetition.
#[test]
fn hostile_texts_are_rejected_quickly() {
    let many = |line: &str, count: usize| line.repeat(count);
    for text in [
        format!("a = {}", many("[", 500_000)),
        format!("a = {}", many("{a=", 300_000)),
        format!("{}a=1", many("a.", 100_000)),
        format!("[{}a]", many("a.", 100_000)),
        format!("a = [{}]", many("0,", 999_000)),
        many("[[link]]\n", 400_000),
        many("x", 17 << 20),
        format!("a = \"{}", many("x", 10 << 20)),
        format!("{} = 1", many("k", 1 << 20)),
        many("[[node]]\nname = \"c\"\ncount = 100000\n", 100),
        (0..100_000).map(|index| format!("k{index} = 1\n")).collect(),
        unknown_nodes(30_000),
        format!("{SMALL}[vary]\n\"flow[0].x\" = [{}]", many("[[1]],", 100_001)),
    ] {
        let error = load("hostile.toml", &text, &[], &OneTrace).unwrap_err();
        assert!(error.to_string().len() < 40_000);
        let _ = plan("hostile.toml", &text, &[], &[]);
    }
}
