//! `headway relay`: programs that know nothing of Headway, one end of a pair. What a program sends by UDP goes over one connection to the
//! other end, which hands it to the program there; and back.
#![expect(clippy::disallowed_types, reason = "programs send and receive by UDP")]

use super::arguments::{DelayOptions, MediaOptions, RelayOptions};
use super::delays::DelayMeter;
use super::end::{address, check_methods, check_not_own, destination, spawn};
use super::framing::LONGEST;
use super::line::{Line, Outcome, Supply};
use super::receiving::{Back, BackSoFar, Meter, Receiving};
use super::recv::{failed_handshake, listen, name};
use super::rules::{Place, Port, Rules};
use super::send::connect;
use super::sending::{Sending, Sent};
use super::sink::socket_towards;
use super::source;
use super::teller::{Teller, how_many};
use super::watch::{NO_SEED, Watch};
use crate::error::Failure;
use crate::interrupt;
use headway_net::{Clock, Closed, Connection, Duration, Endpoint, Options};
use headway_record::FlowLabel;
use headway_units::Instant;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// So long nothing looks whether it is to end.
const LOOK: std::time::Duration = std::time::Duration::from_millis(100);

/// From one line of figures to the next.
const LINE: Duration = Duration::from_secs(1);

/// What a record calls what programs here send, and what they are sent.
const NAME: &str = "relay";
const BACK: &str = "back";

/// What all threads of an end have in common.
struct Relay {
    ways: Vec<Way>,
    rules: Rules,
    usual: MediaOptions,
    delays: DelayOptions,
    /// The connection there is.
    line: Mutex<Option<Arc<Line>>>,
    strays: Mutex<Strays>,
}

/// Datagrams for ports that are not here: both ends have to have the same.
#[derive(Clone, Copy, Default)]
struct Strays {
    datagrams: u64,
    /// The port of the last one.
    number: u8,
    /// Of so many the user has been told.
    told: u64,
}

/// One port's socket.
struct Way {
    number: u8,
    socket: UdpSocket,
    /// Where the program is, once that is known.
    program: Mutex<Option<SocketAddr>>,
    /// Whether it is where it was last heard from.
    learns: bool,
    /// Whether the socket is connected to the program. The system reports a closed port on a connected socket only.
    is_connected: bool,
    /// Whether the system has reported that the program's port is closed.
    is_refused: AtomicBool,
    has_warned: AtomicBool,
}

pub(crate) fn relay(asked: &RelayOptions) -> Result<(), Failure> {
    let rules = rules(asked)?;
    check_own_addresses(asked, &rules)?;
    let ways = rules.ports.iter().map(Way::new).collect::<Result<Vec<_>, _>>()?;
    let mut options = asked.end.options(asked.trust.trust(), Some(&asked.queue))?;
    options.connection.one_way_delays = asked.delays.is_wanted();
    check_methods(asked.media.method.is_some() || rules.have_methods(), &options)?;
    // The rules and the identity have been read, from pipes perhaps: until here a signal ends the program.
    interrupt::listen();
    let teller = Teller::of_end(&asked.end, false)?;
    let of_one = [("--record", asked.watch.record.is_some()), ("--view", asked.watch.view.is_some())];
    if let Some((option, _)) =
        of_one.into_iter().find(|(_, is_asked)| *is_asked && asked.listen.is_some() && !asked.once)
    {
        return Err(Failure::Sockets(format!(
            "{option} is of one connection: write --once, or {option} at the end that connects"
        )));
    }
    let mut watch = Watch::new(&asked.watch, &[NAME, BACK], NO_SEED, &teller)?;
    let (usual, delays, line, strays) = (asked.media, asked.delays, Mutex::default(), Mutex::default());
    let relay = Arc::new(Relay { ways, rules, usual, delays, line, strays });
    let kind = asked.end.controller();
    let ended = match (&asked.connect, &asked.listen) {
        (Some(server), _) => {
            teller.identity(&asked.end, &options);
            let line = relay.begin(connect(server, &options)?, &options, kind)?;
            teller.note(&format!("to {}; Ctrl-C ends it", name(line.connection())));
            relay.carry_all(&teller)?;
            let (ended, told) = relay.follow(&line, &teller, &mut watch, || Supply::Runs);
            let recorded = watch.finish(&ended.whole, ended.whole.flows());
            recorded.and(ended.by_a_close()).and(told)
        }
        (None, Some(at)) => {
            let server = listen(at, &options)?;
            relay.carry_all(&teller)?;
            teller.listening(server.local_addr(), &options, "headway relay --connect")?;
            relay.serve_all(server, &options, asked, &teller, watch)
        }
        (None, None) => Err(Failure::Sockets("write --listen or --connect".to_owned())),
    };
    let written = teller.finish();
    ended.and(written)
}

