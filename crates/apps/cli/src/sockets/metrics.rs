//! Metrics for Prometheus: `--metrics ADDRESS:PORT`, in text format 0.0.4.
//!
//! There is no token, as Prometheus does not support one. Each connection carries one request, within the
//! [limits](crate::http) of the server. At a loopback address the host of the request must be this server, so that
//! pages of other sites cannot read the metrics.

use super::console::Console;
use super::endpoint::address;
use super::endpoint::spawn;
use crate::error::Failure;
use crate::http::{Answer, Head, Hosts, Method, Reply, Server, StatusCode};
use headway_net::Rate;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

/// The media type of Prometheus' text format.
const FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Current text of the metrics.
pub(super) struct Metrics {
    text: Arc<Mutex<String>>,
}

/// Current rate for an encoder; `None` if it is not known yet.
#[derive(Clone, Default)]
pub(super) struct CurrentRate(Arc<Mutex<Option<Rate>>>);

impl CurrentRate {
    pub(super) fn set(&self, rate: Option<Rate>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = rate;
    }

    fn json(&self) -> String {
        let rate = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        serde_json::json!({ "encoder_rate_bps": rate.map(Rate::bits_per_second) }).to_string()
    }
}

impl Metrics {
    /// Starts the server with this text. `rate`: that for the encoder, if the command has one.
    pub(super) fn new(at: &str, text: String, rate: Option<CurrentRate>, console: &Console) -> Result<Self, Failure> {
        let server = Server::bind(address(at)?)?;
        let bound = server.address();
        console.note(&format!("metrics at http://{bound}/metrics"));
        console.line(&serde_json::json!({ "metrics": bound }))?;
        let text = Arc::new(Mutex::new(text));
        let current = Arc::clone(&text);
        let hosts = Hosts::of(bound);
        let site = move |head: Head| Reply::Last(answer(&head, &hosts, &current, rate.as_ref()));
        spawn(move || server.serve(site, || false))?;
        Ok(Self { text })
    }

    /// Replaces the text.
    pub(super) fn set(&self, text: String) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

/// Text of the metrics.
#[derive(Default)]
pub(super) struct Page(pub(super) String);

impl Page {
    pub(super) fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.figure(&format!("{name}_total"), help, "counter", &value);
    }

    /// Adds a gauge. Omits it if its value is unknown.
    pub(super) fn gauge(&mut self, name: &str, help: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.figure(name, help, "gauge", &value);
        }
    }

    fn figure(&mut self, name: &str, help: &str, kind: &str, value: &dyn std::fmt::Display) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "# HELP headway_{name} {help}\n# TYPE headway_{name} {kind}\nheadway_{name} {value}");
    }
}

fn answer(head: &Head, hosts: &Hosts, text: &Mutex<String>, rate: Option<&CurrentRate>) -> Answer {
    if !hosts.match_request(head) {
        return Answer::foreign_host();
    }
    if !matches!(head.method, Method::GET | Method::HEAD) {
        return Answer::message(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are allowed");
    }
    match head.uri.path() {
        "/metrics" | "/" => Answer::text(FORMAT, text.lock().unwrap_or_else(PoisonError::into_inner).clone()),
        "/rate" => rate.map_or_else(
            || Answer::message(StatusCode::NOT_FOUND, "this command has no encoder, and so no rate of one"),
            |rate| Answer::text("application/json", rate.json()),
        ),
        _ => Answer::message(StatusCode::NOT_FOUND, "not found; metrics are at /metrics, the rate at /rate"),
    }
}
