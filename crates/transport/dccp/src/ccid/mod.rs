//! Interface between a CCID and a connection, with one file for each form of receiver reports. A
//! connection does not depend on the controller.

mod feedback;
mod on_data;
mod own;
mod tfrc;
mod timed;

use crate::feature::{Ccid, Feature};
use crate::{OptionFault, OptionWriter, PacketType, RawOption};
pub(crate) use feedback::CcidFeedback;
use headway_rate::{ControllerOptions, Need, Report, ReportForm, Run};
pub(crate) use on_data::OnData;

/// First option number of an HC-Receiver (RFC 4340 section 10.3). Experimental CCIDs use only this one.
const REPORT: u8 = 192;

/// Congestion controller that this endpoint runs for data under a CCID, as sender or receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct CcidController {
    /// CCID by which both endpoints refer to the controller.
    pub ccid: Ccid,
    /// Options of the controller.
    pub controller: ControllerOptions,
    /// Whether the receiver of data under this CCID must send Ack Vectors. Controllers whose reports list the packets
    /// that arrived require them.
    pub ack_vectors: bool,
}

impl CcidController {
    /// Creates the entry of a controller. [`ack_vectors`](Self::ack_vectors) is true if the controller's reports list
    /// the packets that arrived.
    #[must_use]
    pub const fn new(ccid: Ccid, controller: ControllerOptions) -> Self {
        let ack_vectors = matches!(controller.reports(), ReportForm::Arrivals);
        Self { ccid, controller, ack_vectors }
    }
}

/// Formats that the two halves of a CCID use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CcidProfile {
    reports: Reports,
    /// Data packets may carry options of an experimental CCID.
    experiment: bool,
    /// Data packets carry a Timestamp of the sender's clock.
    clock: bool,
    /// Data packets carry the sender's round-trip time.
    round_trip: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Reports {
    /// No reports.
    #[default]
    Silent,
    /// Received packets: Ack Vectors (RFC 4341 section 6).
    Arrivals,
    /// Received packets and their arrival times.
    Timed,
    /// TFRC values in options 192 to 195 (RFC 4342 section 8). `drop_counts`: with Dropped Packets
    /// of CCID 4 (RFC 5622 section 8.7).
    Tfrc { drop_counts: bool },
    /// Bytes defined by the controller.
    Own,
}

impl CcidProfile {
    /// Returns the profile of a CCID with its local controller. CCIDs of the RFCs have a fixed profile.
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

    /// Returns the feature by which the sender selects the form of loss reports (Send Loss Event
    /// Rate, RFC 4342 section 8.4).
    pub(crate) const fn loss_form_feature(self) -> Option<Feature> {
        match self.reports {
            Reports::Tfrc { .. } => Some(Feature::SEND_LOSS_EVENT_RATE),
            Reports::Silent | Reports::Arrivals | Reports::Timed | Reports::Own => None,
        }
    }

    /// Returns whether the sender is window-based, and does not depend on the reported delay of acknowledgements.
    pub(crate) const fn goes_by_window(self) -> bool {
        matches!(self.reports, Reports::Arrivals)
    }

    pub(crate) const fn reports_rates(self) -> bool {
        matches!(self.reports, Reports::Tfrc { .. })
    }

    /// Returns whether data packets may carry options of an experimental CCID.
    pub(crate) const fn is_experiment(self) -> bool {
        self.experiment
    }

    pub(crate) const fn stamps_data(self) -> bool {
        self.clock
    }

    pub(crate) fn read(
        self,
        raw: RawOption<'_>,
        kind: PacketType,
        feedback: &mut CcidFeedback,
    ) -> Result<(), OptionFault> {
        match self.reports {
            Reports::Tfrc { drop_counts } => tfrc::read(drop_counts, raw, kind, feedback),
            Reports::Timed => timed::read(raw, feedback),
            Reports::Own => own::read(REPORT, raw).map(|own| feedback.own = Some(own)),
            Reports::Silent | Reports::Arrivals => Err(OptionFault::NotUnderstood),
        }
    }

    /// Writes a report, completely or not at all. Arrivals are in the Ack Vector.
    pub(crate) fn write(self, report: &Report<'_>, writer: &mut OptionWriter<'_>) {
        match (self.reports, report) {
            // Two full options fit; only the oldest intervals may be cut off.
            (Reports::Tfrc { drop_counts }, Report::Tfrc(report)) => drop(tfrc::write(report, drop_counts, writer)),
            (Reports::Timed, Report::Timed(report)) => timed::write(report, writer),
            (Reports::Own, Report::Own(own)) => own::write(REPORT, own, writer),
            _ => {}
        }
    }

