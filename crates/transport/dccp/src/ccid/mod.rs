//! What a CCID asks of a connection: one file for each way in which its receivers report. A connection does not ask which
//! controller runs.

mod on_data;
mod own;
mod said;
mod tfrc;
mod timed;

use crate::feature::{Ccid, Feature};
use crate::{OptionFault, OptionWriter, PacketType, RawOption};
use headway_rate::{ControllerOptions, Need, Report, ReportForm, Run};
pub(crate) use on_data::OnData;
pub(crate) use said::Said;

/// The first option that an HC-Receiver may send (RFC 4340 section 10.3). Those of experiments have one.
const REPORT: u8 = 192;

/// A CCID that this end can carry.
#[derive(Clone, Debug, PartialEq)]
pub struct CcidController {
    /// The CCID, by which both ends name it.
    pub ccid: Ccid,
    /// Its controller.
    pub controller: ControllerOptions,
    /// Whether its data receiver must send Ack Vectors: what a controller that is told of arrivals needs.
    pub ack_vectors: bool,
}

impl CcidController {
    /// With Ack Vectors if the controller is told of arrivals.
    #[must_use]
    pub const fn new(ccid: Ccid, controller: ControllerOptions) -> Self {
        let ack_vectors = matches!(controller.reports(), ReportForm::Arrivals);
        Self { ccid, controller, ack_vectors }
    }
}

/// What the two halves of a CCID say to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Room {
    reports: Reports,
    /// Packets of data carry what the halves of an experiment need: bytes of their own always.
    experiment: bool,
    /// The sender's clock, in a Timestamp.
    clock: bool,
    /// The sender's round trip.
    round_trip: bool,
}

/// How its receivers report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Reports {
    /// Not at all.
    #[default]
    Silent,
    /// Which packets have come: Ack Vectors (RFC 4341 section 6).
    Arrivals,
    /// Which packets have come, and when.
    Timed,
    /// TFRC's numbers in options 192 to 195 (RFC 4342 section 8). `drop_counts`: CCID 4's Dropped Packets too (RFC 5622 section 8.7).
    Tfrc { drop_counts: bool },
    /// In bytes of the controller's own.
    Own,
}

impl Room {
    /// That of a CCID, and of the controller that this end has for it. Those of the RFCs have theirs whatever the controller is.
    pub(crate) fn of(ccid: Ccid, row: Option<&CcidController>) -> Self {
        let standard = |reports| Self { reports, ..Self::default() };
        let row = match (ccid, row) {
            (Ccid::TCP_LIKE, _) => return standard(Reports::Arrivals),
            (Ccid::TFRC, _) => return standard(Reports::Tfrc { drop_counts: false }),
            (Ccid::TFRC_SP, _) => return standard(Reports::Tfrc { drop_counts: true }),
            (_, None) => return Self::default(),
            (_, Some(row)) => row,
        };
        let reports = match row.controller.reports() {
            ReportForm::Nothing => Reports::Silent,
            ReportForm::Arrivals => Reports::Arrivals,
            ReportForm::Timed => Reports::Timed,
            ReportForm::Tfrc => Reports::Tfrc { drop_counts: true },
            ReportForm::Own => Reports::Own,
        };
        let needs = |need| row.controller.needs().any(|needed| needed == need);
        Self { reports, experiment: true, clock: needs(Need::SenderClock), round_trip: needs(Need::RoundTrip) }
    }

    /// The feature of its own by which its sender asks for another form of the losses (Send Loss Event Rate, RFC 4342 section 8.4).
    pub(crate) const fn loss_form_feature(self) -> Option<Feature> {
        match self.reports {
            Reports::Tfrc { .. } => Some(Feature::SEND_LOSS_EVENT_RATE),
            Reports::Silent | Reports::Arrivals | Reports::Timed | Reports::Own => None,
        }
    }

    /// Whether its sender goes by a window, and not by how long its receivers say that they waited.
    pub(crate) const fn goes_by_window(self) -> bool {
        matches!(self.reports, Reports::Arrivals)
    }

    /// Whether its receivers report rates, once a round trip.
    pub(crate) const fn reports_rates(self) -> bool {
        matches!(self.reports, Reports::Tfrc { .. })
    }

