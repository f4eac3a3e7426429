//! What a CCID asks of a connection: one file for each way in which its receivers report. A connection does not ask which
//! controller runs.

mod own;
mod said;
mod tfrc;

use crate::connection::CcidController;
use crate::feature::{Ccid, Feature};
use crate::{OptionFault, OptionWriter, PacketType, RawOption};
use headway_rate::{Own, Report, ReportForm, Run};
pub(crate) use said::Said;

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
    /// In bytes of the controller's own, and so its sender on data packets.
    Own,
}

impl Room {
    /// That of a CCID, and of the controller that this end has for it. Those of the RFCs have theirs whatever the controller is.
    pub(crate) fn of(ccid: Ccid, row: Option<&CcidController>) -> Self {
        match (ccid, row.map(|row| row.controller.reports())) {
            (Ccid::TCP_LIKE, _) => Self::Arrivals,
            (Ccid::TFRC, _) => Self::Tfrc { drop_counts: false },
            (Ccid::TFRC_SP, _) | (_, Some(ReportForm::Tfrc)) => Self::Tfrc { drop_counts: true },
            (_, Some(ReportForm::Arrivals)) => Self::Arrivals,
            (_, Some(ReportForm::Own)) => Self::Own,
            (_, Some(ReportForm::Nothing) | None) => Self::Silent,
        }
    }

    /// The feature of its own by which its sender asks for another form of the losses (Send Loss Event Rate, RFC 4342 section 8.4).
    pub(crate) const fn loss_form_feature(self) -> Option<Feature> {
        match self {
            Self::Tfrc { .. } => Some(Feature::SEND_LOSS_EVENT_RATE),
            Self::Silent | Self::Arrivals | Self::Own => None,
        }
    }

    /// Whether its sender goes by a window, and not by how long its receivers say that they waited.
    pub(crate) const fn goes_by_window(self) -> bool {
        matches!(self, Self::Arrivals)
    }

    /// Reads an option that its receiver has sent.
    pub(crate) fn read(self, raw: RawOption<'_>, kind: PacketType, said: &mut Said) -> Result<(), OptionFault> {
        match self {
            Self::Tfrc { drop_counts } => tfrc::read(drop_counts, raw, kind, said),
            Self::Own => own::read(own::REPORT, raw).map(|own| said.own = Some(own)),
            Self::Silent | Self::Arrivals => Err(OptionFault::NotUnderstood),
        }
    }

    /// Reads an option that its sender has put on a packet of data.
    pub(crate) fn read_on_data(self, raw: RawOption<'_>) -> Result<Own, OptionFault> {
        if self == Self::Own { own::read(own::ON_DATA, raw) } else { Err(OptionFault::NotUnderstood) }
    }

    /// Writes what its receiver reports, all of it or nothing. Arrivals are in the Ack Vector.
    pub(crate) fn write(self, report: &Report<'_>, writer: &mut OptionWriter<'_>) {
        match (self, report) {
            // There is room for two full options: what does not fit is the tail of old intervals.
            (Self::Tfrc { drop_counts }, Report::Tfrc(report)) => drop(tfrc::write(report, drop_counts, writer)),
            (Self::Own, Report::Own(own)) => own::write(own::REPORT, own, writer),
            _ => {}
        }
    }

    /// Writes what its sender puts on a packet of data.
    pub(crate) fn write_on_data(self, own: &Own, writer: &mut OptionWriter<'_>) {
        if self == Self::Own && !own.is_empty() {
            own::write(own::ON_DATA, own, writer);
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
            Self::Own => said.own.map(Report::Own),
            Self::Silent | Self::Arrivals => runs.map(Report::Arrivals),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DccpOption, OptionArea};
    use headway_rate::ControllerOptions;
    use headway_units::{Dialect, Registry};

    fn row(ccid: u8, kind: &str) -> CcidController {
        let controller = ControllerOptions::preset(kind, Dialect::Rfc).unwrap();
        CcidController { ccid: Ccid(ccid), controller, ack_vectors: false }
    }

    /// RFC 4341, 4342, 5622 and section 19.5 of RFC 4340: those of the standards by their numbers, those of experiments by what they report.
    #[test]
    fn which_room_a_ccid_has() {
        let room = |ccid, kind| Room::of(Ccid(ccid), Some(&row(ccid, kind)));
        assert_eq!(
            [2, 3, 4, 248].map(|ccid| Room::of(Ccid(ccid), None)),
            [Room::Arrivals, Room::Tfrc { drop_counts: false }, Room::Tfrc { drop_counts: true }, Room::Silent]
        );
        assert_eq!(room(3, "none"), Room::Tfrc { drop_counts: false });
        assert_eq!(room(249, "tfrc"), Room::Tfrc { drop_counts: true });
        assert_eq!((room(249, "tcp-like"), room(249, "none")), (Room::Arrivals, Room::Silent));
    }

    fn written(write: impl FnOnce(&mut OptionWriter<'_>)) -> Vec<u8> {
        let mut buffer = [0; 64];
        let mut writer = OptionWriter::new(&mut buffer);
        write(&mut writer);
        let len = writer.len();
        buffer[..len].to_vec()
    }

    /// RFC 4340 section 10.3: options 128 to 191 come from the data's sender, 192 to 255 from its receiver.
    #[test]
    fn bytes_of_its_own_travel_both_ways() {
        let own = Own::new(&[7, 8, 9]).unwrap();
        let mut said = Said::default();
        for (number, bytes) in [
            (192, written(|writer| Room::Own.write(&Report::Own(own), writer))),
            (128, written(|writer| Room::Own.write_on_data(&own, writer))),
        ] {
            assert_eq!(bytes, [number, 5, 7, 8, 9]);
            let padded = [&bytes[..], &[0; 3]].concat();
            let options = OptionArea::new(&padded).unwrap();
            let Some(Ok(DccpOption::Ccid(raw))) = options.iter().next() else { panic!("{bytes:?}") };
            for room in [Room::Silent, Room::Arrivals, Room::Tfrc { drop_counts: true }] {
                assert!(room.read_on_data(raw).is_err());
            }
            if number == 192 {
                assert_eq!(Room::Own.read(raw, PacketType::Ack, &mut said), Ok(()));
                assert_eq!(Room::Own.read_on_data(raw), Err(OptionFault::NotUnderstood));
            } else {
                assert_eq!(Room::Own.read_on_data(raw), Ok(own));
                assert_eq!(Room::Own.read(raw, PacketType::Ack, &mut said), Err(OptionFault::NotUnderstood));
            }
        }
        assert_eq!(Room::Own.report(None, &said, false, true), Some(Report::Own(own)));
        said.clear();
        assert_eq!(Room::Own.report(None, &said, true, false), None);
        assert!(written(|writer| Room::Own.write_on_data(&Own::NONE, writer)).is_empty());
        assert!(written(|writer| Room::Silent.write_on_data(&own, writer)).is_empty());
        let long = RawOption { number: 192, data: &[0; 16] };
        assert!(Room::Own.read(long, PacketType::Ack, &mut said).is_err());
    }
}
