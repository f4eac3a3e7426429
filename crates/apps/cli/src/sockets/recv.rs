//! `headway recv`: what senders send, to a file, to standard output, or to a UDP port.

use super::arguments::RecvOptions;
use super::delays::DelayMeter;
use super::end::{address, check_not_own, destination, spawn};
use super::receiving::{Came, Incoming, Meter, Received, Receiving};
use super::sink::{Outlet, Sink};
use super::teller::{Teller, how_many};
use super::watch::{NO_SEED, Watch};
use crate::error::Failure;
use crate::interrupt;
use headway_net::{Clock, Closed, Connection, Duration, Endpoint, Options, Refused, Reset, ResetCode, Trust};
use headway_record::{FlowLabel, FlowSummary};
use headway_units::Instant;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};

/// So long nothing looks whether the user wants to stop.
const LOOK: std::time::Duration = std::time::Duration::from_millis(100);
/// From one line of figures to the next.
const LINE: Duration = Duration::from_secs(1);
/// How long the ends of connections are waited for.
const PATIENCE: Duration = Duration::from_secs(3);
/// Maximum time in which the output accepts no datagram of a connection that is over. A player that is paused reads nothing for a while.
const STALLED: Duration = Duration::from_secs(10);

/// What the threads tell.
enum News {
    /// A sender has connected.
    Came(Connection),
    /// The connection of this number is over.
    Over(u64, Closed),
    /// What came could not be written.
    NotWritten(Failure),
    /// There is no socket any more.
    NoSocket,
}

pub(crate) fn recv(asked: &RecvOptions) -> Result<(), Failure> {
    if let Some(to) = &asked.to {
        check_not_own(address(&asked.listen)?, "--to", destination(to)?)?;
    }
    let trust = if asked.allow.is_empty() { Trust::Anyone } else { Trust::Fingerprints(asked.allow.clone()) };
    // Nothing is sent of which anything could become.
    let accepted = Some(if asked.once { 1 } else { asked.max_senders.get() });
    let mut options = Options { follow: false, accepted, ..asked.end.options(trust, None)? };
    options.connection.one_way_delays = asked.delays.is_wanted();
    let delays = asked.delays.meter();
    // Opening a named pipe waits for its reader. No sender may connect before: the output must accept each datagram that is acknowledged. Until the
    // output is open, a signal ends the program.
    let sink = Arc::new(Sink::new(asked)?);
    let server = Arc::new(listen(&asked.listen, &options)?);
    sink.begin()?;
    interrupt::listen();
    let teller = Teller::of_end(&asked.end, sink.takes_stdout())?;
    let at = server.local_addr();
    let watch = Watch::new(&asked.watch, &["recv"], NO_SEED, &teller)?;
    teller.listening(at, &options, "headway send")?;
    let (tell, news) = channel();
    let for_all = tell.clone();
    let accepting = Arc::clone(&server);
    spawn(move || accept(&accepting, &for_all))?;
    let clock = Clock::new();
    let receiving = Receiving::new(clock.now());
    let meter = watch.records().then(|| Arc::new(Meter::new(clock)));
    let (open, next, most) = (BTreeMap::new(), 0, asked.max_senders.get());
    let (from, kind) = ("senders".to_owned(), asked.end.controller().to_owned());
    let label = FlowLabel { name: "recv".to_owned(), from, to: at.to_string(), kind };
    let mut reader = Reader {
        server,
        sink,
        teller,
        watch,
        meter,
        delays,
        label,
        tell,
        news,
        clock,
        receiving,
        open,
        next,
        most,
        failure: None,
    };
    let ended = reader.run(asked.once);
    let last = reader.figures(true);
    let delivered = reader.delivered(&last);
    let label = reader.receiving.labelled(&reader.label);
    let Reader { teller, watch, meter, failure, sink, .. } = reader;
    // The record is whole, whoever has stopped to listen.
    let of_all = |meter: Arc<Meter>| FlowSummary { connection_failure: failure, ..meter.summary(&last, label) };
    let flows = meter.map(of_all).into_iter().collect();
    let recorded = watch.finish(&last, flows);
    let told = teller.last_line(&last);
    teller.note(&last.whole());
    if !sink.hands_on() {
        teller.note("the datagrams were counted and not written: --out FILE writes them, --to HOST:PORT forwards them");
    }
    let written = teller.finish();
    recorded.and(ended).and(delivered).and(told).and(written)
}

