//! Helpers of the tests.

use std::process::{Command, Stdio};

/// One second of speech on an idle link.
pub(crate) const VOICE: &str = r#"
duration = "1s"
[[link]]
between = ["a", "b"]
rate = "1Mbps"
delay = "5ms"
[[flow]]
name = "voice"
from = "a"
to = "b"
transport = { kind = "udp" }
source = { kind = "cbr", interval = "20ms", payload = "160B" }
"#;

/// Returns a command with captured output and without input.
pub(crate) fn headway(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headway"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Returns whether the program includes the viewer. In CI it must, because `make test` builds the viewer first.
pub(crate) fn has_viewer() -> bool {
    let built = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../viewer/dist/index.html").exists();
    assert!(built || std::env::var("CI").as_deref() != Ok("true"), "run `make viewer` before the tests");
    built
}