/// What the file says, or the arguments.
fn rules(asked: &RelayOptions) -> Result<Rules, Failure> {
    if let Some(path) = &asked.rules {
        return Rules::read(path);
    }
    let places = asked.from.iter().cloned().map(Place::Listen).chain(asked.to.iter().cloned().map(Place::To));
    let ports: Vec<Port> = (0..=u8::MAX).zip(places).map(|(number, place)| Port { number, place }).collect();
    Ok(Rules::of_ports(ports))
}

/// Checks that no destination is an address at which this relay listens.
fn check_own_addresses(asked: &RelayOptions, rules: &Rules) -> Result<(), Failure> {
    let mut listening: Vec<SocketAddr> = asked.listen.iter().map(|at| address(at)).collect::<Result<_, _>>()?;
    let mut destinations = Vec::new();
    if let Some(connect) = &asked.connect {
        destinations.push(("--connect".to_owned(), address(connect)?));
    }
    for Port { number, place } in &rules.ports {
        match place {
            Place::Listen(at) => listening.push(address(at)?),
            Place::To(to) => destinations.push((format!("port {number}: to"), destination(to)?)),
        }
    }
    destinations.iter().try_for_each(|(what, to)| listening.iter().try_for_each(|at| check_not_own(*at, what, *to)))
}

/// The figures of a relay to which no peer is connected.
struct Waiting {
    clock: Clock,
    line_at: Instant,
    sending: Sending,
    receiving: Receiving,
    meter: Meter,
    delays: Option<Arc<DelayMeter>>,
    back: FlowLabel,
}

impl Waiting {
    fn new(kind: &str, delays: DelayOptions) -> Self {
        let clock = Clock::new();
        let (label, back) = labels("no peer".to_owned(), kind);
        let now = clock.now();
        Self {
            clock,
            line_at: now + LINE,
            sending: Sending::new(now, label, false),
            receiving: Receiving::new(now),
            meter: Meter::new(clock),
            delays: delays.meter(),
            back,
        }
    }

    /// A line, and the beginning of the next.
    fn line(&mut self, last: bool) -> Sent {
        let now = self.clock.now();
        let received = self.receiving.line(now, std::iter::empty(), last).with_delays(self.delays.as_deref());
        let back = BackSoFar { received, flow: self.meter.summary(&received, self.back.clone()) };
        Sent { back: Some(back), ..self.sending.line(now, last) }
    }

    /// Prints a line each second. A record begins with the connection, whose time is the connection's.
    fn look(&mut self, teller: &Teller, watch: &mut Watch) -> Result<(), Failure> {
        let now = self.clock.now();
        if now < self.line_at {
            return Ok(());
        }
        self.line_at = (self.line_at + LINE).max(now);
        let line = self.line(false);
        teller.live(format!("{:.0} s: no peer is connected", line.interval.to));
        teller.line(&line)?;
        if watch.records() { Ok(()) } else { watch.see(&line, Vec::new) }
    }

    /// Prints the last line, and fails with `failure` if there is one.
    fn end(mut self, teller: &Teller, watch: Watch, failure: Option<String>) -> Result<(), Failure> {
        let mut last = self.line(true);
        last.flow.connection_failure.clone_from(&failure);
        let recorded = watch.finish(&last, last.flows());
        let told = teller.last_line(&last);
        teller.note(&format!("no peer is connected; {}", last.whole()));
        recorded.and(failure.map_or(Ok(()), |failure| Err(Failure::Sockets(failure)))).and(told)
    }
}

/// What a record calls the datagrams to a peer, and those from the peer.
fn labels(peer: String, kind: &str) -> (FlowLabel, FlowLabel) {
    let label = FlowLabel { name: NAME.to_owned(), from: "here".to_owned(), to: peer, kind: kind.to_owned() };
    let back = FlowLabel { name: BACK.to_owned(), from: label.to.clone(), to: label.from.clone(), ..label.clone() };
    (label, back)
}

