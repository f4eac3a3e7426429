//! The built-in papers. A new one needs a folder in `papers/`, a module with metrics, and an entry in [`PAPERS`].

use crate::claims::{Claims, ClaimsError};
use crate::metric::Metric;
use crate::reference::{Reference, ReferenceError};
use crate::{lan_queues, packet_spacing, sfdps, uddj_tfrc, udpm};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;

type Text = Cow<'static, str>;

/// A paper with the files of its folder.
#[derive(Clone, Debug)]
pub struct Paper {
    /// ID of the paper, the name of its folder, such as `lan-queues`.
    pub id: Text,
    pub(crate) scenarios: Cow<'static, [(Text, Text)]>,
    metrics: &'static [Metric],
    claims: Text,
    ns2: Text,
    /// `results.json` as gzip: uncompressed the five files are about 3 MB.
    results: &'static [u8],
}

macro_rules! text {
    ($id:literal, $file:expr) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../papers/", $id, "/", $file))
    };
}

/// `paper!("folder", metrics, ["scenario", ...])`, optionally with `ns2 = "file"` for the means of ns-2.
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

/// The built-in papers.
// A `static`: a constant would be duplicated in each codegen unit that uses it.
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
    /// Returns the built-in paper with this ID, ignoring ASCII case.
    #[must_use]
    pub fn find(id: &str) -> Option<&'static Self> {
        PAPERS.iter().find(|paper| paper.id.eq_ignore_ascii_case(id))
    }

    /// Makes a paper from the contents of a folder called `id`: `claims.toml`, `scenarios/*.toml` by name, and
    /// `ns2.csv` (empty if there is none). All its metrics are expressions.
    #[must_use]
    pub fn of_folder(id: String, claims: String, scenarios: BTreeMap<String, String>, ns2: String) -> Self {
        let scenarios = scenarios.into_iter().map(|(name, text)| (name.into(), text.into())).collect();
        Self { id: id.into(), scenarios, metrics: &[], claims: claims.into(), ns2: ns2.into(), results: &[] }
    }

    /// Parses `claims.toml`: the claims, and the cells that test them.
    ///
    /// # Errors
    /// If `claims.toml` is invalid.
    pub fn claims(&self) -> Result<Claims, ClaimsError> {
        Claims::parse(&self.claims, self.metrics)
    }

    /// Parses `ns2.csv`, the means of metrics that were measured with ns-2. Empty if the paper has no such file.
    ///
    /// # Errors
    /// If `ns2.csv` is invalid.
    pub fn ns2(&self) -> Result<Reference, ReferenceError> {
        Reference::parse(&self.ns2)
    }

    /// Returns the built-in `results.json`; `None` for a paper made by [`Paper::of_folder`].
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

    pub(crate) fn scenario(&self, name: &str) -> Option<&str> {
        self.scenarios.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_ref())
    }
}
