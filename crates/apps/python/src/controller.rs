//! Rate controllers written in Python: adapters from the classes of `headway/_controllers.py` to the traits of
//! `headway-rate`.
//!
//! Times are integers in ns, so that they are exact. An exception in a half stops the run: after it nothing is sent.

use crate::object::{Answer, Method, Object, Raised};
use headway_rate::{
    AnyReceiverHalf, AnySenderHalf, Arrival, ExternalController, ExternalOptions, Need, Next, Own, Permit, Received,
    ReceiverContext, ReceiverHalf, Report, ReportForm, SenderContext, SenderHalf, Sending, Stamp, Status, TimedArrival,
    TimedReport,
};
use headway_units::{Bytes, Duration, Ecn, Instant, Rate};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;

/// Class names of the sender half and its context in the package.
const SENDER: (&str, Option<&str>) = ("SenderHalf", Some("SenderContext"));
const RECEIVER: (&str, Option<&str>) = ("ReceiverHalf", Some("ReceiverContext"));

/// The Python classes of both halves.
#[derive(Debug)]
struct Classes {
    sender: Py<PyAny>,
    receiver: Py<PyAny>,
    reports: ReportForm,
    raised: Arc<Raised>,
}

/// Creates a controller from Python classes; `reports` and `needs` are attributes of the receiver class.
pub(crate) fn external(
    sender: Py<PyAny>,
    receiver: Py<PyAny>,
    reports: &str,
    needs: &[String],
    raised: &Arc<Raised>,
) -> PyResult<ExternalOptions> {
    let reports = match reports {
        "nothing" => ReportForm::Nothing,
        "arrivals" => ReportForm::Arrivals,
        "timed" => ReportForm::Timed,
        "own" => ReportForm::Own,
        other => return Err(unknown("reports", other, "nothing, arrivals, timed, own")),
    };
    let need = |need: &String| match need.as_str() {
        "sender_clock" => Ok(Need::SenderClock),
        "round_trip" => Ok(Need::RoundTrip),
        "line_rate" => Ok(Need::LineRate),
        other => Err(unknown("needs", other, "sender_clock, round_trip, line_rate")),
    };
    let needs = needs.iter().map(need).collect::<PyResult<_>>()?;
    let classes = Classes { sender, receiver, reports, raised: Arc::clone(raised) };
    Ok(ExternalOptions { reports, needs, controller: Arc::new(classes) })
}

fn unknown(what: &str, found: &str, known: &str) -> PyErr {
    PyValueError::new_err(format!("a controller's {what} cannot be \"{found}\"; expected one of {known}"))
}

impl ExternalController for Classes {
    fn sender(&self, context: SenderContext) -> Box<dyn AnySenderHalf> {
        let SenderContext { now, rtt, packet_size, header, line_rate, mut random, .. } = context;
        let context = (
            now.as_nanos(),
            packet_size.count(),
            header.count(),
            rtt.map(Duration::as_nanos),
            line_rate.map(Rate::bits_per_second),
            random.bits(),
        );
        Box::new(PySender { half: Object::new(&self.sender, SENDER, context, &self.raised) })
    }

    fn receiver(&self, context: ReceiverContext) -> Box<dyn AnyReceiverHalf> {
        let args = (context.now.as_nanos(), context.packet_size.count(), context.upcoming);
        let half = Object::new(&self.receiver, RECEIVER, args, &self.raised);
        Box::new(PyReceiver { half, reports: self.reports })
    }
}

#[derive(Debug)]
struct PySender {
    half: Object,
}

/// Fields of the package's `Status`.
type StatusParts = (Option<f64>, Option<f64>, Option<u64>, Option<f64>, Option<f64>, Option<u64>);

impl SenderHalf for PySender {
    fn poll_send(&mut self, now: Instant, next: &Next) -> Permit {
        let args = (now.as_nanos(), next.size.count());
        let at = self.half.act(now, Method::PollSend, |_, method| {
            Answer { method: Method::PollSend, value: &method.call1(args)? }.time()
        });
        match at.flatten() {
            None => Permit::Blocked,
            Some(at) if at > now.as_nanos() => Permit::At(Instant::from_nanos(at)),
            Some(_) => Permit::Now,
        }
    }

