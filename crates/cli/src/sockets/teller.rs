//! What a command that runs for long says while it does.

use super::arguments::EndOptions;
use crate::error::Failure;
use crate::output;
use crate::progress::Progress;
use headway_net::Options;
use serde::Serialize;
use std::net::SocketAddr;

pub(super) struct Teller {
    json: bool,
    quiet: bool,
    /// Standard output is for something else.
    beside: bool,
    progress: Progress,
}

/// The first line of who listens.
#[derive(Serialize)]
struct Listening {
    listening: SocketAddr,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
}

impl Teller {
    pub(super) fn new(end: &EndOptions, beside: bool) -> Self {
        Self { json: end.json, quiet: end.quiet, beside, progress: Progress::of_lines(end.quiet || end.json) }
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
        self.note(&format!("listening at {at}: {command} {to} {trust}"));
        self.line(&Listening { listening: at, fingerprint })
    }

    /// By what a server that lets in only whom it knows may know this end.
    pub(super) fn identity(&self, end: &EndOptions, options: &Options) {
        if let (Some(_), Some(fingerprint)) = (&end.identity, options.fingerprint()) {
            self.note(&format!("this end has the fingerprint {}", bare(&fingerprint.to_string())));
        }
    }

    /// For people.
    pub(super) fn note(&self, text: &str) {
        if !self.quiet && !self.json {
            self.progress.above(|| output::note(text));
        }
    }

    /// For people who have asked for this, if for nothing else.
    pub(super) fn wanted(&self, text: &str) {
        if !self.json {
            self.warn(text);
        }
    }

    /// For people, whatever they have asked for.
    pub(super) fn warn(&self, text: &str) {
        self.progress.above(|| output::note(text));
    }

    /// For programs.
    pub(super) fn line<T: Serialize>(&self, value: &T) -> Result<(), Failure> {
        if !self.json {
            return Ok(());
        }
        let json = serde_json::to_string(value).map_err(|error| Failure::Output(error.into()))?;
        if self.beside {
            output::note(&json);
            return Ok(());
        }
        output::text(&json)
    }

    /// What is to be seen on a terminal now.
    pub(super) fn live(&self, text: String) {
        self.progress.line(text);
    }

    pub(super) fn finish(self) {
        self.progress.finish();
    }
}

/// A fingerprint without the name of its function: no blank then needs quotes.
fn bare(fingerprint: &str) -> &str {
    fingerprint.trim_start_matches("sha-256 ")
}