impl Way {
    fn new(port: &Port) -> Result<Self, Failure> {
        let (socket, program, is_connected) = match &port.place {
            Place::Listen(at) => (source::listen(at)?, None, false),
            Place::To(to) => {
                let to = destination(to)?;
                let socket = socket_towards(to)?;
                let timeout = socket.set_read_timeout(Some(LOOK));
                timeout.map_err(|error| Failure::Sockets(format!("cannot listen for {to}: {error}")))?;
                // A network that is not there yet may appear later.
                let is_connected = socket.connect(to).is_ok();
                (socket, Some(to), is_connected)
            }
        };
        Ok(Self {
            number: port.number,
            socket,
            learns: program.is_none(),
            program: Mutex::new(program),
            is_connected,
            is_refused: AtomicBool::new(false),
            has_warned: AtomicBool::new(false),
        })
    }

    fn announcement(&self) -> String {
        let number = self.number;
        match (self.program(), self.socket.local_addr()) {
            (Some(to), _) => format!("port {number} leads to {to}"),
            (None, Ok(at)) => format!("port {number} listens at {at}"),
            (None, Err(_)) => format!("port {number} listens"),
        }
    }

    fn program(&self) -> Option<SocketAddr> {
        *self.program.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A datagram of the program's, in place of what `datagram` holds, behind the port's number. Nothing if there is none for a while.
    fn take(&self, buffer: &mut [u8], datagram: &mut Vec<u8>) -> bool {
        let (length, from) = match self.socket.recv_from(buffer) {
            Ok(came) => came,
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                self.is_refused.store(true, Ordering::Relaxed);
                return false;
            }
            Err(error) => {
                // A system that refuses it now may not do so later.
                if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) {
                    std::thread::park_timeout(LOOK);
                }
                return false;
            }
        };
        if self.learns {
            *self.program.lock().unwrap_or_else(PoisonError::into_inner) = Some(from);
        } else if self.program() != Some(from) {
            // Not the program's: whoever finds the port.
            return false;
        }
        datagram.clear();
        datagram.push(self.number);
        datagram.extend_from_slice(&buffer[..length]);
        true
    }

    /// To the program, if it is known where that is. What it does not take is lost, as UDP's is.
    fn put(&self, datagram: &[u8]) {
        let Some(program) = self.program() else { return };
        if !self.is_connected {
            drop(self.socket.send_to(datagram, program));
        } else if self.socket.send(datagram).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
            // The report is about an earlier datagram, and this one was not sent.
            self.is_refused.store(true, Ordering::Relaxed);
            drop(self.socket.send(datagram));
        }
    }

    /// Warns once of a program whose port is closed. The program may open the port later.
    fn warn_of_closed_port(&self, teller: &Teller) {
        if self.is_refused.load(Ordering::Relaxed)
            && !self.has_warned.swap(true, Ordering::Relaxed)
            && let Some(program) = self.program()
        {
            let number = self.number;
            teller.warn(&format!(
                "warning: port {number}: no program listens at {program}, so that datagrams to it are lost"
            ));
        }
    }
}

impl Relay {
    fn line(&self) -> Option<Arc<Line>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Each port has a thread that takes its program's datagrams.
    fn carry_all(self: &Arc<Self>, teller: &Teller) -> Result<(), Failure> {
        for (index, way) in self.ways.iter().enumerate() {
            let relay = Arc::clone(self);
            spawn(move || relay.carry(index))?;
            teller.note(&way.announcement());
        }
        Ok(())
    }

    /// A program's datagrams, for ever.
    fn carry(&self, index: usize) -> ! {
        let way = &self.ways[index];
        let (mut buffer, mut datagram) = (vec![0; LONGEST], Vec::new());
        loop {
            if let (true, Some(line)) = (way.take(&mut buffer, &mut datagram), self.line()) {
                let media = self.rules.media(way.number, &datagram[1..], self.usual, &datagram);
                // A connection that is over is somebody else's business.
                drop(line.send(&[media]));
            }
        }
    }

    /// What comes on the connection, to the programs.
    fn hand_out(&self, line: &Line) {
        let mut datagram = Vec::new();
        let came = line.back().map(Back::came);
        while let Ok(delay) = line.connection().recv_timed(&mut datagram) {
            came.iter().for_each(|came| came.add(datagram.len(), delay, true));
            let Some((number, payload)) = datagram.split_first() else { continue };
            match self.ways.iter().find(|way| way.number == *number) {
                Some(way) => way.put(payload),
                None => {
                    let mut strays = self.strays.lock().unwrap_or_else(PoisonError::into_inner);
                    (strays.datagrams, strays.number) = (strays.datagrams + 1, *number);
                }
            }
        }
    }

