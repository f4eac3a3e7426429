//! `headway relay`: one endpoint of a tunnel for the UDP traffic of other programs. All ports share one connection to
//! the other relay.
#![expect(clippy::disallowed_types, reason = "programs send and receive by UDP")]

use super::arguments::{DelayOptions, MediaOptions, RelayOptions};
use super::console::{Console, plural};
use super::delays::DelayMeter;
use super::endpoint::{address, check_methods, check_not_own, destination, spawn};
use super::framing::MAX_LENGTH;
use super::line::{Line, Outcome, Supply};
use super::metrics::CurrentRate;
use super::rate_feed::RateFeed;
use super::receiving::{Meter, Received, Receiving, ReverseFlow, ReverseReport};
use super::recv::{failed_handshake, listen, name};
use super::rules::{Place, Port, Rules};
use super::send::connect;
use super::sending::{Sending, Sent};
use super::sink::socket_towards;
use super::source;
use super::watch::{NO_SEED, Watch};
use crate::error::Failure;
use crate::interrupt;
use headway_dccp::ServiceCode;
use headway_net::{Clock, Closed, Connection, Duration, Endpoint, Options};
use headway_record::FlowLabel;
use headway_units::Instant;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum time between two checks for a signal.
const POLL_INTERVAL: std::time::Duration = std::time::Duration::from_millis(100);

/// Time between two reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Service code of the connection between two relays. Its datagrams begin with the number of their port, so that those of
/// `headway send` and of other programs with the default service code are not accepted.
const SERVICE: ServiceCode = ServiceCode(u32::from_be_bytes(*b"HDWR"));

/// Names of the two directions in a record: to the peer, and from the peer.
const NAME: &str = "relay";
const REVERSE: &str = "reverse";

/// State that all threads share.
struct Relay {
    sockets: Vec<PortSocket>,
    rules: Rules,
    defaults: MediaOptions,
    delays: DelayOptions,
    /// Current connection.
    line: Mutex<Option<Arc<Line>>>,
    strays: Mutex<Strays>,
    feed: Mutex<RateFeed>,
}

/// Datagrams for unknown ports. Both relays must have the same ports.
#[derive(Clone, Copy, Default)]
struct Strays {
    datagrams: u64,
    /// Port of the last one.
    number: u8,
    /// Number of datagrams that have been reported.
    reported: u64,
}

/// Socket of a port.
struct PortSocket {
    number: u8,
    socket: UdpSocket,
    /// Address of the program, if it is known.
    program: Mutex<Option<SocketAddr>>,
    /// Whether the address of the program is the source of its last datagram.
    learns: bool,
    /// Whether the socket is connected to the program. The system reports a closed port on a connected socket only.
    is_connected: bool,
    /// Whether the system has reported that the program's port is closed.
    is_refused: AtomicBool,
    has_warned: AtomicBool,
}

pub(crate) fn relay(args: &RelayOptions) -> Result<(), Failure> {
    let rate = CurrentRate::default();
    let feed = Mutex::new(RateFeed::new(args.rate, rate.clone())?);
    let rules = rules(args)?;
    check_own_addresses(args, &rules)?;
    let sockets = rules.ports.iter().map(PortSocket::new).collect::<Result<Vec<_>, _>>()?;
    let mut options = args.endpoint.options(args.trust.trust(), Some(&args.queue))?;
    options.connection.one_way_delays = args.delays.is_enabled();
    options.order_wait = options.order_wait.filter(|_| !args.order.unordered);
    options.service = SERVICE;
    options.reconnect = args.connect.is_some() && !args.once;
    if args.once {
        options.accepted = Some(1);
    }
    check_methods(args.media.method.is_some() || rules.have_methods(), &options)?;
    // The rules and the identity may be pipes: until they are read, a signal ends the program.
    interrupt::listen();
    let console = Console::of_endpoint(&args.endpoint, &options, false)?;
    let of_one = [("--record", args.watch.record.is_some()), ("--view", args.watch.view.is_some())];
    if let Some((option, _)) = of_one.into_iter().find(|(_, is_set)| *is_set && args.listen.is_some() && !args.once) {
        return Err(Failure::Sockets(format!(
            "{option} supports a single connection; set --once, or use {option} at the relay that connects"
        )));
    }
    let kind = args.endpoint.controller();
    let first = Waiting::new(kind, args.delays, None).line(false);
    let mut watch = Watch::new(&args.watch, &first, Some(&rate), &[NAME, REVERSE], NO_SEED, &console)?;
    let (defaults, delays, line, strays) = (args.media, args.delays, Mutex::default(), Mutex::default());
    let relay = Arc::new(Relay { sockets, rules, defaults, delays, line, strays, feed });
    let ended = match (&args.connect, &args.listen) {
        (Some(server), _) => {
            console.identity(&args.endpoint, &options);
            let line = relay.begin(connect(server, &options)?, &options, kind)?;
            console.note(&format!("connecting to {}; press Ctrl-C to stop", name(line.connection())));
            relay.carry_all(&console)?;
            let (ended, printed) = relay.follow(&line, &console, &mut watch, || Supply::Runs);
            let recorded = watch.finish(&ended.total, ended.total.flows());
            recorded.and(ended.into_result()).and(printed)
        }
        (None, Some(at)) => {
            let server = listen(at, &options)?;
            relay.carry_all(&console)?;
            console.listening(server.local_addr(), &options, "headway relay --connect")?;
            relay.serve_all(server, &options, args, &console, watch)
        }
        (None, None) => Err(Failure::Sockets("set --listen or --connect".to_owned())),
    };
    let written = console.finish();
    ended.and(written)
}

