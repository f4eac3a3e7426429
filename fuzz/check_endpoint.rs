//! Invariants of an endpoint with an open socket: client datagrams that are lost, repeated, delayed, changed or
//! spoofed; any bytes; more clients than allowed. Shared by the fuzz target and the test that replays `fuzz/corpus`.

use super::choices::Choices;
use super::datagrams::Datagrams;
use headway_dccp::{
    ConnectionHandle, ConnectionOptions, Endpoint, EndpointOptions, Event, InitCookies, Packet, Path, ServiceCode,
    State,
};
use headway_units::{Dialect, Duration, Ecn, Instant, Options, Random};
use std::collections::{BTreeMap, VecDeque};

const SERVICE: ServiceCode = ServiceCode(0x5254_5056);
const PORT: u16 = 5004;
/// Maximum number of connections of an endpoint.
const MAX_CONNECTIONS: usize = 8;
const SEGMENTS: usize = 4;
/// Maximum number of datagrams in flight in a direction. Further ones are lost.
const MAX_IN_FLIGHT: usize = 64;
/// Maximum length of the debug output of an endpoint, which has its complete state.
const MAX_STATE_BYTES: usize = 8 << 20;
/// Maximum number of datagrams an endpoint sends without an arrival.
const MAX_BURST: usize = 8192;

/// An endpoint, the state of its application, and the datagrams in flight to it.
struct End {
    endpoint: Endpoint<Datagrams>,
    known: BTreeMap<ConnectionHandle, Known>,
    inbox: VecDeque<(Path, Ecn, Vec<u8>)>,
    buffer: Vec<u8>,
}

/// Events of a connection that the application received.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    is_client: bool,
    accepted: bool,
    connected: bool,
    closed: bool,
}

/// Returns the path from a port of the client's host to the server.
fn path(port: u8) -> Path {
    let port = 4000 + u16::from(port % 4);
    Path::Udp { local: ([192, 0, 2, 1], port).into(), remote: ([192, 0, 2, 2], 6511).into() }
}

fn reversed(path: Path) -> Path {
    match path {
        Path::Udp { local, remote } => Path::Udp { local: remote, remote: local },
        other => other,
    }
}

/// Interprets the bytes as events on the network. The first selects the options of both endpoints.
pub(crate) fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let first = choices.byte();
    let cookies = [InitCookies::WhenBusy, InitCookies::Always, InitCookies::Never][usize::from(first % 3)];
    let ccid = [2, 3, 4][usize::from(first >> 2) % 3];
    let mut rules = ConnectionOptions {
        init_cookies: cookies,
        backlog: 3,
        handshake_data: first & 32 != 0,
        send_ccids: vec![ccid],
        receive_ccids: vec![ccid],
        ..ConnectionOptions::preset(Dialect::Rfc)
    };
    rules.expert.time_wait = Duration::from_secs(2);
    let mut now = Instant::from_secs(1);
    let bounds = EndpointOptions {
        connections: MAX_CONNECTIONS,
        segments: SEGMENTS,
        refusals_per_second: 8,
        ..EndpointOptions::default()
    };
    let mut ends = ["client", "server"].map(|name| End {
        endpoint: Endpoint::new(bounds, Random::new(1, name)),
        known: BTreeMap::new(),
        inbox: VecDeque::new(),
        buffer: Vec::new(),
    });
    ends[1].endpoint.listen(now, PORT, &rules, &[SERVICE]).expect("the rules are right");
    while let Some(step) = choices.step() {
        let which = usize::from(step >> 7);
        match step & 15 {
            0 => connect(&mut ends[0], now, &rules, choices.byte()),
            1..5 => deliver(&mut ends, which, now, &mut choices),
            5 => drop(ends[which].inbox.pop_front()),
            6 => repeat(&mut ends[which]),
            7 => change(&mut ends[which], &mut choices),
            8 => {
                let many = choices.byte();
                let from = if which == 1 { reversed(path(many)) } else { path(many) };
                receive(&mut ends[which], now, from, Ecn::Ce, choices.bytes(usize::from(many)));
            }
            9 | 10 => write(&mut ends[which], step >> 4 & 7, &mut choices),
            11 => close(&mut ends[which], now, step >> 4 & 7),
            12 => now += Duration::from_millis(u64::from(step >> 4) * 10),
            13 => now += Duration::from_millis(1 << choices.byte().min(20)),
            // An application that does not poll events for a while, and one that sends nothing.
            14 => {
                advance(&mut ends[which], now);
                continue;
            }
            _ => {}
        }
        settle(&mut ends, now);
    }
    close_all(&mut ends, now);
}

fn connect(client: &mut End, now: Instant, rules: &ConnectionOptions, port: u8) {
    let full = client.endpoint.connections() == MAX_CONNECTIONS;
    match client.endpoint.connect(now, path(port), PORT, SERVICE, rules, Datagrams::default()) {
        Ok(handle) => {
            assert!(!full);
            let before = client.known.insert(handle, Known { is_client: true, ..Known::default() });
            assert!(before.is_none(), "a handle is reused");
        }
        Err(_) => assert!(full),
    }
}

fn receive(end: &mut End, now: Instant, path: Path, ecn: Ecn, bytes: &[u8]) {
    if let Ok(Some(datagram)) = end.endpoint.handle_datagram(now, path, ecn, bytes) {
        assert!(
            bytes.as_ptr_range().contains(&datagram.data.as_ptr()) || datagram.data.is_empty(),
            "nothing is copied"
        );
        let connection = end.endpoint.connection(datagram.handle).expect("data of a connection that there is");
        assert!(!matches!(connection.state(), State::Closed | State::TimeWait), "data after the end");
    }
    assert!(end.endpoint.connections() <= MAX_CONNECTIONS);
}