    /// Whether its sender may have something to say on data.
    pub(crate) const fn is_experiment(self) -> bool {
        self.experiment
    }

    /// Whether its data says when it was sent.
    pub(crate) const fn stamps_data(self) -> bool {
        self.clock
    }

    /// Reads an option that its receiver has sent.
    pub(crate) fn read(self, raw: RawOption<'_>, kind: PacketType, said: &mut Said) -> Result<(), OptionFault> {
        match self.reports {
            Reports::Tfrc { drop_counts } => tfrc::read(drop_counts, raw, kind, said),
            Reports::Timed => timed::read(raw, said),
            Reports::Own => own::read(REPORT, raw).map(|own| said.own = Some(own)),
            Reports::Silent | Reports::Arrivals => Err(OptionFault::NotUnderstood),
        }
    }

    /// Writes what its receiver reports, all of it or nothing. Arrivals are in the Ack Vector.
    pub(crate) fn write(self, report: &Report<'_>, writer: &mut OptionWriter<'_>) {
        match (self.reports, report) {
            // There is room for two full options: what does not fit is the tail of old intervals.
            (Reports::Tfrc { drop_counts }, Report::Tfrc(report)) => drop(tfrc::write(report, drop_counts, writer)),
            (Reports::Timed, Report::Timed(report)) => timed::write(report, writer),
            (Reports::Own, Report::Own(own)) => own::write(REPORT, own, writer),
            _ => {}
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
        match self.reports {
            // A report without a round trip is no feedback for TFRC.
            Reports::Tfrc { .. } => {
                said.report().filter(|_| timed && (said.intervals().is_some() || !verifies)).map(Report::Tfrc)
            }
            Reports::Timed => said.timed().map(Report::Timed),
            Reports::Own => said.own.map(Report::Own),
            Reports::Silent | Reports::Arrivals => runs.map(Report::Arrivals),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DccpOption, OptionArea};
    use headway_rate::{Own, TimedArrival, TimedReport};
    use headway_units::{Dialect, Duration, Ecn, Instant, Registry};

    fn row(ccid: u8, kind: &str) -> CcidController {
        let controller = ControllerOptions::preset(kind, Dialect::Rfc).unwrap();
        CcidController::new(Ccid(ccid), controller)
    }

    /// RFC 4341, 4342, 5622 and section 19.5 of RFC 4340: those of the standards by their numbers, those of experiments by what they report.
    #[test]
    fn which_room_a_ccid_has() {
        let reports =
            |ccid, kind: Option<&str>| Room::of(Ccid(ccid), kind.map(|kind| row(ccid, kind)).as_ref()).reports;
        let [three, four] = [false, true].map(|drop_counts| Reports::Tfrc { drop_counts });
        assert_eq!([2, 3, 4, 248].map(|ccid| reports(ccid, None)), [Reports::Arrivals, three, four, Reports::Silent]);
        assert_eq!((reports(3, Some("none")), reports(249, Some("tfrc"))), (three, four));
        assert_eq!((reports(249, Some("tcp-like")), reports(249, Some("none"))), (Reports::Arrivals, Reports::Silent));
    }

    fn written(write: impl FnOnce(&mut OptionWriter<'_>)) -> Vec<u8> {
        let mut buffer = [0; 64];
        let mut writer = OptionWriter::new(&mut buffer);
        write(&mut writer);
        let len = writer.len();
        buffer[..len].to_vec()
    }

    fn first(bytes: &[u8], check: impl FnOnce(RawOption<'_>)) {
        let padded = [bytes, &[0; 3]].concat();
        let options = OptionArea::new(&padded[..padded.len() & !3]).unwrap();
        let Some(Ok(DccpOption::Ccid(raw))) = options.iter().next() else { panic!("{bytes:?}") };
        check(raw);
    }

    const OWN: Room = Room { reports: Reports::Own, experiment: true, clock: false, round_trip: false };
    const TIMED: Room = Room { reports: Reports::Timed, experiment: true, clock: true, round_trip: true };

    /// RFC 4340 section 10.3: options 128 to 191 come from the data's sender, 192 to 255 from its receiver; those of the RFCs have none on
    /// data.
    #[test]
    fn bytes_of_its_own_travel_both_ways() {
        let own = Own::new(&[7, 8, 9]).unwrap();
        let mut said = Said::default();
        let stamp = OnData { own, rtt: None };
        let report = written(|writer| OWN.write(&Report::Own(own), writer));
        assert_eq!(report, [192, 5, 7, 8, 9]);
        first(&report, |raw| {
            assert_eq!(OWN.read(raw, PacketType::Ack, &mut said), Ok(()));
            assert!(OWN.read_on_data(raw, &mut OnData::default()).is_err());
        });
        assert_eq!(OWN.report(None, &said, false, true), Some(Report::Own(own)));
        said.clear();
        assert_eq!(OWN.report(None, &said, true, false), None);
        let data = written(|writer| OWN.write_on_data(&stamp, writer));
        assert_eq!(data, [128, 5, 7, 8, 9]);
        first(&data, |raw| {
            let mut read = OnData::default();
            assert_eq!(OWN.read_on_data(raw, &mut read), Ok(()));
            assert_eq!(read, stamp);
            for standard in [2, 3, 4].map(|ccid| Room::of(Ccid(ccid), None)) {
                assert_eq!(standard.read_on_data(raw, &mut read), Err(OptionFault::NotUnderstood));
                assert!(written(|writer| standard.write_on_data(&stamp, writer)).is_empty());
            }
            assert_eq!(OWN.read(raw, PacketType::Ack, &mut said), Err(OptionFault::NotUnderstood));
        });
        assert!(written(|writer| OWN.write_on_data(&OnData::default(), writer)).is_empty());
        let long = RawOption { number: 192, data: &[0; 16] };
        assert!(OWN.read(long, PacketType::Ack, &mut said).is_err());
    }

    /// A round trip of 70 ms is 7000 units of 10 us, as in RFC 4340 section 13.
    #[test]
    fn the_senders_round_trip_travels() {
        let stamp = OnData { own: Own::NONE, rtt: Some(Duration::from_millis(70)) };
        let data = written(|writer| TIMED.write_on_data(&stamp, writer));
        assert_eq!(data, [129, 6, 0, 0, 0x1b, 0x58]);
        first(&data, |raw| {
            let mut read = OnData::default();
            assert_eq!(TIMED.read_on_data(raw, &mut read), Ok(()));
            assert_eq!(read, stamp);
            assert_eq!(OWN.read_on_data(raw, &mut read), Err(OptionFault::NotUnderstood));
        });
        assert!(TIMED.read_on_data(RawOption { number: 129, data: &[1, 2, 3] }, &mut OnData::default()).is_err());
    }

    /// Arrivals with their times are option 192, and their clock is told apart from that of a day later.
    #[test]
    fn times_of_arrival_travel() {
        let arrivals = [
            TimedArrival::Received { ecn: Ecn::Ect1, before: Some(Duration::ZERO) },
            TimedArrival::NotReceived,
            TimedArrival::Received { ecn: Ecn::Ce, before: Some(Duration::from_millis(500)) },
        ];
        let mut said = Said::default();
        let mut clocks = vec![];
        for seconds in [65_535, 65_540] {
            said.clear();
            let report = TimedReport { clock: Instant::from_secs(seconds), arrivals: &arrivals };
            let bytes = written(|writer| TIMED.write(&Report::Timed(report), writer));
            assert_eq!(bytes[..2], [192, 12]);
            first(&bytes, |raw| assert_eq!(TIMED.read(raw, PacketType::Ack, &mut said), Ok(())));
            let Some(Report::Timed(read)) = TIMED.report(None, &said, false, true) else { panic!() };
            assert_eq!(read.arrivals, arrivals);
            clocks.push(read.clock);
        }
        assert_eq!(clocks[1].since(clocks[0]), Duration::from_secs(5));
        let nothing = RawOption { number: 192, data: &[1, 2, 3] };
        assert!(TIMED.read(nothing, PacketType::Ack, &mut said).is_err());
        said.clear();
        assert_eq!(TIMED.report(None, &said, true, false), None);
    }
}
