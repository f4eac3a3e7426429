//! Tests of the files in `deploy/`: an encoder that follows the rate, a unit of systemd and a recipe of a container.
#![cfg(target_os = "linux")]

use crate::common::{headway, text};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../deploy")
}

/// docs/src/how-to/let-an-encoder-follow.md
#[test]
fn an_encoder_follows_the_rate() {
    let mut receiver = headway(&["recv", "127.0.0.1:0", "--insecure", "--once"]).spawn().unwrap();
    let mut line = String::new();
    let mut messages = BufReader::new(receiver.stderr.take().unwrap());
    messages.read_line(&mut line).unwrap();
    let at = line.split_whitespace().nth(2).unwrap().trim_end_matches(':');
    let bin = Path::new(env!("CARGO_BIN_EXE_headway")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut encoder = Command::new("python3");
    encoder.arg(folder().join("follow-rate.py")).args([at, "--insecure", "--quiet"]).env("PATH", path);
    let mut encoder = encoder.stdout(Stdio::piped()).spawn().unwrap();
    let mut rates = BufReader::new(encoder.stdout.take().unwrap());
    let mut rate = String::new();
    rates.read_line(&mut rate).unwrap();
    assert!(rate.starts_with("{'rate_bps': "), "{rate}");
    assert!(Command::new("kill").args(["-INT", &encoder.id().to_string()]).status().unwrap().success());
    let mut rest = String::new();
    rates.read_to_string(&mut rest).unwrap();
    assert_eq!(encoder.wait().unwrap().code(), Some(0));
    messages.read_to_string(&mut rest).unwrap();
    assert_eq!(receiver.wait().unwrap().code(), Some(0), "{rest}");
}

/// systemd itself checks the unit, if this machine has it, and the program knows its options.
#[test]
fn the_unit_is_valid() {
    let program = env!("CARGO_BIN_EXE_headway");
    let unit = std::fs::read_to_string(folder().join("headway-relay.service")).unwrap();
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/local/bin/headway ")).unwrap();
    let help = text(&headway(&["relay", "--help"]).output().unwrap().stdout);
    for option in start.split_whitespace().filter(|word| word.starts_with("--")) {
        assert!(help.split_whitespace().any(|word| word == option), "there is no {option}");
    }
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("headway-relay.service");
    std::fs::write(&file, unit.replace("/usr/local/bin/headway", program)).unwrap();
    let checked = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&file).output().unwrap();
    let messages = text(&checked.stderr);
    assert!(checked.status.success() && !messages.contains("headway-relay.service"), "{messages}");
}

/// The recipe copies what it has built, and starts the program.
#[test]
fn the_recipe_of_the_container_builds_the_program() {
    let recipe = std::fs::read_to_string(folder().join("Containerfile")).unwrap();
    let of = |word: &str| -> Vec<&str> { recipe.lines().filter_map(|line| line.strip_prefix(word)).collect() };
    assert!(
        of("FROM ").iter().all(|image| ["rust:", "debian:"].iter().any(|name| image.starts_with(name))),
        "{recipe}"
    );
    assert_eq!(of("RUN "), ["cargo build --release --locked --package headway-cli"]);
    assert_eq!(of("COPY "), [". .", "--from=build /source/target/release/headway /usr/local/bin/headway"]);
    assert_eq!(of("ENTRYPOINT "), ["[\"headway\"]"]);
}
