//! Figures for Prometheus: `--metrics ADDRESS:PORT`, in its text format 0.0.4.
//!
//! One request after the other, each of which is short and soon over: whoever asks slowly, or for more than is there, keeps nobody up for long.
#![expect(clippy::disallowed_types, reason = "figures are asked for by HTTP")]

use super::end::address;
use super::recv::spawn;
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

    /// The figures have changed.
    pub(super) fn set(&self, text: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

/// The text of all figures.
#[derive(Default)]
pub(super) struct Page(pub(super) String);

impl Page {
    pub(super) fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.figure(&format!("{name}_total"), help, "counter", &value);
    }

    /// Nothing, as long as nobody knows.
    pub(super) fn gauge(&mut self, name: &str, help: &str, value: Option<f64>) {
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
