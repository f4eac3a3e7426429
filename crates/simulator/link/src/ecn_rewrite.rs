//! Changes of the ECN field by a router that does not follow RFC 3168.
//!
//! The router at the start of the link rewrites the field of each packet before the queue. The marks of the link's own
//! queue are not changed.

use headway_units::Ecn;
use serde::{Deserialize, Serialize};

/// Change of the ECN field of each packet that enters a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnRewrite {
    /// The field is cleared to Not-ECT. Observed on 4 % of the paths of Lim and others, "A Fresh Look at ECN Traversal
    /// in the Wild", 2022.
    Bleach,
    /// ECT(0) becomes ECT(1), which an L4S queue takes for L4S (Sander and others, "ECN with QUIC: Challenges in the
    /// Wild", IMC 2023).
    #[serde(rename = "ect0-to-ect1")]
    Ect0ToEct1,
    /// ECT(1) becomes ECT(0), so that an L4S packet uses the Classic queue.
    #[serde(rename = "ect1-to-ect0")]
    Ect1ToEct0,
    /// ECT(0) and ECT(1) become CE (Sander and others).
    EctToCe,
    /// CE becomes ECT(0), which erases the marks of earlier queues.
    #[serde(rename = "ce-to-ect0")]
    CeToEct0,
}

impl EcnRewrite {
    /// Returns the changed field.
    #[must_use]
    pub const fn apply(self, ecn: Ecn) -> Ecn {
        match (self, ecn) {
            (Self::Bleach, _) => Ecn::NotEct,
            (Self::Ect0ToEct1, Ecn::Ect0) => Ecn::Ect1,
            (Self::Ect1ToEct0, Ecn::Ect1) | (Self::CeToEct0, Ecn::Ce) => Ecn::Ect0,
            (Self::EctToCe, Ecn::Ect0 | Ecn::Ect1) => Ecn::Ce,
            _ => ecn,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_changes_only_its_fields() {
        use Ecn::{Ce, Ect0, Ect1, NotEct};
        for (rewrite, fields) in [
            (EcnRewrite::Bleach, [NotEct, NotEct, NotEct, NotEct]),
            (EcnRewrite::Ect0ToEct1, [NotEct, Ect1, Ect1, Ce]),
            (EcnRewrite::Ect1ToEct0, [NotEct, Ect0, Ect0, Ce]),
            (EcnRewrite::EctToCe, [NotEct, Ce, Ce, Ce]),
            (EcnRewrite::CeToEct0, [NotEct, Ect0, Ect1, Ect0]),
        ] {
            assert_eq!([NotEct, Ect0, Ect1, Ce].map(|ecn| rewrite.apply(ecn)), fields, "{rewrite:?}");
        }
    }
}
