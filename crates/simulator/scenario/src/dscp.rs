//! The DSCP of a flow's packets: one for all, or one for each kind of media.

use headway_units::{Dscp, MediaKind};
use schemars::JsonSchema;
use serde::Serialize;

/// As written.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum DscpTable {
    /// All packets bear it.
    All(Dscp),
    /// Packets of each kind bear their own.
    ByKind(KindsTable),
}

/// A DSCP for each kind of media. What has no kind, such as an acknowledgement or a report, is data.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub(crate) struct KindsTable {
    /// Anything else: a file, filler, acknowledgements and reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<Dscp>,
    /// Sound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) audio: Option<Dscp>,
    /// Video of no particular frame type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) video: Option<Dscp>,
    /// Video frames that stand alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) video_i: Option<Dscp>,
    /// Video frames predicted from earlier ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) video_p: Option<Dscp>,
    /// Video frames predicted from both sides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) video_b: Option<Dscp>,
    /// Kinds that are not written; cs0 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) other: Option<Dscp>,
}

impl KindsTable {
    /// Where the DSCP of a kind is written.
    pub(crate) fn of_mut(&mut self, kind: MediaKind) -> &mut Option<Dscp> {
        match kind {
            MediaKind::Data => &mut self.data,
            MediaKind::Audio => &mut self.audio,
            MediaKind::Video => &mut self.video,
            MediaKind::VideoI => &mut self.video_i,
            MediaKind::VideoP => &mut self.video_p,
            MediaKind::VideoB => &mut self.video_b,
        }
    }
}

/// The DSCP of a flow's packets of each kind of media.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowDscp([Dscp; MediaKind::ALL.len()]);

impl FlowDscp {
    /// That of packets of this kind; of those that have none it is [`MediaKind::Data`].
    #[must_use]
    #[inline]
    pub fn of(&self, kind: MediaKind) -> Dscp {
        self.0[kind as usize]
    }
}

impl From<DscpTable> for FlowDscp {
    fn from(table: DscpTable) -> Self {
        match table {
            DscpTable::All(dscp) => Self([dscp; MediaKind::ALL.len()]),
            DscpTable::ByKind(mut kinds) => {
                let other = kinds.other.unwrap_or_default();
                Self(MediaKind::ALL.map(|kind| kinds.of_mut(kind).unwrap_or(other)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_own_and_the_rest_the_other() {
        let [ef, le] = ["ef", "le"].map(|name| name.parse().unwrap());
        let mut kinds = KindsTable { other: Some(le), ..KindsTable::default() };
        for (index, kind) in MediaKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index, "what FlowDscp goes by");
            *kinds.of_mut(kind) = Some(ef);
            let table = FlowDscp::from(DscpTable::ByKind(kinds));
            assert!(MediaKind::ALL.into_iter().all(|other| table.of(other) == if other == kind { ef } else { le }));
            // The key is the kind's name.
            let written = serde_json::to_value(kinds).unwrap();
            assert_eq!(written, serde_json::json!({ kind.name(): "ef", "other": "le" }));
            *kinds.of_mut(kind) = None;
        }
        assert_eq!(FlowDscp::from(DscpTable::All(ef)).of(MediaKind::VideoB), ef);
        assert_eq!(FlowDscp::default().of(MediaKind::Data), Dscp::CS0);
    }
}
