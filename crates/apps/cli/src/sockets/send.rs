//! `headway send`: a source's datagrams to a server.

use super::arguments::{SendOptions, TrustOptions};
use super::end::spawn;
use super::end::{address, check_methods, check_not_own};
use super::line::{Line, Supply};
use super::source::{Ended, Source};
use super::teller::Teller;
use super::watch::Watch;
use crate::error::Failure;
use crate::interrupt;
use headway_net::{Clock, Closed, Connection, Endpoint, Options, Trust};
use headway_record::FlowLabel;
use std::sync::Arc;

pub(crate) fn send(asked: &SendOptions) -> Result<(), Failure> {
    if let Some(at) = &asked.udp {
        check_not_own(address(at)?, "the server", address(&asked.server)?)?;
    }
    let source = Source::new(asked)?;
    let options = asked.end.options(asked.trust.trust(), Some(&asked.queue))?;
    check_methods(asked.media.method.is_some(), &options)?;
    // A file that is a pipe has been opened: until here a signal ends the program.
    interrupt::listen();
    let teller = Teller::of_end(&asked.end, false)?;
    let clock = Clock::new();
    teller.identity(&asked.end, &options);
    let mut watch = Watch::new(&asked.watch, &["send"], asked.seed, &teller)?;
    let connection = connect(&asked.server, &options)?;
    teller.note(&format!("to {}; Ctrl-C ends it", super::recv::name(&connection)));
    source.announcement().iter().for_each(|text| teller.note(text));
    let label = FlowLabel {
        name: "send".to_owned(),
        from: "here".to_owned(),
        to: super::recv::name(&connection),
        kind: asked.end.controller().to_owned(),
    };
    let line = Arc::new(Line::new(clock, connection, label, &options));
    let written = Arc::clone(&line);
    let thread = spawn(move || source.run(&written))?;
    let end = asked.duration.map(|duration| clock.now() + duration);
    let supply = || match end {
        Some(end) if clock.now() >= end => Supply::Stops,
        _ if thread.is_finished() => Supply::Ends,
        _ => Supply::Runs,
    };
    let mut ended = line.follow(&teller, supply, |sent| watch.see(sent, || sent.flows()));
    // A source that waits for another program's data is not waited for.
    let source = if thread.is_finished() { thread.join().ok() } else { None };
    if ended.why == Closed::ByPeer && !interrupt::asked() && end.is_none_or(|end| clock.now() < end) {
        ended.check_job(matches!(source, Some(Ok(()))));
    }
    ended.check_answer();
    // The record is whole, whoever has stopped to listen.
    let recorded = watch.finish(&ended.whole, ended.whole.flows());
    let told = teller.last_line(&ended.whole);
    teller.note(&format!("{}; {}", ended.why, ended.whole.whole()));
    let written = teller.finish();
    recorded?;
    if let Some(Err(Ended::Failed(failure))) = source {
        return Err(failure);
    }
    ended.by_a_close().and(told).and(written)
}

impl TrustOptions {
    /// Whom a client believes. With no security the answer does not count.
    pub(super) fn trust(&self) -> Trust {
        if self.any { Trust::Anyone } else { Trust::Fingerprints(self.fingerprint.clone()) }
    }
}

/// A connection to a server, which begins at once.
pub(super) fn connect(server: &str, options: &Options) -> Result<Connection, Failure> {
    let remote = address(server)?;
    let failed = |error: &dyn std::fmt::Display| Failure::Sockets(format!("cannot connect to {remote}: {error}"));
    let endpoint = Endpoint::client(options).map_err(|error| failed(&error))?;
    endpoint.connect(remote).map_err(|error| failed(&error))
}
