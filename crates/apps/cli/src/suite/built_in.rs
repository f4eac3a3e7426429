//! The built-in suites.

use std::borrow::Cow;

/// Folder of the capacity traces, as the scenarios of suites name it.
const TRACES: &str = "../../scenarios/access/";

/// A built-in suite.
pub(super) struct BuiltIn {
    name: &'static str,
    /// Files by the names that the scenarios use.
    pub(super) files: &'static [(&'static str, &'static [u8])],
}

macro_rules! files {
    ($folder:literal, [$($file:literal),+ $(,)?]) => {
        &[$(($file, include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../", $folder, "/", $file)))),+]
    };
}

pub(super) static BUILT_IN: [BuiltIn; 1] = [BuiltIn {
    name: "rfc8867",
    files: files!(
        "suites/rfc8867",
        [
            "suite.toml",
            "5.1.toml",
            "5.1-udp.toml",
            "5.2.toml",
            "5.2-udp.toml",
            "5.3.toml",
            "5.3-udp.toml",
            "5.4.toml",
            "5.5.toml",
            "5.6.toml",
            "5.7.toml",
            "5.8.toml",
            "6.1.toml",
            "6.3.toml",
            "8869-2.1.toml",
            "8869-3.1.toml",
            "8869-3.2.toml",
            "../../scenarios/access/lte-down.trace",
            "../../scenarios/access/lte-up.trace",
            "../../scenarios/access/wifi.trace",
        ]
    ),
}];

impl BuiltIn {
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        BUILT_IN.iter().find(|suite| suite.name == name)
    }

    pub(super) fn names() -> String {
        BUILT_IN.iter().map(|suite| suite.name).collect::<Vec<_>>().join(", ")
    }

    /// Returns the names and contents of all files for one folder: files of other folders are next to the others.
    pub(super) fn copies(&self) -> impl Iterator<Item = (&'static str, Cow<'static, [u8]>)> {
        self.files.iter().map(|(name, bytes)| match (name.strip_prefix(TRACES), std::str::from_utf8(bytes)) {
            (None, Ok(text)) => (*name, Cow::Owned(text.replace(TRACES, "").into_bytes())),
            (trace, _) => (trace.unwrap_or(name), Cow::Borrowed(*bytes)),
        })
    }

    /// Returns the text of a file.
    pub(super) fn text(&self, file: &str) -> Option<&'static str> {
        let (_, bytes) = self.files.iter().find(|(name, _)| *name == file)?;
        std::str::from_utf8(bytes).ok()
    }
}
