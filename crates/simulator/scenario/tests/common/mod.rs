//! Helpers of the tests: the shipped scenarios, their files, and a small scenario.
#![allow(dead_code, reason = "each test uses its part")]

use headway_scenario::{Files, Loaded, load};
use std::path::{Path, PathBuf};

/// Returns the folder of shipped scenarios.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios")
}

/// Returns the path below the folder and the text of each shipped scenario.
pub(crate) fn shipped() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for below in ["", "calibration"] {
        for entry in std::fs::read_dir(folder().join(below)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                let name = path.strip_prefix(folder()).unwrap().display().to_string();
                found.push((name, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// Files below a folder.
pub(crate) struct Below(pub(crate) PathBuf);

impl Files for Below {
    fn read(&self, path: &str, limit: u64) -> std::io::Result<Vec<u8>> {
        // The book names a capture, which is not shipped.
        if path == "call.pcapng" {
            return Ok(capture("frames"));
        }
        let path = self.0.join(path);
        let length = std::fs::metadata(&path)?.len();
        if length > limit {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        std::fs::read(path)
    }
}

/// Returns a capture of `crates/transport/media/tests/data/captures.txt`, which describes how each was made.
pub(crate) fn capture(name: &str) -> Vec<u8> {
    let all = include_str!("../../../../transport/media/tests/data/captures.txt");
    let line = all.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap();
    let digits = line.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

/// Files that all are the same short trace.
pub(crate) struct OneTrace;

impl Files for OneTrace {
    fn read(&self, _: &str, _: u64) -> std::io::Result<Vec<u8>> {
        Ok(b"packet|codec_type=video|dts_time=0.00|size=9000|flags=K_\n\
             packet|codec_type=video|dts_time=0.04|size=900|flags=__\n"
            .to_vec())
    }
}

/// Small valid scenario that tests modify.
pub(crate) const SMALL: &str = r#"name = "small"
duration = "10s"

[[link]]
between = ["a", "b"]
rate = "2Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "20packets" }

[[flow]]
name = "ftp"
from = "a"
to = "b"
transport = { kind = "tcp-newreno", window = "15packets" }
source = { kind = "ftp" }
"#;

/// Loads [`SMALL`] with `from`, which it must contain, replaced by `to`.
pub(crate) fn changed(from: &str, to: &str) -> Result<Loaded, String> {
    assert!(SMALL.contains(from), "{from}");
    load("small.toml", &SMALL.replace(from, to), &[], &OneTrace).map_err(|error| error.to_string())
}

/// Loads [`SMALL`] followed by `text`.
pub(crate) fn with(text: &str) -> Result<Loaded, String> {
    load("small.toml", &format!("{SMALL}{text}"), &[], &OneTrace).map_err(|error| error.to_string())
}
