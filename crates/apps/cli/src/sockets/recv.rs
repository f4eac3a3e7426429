//! `headway recv`: receives datagrams and writes them to a file, to standard output, or to a UDP port.

use super::arguments::RecvOptions;
use super::console::{Console, plural};
use super::delays::DelayMeter;
use super::endpoint::{address, check_not_own, destination, spawn};
use super::receiving::{Incoming, Meter, ReceiveCounters, Received, Receiving};
use super::sink::{Outlet, Sink};
use super::watch::{NO_SEED, Watch};
use crate::error::Failure;
use crate::interrupt;
use headway_net::{Clock, Closed, Connection, Duration, Endpoint, Options, Refused, Reset, ResetCode, Trust};
use headway_record::{FlowLabel, FlowSummary};
use headway_units::Instant;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};

/// Maximum time between two checks for a signal.
const POLL_INTERVAL: std::time::Duration = std::time::Duration::from_millis(100);
/// Time between two reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum time to wait for the end of all connections.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum time for which the output may accept no datagram of a closed connection. A paused player reads nothing for a
/// while.
const STALL_TIMEOUT: Duration = Duration::from_secs(10);

/// Message of a thread to the reader.
enum Message {
    /// A sender has connected.
    Connected(Connection),
    /// The connection with this number has ended.
    Ended(u64, Closed),
    /// The output cannot be written.
    OutputFailed(Failure),
    /// The socket is closed.
    SocketClosed,
}

pub(crate) fn recv(args: &RecvOptions) -> Result<(), Failure> {
    if let Some(to) = &args.to {
        check_not_own(address(&args.listen)?, "--to", destination(to)?)?;
    }
    let trust = if args.allow.is_empty() { Trust::AnyPeer } else { Trust::Fingerprints(args.allow.clone()) };
    // The receiver sends no datagrams and needs no events about them.
    let accepted = Some(if args.once { 1 } else { args.max_senders.get() });
    let mut options = Options { follow: false, accepted, ..args.endpoint.options(trust, None)? };
    options.connection.one_way_delays = args.delays.is_enabled();
    options.order_wait = options.order_wait.filter(|_| !args.order.unordered);
    let delays = args.delays.meter();
    // Opening a named pipe waits for its reader. No sender can connect before, because the output must accept each
    // acknowledged datagram. Until the output is open, a signal ends the program.
    let sink = Arc::new(Sink::new(args)?);
    let server = Arc::new(listen(&args.listen, &options)?);
    interrupt::listen();
    let console = Console::of_endpoint(&args.endpoint, &options, sink.uses_stdout())?;
    let at = server.local_addr();
    let clock = Clock::new();
    let mut receiving = Receiving::new(clock.now());
    let first = receiving.line(clock.now(), std::iter::empty(), false).with_delays(delays.as_deref());
    let watch = Watch::new(&args.watch, &first, None, &["recv"], NO_SEED, &console)?;
    console.listening(at, &options, "headway send")?;
    let (sender, messages) = channel();
    let accept_sender = sender.clone();
    let accepting = Arc::clone(&server);
    spawn(move || accept(&accepting, &accept_sender))?;
    let meter = watch.records().then(|| Arc::new(Meter::new(clock)));
    let (open, next, max_connections) = (BTreeMap::new(), 0, args.max_senders.get());
    let (from, kind) = ("senders".to_owned(), args.endpoint.controller().to_owned());
    let label = FlowLabel { name: "recv".to_owned(), from, to: at.to_string(), kind };
    let mut reader = Reader {
        server,
        sink,
        console,
        watch,
        meter,
        delays,
        label,
        sender,
        messages,
        clock,
        receiving,
        open,
        next,
        max_connections,
        failure: None,
    };
    let ended = reader.run(args.once);
    let last = reader.figures(true);
    let delivered = reader.delivered(&last);
    let label = reader.receiving.labelled(&reader.label);
    let Reader { console, watch, meter, failure, sink, .. } = reader;
    // Complete the record also if standard output is closed.
    let of_all = |meter: Arc<Meter>| FlowSummary { connection_failure: failure, ..meter.summary(&last, label) };
    let flows = meter.map(of_all).into_iter().collect();
    let recorded = watch.finish(&last, flows);
    let printed = console.last_line(&last);
    console.note(&last.total_text());
    if !sink.has_output() {
        console.note("the datagrams were counted and discarded; use --out FILE or --to HOST:PORT to keep them");
    }
    let written = console.finish();
    recorded.and(ended).and(delivered).and(printed).and(written)
}

/// Returns a server that listens at this address.
pub(super) fn listen(at: &str, options: &Options) -> Result<Endpoint, Failure> {
    let local = address(at)?;
    Endpoint::server(local, options).map_err(|error| Failure::Sockets(format!("cannot listen at {local}: {error}")))
}

