//! Parts of scenarios in other texts: options of one algorithm, and tables of other files.

use headway_media::SourceOptions;
use headway_scenario::{kind, table};
use headway_units::{Dialect, Duration, Registry};

fn source(text: &str) -> Result<SourceOptions, String> {
    kind("--model", "source", text).map_err(|error| error.to_string())
}

#[test]
fn a_source_is_read_outside_a_scenario() {
    let source = source("source = { kind = \"conference\", audio_interval = \"10ms\" }").unwrap();
    let SourceOptions::Conference(options) = &source else { panic!("{source:?}") };
    assert_eq!(options.audio_interval, Duration::from_millis(10));
    let Some(SourceOptions::Conference(preset)) = SourceOptions::preset("conference", Dialect::Rfc) else {
        panic!("there is a conference")
    };
    assert_eq!(options.frame_interval, preset.frame_interval, "absent keys have the value of the preset");
}

#[test]
fn errors_of_a_source_name_their_place() {
    for (text, expected) in [
        (
            "source = { kind = \"confernce\" }",
            "--model:1:19: source.kind: unknown source \"confernce\"; did you mean \"conference\"?",
        ),
        ("source = { rate = \"1Mbps\" }", "the key \"kind\" is missing"),
        (
            "source = { kind = \"cbr\", rat = \"1Mbps\" }",
            "--model:1:26: source: unknown key \"rat\"; did you mean \"rate\"?",
        ),
        ("source = { kind = \"cbr\", rate = \"1mbps\", size = \"1kB\" }", "--model:1:33: source.rate: "),
        ("source = { kind = ", "this is not TOML"),
        ("", "the key \"source\" is missing"),
    ] {
        let error = source(text).unwrap_err();
        assert!(error.contains(expected), "{text}:\n{error}");
    }
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Doors {
    door: Vec<Door>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Door {
    height: u8,
}

#[test]
fn other_tables_have_the_error_messages_of_scenarios() {
    let doors: Doors = table("house.toml", "[[door]]\nheight = 2").unwrap();
    assert_eq!(doors.door[0].height, 2);
    for (text, expected) in [
        ("[[door]]\nhieght = 2", "house.toml:2:1: door[0]: unknown key \"hieght\"; did you mean \"height\"?"),
        (
            "[[door]]\nheight = 300",
            "house.toml:2:10: door[0].height: 300 is out of range: write a whole number from 0 to 255",
        ),
        ("", "the key \"door\" is missing"),
    ] {
        let error = table::<Doors>("house.toml", text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}:\n{error}");
    }
}
