//! Output of long-running commands.

use super::arguments::EndpointOptions;
use crate::error::Failure;
use crate::output;
use crate::progress::LiveLine;
use crate::writer::Writer;
use headway_dccp::Ccid;
use headway_net::{Duration, Endpoint, Options, Qlog, Refused};
use headway_units::Registry as _;
use serde::Serialize;
use std::io::ErrorKind;
use std::net::SocketAddr;

/// Maximum time for which the end of a command waits for the disk.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

/// Output of a command with a data path. Calls never block: messages that are not read in time are dropped.
pub(crate) struct Console {
    json: bool,
    quiet: bool,
    /// Writer of standard output; `None` if it carries datagrams.
    out: Option<Writer<String>>,
    /// Writer of standard error.
    messages: Writer<Message>,
    /// Log of the connections, whose error is a warning.
    qlog: Option<Qlog>,
}

/// Message on standard error.
enum Message {
    Note(String),
    /// Text of the status line.
    Status(String),
}

/// First line of a server.
#[derive(Serialize)]
struct Listening {
    listening: SocketAddr,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
}

/// Failed handshakes with one reason, with the last one.
#[derive(Serialize)]
struct RefusedReport {
    /// Number of handshakes that failed for any reason since the start.
    refused_handshakes: u64,
    /// Number of these handshakes.
    handshakes: u64,
    from: Option<SocketAddr>,
    why: String,
}

impl Console {
    /// `data`: whether standard output carries datagrams.
    pub(super) fn of_endpoint(endpoint: &EndpointOptions, options: &Options, data: bool) -> Result<Self, Failure> {
        Ok(Self { qlog: options.qlog.clone(), ..Self::new(endpoint.json, endpoint.quiet, data)? })
    }

    pub(crate) fn new(json: bool, quiet: bool, data: bool) -> Result<Self, Failure> {
        let live = LiveLine::new(quiet || json);
        let messages = Writer::new(move |message| {
            match message {
                Message::Note(text) => live.above(|| output::note(&text)),
                Message::Status(text) => live.show(text),
            }
            Ok(())
        })?;
        let out = if data { None } else { Some(Writer::new(|line: String| output::write(&line))?) };
        Ok(Self { json, quiet, out, messages, qlog: None })
    }

    /// Prints the address and the fingerprint of a server. `command` is the command of its clients.
    pub(super) fn listening(&self, at: SocketAddr, options: &Options, command: &str) -> Result<(), Failure> {
        let fingerprint = options.fingerprint().map(|fingerprint| fingerprint.to_string());
        let trust = match &fingerprint {
            Some(fingerprint) => format!("--fingerprint {}", bare(fingerprint)),
            None => "--insecure".to_owned(),
        };
        // The address that a client can reach is unknown if the server listens at all addresses.
        let to = if at.ip().is_unspecified() { format!("HOST:{}", at.port()) } else { at.to_string() };
        // The peer must name the controller, unless the server accepts several.
        let controller = match options.connection.receive_ccids[..] {
            [ccid] => as_options(Ccid(ccid), options),
            _ => String::new(),
        };
        self.note(&format!("listening at {at}: {command} {to} {trust}{controller}"));
        self.line(&Listening { listening: at, fingerprint })
    }

    /// Prints the fingerprint of a client with `--identity`, for the list of the server.
    pub(super) fn identity(&self, endpoint: &EndpointOptions, options: &Options) {
        if let (Some(_), Some(fingerprint)) = (&endpoint.identity, options.fingerprint()) {
            self.note(&format!("the fingerprint of this endpoint is {}", bare(&fingerprint.to_string())));
        }
    }

