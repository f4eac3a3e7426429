//! What a CCID asks of a connection: one file for each way in which its receivers report. Nothing else asks which CCID it is.

mod tfrc;

use crate::connection::CcidController;
use crate::feature::{Ccid, Feature};
use crate::{OptionFault, OptionWriter, PacketType, RawOption};
use headway_rate::{Report, ReportForm, Run};
pub(crate) use tfrc::Said;

/// How the receivers of a CCID report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Room {
    /// Not at all.
    #[default]
    Silent,
    /// Which packets have come: Ack Vectors (RFC 4341 section 6).
    Arrivals,
    /// TFRC's numbers in options 192 to 195 (RFC 4342 section 8). `drop_counts`: CCID 4's Dropped Packets too (RFC 5622 section 8.7).
    Tfrc { drop_counts: bool },
}

impl Room {
    /// That of a CCID, and of the controller that this end has for it. Those of the RFCs have theirs whatever the controller is.
    pub(crate) fn of(ccid: Ccid, row: Option<&CcidController>) -> Self {
        match (ccid, row.map(|row| row.controller.reports())) {
            (Ccid::TCP_LIKE, _) => Self::Arrivals,
            (Ccid::TFRC, _) => Self::Tfrc { drop_counts: false },
            (Ccid::TFRC_SP, _) | (_, Some(ReportForm::Tfrc)) => Self::Tfrc { drop_counts: true },
            (_, Some(ReportForm::Arrivals)) => Self::Arrivals,
            (_, Some(ReportForm::Nothing) | None) => Self::Silent,
        }
    }

    /// The feature of its own by which its sender asks for another form of the losses (Send Loss Event Rate, RFC 4342 section 8.4).
    pub(crate) const fn loss_form_feature(self) -> Option<Feature> {
        match self {
            Self::Tfrc { .. } => Some(Feature::SEND_LOSS_EVENT_RATE),
            Self::Silent | Self::Arrivals => None,
        }
    }

    /// Whether its sender goes by a window, and not by how long its receivers say that they waited.
    pub(crate) const fn waits(self) -> bool {
        matches!(self, Self::Arrivals)
    }

    /// Reads an option that its receiver has sent.
    pub(crate) fn read(self, raw: RawOption<'_>, kind: PacketType, said: &mut Said) -> Result<(), OptionFault> {
        match self {
            Self::Tfrc { drop_counts } => tfrc::read(drop_counts, raw, kind, said),
            Self::Silent | Self::Arrivals => Err(OptionFault::NotUnderstood),
        }
    }

    /// Writes what its receiver reports, all of it or nothing. Arrivals are in the Ack Vector.
    pub(crate) fn write(self, report: &Report<'_>, writer: &mut OptionWriter<'_>) {
        if let (Self::Tfrc { drop_counts }, Report::Tfrc(report)) = (self, report) {
            // There is room for two full options: what does not fit is the tail of old intervals.
            let _ = tfrc::write(report, drop_counts, writer);
        }
    }

    /// What a packet says that its controller goes by: `runs` of an Ack Vector that counts, and what options have said. `verifies`: the
    /// receiver may lie, and must say which packets were lost.
    pub(crate) fn report<'a>(
        self,
        runs: Option<&'a [Run]>,
        said: &'a Said,
        timed: bool,
        verifies: bool,
    ) -> Option<Report<'a>> {
        match self {
            // A report without a round trip is no feedback for TFRC.
            Self::Tfrc { .. } => {
                said.report().filter(|_| timed && (said.intervals().is_some() || !verifies)).map(Report::Tfrc)
            }
            Self::Silent | Self::Arrivals => runs.map(Report::Arrivals),
        }
    }
}