/// A server's socket.
pub(super) fn listen(at: &str, options: &Options) -> Result<Endpoint, Failure> {
    let local = address(at)?;
    Endpoint::server(local, options).map_err(|error| Failure::Sockets(format!("cannot listen at {local}: {error}")))
}
fn accept(server: &Endpoint, tell: &Sender<News>) {
    while let Some(connection) = server.accept() {
        if tell.send(News::Came(connection)).is_err() {
            return;
        }
    }
    // If nobody hears it all is over anyway.
    let _ = tell.send(News::NoSocket);
}

struct Reader {
    server: Arc<Endpoint>,
    sink: Arc<Sink>,
    teller: Teller,
    watch: Watch,
    meter: Option<Arc<Meter>>,
    delays: Option<Arc<DelayMeter>>,
    /// What a record calls all that comes.
    label: FlowLabel,
    tell: Sender<News>,
    news: Receiver<News>,
    clock: Clock,
    receiving: Receiving,
    open: BTreeMap<u64, Incoming>,
    next: u64,
    /// Maximum number of them.
    most: usize,
    /// Why the only connection failed, if it is the only one.
    failure: Option<String>,
}

impl Reader {
    /// Until the user stops it, or with `once` the first connection is over. Then no connection is left, whatever went wrong.
    fn run(&mut self, once: bool) -> Result<(), Failure> {
        let ended = self.serve(once);
        let closed = self.close();
        let _ = self.teller.refused(&self.server);
        ended.and(closed)
    }