fn accept(server: &Endpoint, sender: &Sender<Message>) {
    while let Some(connection) = server.accept() {
        if sender.send(Message::Connected(connection)).is_err() {
            return;
        }
    }
    // An error means that the reader has ended.
    let _ = sender.send(Message::SocketClosed);
}

struct Reader {
    server: Arc<Endpoint>,
    sink: Arc<Sink>,
    console: Console,
    watch: Watch,
    meter: Option<Arc<Meter>>,
    delays: Option<Arc<DelayMeter>>,
    /// Label of the flow in a record.
    label: FlowLabel,
    sender: Sender<Message>,
    messages: Receiver<Message>,
    clock: Clock,
    receiving: Receiving,
    open: BTreeMap<u64, Incoming>,
    next: u64,
    /// Maximum number of open connections.
    max_connections: usize,
    /// Error of the connection with `--once`.
    failure: Option<String>,
}

impl Reader {
    /// Runs until a signal arrives, or with `once` until the first connection ends. Then closes all connections.
    fn run(&mut self, once: bool) -> Result<(), Failure> {
        let ended = self.serve(once);
        let closed = self.close();
        let _ = self.console.refused(&self.server);
        ended.and(closed)
    }

    fn serve(&mut self, once: bool) -> Result<(), Failure> {
        let mut next_report_at = self.clock.now() + REPORT_INTERVAL;
        let mut ended = Ok(());
        while !interrupt::stop_requested() {
            match self.messages.recv_timeout(POLL_INTERVAL) {
                Ok(Message::Connected(connection)) if !once || self.next == 0 => self.begin(connection)?,
                Ok(Message::Connected(connection)) => drop(connection),
                Ok(Message::Ended(key, why)) => {
                    self.end(key, &why);
                    if once {
                        self.failure = failure(&why);
                        ended = self.failure.clone().map_or(Ok(()), |failure| Err(Failure::Sockets(failure)));
                        break;
                    }
                }
                Ok(Message::OutputFailed(failure)) => {
                    ended = Err(failure);
                    break;
                }
                Ok(Message::SocketClosed) | Err(RecvTimeoutError::Disconnected) => {
                    ended = Err(Failure::Sockets(Closed::Socket.to_string()));
                    break;
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if once && self.next == 0 {
                self.failure = self.console.refused(&self.server).iter().find_map(failed_handshake);
                if let Some(failure) = &self.failure {
                    ended = Err(Failure::Sockets(failure.clone()));
                    break;
                }
            }
            self.open.values_mut().for_each(Incoming::update_status);
            let now = self.clock.now();
            // The output is stuck. `delivered` reports the datagrams that it did not accept.
            if once && self.open.values_mut().any(|incoming| incoming.stalled_for(now) >= STALL_TIMEOUT) {
                break;
            }
            if self.clock.now() >= next_report_at {
                next_report_at += REPORT_INTERVAL;
                let line = self.figures(false);
                let _ = self.console.refused(&self.server);
                self.console.status(line.live_text());
                self.console.line(&line)?;
                let (meter, label) = (&self.meter, self.receiving.labelled(&self.label));
                self.watch.update(&line, || meter.iter().map(|meter| meter.summary(&line, label.clone())).collect())?;
            }
        }
        ended
    }

    fn begin(&mut self, connection: Connection) -> Result<(), Failure> {
        let from = name(&connection);
        // A closed connection keeps its thread and its datagrams until the output has accepted them.
        if self.open.len() >= self.max_connections {
            self.console
                .note(&format!("{from} is refused: the output is too slow for the datagrams of earlier senders"));
            drop(connection);
            return Ok(());
        }
        self.console.note(&format!("{from} connected"));
        let (connection, counters) =
            (Arc::new(connection), Arc::new(ReceiveCounters::new(self.meter.clone(), self.delays.clone())));
        let key = self.next;
        self.next += 1;
        self.open.insert(key, Incoming::new(Arc::clone(&connection), Arc::clone(&counters)));
        let (mut outlet, sender) = (self.sink.outlet()?, self.sender.clone());
        spawn(move || {
            let why = forward(&connection, &mut outlet, &counters).unwrap_or_else(|failure| {
                let _ = sender.send(Message::OutputFailed(failure));
                // Close the connection, so that the sender is notified before the program exits.
                connection.start_close();
                discard(&connection, &counters)
            });
            let _ = sender.send(Message::Ended(key, why));
        })?;
        Ok(())
    }

    fn end(&mut self, key: u64, why: &Closed) {
        let Some(incoming) = self.open.remove(&key) else { return };
        self.receiving.end(&incoming);
        let (from, counters) = (name(&incoming.connection), &incoming.counters);
        let (packets, bytes, missing) = (counters.packets(), counters.bytes(), incoming.missing);
        let packets = plural(packets, "datagram", "datagrams");
        self.console.note(&format!("{from}: {why}; {packets}, {bytes} B, {missing} missing"));
    }

    fn figures(&mut self, last: bool) -> Received {
        let refused_handshakes = self.server.counters().refused_handshakes;
        let line = self.receiving.line(self.clock.now(), self.open.values(), last);
        Received { refused_handshakes, ..line }.with_delays(self.delays.as_deref())
    }

    /// Checks that the output has accepted all received datagrams.
    fn delivered(&self, last: &Received) -> Result<(), Failure> {
        let blocked = self.open.values().filter(|incoming| incoming.counters.is_pending()).count() as u64;
        if blocked > 0 {
            let connections = plural(blocked, "connection", "connections");
            return Err(Failure::Sockets(format!("the output does not accept the datagrams of {connections}")));
        }
        match last.dropped_packets {
            _ if !self.sink.has_output() => Ok(()),
            0 => Ok(()),
            dropped => Err(Failure::Sockets(format!(
                "{} dropped: the output was too slow, or the system refused them",
                plural(dropped, "received datagram was", "received datagrams were")
            ))),
        }
    }

    /// Closes all connections. Datagrams that the output has not accepted are counted as dropped.
    ///
    /// # Errors
    ///
    /// An error of the output.
    fn close(&mut self) -> Result<(), Failure> {
        let mut written = Ok(());
        self.open.values().for_each(|incoming| incoming.connection.start_close());
        let until: Instant = self.clock.now() + CLOSE_TIMEOUT;
        while !self.open.is_empty() && self.clock.now() < until {
            match self.messages.recv_timeout(POLL_INTERVAL) {
                Ok(Message::Ended(key, why)) => self.end(key, &why),
                Ok(Message::OutputFailed(failure)) => written = written.and(Err(failure)),
                Ok(Message::Connected(_) | Message::SocketClosed) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.open.values().for_each(Incoming::abandon);
        written
    }
}

/// Writes the datagrams of a connection to the output until the connection ends.
fn forward(connection: &Connection, outlet: &mut Outlet, counters: &ReceiveCounters) -> Result<Closed, Failure> {
    let mut datagram = Vec::new();
    loop {
        let delay = match connection.recv_timed(&mut datagram) {
            Ok(delay) => delay,
            Err(why) => return Ok(why),
        };
        counters.set_pending(true);
        let put = outlet.write(&datagram);
        counters.set_pending(false);
        counters.add(datagram.len(), delay, matches!(put, Ok(true)));
        put?;
    }
}

/// Waits until the connection ends and returns the reason. Counts its datagrams as dropped.
fn discard(connection: &Connection, counters: &ReceiveCounters) -> Closed {
    let mut datagram = Vec::new();
    loop {
        if let Err(why) = connection.recv(&mut datagram) {
            return why;
        }
        counters.add(datagram.len(), None, false);
    }
}

/// Returns the error of a connection, or `None` if an endpoint closed it.
pub(super) fn failure(why: &Closed) -> Option<String> {
    match why {
        Closed::Here | Closed::ByPeer => None,
        Closed::Reset(reset) => Some(format!("{why}{}", hint(*reset))),
        why => Some(why.to_string()),
    }
}

/// Returns the error of a failed handshake that ends `--once`. Senders that are not trusted, do not answer, exceed the
/// limit or want another service are ignored.
pub(super) fn failed_handshake(refused: &Refused) -> Option<String> {
    match &refused.why {
        Closed::Aborted(reset) if [ResetCode::TOO_BUSY, ResetCode::BAD_SERVICE_CODE].contains(&reset.code) => None,
        Closed::Aborted(reset) => Some(format!("{}{}", refused.why, hint(*reset))),
        why @ Closed::Reset(_) => failure(why),
        _ => None,
    }
}

/// Returns an explanation of a reset for the user.
const fn hint(reset: Reset) -> &'static str {
    match reset.code {
        // Data 2 is the feature of a Change or Confirm (RFC 4340 section 5.6).
        ResetCode::OPTION_ERROR | ResetCode::MANDATORY_ERROR if matches!(reset.data[1], 128 | 129) => {
            ": both endpoints must know the scales and accept the rules of the --controller"
        }
        ResetCode::OPTION_ERROR | ResetCode::MANDATORY_ERROR => ": both endpoints must set the same --controller",
        ResetCode::NO_CONNECTION => ": the peer may have restarted",
        ResetCode::TOO_BUSY => ": the peer has reached its maximum number of connections",
        ResetCode::CONNECTION_REFUSED => ": the peer provides a different service",
        ResetCode::BAD_SERVICE_CODE => {
            ": the peer provides a different service; headway send connects to headway recv, and headway relay to \
             another headway relay"
        }
        _ => "",
    }
}

/// Returns the address of the peer for messages.
pub(super) fn name(connection: &Connection) -> String {
    connection.remote_addr().map_or_else(|| "an unknown peer".to_owned(), |peer| peer.to_string())
}