    /// Returns the report for the controller from `runs` of a valid Ack Vector and the parsed
    /// options. `verifies`: reports are verified and must identify lost packets.
    pub(crate) fn report<'a>(
        self,
        runs: Option<&'a [Run]>,
        feedback: &'a CcidFeedback,
        timed: bool,
        verifies: bool,
    ) -> Option<Report<'a>> {
        match self.reports {
            // A report without a round-trip time is not TFRC feedback.
            Reports::Tfrc { .. } => {
                feedback.report().filter(|_| timed && (feedback.intervals().is_some() || !verifies)).map(Report::Tfrc)
            }
            Reports::Timed => feedback.timed().map(Report::Timed),
            Reports::Own => feedback.own.map(Report::Own),
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

    /// RFC 4341, 4342, 5622 and section 19.5 of RFC 4340: standard CCIDs by number, experimental
    /// ones by the form of their reports.
    #[test]
    fn report_form_of_each_ccid() {
        let reports =
            |ccid, kind: Option<&str>| CcidProfile::of(Ccid(ccid), kind.map(|kind| row(ccid, kind)).as_ref()).reports;
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

    const OWN: CcidProfile = CcidProfile { reports: Reports::Own, experiment: true, clock: false, round_trip: false };
    const TIMED: CcidProfile = CcidProfile { reports: Reports::Timed, experiment: true, clock: true, round_trip: true };

    /// RFC 4340 section 10.3: options 128 to 191 are from the sender of the data, 192 to 255 from
    /// its receiver. Standard CCIDs have none on data.
    #[test]
    fn controller_defined_bytes_are_carried_both_ways() {
        let own = Own::new(&[7, 8, 9]).unwrap();
        let mut feedback = CcidFeedback::default();
        let stamp = OnData { own, rtt: None };
        let report = written(|writer| OWN.write(&Report::Own(own), writer));
        assert_eq!(report, [192, 5, 7, 8, 9]);
        first(&report, |raw| {
            assert_eq!(OWN.read(raw, PacketType::Ack, &mut feedback), Ok(()));
            assert!(OWN.read_on_data(raw, &mut OnData::default()).is_err());
        });
        assert_eq!(OWN.report(None, &feedback, false, true), Some(Report::Own(own)));
        feedback.clear();
        assert_eq!(OWN.report(None, &feedback, true, false), None);
        let data = written(|writer| OWN.write_on_data(&stamp, writer));
        assert_eq!(data, [128, 5, 7, 8, 9]);
        first(&data, |raw| {
            let mut read = OnData::default();
            assert_eq!(OWN.read_on_data(raw, &mut read), Ok(()));
            assert_eq!(read, stamp);
            for standard in [2, 3, 4].map(|ccid| CcidProfile::of(Ccid(ccid), None)) {
                assert_eq!(standard.read_on_data(raw, &mut read), Err(OptionFault::NotUnderstood));
                assert!(written(|writer| standard.write_on_data(&stamp, writer)).is_empty());
            }
            assert_eq!(OWN.read(raw, PacketType::Ack, &mut feedback), Err(OptionFault::NotUnderstood));
        });
        assert!(written(|writer| OWN.write_on_data(&OnData::default(), writer)).is_empty());
        let long = RawOption { number: 192, data: &[0; 16] };
        assert!(OWN.read(long, PacketType::Ack, &mut feedback).is_err());
    }

    /// A round trip of 70 ms is 7000 units of 10 us, as in RFC 4340 section 13.
    #[test]
    fn the_senders_round_trip_is_carried() {
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

    /// Arrivals with times are option 192. The clock is extended across a wrap.
    #[test]
    fn arrival_times_are_carried() {
        let arrivals = [
            TimedArrival::Received { ecn: Ecn::Ect1, before: Some(Duration::ZERO) },
            TimedArrival::NotReceived,
            TimedArrival::Received { ecn: Ecn::Ce, before: Some(Duration::from_millis(500)) },
        ];
        let mut feedback = CcidFeedback::default();
        let mut clocks = vec![];
        for seconds in [65_535, 65_540] {
            feedback.clear();
            let report = TimedReport { clock: Instant::from_secs(seconds), arrivals: &arrivals };
            let bytes = written(|writer| TIMED.write(&Report::Timed(report), writer));
            assert_eq!(bytes[..2], [192, 12]);
            first(&bytes, |raw| assert_eq!(TIMED.read(raw, PacketType::Ack, &mut feedback), Ok(())));
            let Some(Report::Timed(read)) = TIMED.report(None, &feedback, false, true) else { panic!() };
            assert_eq!(read.arrivals, arrivals);
            clocks.push(read.clock);
        }
        assert_eq!(clocks[1].since(clocks[0]), Duration::from_secs(5));
        let nothing = RawOption { number: 192, data: &[1, 2, 3] };
        assert!(TIMED.read(nothing, PacketType::Ack, &mut feedback).is_err());
        feedback.clear();
        assert_eq!(TIMED.report(None, &feedback, true, false), None);
    }
}