    fn warn(&self, teller: &Teller) {
        self.ways.iter().for_each(|way| way.warn_of_closed_port(teller));
        let Strays { datagrams, number, told } = *self.strays.lock().unwrap_or_else(PoisonError::into_inner);
        if datagrams > told {
            self.strays.lock().unwrap_or_else(PoisonError::into_inner).told = datagrams;
            let came = how_many(datagrams, "datagram", "datagrams");
            teller.warn(&format!(
                "warning: {came} came for ports that this end does not have, the last for port {number}"
            ));
        }
    }

    /// Programs' datagrams go on this connection from now on, and to them what comes on it.
    fn begin(self: &Arc<Self>, connection: Connection, options: &Options, kind: &str) -> Result<Arc<Line>, Failure> {
        let (label, back) = labels(name(&connection), kind);
        let line = Arc::new(Line::new(Clock::new(), connection, label, options).with_back(back, self.delays.meter()));
        *self.line.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&line));
        let (relay, read) = (Arc::clone(self), Arc::clone(&line));
        spawn(move || relay.hand_out(&read))?;
        Ok(line)
    }

    /// Until the connection is over; and whether its last line could be written.
    fn follow(
        &self,
        line: &Line,
        teller: &Teller,
        watch: &mut Watch,
        supply: impl FnMut() -> Supply,
    ) -> (Outcome, Result<(), Failure>) {
        let ended = line.follow(teller, supply, |sent| {
            self.warn(teller);
            watch.see(sent, || sent.flows())
        });
        self.warn(teller);
        *self.line.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let told = teller.last_line(&ended.whole);
        teller.note(&format!("{}: {}; {}", name(line.connection()), ended.why, ended.whole.whole()));
        (ended, told)
    }

    /// One connection after another; a newer one takes the place of the one there is, whose peer may have begun anew.
    fn serve_all(
        self: &Arc<Self>,
        server: Endpoint,
        options: &Options,
        asked: &RelayOptions,
        teller: &Teller,
        mut watch: Watch,
    ) -> Result<(), Failure> {
        let (tell, told) = channel();
        let server = Arc::new(server);
        let accepting = Arc::clone(&server);
        spawn(move || {
            while let Some(connection) = accepting.accept() {
                if tell.send(connection).is_err() {
                    return;
                }
            }
        })?;
        let kind = asked.end.controller();
        let (mut next, mut waiting) = (None, Waiting::new(kind, self.delays));
        while !interrupt::asked() {
            let refused = teller.refused(&server);
            if asked.once
                && let Some(failure) = refused.as_ref().and_then(failed_handshake)
            {
                return waiting.end(teller, watch, Some(failure));
            }
            let connection = match next.take().map_or_else(|| told.recv_timeout(LOOK), Ok) {
                Ok(connection) => connection,
                Err(RecvTimeoutError::Timeout) => {
                    waiting.look(teller, &mut watch)?;
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return waiting.end(teller, watch, Some(Closed::Socket.to_string()));
                }
            };
            teller.note(&format!("{} is connected", name(&connection)));
            let line = self.begin(connection, options, kind)?;
            let (ended, written) = self.follow(&line, teller, &mut watch, || {
                let _ = teller.refused(&server);
                newer(&told, &mut next)
            });
            if asked.once {
                let recorded = watch.finish(&ended.whole, ended.whole.flows());
                return recorded.and(ended.by_a_close()).and(written);
            }
            watch.see(&ended.whole, Vec::new)?;
            written?;
            ended.failed.map_or(Ok(()), Err)?;
            if interrupt::asked() {
                // The last line is that of this connection.
                return Ok(());
            }
            waiting = Waiting::new(kind, self.delays);
        }
        waiting.end(teller, watch, None)
    }
}

fn newer(told: &Receiver<Connection>, next: &mut Option<Connection>) -> Supply {
    // Of several the newest.
    if let Some(connection) = told.try_iter().last() {
        *next = Some(connection);
    }
    if next.is_some() { Supply::Gone } else { Supply::Runs }
}
