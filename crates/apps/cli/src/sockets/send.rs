//! `headway send`: sends the datagrams of a source to a receiver.

use super::arguments::{SendOptions, TrustOptions};
use super::console::Console;
use super::endpoint::spawn;
use super::endpoint::{address, check_methods, check_not_own};
use super::line::{Line, Supply};
use super::metrics::CurrentRate;
use super::rate_feed::RateFeed;
use super::sending::Sending;
use super::source::{Ended, Source};
use super::watch::Watch;
use crate::error::Failure;
use crate::interrupt;
use headway_net::{Clock, Closed, Connection, Endpoint, Options, Trust};
use headway_record::FlowLabel;
use std::sync::Arc;

pub(crate) fn send(args: &SendOptions) -> Result<(), Failure> {
    let rate = CurrentRate::default();
    let mut feed = RateFeed::new(args.rate, rate.clone())?;
    if let Some(at) = &args.udp {
        check_not_own(address(at)?, "the server", address(&args.server)?)?;
    }
    let source = Source::new(args)?;
    let options = args.endpoint.options(args.trust.trust(), Some(&args.queue))?;
    let options = Options { reconnect: args.reconnect, ..options };
    check_methods(args.media.method.is_some(), &options)?;
    // The file may be a pipe: until it is open, a signal ends the program.
    interrupt::listen();
    let console = Console::of_endpoint(&args.endpoint, &options, false)?;
    let clock = Clock::new();
    console.identity(&args.endpoint, &options);
    let first = Sending::new(clock.now(), FlowLabel::default(), false).line(clock.now(), false);
    let mut watch = Watch::new(&args.watch, &first, Some(&rate), &["send"], args.seed, &console)?;
    let connection = connect(&args.server, &options)?;
    console.note(&format!("connecting to {}; press Ctrl-C to stop", super::recv::name(&connection)));
    source.announcement().iter().for_each(|text| console.note(text));
    let label = FlowLabel {
        name: "send".to_owned(),
        from: "here".to_owned(),
        to: super::recv::name(&connection),
        kind: args.endpoint.controller().to_owned(),
    };
    let line = Arc::new(Line::new(clock, connection, label, &options));
    let written = Arc::clone(&line);
    let thread = spawn(move || source.run(&written))?;
    let end = args.duration.map(|duration| clock.now() + duration);
    let supply = || {
        feed.update(line.connection().encoding_rate(), &console);
        match end {
            Some(end) if clock.now() >= end => Supply::Stops,
            _ if thread.is_finished() => Supply::Ends,
            _ => Supply::Runs,
        }
    };
    let mut ended = line.follow(&console, supply, |sent| watch.update(sent, || sent.flows()));
    // Do not wait for a source that is blocked by another program.
    let source = if thread.is_finished() { thread.join().ok() } else { None };
    let stopped = interrupt::stop_requested() || end.is_some_and(|end| clock.now() >= end);
    if ended.why == Closed::ByPeer && !stopped {
        ended.check_delivery(matches!(source, Some(Ok(()))));
    }
    ended.check_answer();
    ended.check_share(args.min_delivered, stopped);
    // Complete the record also if standard output is closed.
    let recorded = watch.finish(&ended.total, ended.total.flows());
    let printed = console.last_line(&ended.total);
    console.note(&format!("{}; {}", ended.why, ended.total.total_text()));
    let written = console.finish();
    recorded?;
    if let Some(Err(Ended::Failed(failure))) = source {
        return Err(failure);
    }
    ended.into_result().and(printed).and(written)
}

impl TrustOptions {
    /// Returns the trust of a client. It is not used without DTLS.
    pub(super) fn trust(&self) -> Trust {
        if self.any { Trust::AnyPeer } else { Trust::Fingerprints(self.fingerprint.clone()) }
    }
}

/// Starts a connection to a server.
pub(super) fn connect(server: &str, options: &Options) -> Result<Connection, Failure> {
    let remote = address(server)?;
    let failed = |error: &dyn std::fmt::Display| Failure::Sockets(format!("cannot connect to {remote}: {error}"));
    let endpoint = Endpoint::client(options).map_err(|error| failed(&error))?;
    endpoint.connect(remote).map_err(|error| failed(&error))
}