    fn on_send(&mut self, now: Instant, sending: &Sending) -> Stamp {
        let args = (now.as_nanos(), sending.number, sending.size.count());
        let own = self.half.act(now, Method::OnSend, |_, method| {
            own_bytes(&Answer { method: Method::OnSend, value: &method.call1(args)? })
        });
        let mut stamp = Stamp::default();
        stamp.own = own.flatten().unwrap_or(Own::NONE);
        stamp
    }

    fn on_application_limited(&mut self, now: Instant) {
        self.half.call(Method::OnApplicationLimited, |_, method| {
            Answer { method: Method::OnApplicationLimited, value: &method.call1((now.as_nanos(),))? }.nothing()
        });
    }

    fn on_feedback(&mut self, now: Instant, feedback: &headway_rate::Feedback<'_>) {
        self.half.call(Method::OnFeedback, |_, method| {
            let value = method.call1((now.as_nanos(), Feedback::of(feedback)))?;
            Answer { method: Method::OnFeedback, value: &value }.nothing()
        });
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.half.handle_timeout(now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.half.poll_timeout()
    }

    fn status(&self) -> Status {
        let parts = self.half.call(Method::Status, |_, method| status(&method.call0()?));
        let mut status = Status::default();
        if let Some((target, pacing, window, packets, ssthresh, rtt)) = parts {
            let rate = |bps: f64| Rate::from_bits_per_second(bps as u64);
            (status.target_rate, status.pacing_rate) = (target.map(rate), pacing.map(rate));
            (status.window, status.window_packets) = (window.map(Bytes::new), packets);
            (status.ssthresh, status.rtt) = (ssthresh, rtt.map(Duration::from_nanos));
        }
        status
    }
}

#[derive(Debug)]
struct PyReceiver {
    half: Object,
    reports: ReportForm,
}

impl ReceiverHalf for PyReceiver {
    fn report_form(&self) -> ReportForm {
        self.reports
    }

    fn on_packet(&mut self, now: Instant, packet: &Received) {
        self.half.call(Method::OnPacket, |_, method| {
            let value = method.call1((now.as_nanos(), Packet::of(packet)))?;
            Answer { method: Method::OnPacket, value: &value }.nothing()
        });
    }

    fn poll_report(&mut self, now: Instant) -> Option<Report<'_>> {
        let args = (now.as_nanos(),);
        let form = self.reports;
        let own = self.half.act(now, Method::PollReport, |_, method| {
            let answer = Answer { method: Method::PollReport, value: &method.call1(args)? };
            let due = match form {
                ReportForm::Own => return Ok(own_bytes(&answer)?.map(Report::Own)),
                ReportForm::Timed => answer.flag("True or False, as the class has reports = \"timed\"")?,
                ReportForm::Arrivals => answer.flag("True or False, as the class has reports = \"arrivals\"")?,
                // No report is sent, whatever the method returns.
                _ => {
                    let expected = "None, as the class has reports = \"nothing\"; others are arrivals, timed, own";
                    answer
                        .flag(expected)
                        .and_then(|due| if due { Err(answer.mismatch(expected)) } else { Ok(false) })?
                }
            };
            Ok(due.then_some(match form {
                ReportForm::Timed => Report::Timed(TimedReport::EMPTY),
                _ => Report::Arrivals(&[]),
            }))
        });
        own.flatten()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.half.handle_timeout(now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.half.poll_timeout()
    }
}

/// Converts the state that a sender half returns.
fn status(value: &Bound<'_, PyAny>) -> PyResult<StatusParts> {
    let wrong = || {
        let expected = "a headway.Status, each of its fields None or a number that is finite and not negative";
        Answer { method: Method::Status, value }.mismatch(expected)
    };
    let parts: StatusParts = value.extract().map_err(|_| wrong())?;
    let numbers = [parts.0, parts.1, parts.3, parts.4];
    let sound = numbers.into_iter().flatten().all(|number| number.is_finite() && number >= 0.0);
    if sound { Ok(parts) } else { Err(wrong()) }
}

/// Converts the bytes that one half sends to the other.
fn own_bytes(answer: &Answer<'_, '_>) -> PyResult<Option<Own>> {
    let expected = format!("bytes, at most {}, or None", Own::MAX_LEN);
    let Some(bytes) = answer.bytes(&expected)? else { return Ok(None) };
    if bytes.is_empty() && answer.method == Method::PollReport {
        return Err(answer.mismatch(&format!("1 to {} bytes, or None when no report is due", Own::MAX_LEN)));
    }
    let too_many = || answer.mismatch(&format!("{expected}; {} bytes are too many", bytes.len()));
    Own::new(&bytes).map(Some).ok_or_else(too_many)
}

fn name_of(ecn: Ecn) -> &'static str {
    match ecn {
        Ecn::NotEct => "not-ect",
        Ecn::Ect0 => "ect0",
        Ecn::Ect1 => "ect1",
        Ecn::Ce => "ce",
    }
}

