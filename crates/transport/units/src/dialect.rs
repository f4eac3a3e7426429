//! Presets of options by the specification or implementation they follow.

use std::fmt;
use std::str::FromStr;

/// Specification or implementation that the default values of options follow, where these differ. The `preset` of each
/// algorithm converts the dialect to plain options, which a scenario may override one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "lowercase")
)]
pub enum Dialect {
    /// Headway's own choices, version 1. Each difference from [`Dialect::Rfc`] is documented with its evidence, and a
    /// later version does not change an earlier one. Scenarios may also write `headway`, which is the newest version.
    #[default]
    #[cfg_attr(feature = "schema", serde(rename = "headway-1", alias = "headway"))]
    Headway1,
    /// Options follow the RFCs as written.
    Rfc,
    /// Options follow ns-2.35, the simulator with which the authors of the reproduced papers measured.
    Ns2,
    /// Options of the queues of links follow ns-3.37; all others are those of `rfc`.
    Ns3,
    /// Options follow Linux 6.1.
    Linux,
}

/// Error: the text is not the name of a [`Dialect`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown dialect \"{0}\"; known are headway-1 (or headway), rfc, ns2, ns3, linux")]
pub struct ParseDialectError(String);

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Headway1 => "headway-1",
            Self::Rfc => "rfc",
            Self::Ns2 => "ns2",
            Self::Ns3 => "ns3",
            Self::Linux => "linux",
        })
    }
}
impl FromStr for Dialect {
    type Err = ParseDialectError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "headway" | "headway-1" => Ok(Self::Headway1),
            "rfc" => Ok(Self::Rfc),
            "ns2" => Ok(Self::Ns2),
            "ns3" => Ok(Self::Ns3),
            "linux" => Ok(Self::Linux),
            _ => Err(ParseDialectError(crate::decimal::shorten(text))),
        }
    }
}
