//! Figures for Prometheus: `--metrics ADDRESS:PORT`, in its text format 0.0.4.
//!
//! One request after the other, each of which is short and soon over: whoever asks slowly, or for more than is there, keeps nobody up for long.
#![expect(clippy::disallowed_types, reason = "figures are asked for by HTTP")]

use super::end::address;
use super::receiving::Received;
use super::recv::spawn;
use super::sending::Sent;
use super::teller::Teller;
use crate::error::Failure;
use std::fmt::Write as _;
use std::io::{self, Read, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The longest request that is read.
const LONGEST: usize = 8 << 10;
/// How long it may take to come, and its answer to go.
const PATIENCE: Duration = Duration::from_secs(2);
/// So often it is read at most: one that comes byte by byte is cut off.
const MOST_READS: usize = 8;

/// What is answered, changed as often as there are new figures.
pub(super) struct Metrics(Arc<Mutex<String>>);

impl Metrics {
    /// Answers from now on.
    pub(super) fn new(at: &str, teller: &Teller) -> Result<Self, Failure> {
        let local = address(at)?;
        let failed = |error| Failure::Sockets(format!("cannot listen at {local}: {error}"));
        let listener = TcpListener::bind(local).map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        teller.note(&format!("metrics at http://{bound}/metrics"));
        teller.line(&serde_json::json!({ "metrics": bound }))?;
        let text = Arc::new(Mutex::new(String::new()));
        let told = Arc::clone(&text);
        spawn(move || {
            for asked in listener.incoming().flatten() {
                let text = told.lock().unwrap_or_else(PoisonError::into_inner).clone();
                // Who does not wait for the answer does not want it.
                drop(answer(&asked, &text));
            }
        })?;
        Ok(Self(text))
    }

    fn set(&self, text: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }

    pub(super) fn sent(&self, sent: &Sent) {
        let (flow, now) = (&sent.flow, &sent.now);
        let mut page = Page::default();
        page.counter("sent_packets", "Packets with datagrams that were sent.", flow.sent_packets);
        page.counter("delivered_packets", "Packets that the peer has acknowledged.", flow.received_packets);
        page.counter("lost_packets", "Packets that were lost.", flow.lost_packets.total());
        let queue = |count: fn(&headway_record::SendQueueSummary) -> u64| flow.send_queue.values().map(count).sum();
        page.counter("written_packets", "Datagrams that came to the send queue.", queue(|queue| queue.written_packets));
        page.counter("expired_packets", "Datagrams thrown away as too late.", queue(|queue| queue.expired_packets));
        let full = queue(|queue| queue.refused_packets + queue.pushed_out_packets);
        page.counter("refused_packets", "Datagrams thrown away by a full send queue.", full);
        page.gauge("waiting_packets", "Datagrams that wait to be sent.", Some(now.waiting_packets as f64));
        page.gauge("throughput_bps", "Bits on the wire that arrived, a second.", Some(now.throughput_bps));
        page.gauge("allowed_rate_bps", "What the controller allows.", now.allowed_rate_bps);
        page.gauge("encoder_rate_bps", "What an encoder should produce.", now.encoder_rate_bps);
        page.gauge("rtt_seconds", "The smoothed round trip.", now.rtt_s);
        page.gauge("loss_event_ratio", "The loss event rate.", now.loss_event_ratio);
        self.set(page.0);
    }

    pub(super) fn received(&self, received: &Received) {
        let mut page = Page::default();
        page.gauge("connections", "Connections now.", Some(received.connections as f64));
        page.counter("received_packets", "Datagrams that came.", received.received_packets);
        page.counter("received_bytes", "Bytes of these.", received.received_bytes);
        page.gauge("missing_packets", "Packets that have not come.", Some(received.missing_packets as f64));
        page.gauge("goodput_bps", "Bits of datagrams that came, a second.", Some(received.now.goodput_bps));
        self.set(page.0);
    }
}

/// The text of all figures.
#[derive(Default)]
struct Page(String);

impl Page {
    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.figure(&format!("{name}_total"), help, "counter", &value);
    }

    /// Nothing, as long as nobody knows.
    fn gauge(&mut self, name: &str, help: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.figure(name, help, "gauge", &value);
        }
    }

    fn figure(&mut self, name: &str, help: &str, kind: &str, value: &dyn std::fmt::Display) {
        // A String takes all that is written.
        let _ = writeln!(self.0, "# HELP headway_{name} {help}\n# TYPE headway_{name} {kind}\nheadway_{name} {value}");
    }
}

fn answer(mut asked: &TcpStream, text: &str) -> io::Result<()> {
    asked.set_read_timeout(Some(PATIENCE))?;
    asked.set_write_timeout(Some(PATIENCE))?;
    let (mut request, mut filled) = ([0; LONGEST], 0);
    let mut reads = 0;
    while !request[..filled].windows(4).any(|end| end == b"\r\n\r\n") {
        reads += 1;
        let read = asked.read(&mut request[filled..])?;
        if read == 0 || reads == MOST_READS {
            return Ok(());
        }
        filled += read;
    }
    let (status, body) = match request[..filled].split(|byte| *byte == b' ').collect::<Vec<_>>()[..] {
        [b"GET", b"/metrics" | b"/", ..] => ("200 OK", text),
        [b"GET", ..] => ("404 Not Found", "figures are at /metrics\n"),
        _ => ("405 Method Not Allowed", "GET /metrics\n"),
    };
    let head = "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\nConnection: close";
    write!(asked, "HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}