/// Delivers the next datagram or a later one.
fn deliver(ends: &mut [End; 2], which: usize, now: Instant, choices: &mut Choices<'_>) {
    let end = &mut ends[which];
    let late = usize::from(choices.byte() % 4).min(end.inbox.len().saturating_sub(1));
    if let Some((path, ecn, bytes)) = end.inbox.remove(late) {
        receive(end, now, path, ecn, &bytes);
    }
}

fn repeat(end: &mut End) {
    let first = end.inbox.front().cloned();
    end.inbox.extend(first);
}

/// Changes a byte of a datagram or its source port.
fn change(end: &mut End, choices: &mut Choices<'_>) {
    let (at, bits) = (choices.byte(), choices.byte());
    let Some((_, _, bytes)) = end.inbox.front_mut() else { return };
    if bits > 0 && !bytes.is_empty() {
        let at = usize::from(at) % bytes.len();
        bytes[at] ^= bits;
    } else if let Some((Path::Udp { remote, .. }, ..)) = end.inbox.front_mut() {
        remote.set_port(4000 + u16::from(at % 4));
    }
}

fn write(end: &mut End, which: u8, choices: &mut Choices<'_>) {
    let (len, many) = (usize::from(choices.byte()) * 8, choices.byte() % 8);
    let Some(handle) = end.known.keys().nth(usize::from(which)).copied() else { return };
    let Some(outbox) = end.endpoint.outbox_mut(handle) else { return };
    for _ in 0..many {
        outbox.waiting.push_back(vec![7; len]);
    }
    outbox.waiting.truncate(64);
}

fn close(end: &mut End, now: Instant, which: u8) {
    let handle = end.known.keys().nth(usize::from(which)).copied();
    if let Some(connection) = handle.and_then(|handle| end.endpoint.connection_mut(handle)) {
        connection.close(now);
    }
}

fn advance(end: &mut End, now: Instant) {
    if end.endpoint.poll_timeout().is_some_and(|at| at <= now) {
        end.endpoint.handle_timeout(now);
        assert!(end.endpoint.poll_timeout().is_none_or(|at| at > now), "an expired timer is removed");
    }
}

/// Handles timers, transmits all datagrams and receives the events of both endpoints.
fn settle(ends: &mut [End; 2], now: Instant) {
    for which in [0, 1] {
        let end = &mut ends[which];
        advance(end, now);
        let mut sent = Vec::new();
        while let Some(out) = end.endpoint.poll_transmit(now, &mut end.buffer) {
            assert!((1..=out.len).contains(&out.segment_size) && out.len <= end.buffer.len());
            assert!(out.len.div_ceil(out.segment_size) <= SEGMENTS);
            for bytes in end.buffer[..out.len].chunks(out.segment_size) {
                assert!(Packet::decode(bytes, out.path.outgoing()).is_ok(), "each of a batch is a packet");
                sent.push((reversed(out.path), out.ecn, bytes.to_vec()));
            }
            assert!(sent.len() < MAX_BURST, "it talks without end");
        }
        assert!(end.endpoint.poll_timeout().is_none_or(|at| at > now), "an expired timer has a later time");
        while let Some((handle, event)) = end.endpoint.poll_event() {
            record(end.known.entry(handle).or_default(), event);
            assert!(end.endpoint.connection(handle).is_some(), "connections with events exist");
        }
        assert!(end.endpoint.connections() <= MAX_CONNECTIONS);
        // Removed connections have reported their end.
        let removed = |handle: &ConnectionHandle| end.endpoint.connection(*handle).is_none();
        assert!(end.known.iter().all(|(handle, known)| known.closed || !removed(handle)));
        end.known.retain(|handle, _| end.endpoint.connection(*handle).is_some());
        let space = MAX_IN_FLIGHT.saturating_sub(ends[1 - which].inbox.len());
        ends[1 - which].inbox.extend(sent.into_iter().take(space));
    }
}

/// Records an event: Accepted is first for a server, Connected occurs at most once, Closed once and last.
fn record(known: &mut Known, event: Event) {
    assert!(!known.closed, "{event:?} after the end");
    assert_eq!(known.is_client || known.accepted, event != Event::Accepted, "Accepted is first and occurs once");
    match event {
        Event::Accepted => known.accepted = true,
        Event::Connected => assert!(!std::mem::replace(&mut known.connected, true), "connected twice"),
        Event::Closed(_) => known.closed = true,
        _ => {}
    }
}

/// Delivers everything and closes all connections. Then no state remains.
fn close_all(ends: &mut [End; 2], mut now: Instant) {
    settle(ends, now);
    for end in ends.iter() {
        assert!(format!("{:?}", end.endpoint).len() < MAX_STATE_BYTES);
    }
    for round in 0..100_000 {
        assert!(round < 99_999, "it never rests");
        for which in [0, 1] {
            while let Some((path, ecn, bytes)) = ends[which].inbox.pop_front() {
                receive(&mut ends[which], now, path, ecn, &bytes);
            }
            let handles: Vec<_> = ends[which].known.keys().copied().collect();
            for handle in handles {
                let Some(connection) = ends[which].endpoint.connection_mut(handle) else { continue };
                connection.close(now);
            }
        }
        settle(ends, now);
        if ends.iter().all(|end| end.inbox.is_empty()) {
            let Some(next) = ends.iter().filter_map(|end| end.endpoint.poll_timeout()).min() else { break };
            now = now.max(next);
        }
    }
    settle(ends, now);
    for end in ends {
        assert_eq!((end.endpoint.connections(), end.endpoint.poll_timeout(), end.known.len()), (0, None, 0));
    }
}
