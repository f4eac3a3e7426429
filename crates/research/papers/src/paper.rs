//! The papers that Headway holds itself to. To add one: a folder in `papers/`, a file of metrics, and a line here.

use crate::claims::{Claims, ClaimsError};
use crate::metric::Metric;
use crate::reference::{Reference, ReferenceError};
use crate::{lan_queues, packet_spacing, sfdps, uddj_tfrc, udpm};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;

type Text = Cow<'static, str>;

/// A paper, with the texts of its folder.
#[derive(Clone, Debug)]
pub struct Paper {
    /// The name of its folder.
    pub id: Text,
    pub(crate) scenarios: Cow<'static, [(Text, Text)]>,
    metrics: &'static [Metric],
    claims: Text,
    ns2: Text,
    /// As gzip: as text the five are 4 MB.
    results: &'static [u8],
}

/// Text of a file in a paper's folder.
macro_rules! text {
    ($id:literal, $file:expr) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../papers/", $id, "/", $file))
    };
}

/// `paper!("folder", metrics, ["scenario", ...])`, and what ns-2 gave in its cells if that is known: `ns2 = "file"`.
macro_rules! paper {
    ($id:literal, $metrics:expr, [$($scenario:literal),+ $(,)?] $(, ns2 = $ns2:literal)?) => {
        Paper {
            id: Cow::Borrowed($id),
            scenarios: Cow::Borrowed(&[$((
                Cow::Borrowed(concat!($scenario, ".toml")),
                Cow::Borrowed(text!($id, concat!("scenarios/", $scenario, ".toml"))),
            )),+]),
            metrics: $metrics,
            claims: Cow::Borrowed(text!($id, "claims.toml")),
            ns2: Cow::Borrowed(concat!($(text!($id, $ns2))?)),
            results: include_bytes!(concat!(env!("OUT_DIR"), "/", $id, ".results.json.gz")),
        }
    };
}

/// Every paper that is built in.
// A `static`: a constant is in the program once for each unit of code that names it.
pub static PAPERS: &[Paper] = &[
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
    /// The paper with this name, in capitals or small letters.
    #[must_use]
    pub fn find(id: &str) -> Option<&'static Self> {
        PAPERS.iter().find(|paper| paper.id.eq_ignore_ascii_case(id))
    }

    /// That of a folder called `id`: the texts of its `claims.toml`, of its `scenarios/*.toml` by name, and of its `ns2.csv` (empty if there is
    /// none). Its metrics are all expressions.
    #[must_use]
    pub fn of_folder(id: String, claims: String, scenarios: BTreeMap<String, String>, ns2: String) -> Self {
        let scenarios = scenarios.into_iter().map(|(name, text)| (name.into(), text.into())).collect();
        Self { id: id.into(), scenarios, metrics: &[], claims: claims.into(), ns2: ns2.into(), results: &[] }
    }

    /// What it says, and what is run to find out.
    ///
    /// # Errors
    /// If its `claims.toml` is wrong.
    pub fn claims(&self) -> Result<Claims, ClaimsError> {
        Claims::parse(&self.claims, self.metrics)
    }

    /// What ns-2 gave in its cells: nothing if it was never asked.
    ///
    /// # Errors
    /// If its `ns2.csv` is wrong.
    pub fn ns2(&self) -> Result<Reference, ReferenceError> {
        Reference::parse(&self.ns2)
    }

    /// The stored results that are built in, as the repository's `results.json` has them; none of a folder's paper.
    #[must_use]
    #[expect(clippy::missing_panics_doc, clippy::expect_used, reason = "a test reads what the build script compressed")]
    pub fn results(&self) -> Option<Vec<u8>> {
        if self.results.is_empty() {
            return None;
        }
        let mut json = Vec::new();
        flate2::read::GzDecoder::new(self.results).read_to_end(&mut json).expect("the build script writes gzip");
        Some(json)
    }

    /// The text of one of its scenarios.
    pub(crate) fn scenario(&self, name: &str) -> Option<&str> {
        self.scenarios.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_ref())
    }
}