    /// Reports the failed handshakes since the last call, in one line for each reason, because strangers determine their
    /// number. Returns the last one for each reason.
    pub(super) fn refused(&self, server: &Endpoint) -> Vec<Refused> {
        let all: Vec<Refused> = std::iter::from_fn(|| server.take_refused()).collect();
        let refused_handshakes = server.counters().refused_handshakes;
        for Refused { from, why, handshakes, .. } in &all {
            let failed = plural(*handshakes, "handshake has", "handshakes have");
            let peer = from.map_or_else(|| "a peer".to_owned(), |from| from.to_string());
            self.note(&format!("{failed} failed, the last one from {peer}: {why}"));
            let report =
                RefusedReport { refused_handshakes, handshakes: *handshakes, from: *from, why: why.to_string() };
            // The next report returns an error of standard output.
            let _ = self.line(&report);
        }
        all
    }

    /// Prints a message, unless `--quiet` or `--json` is set.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet && !self.json {
            self.warn(text);
        }
    }

    /// Prints a message that the user has requested by an option, unless `--json` is set.
    pub(super) fn requested(&self, text: &str) {
        if !self.json {
            self.warn(text);
        }
    }

    /// Prints a message in all modes.
    pub(crate) fn warn(&self, text: &str) {
        // Errors of standard error cannot be reported anywhere else.
        let _ = self.messages.push(Message::Note(text.to_owned()));
    }

    /// Prints a line of JSON with `--json`. If the reader has closed standard output (`| head`), the error ends the
    /// command.
    pub(crate) fn line<T: Serialize>(&self, value: &T) -> Result<(), Failure> {
        self.last_line(value).map_err(|failure| match failure {
            Failure::Output(error) if error.kind() == ErrorKind::BrokenPipe => Failure::Unread,
            other => other,
        })
    }

    /// Prints the final line of JSON with `--json`.
    pub(crate) fn last_line<T: Serialize>(&self, value: &T) -> Result<(), Failure> {
        if !self.json {
            return Ok(());
        }
        self.text(serde_json::to_string(value).map_err(|error| Failure::Output(error.into()))?)
    }

    /// Prints a text to standard output, or to standard error if standard output carries datagrams.
    pub(crate) fn text(&self, text: String) -> Result<(), Failure> {
        match &self.out {
            Some(out) => out.push(text).map_err(Failure::Output),
            None => {
                self.warn(&text);
                Ok(())
            }
        }
    }

    /// Warns once if the log of the connections cannot be written.
    fn warn_of_qlog(&self) {
        if let Some(error) = self.qlog.as_ref().and_then(Qlog::take_failure) {
            self.warn(&format!("warning: --qlog: {error}"));
        }
    }

    /// Replaces the status line, which commands do each second.
    pub(crate) fn status(&self, text: String) {
        self.warn_of_qlog();
        let _ = self.messages.push(Message::Status(text));
    }

    /// Waits at most a few seconds until all messages and the log of the connections are written.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        if self.qlog.as_ref().is_some_and(|qlog| !qlog.flush(FLUSH_TIMEOUT)) {
            self.warn("warning: --qlog: the disk is too slow; the last events are missing");
        }
        self.warn_of_qlog();
        let written = self.out.as_ref().map_or(Ok(0), Writer::finish).map_err(Failure::Output);
        if let Ok(dropped @ 1..) = written {
            let lines = plural(dropped, "line was", "lines were");
            self.warn(&format!("warning: {lines} not read in time and dropped"));
        }
        let _ = self.messages.finish();
        written.map(|_| ())
    }
}

/// Returns a fingerprint without the name of its hash function, so that it needs no quotes.
fn bare(fingerprint: &str) -> &str {
    fingerprint.trim_start_matches("sha-256 ")
}

/// Returns the options of a sender for the controller with this CCID.
fn as_options(ccid: Ccid, options: &Options) -> String {
    let Some(row) = options.connection.controllers.iter().find(|row| row.ccid == ccid) else { return String::new() };
    let name = row.controller.kind();
    // The rate of the sender's interface is unknown.
    format!(" --controller {name}{}", if options.needs_line_rate(ccid) { " --line-rate RATE" } else { "" })
}

/// Returns a number with the singular or plural of a noun.
pub(super) fn plural(number: u64, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}