/// Returns the rules of the file, or the ports of the arguments.
fn rules(args: &RelayOptions) -> Result<Rules, Failure> {
    if let Some(path) = &args.rules {
        return Rules::read(path);
    }
    let places = args.from.iter().cloned().map(Place::Listen).chain(args.to.iter().cloned().map(Place::To));
    let ports: Vec<Port> = (0..=u8::MAX).zip(places).map(|(number, place)| Port { number, place }).collect();
    let given = args.from.len() + args.to.len();
    if given > ports.len() {
        return Err(Failure::Sockets(format!("--from and --to: {given} addresses; a relay has at most 256 ports")));
    }
    Ok(Rules::of_ports(ports))
}

/// Checks that no destination is an address at which this relay listens.
fn check_own_addresses(args: &RelayOptions, rules: &Rules) -> Result<(), Failure> {
    let mut listening: Vec<SocketAddr> = args.listen.iter().map(|at| address(at)).collect::<Result<_, _>>()?;
    let mut destinations = Vec::new();
    if let Some(connect) = &args.connect {
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

/// Figures of a relay without a connection.
struct Waiting {
    clock: Clock,
    next_report_at: Instant,
    sending: Sending,
    receiving: Receiving,
    meter: Meter,
    delays: Option<Arc<DelayMeter>>,
    reverse: FlowLabel,
    /// `None` before the relay listens.
    server: Option<Arc<Endpoint>>,
}

impl Waiting {
    fn new(kind: &str, delays: DelayOptions, server: Option<Arc<Endpoint>>) -> Self {
        let clock = Clock::new();
        let (label, reverse) = labels("no peer".to_owned(), kind);
        let now = clock.now();
        Self {
            clock,
            next_report_at: now + REPORT_INTERVAL,
            sending: Sending::new(now, label, false),
            receiving: Receiving::new(now),
            meter: Meter::new(clock),
            delays: delays.meter(),
            reverse,
            server,
        }
    }

    /// Returns the current figures and starts the next interval.
    fn line(&mut self, last: bool) -> Sent {
        let now = self.clock.now();
        let refused_handshakes = self.server.as_ref().map_or(0, |server| server.counters().refused_handshakes);
        let line = self.receiving.line(now, std::iter::empty(), last);
        let received = Received { refused_handshakes, ..line }.with_delays(self.delays.as_deref());
        let reverse = ReverseReport { received, flow: self.meter.summary(&received, self.reverse.clone()) };
        Sent { reverse: Some(reverse), ..self.sending.line(now, last) }
    }

    /// Prints a report each second. A record starts with the connection.
    fn report(&mut self, console: &Console, watch: &mut Watch) -> Result<(), Failure> {
        let now = self.clock.now();
        if now < self.next_report_at {
            return Ok(());
        }
        self.next_report_at = (self.next_report_at + REPORT_INTERVAL).max(now);
        let line = self.line(false);
        console.status(format!("{:.0} s: no peer is connected", line.interval.to));
        console.line(&line)?;
        if watch.records() { Ok(()) } else { watch.update(&line, Vec::new) }
    }

    /// Prints the final report and returns `failure` as an error.
    fn end(mut self, console: &Console, watch: Watch, failure: Option<String>) -> Result<(), Failure> {
        let mut last = self.line(true);
        last.flow.connection_failure.clone_from(&failure);
        let recorded = watch.finish(&last, last.flows());
        let printed = console.last_line(&last);
        console.note(&format!("no peer is connected; {}", last.total_text()));
        recorded.and(failure.map_or(Ok(()), |failure| Err(Failure::Sockets(failure)))).and(printed)
    }
}

/// Returns the labels of the flows to the peer and from the peer.
fn labels(peer: String, kind: &str) -> (FlowLabel, FlowLabel) {
    let label = FlowLabel { name: NAME.to_owned(), from: "here".to_owned(), to: peer, kind: kind.to_owned() };
    let reverse =
        FlowLabel { name: REVERSE.to_owned(), from: label.to.clone(), to: label.from.clone(), ..label.clone() };
    (label, reverse)
}

impl PortSocket {
    fn new(port: &Port) -> Result<Self, Failure> {
        let (socket, program, is_connected) = match &port.place {
            Place::Listen(at) => (source::listen(at)?, None, false),
            Place::To(to) => {
                let to = destination(to)?;
                let socket = socket_towards(to)?;
                let timeout = socket.set_read_timeout(Some(POLL_INTERVAL));
                timeout.map_err(|error| Failure::Sockets(format!("cannot listen for {to}: {error}")))?;
                // Without a route, the connection fails. The network may be available later.
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
            (Some(to), _) => format!("port {number} forwards to {to}"),
            (None, Ok(at)) => format!("port {number} listens at {at}"),
            (None, Err(_)) => format!("port {number} listens"),
        }
    }

    fn program(&self) -> Option<SocketAddr> {
        *self.program.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the contents of `datagram` by the port number and the next datagram of the program. Returns false after
    /// a timeout.
    fn recv(&self, buffer: &mut [u8], datagram: &mut Vec<u8>) -> bool {
        let (length, from) = match self.socket.recv_from(buffer) {
            Ok(received) => received,
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                self.is_refused.store(true, Ordering::Relaxed);
                return false;
            }
            Err(error) => {
                // The error may be temporary.
                if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) {
                    std::thread::park_timeout(POLL_INTERVAL);
                }
                return false;
            }
        };
        if self.learns {
            *self.program.lock().unwrap_or_else(PoisonError::into_inner) = Some(from);
        } else if self.program() != Some(from) {
            // The datagram is not from the program.
            return false;
        }
        datagram.clear();
        datagram.push(self.number);
        datagram.extend_from_slice(&buffer[..length]);
        true
    }

    /// Sends a datagram to the program, if its address is known. Errors are ignored, as UDP is unreliable.
    fn send(&self, datagram: &[u8]) {
        let Some(program) = self.program() else { return };
        if !self.is_connected {
            drop(self.socket.send_to(datagram, program));
        } else if self.socket.send(datagram).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
            // The error is that of an earlier datagram, and this one was not sent.
            self.is_refused.store(true, Ordering::Relaxed);
            drop(self.socket.send(datagram));
        }
    }

    /// Warns once if the port of the program is closed. The program may open it later.
    fn warn_of_closed_port(&self, console: &Console) {
        if self.is_refused.load(Ordering::Relaxed)
            && !self.has_warned.swap(true, Ordering::Relaxed)
            && let Some(program) = self.program()
        {
            let number = self.number;
            console.warn(&format!("warning: port {number}: no program listens at {program}; datagrams to it are lost"));
        }
    }
}

impl Relay {
    fn line(&self) -> Option<Arc<Line>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Starts a thread for each port.
    fn carry_all(self: &Arc<Self>, console: &Console) -> Result<(), Failure> {
        for (index, port_socket) in self.sockets.iter().enumerate() {
            let relay = Arc::clone(self);
            spawn(move || relay.carry(index))?;
            console.note(&port_socket.announcement());
        }
        Ok(())
    }

    /// Sends the datagrams of a program to the peer. Never returns.
    fn carry(&self, index: usize) -> ! {
        let port_socket = &self.sockets[index];
        let (mut buffer, mut datagram) = (vec![0; MAX_LENGTH], Vec::new());
        loop {
            if let (true, Some(line)) = (port_socket.recv(&mut buffer, &mut datagram), self.line()) {
                let media = self.rules.media(port_socket.number, &datagram[1..], self.defaults, &datagram);
                // Another thread handles the end of the connection.
                drop(line.send(&[media]));
            }
        }
    }

    /// Sends the datagrams of the peer to the programs.
    fn forward(&self, line: &Line) {
        let mut datagram = Vec::new();
        let counters = line.reverse().map(ReverseFlow::counters);
        while let Ok(delay) = line.connection().recv_timed(&mut datagram) {
            counters.iter().for_each(|counters| counters.add(datagram.len(), delay, true));
            let Some((number, payload)) = datagram.split_first() else { continue };
            match self.sockets.iter().find(|port_socket| port_socket.number == *number) {
                Some(port_socket) => port_socket.send(payload),
                None => {
                    let mut strays = self.strays.lock().unwrap_or_else(PoisonError::into_inner);
                    (strays.datagrams, strays.number) = (strays.datagrams + 1, *number);
                }
            }
        }
    }

    fn warn(&self, console: &Console) {
        self.sockets.iter().for_each(|port_socket| port_socket.warn_of_closed_port(console));
        let Strays { datagrams, number, reported } = *self.strays.lock().unwrap_or_else(PoisonError::into_inner);
        if datagrams > reported {
            self.strays.lock().unwrap_or_else(PoisonError::into_inner).reported = datagrams;
            let received = plural(datagrams, "datagram", "datagrams");
            console.warn(&format!("warning: {received} for unknown ports dropped, the last one for port {number}"));
        }
    }

    /// Makes this the current connection, and starts to forward its datagrams.
    fn begin(self: &Arc<Self>, connection: Connection, options: &Options, kind: &str) -> Result<Arc<Line>, Failure> {
        let (label, reverse) = labels(name(&connection), kind);
        let line = Arc::new(
            Line::new(Clock::new(), connection, label, options).with_reverse_flow(reverse, self.delays.meter()),
        );
        *self.line.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&line));
        let (relay, read) = (Arc::clone(self), Arc::clone(&line));
        spawn(move || relay.forward(&read))?;
        Ok(line)
    }

    /// Waits until the connection ends. Also returns the error of its final report.
    fn follow(
        &self,
        line: &Line,
        console: &Console,
        watch: &mut Watch,
        mut supply: impl FnMut() -> Supply,
    ) -> (Outcome, Result<(), Failure>) {
        let supply = || {
            let mut feed = self.feed.lock().unwrap_or_else(PoisonError::into_inner);
            feed.update(line.connection().encoding_rate(), console);
            supply()
        };
        let ended = line.follow(console, supply, |sent| {
            self.warn(console);
            watch.update(sent, || sent.flows())
        });
        self.warn(console);
        *self.line.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let printed = console.last_line(&ended.total);
        console.note(&format!("{}: {}; {}", name(line.connection()), ended.reason(), ended.total.total_text()));
        (ended, printed)
    }

    /// Serves one connection at a time. A new connection replaces the current one, because the peer may have restarted.
    fn serve_all(
        self: &Arc<Self>,
        server: Endpoint,
        options: &Options,
        args: &RelayOptions,
        console: &Console,
        mut watch: Watch,
    ) -> Result<(), Failure> {
        let (sender, connections) = channel();
        let server = Arc::new(server);
        let accepting = Arc::clone(&server);
        spawn(move || {
            while let Some(connection) = accepting.accept() {
                if sender.send(connection).is_err() {
                    return;
                }
            }
        })?;
        let kind = args.endpoint.controller();
        let (mut next, mut waiting) = (None, Waiting::new(kind, self.delays, Some(Arc::clone(&server))));
        while !interrupt::stop_requested() {
            let refused = console.refused(&server);
            if args.once
                && let Some(failure) = refused.iter().find_map(failed_handshake)
            {
                return waiting.end(console, watch, Some(failure));
            }
            let connection = match next.take().map_or_else(|| connections.recv_timeout(POLL_INTERVAL), Ok) {
                Ok(connection) => connection,
                Err(RecvTimeoutError::Timeout) => {
                    waiting.report(console, &mut watch)?;
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return waiting.end(console, watch, Some(Closed::Socket.to_string()));
                }
            };
            console.note(&format!("{} connected", name(&connection)));
            let line = self.begin(connection, options, kind)?;
            let (ended, written) = self.follow(&line, console, &mut watch, || {
                let _ = console.refused(&server);
                let refused = server.counters().refused_handshakes;
                line.reverse().iter().for_each(|reverse| reverse.set_refused(refused));
                newer(&connections, &mut next)
            });
            if args.once {
                let recorded = watch.finish(&ended.total, ended.total.flows());
                return recorded.and(ended.into_result()).and(written);
            }
            watch.update(&ended.total, Vec::new)?;
            written?;
            ended.failed.map_or(Ok(()), Err)?;
            if interrupt::stop_requested() {
                // The final report is that of this connection.
                return Ok(());
            }
            waiting = Waiting::new(kind, self.delays, Some(Arc::clone(&server)));
        }
        waiting.end(console, watch, None)
    }
}

/// Stores the newest waiting connection in `next`.
fn newer(connections: &Receiver<Connection>, next: &mut Option<Connection>) -> Supply {
    if let Some(connection) = connections.try_iter().last() {
        *next = Some(connection);
    }
    if next.is_some() { Supply::Discarded } else { Supply::Runs }
}