    fn serve(&mut self, once: bool) -> Result<(), Failure> {
        let mut line_at = self.clock.now() + LINE;
        let mut ended = Ok(());
        while !interrupt::asked() {
            match self.news.recv_timeout(LOOK) {
                Ok(News::Came(connection)) if !once || self.next == 0 => self.begin(connection)?,
                Ok(News::Came(connection)) => drop(connection),
                Ok(News::Over(key, why)) => {
                    self.end(key, &why);
                    if once {
                        self.failure = failure(&why);
                        ended = self.failure.clone().map_or(Ok(()), |failure| Err(Failure::Sockets(failure)));
                        break;
                    }
                }
                Ok(News::NotWritten(failure)) => {
                    ended = Err(failure);
                    break;
                }
                Ok(News::NoSocket) | Err(RecvTimeoutError::Disconnected) => {
                    ended = Err(Failure::Sockets(Closed::Socket.to_string()));
                    break;
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if once && self.next == 0 {
                self.failure = self.teller.refused(&self.server).and_then(|refused| failed_handshake(&refused));
                if let Some(failure) = &self.failure {
                    ended = Err(Failure::Sockets(failure.clone()));
                    break;
                }
            }
            self.open.values_mut().for_each(Incoming::look);
            let now = self.clock.now();
            // Only a signal would end it. `delivered` reports what the output did not accept.
            if once && self.open.values_mut().any(|incoming| incoming.stalled_for(now) >= STALLED) {
                break;
            }
            if self.clock.now() >= line_at {
                line_at += LINE;
                let line = self.figures(false);
                let _ = self.teller.refused(&self.server);
                self.teller.live(line.live());
                self.teller.line(&line)?;
                let (meter, label) = (&self.meter, self.receiving.labelled(&self.label));
                self.watch.see(&line, || meter.iter().map(|meter| meter.summary(&line, label.clone())).collect())?;
            }
        }
        ended
    }

    fn begin(&mut self, connection: Connection) -> Result<(), Failure> {
        let from = name(&connection);
        // A connection that is over keeps its thread and its datagrams until the output has accepted them.
        if self.open.len() >= self.most {
            self.teller
                .note(&format!("{from} is turned away: the output is too slow for the datagrams of earlier senders"));
            drop(connection);
            return Ok(());
        }
        self.teller.note(&format!("{from} is connected"));
        let (connection, came) = (Arc::new(connection), Arc::new(Came::new(self.meter.clone(), self.delays.clone())));
        let key = self.next;
        self.next += 1;
        self.open.insert(key, Incoming::new(Arc::clone(&connection), Arc::clone(&came)));
        let (mut outlet, tell) = (self.sink.outlet()?, self.tell.clone());
        spawn(move || {
            let why = take(&connection, &mut outlet, &came).unwrap_or_else(|failure| {
                let _ = tell.send(News::NotWritten(failure));
                // What cannot be written need not come. The sender hears it before the program ends.
                connection.start_close();
                until_over(&connection, &came)
            });
            let _ = tell.send(News::Over(key, why));
        })?;
        Ok(())
    }

    fn end(&mut self, key: u64, why: &Closed) {
        let Some(incoming) = self.open.remove(&key) else { return };
        self.receiving.over(&incoming);
        let (from, came) = (name(&incoming.connection), &incoming.came);
        let (packets, bytes, missing) = (came.packets(), came.bytes(), incoming.missing);
        let packets = how_many(packets, "datagram", "datagrams");
        self.teller.note(&format!("{from}: {why}; {packets}, {bytes} B, {missing} missing"));
    }

    fn figures(&mut self, last: bool) -> Received {
        let refused_handshakes = self.server.counters().refused_handshakes;
        let line = self.receiving.line(self.clock.now(), self.open.values(), last);
        Received { refused_handshakes, ..line }.with_delays(self.delays.as_deref())
    }

    /// Fails if datagrams have arrived that the output did not get.
    fn delivered(&self, last: &Received) -> Result<(), Failure> {
        let blocked = self.open.values().filter(|incoming| incoming.came.is_pending()).count() as u64;
        if blocked > 0 {
            let connections = how_many(blocked, "connection", "connections");
            return Err(Failure::Sockets(format!("the output does not accept the datagrams of {connections}")));
        }
        match last.dropped_packets {
            _ if !self.sink.hands_on() => Ok(()),
            0 => Ok(()),
            dropped => Err(Failure::Sockets(format!(
                "the output did not get {}: it was too slow, or the system refused them",
                how_many(dropped, "datagram that arrived", "datagrams that arrived")
            ))),
        }
    }

    /// Closes all that is open. What the output has not accepted by then is counted as not written.
    ///
    /// # Errors
    ///
    /// The output failed meanwhile.
    fn close(&mut self) -> Result<(), Failure> {
        let mut written = Ok(());
        self.open.values().for_each(|incoming| incoming.connection.start_close());
        let until: Instant = self.clock.now() + PATIENCE;
        while !self.open.is_empty() && self.clock.now() < until {
            match self.news.recv_timeout(LOOK) {
                Ok(News::Over(key, why)) => self.end(key, &why),
                Ok(News::NotWritten(failure)) => written = written.and(Err(failure)),
                Ok(News::Came(_) | News::NoSocket) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.open.values().for_each(Incoming::abandon);
        written
    }
}

/// All that comes on a connection, until it is over.
fn take(connection: &Connection, outlet: &mut Outlet, came: &Came) -> Result<Closed, Failure> {
    let mut datagram = Vec::new();
    loop {
        let delay = match connection.recv_timed(&mut datagram) {
            Ok(delay) => delay,
            Err(why) => return Ok(why),
        };
        came.set_pending(true);
        let put = outlet.put(&datagram);
        came.set_pending(false);
        came.add(datagram.len(), delay, matches!(put, Ok(true)));
        put?;
    }
}

/// Waits until the connection is over and returns why. Datagrams that arrive meanwhile are counted as not written.
fn until_over(connection: &Connection, came: &Came) -> Closed {
    let mut datagram = Vec::new();
    loop {
        if let Err(why) = connection.recv(&mut datagram) {
            return why;
        }
        came.add(datagram.len(), None, false);
    }
}

/// Why a connection failed, unless one of the two ends has closed it.
pub(super) fn failure(why: &Closed) -> Option<String> {
    match why {
        Closed::Here | Closed::ByPeer => None,
        Closed::Reset(reset) => Some(format!("{why}{}", hint(*reset))),
        why => Some(why.to_string()),
    }
}

/// Why the connection of a sender failed during its handshake. A sender that is not trusted, does not answer or finds no room has none: another one
/// may follow.
pub(super) fn failed_handshake(refused: &Refused) -> Option<String> {
    match &refused.why {
        Closed::Aborted(reset) if reset.code == ResetCode::TOO_BUSY => None,
        Closed::Aborted(reset) => Some(format!("{}{}", refused.why, hint(*reset))),
        why @ Closed::Reset(_) => failure(why),
        _ => None,
    }
}

/// What a user may make of a reset, whose code is a word of the protocol.
const fn hint(reset: Reset) -> &'static str {
    match reset.code {
        // Data 2 is the feature of a Change or Confirm (RFC 4340 section 5.6).
        ResetCode::OPTION_ERROR | ResetCode::MANDATORY_ERROR if matches!(reset.data[1], 128 | 129) => {
            ": both ends have to know the scales and accept the rules of its --controller"
        }
        ResetCode::OPTION_ERROR | ResetCode::MANDATORY_ERROR => ": both ends have to name the same --controller",
        ResetCode::NO_CONNECTION => ": it may have begun anew, and knows nothing of this one",
        ResetCode::TOO_BUSY => ": it has as many connections as it may have",
        ResetCode::CONNECTION_REFUSED | ResetCode::BAD_SERVICE_CODE => ": it serves something else",
        _ => "",
    }
}

/// What messages call a connection.
pub(super) fn name(connection: &Connection) -> String {
    connection.remote_addr().map_or_else(|| "somebody".to_owned(), |peer| peer.to_string())
}
