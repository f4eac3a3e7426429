//! `dscp` of a `[[flow]]`: one DSCP for all packets, or one for each kind of media.

use headway_units::{Dscp, MediaKind};
use schemars::JsonSchema;
use serde::Serialize;

/// DSCP of a flow as written in a scenario.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum DscpTable {
    /// DSCP of all packets.
    All(Dscp),
    /// DSCP of the packets of each kind of media.
    ByKind(KindsTable),
}

/// DSCP of each kind of media. Acknowledgements and reports are data.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub(crate) struct KindsTable {
    /// DSCP of packets without media: files, padding, acknowledgements and reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<Dscp>,
    /// DSCP of audio packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) audio: Option<Dscp>,
    /// DSCP of packets of video frames without a type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) video: Option<Dscp>,
    /// DSCP of packets of I frames: coded without reference to other frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) video_i: Option<Dscp>,
    /// DSCP of packets of P frames: predicted from earlier frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) video_p: Option<Dscp>,
    /// DSCP of packets of B frames: predicted from earlier and later frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) video_b: Option<Dscp>,
    /// DSCP of packets of the kinds for which no other key is set; cs0 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) other: Option<Dscp>,
}

impl KindsTable {
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

/// DSCP of a flow's packets, by kind of media.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowDscp([Dscp; MediaKind::ALL.len()]);

impl FlowDscp {
    /// Returns the DSCP of packets of this kind. Packets without media are [`MediaKind::Data`].
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
    fn kinds_without_a_key_have_the_dscp_of_other() {
        let [ef, le] = ["ef", "le"].map(|name| name.parse().unwrap());
        let mut kinds = KindsTable { other: Some(le), ..KindsTable::default() };
        for (index, kind) in MediaKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index, "FlowDscp is indexed by kind");
            *kinds.of_mut(kind) = Some(ef);
            let table = FlowDscp::from(DscpTable::ByKind(kinds));
            assert!(MediaKind::ALL.into_iter().all(|other| table.of(other) == if other == kind { ef } else { le }));
            let written = serde_json::to_value(kinds).unwrap();
            assert_eq!(written, serde_json::json!({ kind.name(): "ef", "other": "le" }));
            *kinds.of_mut(kind) = None;
        }
        assert_eq!(FlowDscp::from(DscpTable::All(ef)).of(MediaKind::VideoB), ef);
        assert_eq!(FlowDscp::default().of(MediaKind::Data), Dscp::CS0);
    }
}
