//! What a command that runs for long says while it does.

use super::arguments::EndOptions;
use crate::error::Failure;
use crate::output;
use crate::progress::LiveLine;
use crate::writer::Writer;
use headway_dccp::Ccid;
use headway_net::{Endpoint, Options, Refused};
use serde::Serialize;
use std::io::ErrorKind;
use std::net::SocketAddr;

/// What a command with a data path prints. No call waits for a reader: what a reader does not read in time is dropped.
pub(crate) struct Teller {
    json: bool,
    quiet: bool,
    /// Lines of standard output; `None` if it has another use.
    out: Option<Writer<String>>,
    /// What a person reads on standard error.
    said: Writer<Said>,
}

/// A message on standard error.
enum Said {
    Note(String),
    /// The line that a terminal shows until the next.
    Live(String),
}

/// The first line of who listens.
#[derive(Serialize)]
struct Listening {
    listening: SocketAddr,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
}

impl Teller {
    /// `data`: standard output is for datagrams.
    pub(super) fn of_end(end: &EndOptions, data: bool) -> Result<Self, Failure> {
        Self::new(end.json, end.quiet, data)
    }

    pub(crate) fn new(json: bool, quiet: bool, data: bool) -> Result<Self, Failure> {
        let live = LiveLine::new(quiet || json);
        let said = Writer::new(move |said| {
            match said {
                Said::Note(text) => live.above(|| output::note(&text)),
                Said::Live(text) => live.show(text),
            }
            Ok(())
        })?;
        let out = if data { None } else { Some(Writer::new(|line: String| output::write(&line))?) };
        Ok(Self { json, quiet, out, said })
    }

    /// Where this end listens, and by what its clients know it; `command` is theirs.
    pub(super) fn listening(&self, at: SocketAddr, options: &Options, command: &str) -> Result<(), Failure> {
        let fingerprint = options.fingerprint().map(|fingerprint| fingerprint.to_string());
        let trust = match &fingerprint {
            Some(fingerprint) => format!("--fingerprint {}", bare(fingerprint)),
            None => "--insecure".to_owned(),
        };
        // At all addresses: none of them is known to be the one by which a client comes.
        let to = if at.ip().is_unspecified() { format!("HOST:{}", at.port()) } else { at.to_string() };
        // A peer names the controller, unless it may choose among several.
        let controller = match options.connection.receive_ccids[..] {
            [ccid] => as_options(Ccid(ccid), options),
            _ => String::new(),
        };
        self.note(&format!("listening at {at}: {command} {to} {trust}{controller}"));
        self.line(&Listening { listening: at, fingerprint })
    }

    /// By what a server that lets in only whom it knows may know this end.
    pub(super) fn identity(&self, end: &EndOptions, options: &Options) {
        if let (Some(_), Some(fingerprint)) = (&end.identity, options.fingerprint()) {
            self.note(&format!("this end has the fingerprint {}", bare(&fingerprint.to_string())));
        }
    }

    /// Reports the handshakes that have failed since the last call, in one line: a stranger decides how many there are. Returns the last one.
    pub(super) fn refused(&self, server: &Endpoint) -> Option<Refused> {
        let refused = server.take_refused()?;
        let all = how_many(server.counters().refused_handshakes, "handshake has", "handshakes have");
        let from = refused.from.map_or_else(|| "a peer".to_owned(), |from| from.to_string());
        self.note(&format!("{all} failed so far, the last one of {from}: {}", refused.why));
        Some(refused)
    }

    /// For people.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet && !self.json {
            self.warn(text);
        }
    }

    /// For people who have asked for this, if for nothing else.
    pub(super) fn wanted(&self, text: &str) {
        if !self.json {
            self.warn(text);
        }
    }

    /// For people, whatever they have asked for.
    pub(crate) fn warn(&self, text: &str) {
        // Its thread reports no errors: where standard error is gone there is no other place to report them.
        let _ = self.said.push(Said::Note(text.to_owned()));
    }

    /// A line for programs. The reader of standard output may have closed it (`| head`): the command stops, and its job is not done.
    pub(crate) fn line<T: Serialize>(&self, value: &T) -> Result<(), Failure> {
        self.last_line(value).map_err(|failure| match failure {
            Failure::Output(error) if error.kind() == ErrorKind::BrokenPipe => Failure::Unread,
            other => other,
        })
    }

    /// The line for programs at the end of the job.
    pub(crate) fn last_line<T: Serialize>(&self, value: &T) -> Result<(), Failure> {
        if !self.json {
            return Ok(());
        }
        self.text(serde_json::to_string(value).map_err(|error| Failure::Output(error.into()))?)
    }

    /// The result of the command.
    pub(crate) fn text(&self, text: String) -> Result<(), Failure> {
        match &self.out {
            Some(out) => out.push(text).map_err(Failure::Output),
            None => {
                self.warn(&text);
                Ok(())
            }
        }
    }

    /// What is to be seen on a terminal now.
    pub(crate) fn live(&self, text: String) {
        let _ = self.said.push(Said::Live(text));
    }

    /// Waits until everything is written, for a few seconds at most.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let written = self.out.as_ref().map_or(Ok(0), Writer::finish).map_err(Failure::Output);
        if let Ok(dropped @ 1..) = written {
            let lines = how_many(dropped, "line was", "lines were");
            self.warn(&format!("warning: {lines} not read in time, and not written"));
        }
        let _ = self.said.finish();
        written.map(|_| ())
    }
}

/// A fingerprint without the name of its function: no blank then needs quotes.
fn bare(fingerprint: &str) -> &str {
    fingerprint.trim_start_matches("sha-256 ")
}

/// The options by which a sender asks for the controller with this CCID.
fn as_options(ccid: Ccid, options: &Options) -> String {
    let Some(name) = Options::controller_name(ccid) else { return String::new() };
    // The rate of the sender's interface, which this end does not know.
    format!(" --controller {name}{}", if options.needs_line_rate(ccid) { " --line-rate RATE" } else { "" })
}

pub(super) fn how_many(number: u64, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}
