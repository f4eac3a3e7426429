//! Figures for Prometheus: `--metrics ADDRESS:PORT`, in its text format 0.0.4.
//!
//! There is no token: Prometheus has none. Each connection carries one request, within the [limits](crate::http) of the server. At a loopback
//! address it must name the server as its host: no page of another site reads the figures.

use super::end::address;
use super::end::spawn;
use super::teller::Teller;
use crate::error::Failure;
use crate::http::{Answer, Head, Hosts, Method, Reply, Server, StatusCode};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

/// The media type of Prometheus' text format.
const FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What is answered, changed as often as there are new figures.
pub(super) struct Metrics(Arc<Mutex<String>>);

impl Metrics {
    /// Starts a server at this address.
    pub(super) fn new(at: &str, teller: &Teller) -> Result<Self, Failure> {
        let server = Server::bind(address(at)?)?;
        let bound = server.address();
        teller.note(&format!("metrics at http://{bound}/metrics"));
        teller.line(&serde_json::json!({ "metrics": bound }))?;
        let text = Arc::new(Mutex::new(String::new()));
        let current = Arc::clone(&text);
        let hosts = Hosts::of(bound);
        let site = move |head: Head| Reply::Last(answer(&head, &hosts, &current));
        spawn(move || server.serve(site, || false))?;
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

fn answer(head: &Head, hosts: &Hosts, text: &Mutex<String>) -> Answer {
    if !hosts.are_named_by(head) {
        return Answer::foreign_host();
    }
    if !matches!(head.method, Method::GET | Method::HEAD) {
        return Answer::words(StatusCode::METHOD_NOT_ALLOWED, "GET /metrics");
    }
    match head.uri.path() {
        "/metrics" | "/" => Answer::text(FORMAT, text.lock().unwrap_or_else(PoisonError::into_inner).clone()),
        _ => Answer::words(StatusCode::NOT_FOUND, "figures are at /metrics"),
    }
}
