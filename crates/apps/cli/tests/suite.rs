//! Tests of `headway suite` from the command line.
#![allow(clippy::disallowed_methods, reason = "the program under test is another process")]

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn suite(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headway"));
    command.current_dir(folder).arg("suite").args(words).output().unwrap()
}

fn shows(folder: &Path, words: &[&str]) -> String {
    let ran = suite(folder, words);
    assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

/// With three seeds, all cases of RFC 8867 run with all controllers, and each missed band has a reason.
#[test]
fn rfc8867_each_band_is_met_or_explained() {
    let folder = tempfile::tempdir().unwrap();
    let results: Value = serde_json::from_str(&shows(folder.path(), &["rfc8867", "--seeds", "3", "--json"])).unwrap();
    let cases = results["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 27);
    let mut unexplained = Vec::new();
    for case in cases {
        let controllers = case["controllers"].as_array().unwrap();
        assert_eq!(controllers.len(), 9, "{}", case["name"]);
        for controller in controllers {
            let bands = controller["bands"].as_array().unwrap();
            assert_eq!(bands.is_empty(), controller["reference"] == true);
            let missed = bands.iter().filter(|band| band["verdict"] == "missed" && band["explained"].is_null());
            unexplained
                .extend(missed.map(|band| {
                    format!("{} {} {} {}", case["name"], controller["name"], band["metric"], band["mean"])
                }));
            assert!(!controller["metrics"][0].is_null(), "{} {}", case["name"], controller["name"]);
        }
    }
    assert!(unexplained.is_empty(), "{}", unexplained.join("\n"));
    let page = std::fs::read_to_string(folder.path().join("out/rfc8867/index.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 27 * 9, "a figure for each case and controller");
    assert!(!page.contains("<script") && !page.contains("http-equiv"));
}

/// A copy of the suite gives the results of the built-in one, with the same command again and with another number of
/// threads.
#[test]
fn a_copied_suite_gives_the_same_results() {
    let folder = tempfile::tempdir().unwrap();
    let few = ["--case", "5.6", "--case", "8869-2.1", "--controller", "nada", "--seeds", "2", "--csv"];
    let of = |name: &str, more: &[&str]| shows(folder.path(), &[&[name], &few[..], more].concat());
    let built_in = of("rfc8867", &[]);
    assert!(built_in.contains("5.6,nada,\"media Mb/s\",") && built_in.contains("8869-2.1,nada,"), "{built_in}");
    assert_eq!(of("rfc8867", &[]), built_in, "from stored runs");
    shows(folder.path(), &["rfc8867", "--copy", "mine"]);
    assert_eq!(of("mine", &["--jobs", "1"]), built_in);
}

/// A transport on the command line is a controller with the given options.
#[test]
fn a_transport_on_the_command_line_is_a_controller() {
    let folder = tempfile::tempdir().unwrap();
    let of = |controller: &str| {
        let words = ["rfc8867", "--case", "5.1", "--seeds", "2", "--csv", "--controller", controller];
        shows(folder.path(), &words).replace("mine,", "gcc,")
    };
    assert_eq!(of("mine={kind=\"gcc\"}"), of("gcc"));
    assert_ne!(of("mine={kind=\"gcc\",controller={max_rate=\"500kbps\"}}"), of("gcc"));
}

#[test]
fn errors_name_what_is_wrong_and_what_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    for (words, part) in [
        (
            &["rfc8868"][..],
            "there is no suite \"rfc8868\": there is no rfc8868/suite.toml, and the built-in suites are rfc8867",
        ),
        (&["empty"], "empty/suite.toml"),
        (&["rfc8867", "--case", "5.9"], "there is no case \"5.9\"; expected one of 5.1, 5.1-100ms"),
        (&["rfc8867", "--controller", "bbr"], "there is no controller \"bbr\"; expected one of tfrc, tfrc-guarded"),
        (
            &["rfc8867", "--controller", "x={kind=\"bbr\"}", "--case", "5.1"],
            "case 5.1 with x: --set flow[media*].transport",
        ),
        (&["rfc8867", "--controller", "gcc={kind=\"gcc\"}"], "there are two controllers \"gcc\""),
        (&["rfc8867", "--copy", "empty"], "empty exists already"),
        (&["empty", "--copy", "new"], "is not a built-in suite; expected one of rfc8867"),
    ] {
        let ran = suite(folder.path(), words);
        let messages = String::from_utf8_lossy(&ran.stderr);
        assert!(!ran.status.success() && messages.contains(part), "{words:?}: {messages}");
    }
}
