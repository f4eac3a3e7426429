//! The papers that Headway holds itself to. To add one: a folder in `papers/`, a file of metrics, and a line here.

use crate::claims::{Claims, ClaimsError};
use crate::metric::Metric;
use crate::reference::{Reference, ReferenceError};
use crate::{lan_queues, packet_spacing, sfdps, uddj_tfrc, udpm};

/// A paper, with the texts of its folder built in.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// The name of its folder.
    pub id: &'static str,
    pub(crate) scenarios: &'static [(&'static str, &'static str)],
    /// What its runs are asked for.
    pub metrics: &'static [Metric],
    claims: &'static str,
    ns2: &'static str,
}

/// Text of a file in a paper's folder.
macro_rules! text {
    ($id:literal, $file:expr) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers/", $id, "/", $file))
    };
}

/// `paper!("folder", metrics, ["scenario", ...])`, and what ns-2 gave in its cells if that is known: `ns2 = "file"`.
macro_rules! paper {
    ($id:literal, $metrics:expr, [$($scenario:literal),+ $(,)?] $(, ns2 = $ns2:literal)?) => {
        Paper {
            id: $id,
            scenarios: &[$((concat!($scenario, ".toml"), text!($id, concat!("scenarios/", $scenario, ".toml")))),+],
            metrics: $metrics,
            claims: text!($id, "claims.toml"),
            ns2: concat!($(text!($id, $ns2))?),
        }
    };
}

/// Every paper.
pub const PAPERS: &[Paper] = &[
    paper!("lan-queues", lan_queues::METRICS, ["tcp", "udp", "mixed"], ns2 = "ns2.csv"),
    paper!("sfdps", sfdps::METRICS, ["call", "loss", "reno", "ring"]),
    paper!("udpm", udpm::METRICS, ["udpm", "cbr", "dccp", "web-udpm", "web-cbr", "mark-head", "mark-tail"]),
    paper!(
        "packet-spacing",
        packet_spacing::METRICS,
        [
            "fixed",
            "fixed-alone",
            "two",
            "ten",
            "blast",
            "equation",
            "equation-alone",
            "tfrc",
            "wan",
            "aimd",
            "rank-tcp",
            "rank-blast",
            "rank-fixed",
            "rank-ad-hoc",
            "rank-damped",
            "rank-equation",
            "rank-tfrc",
            "rank-udpm",
            "rank-tcp-like",
        ]
    ),
    paper!(
        "uddj-tfrc",
        uddj_tfrc::METRICS,
        [
            "f4",
            "f4-runs",
            "f4-tcp",
            "f5",
            "f5-tcp",
            "intra",
            "intra-tcp",
            "inter",
            "inter-tcp",
            "inter-cbr",
            "inter-cbr-tcp",
        ]
    ),
];

impl Paper {
    /// The paper with this name.
    #[must_use]
    pub fn find(id: &str) -> Option<&'static Self> {
        PAPERS.iter().find(|paper| paper.id == id)
    }

    /// What it says, and what is run to find out.
    ///
    /// # Errors
    /// If its `claims.toml` is wrong.
    pub fn claims(&self) -> Result<Claims, ClaimsError> {
        Claims::parse(self.claims, self.metrics)
    }

    /// What ns-2 gave in its cells: nothing if it was never asked.
    ///
    /// # Errors
    /// If its `ns2.csv` is wrong.
    pub fn ns2(&self) -> Result<Reference, ReferenceError> {
        Reference::parse(self.ns2)
    }

    /// The text of one of its scenarios.
    pub(crate) fn scenario(&self, name: &str) -> Option<&'static str> {
        self.scenarios.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }
}