/// Packet that a receiver half gets.
#[pyclass(frozen, module = "headway._native")]
pub(crate) struct Packet {
    #[pyo3(get)]
    number: u64,
    #[pyo3(get)]
    size_bytes: u64,
    #[pyo3(get)]
    data: bool,
    #[pyo3(get)]
    ecn: &'static str,
    #[pyo3(get)]
    sent_ns: Option<u64>,
    #[pyo3(get)]
    rtt_ns: Option<u64>,
    own: Own,
}

impl Packet {
    fn of(packet: &Received) -> Self {
        Self {
            number: packet.number,
            size_bytes: packet.size.count(),
            data: packet.data,
            ecn: name_of(packet.ecn),
            sent_ns: packet.timing.map(|timing| timing.sent.as_nanos()),
            rtt_ns: packet.rtt.map(Duration::as_nanos),
            own: packet.own,
        }
    }
}

#[pymethods]
impl Packet {
    /// Bytes that `on_send` of the sender half returned.
    #[getter]
    fn own<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.own.as_bytes())
    }
}

/// Arrival of a packet in a timed report: its ECN field, and the time from its arrival to the report in ns, if known.
type Timed = (&'static str, Option<u64>);

/// Report that a sender half gets.
#[pyclass(frozen, module = "headway._native")]
pub(crate) struct Feedback {
    #[pyo3(get)]
    acknowledged: u64,
    #[pyo3(get)]
    rtt_sample_ns: Option<u64>,
    #[pyo3(get)]
    delivered_bytes: Option<u64>,
    #[pyo3(get)]
    lost_acks: u64,
    #[pyo3(get)]
    clock_ns: Option<u64>,
    #[pyo3(get)]
    runs: Vec<(&'static str, u64)>,
    #[pyo3(get)]
    arrivals: Vec<Option<Timed>>,
    own: Own,
}

impl Feedback {
    fn of(feedback: &headway_rate::Feedback<'_>) -> Self {
        let mut of = Self {
            acknowledged: feedback.acknowledged,
            rtt_sample_ns: feedback.rtt_sample.map(Duration::as_nanos),
            delivered_bytes: feedback.delivered.map(Bytes::count),
            lost_acks: feedback.lost_acks,
            clock_ns: None,
            runs: Vec::new(),
            arrivals: Vec::new(),
            own: Own::NONE,
        };
        match feedback.report {
            Report::Own(own) => of.own = own,
            Report::Arrivals(runs) => {
                of.runs = runs.iter().map(|run| (arrival_name(run.arrival), run.packets)).collect();
            }
            Report::Timed(report) => {
                of.clock_ns = Some(report.clock.as_nanos());
                of.arrivals = report.arrivals.iter().map(timed).collect();
            }
            // No Python receiver sends this report.
            Report::Tfrc(_) => {}
        }
        of
    }
}

#[pymethods]
impl Feedback {
    /// Bytes that `poll_report` of the receiver half returned.
    #[getter]
    fn own<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.own.as_bytes())
    }
}

fn arrival_name(arrival: Arrival) -> &'static str {
    match arrival {
        Arrival::Received => "received",
        Arrival::Marked => "marked",
        Arrival::NotReceived => "not received",
    }
}

fn timed(arrival: &TimedArrival) -> Option<Timed> {
    match arrival {
        TimedArrival::NotReceived => None,
        TimedArrival::Received { ecn, before } => Some((name_of(*ecn), before.map(Duration::as_nanos))),
    }
}
