//! Tests of the files in `deploy/`: an encoder that follows the rate.
#![cfg(target_os = "linux")]

use crate::common::headway;
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
