//! What must hold for an endpoint behind a socket that anybody can send to: its clients' datagrams, lost, repeated, late, changed, and
//! said by others; any bytes; more clients than it may have. Shared by the fuzz target and by the test that replays `fuzz/corpus`.

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
/// What both ends may have.
const CONNECTIONS: usize = 8;
const SEGMENTS: usize = 4;
/// Datagrams under way in one direction at most: more are lost.
const UNDER_WAY: usize = 64;
/// How long the whole state of an endpoint may be when it is printed: all that it holds is there.
const PRINTED: usize = 8 << 20;
/// What an endpoint sends without anything coming in between.
const AT_ONCE: usize = 8192;

/// An endpoint, what its program knows, and what is under way to it.
struct End {
    endpoint: Endpoint<Datagrams>,
    known: BTreeMap<ConnectionHandle, Known>,
    inbox: VecDeque<(Path, Ecn, Vec<u8>)>,
    buffer: Vec<u8>,
}

/// What its program has been told of a connection.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    is_client: bool,
    accepted: bool,
    connected: bool,
    closed: bool,
}

/// From one of four ports of the client's host to the server.
fn path(port: u8) -> Path {
    let port = 4000 + u16::from(port % 4);
    Path::Udp { local: ([192, 0, 2, 1], port).into(), remote: ([192, 0, 2, 2], 6511).into() }
}

fn back(path: Path) -> Path {
    match path {
        Path::Udp { local, remote } => Path::Udp { local: remote, remote: local },
        other => other,
    }
}

/// Bytes as what happens on the network: the first chooses the rules of both ends.
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
        connections: CONNECTIONS,
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
                let from = if which == 1 { back(path(many)) } else { path(many) };
                hear(&mut ends[which], now, from, Ecn::Ce, choices.bytes(usize::from(many)));
            }
            9 | 10 => talk(&mut ends[which], step >> 4 & 7, &mut choices),
            11 => close(&mut ends[which], now, step >> 4 & 7),
            12 => now += Duration::from_millis(u64::from(step >> 4) * 10),
            13 => now += Duration::from_millis(1 << choices.byte().min(20)),
            // A program that does not ask for its events for a while, and one that sends nothing.
            14 => {
                wake(&mut ends[which], now);
                continue;
            }
            _ => {}
        }
        settle(&mut ends, now);
    }
    heal(&mut ends, now);
}

fn connect(client: &mut End, now: Instant, rules: &ConnectionOptions, port: u8) {
    let full = client.endpoint.connections() == CONNECTIONS;
    match client.endpoint.connect(now, path(port), PORT, SERVICE, rules, Datagrams::default()) {
        Ok(handle) => {
            assert!(!full);
            let before = client.known.insert(handle, Known { is_client: true, ..Known::default() });
            assert!(before.is_none(), "a name has come again");
        }
        Err(_) => assert!(full),
    }
}

fn hear(end: &mut End, now: Instant, path: Path, ecn: Ecn, bytes: &[u8]) {
    if let Ok(Some(datagram)) = end.endpoint.handle_datagram(now, path, ecn, bytes) {
        assert!(
            bytes.as_ptr_range().contains(&datagram.data.as_ptr()) || datagram.data.is_empty(),
            "nothing is copied"
        );
        let connection = end.endpoint.connection(datagram.handle).expect("data of a connection that there is");
        assert!(!matches!(connection.state(), State::Closed | State::TimeWait), "data behind the end");
    }
    assert!(end.endpoint.connections() <= CONNECTIONS);
}

/// What is next comes, or what is under way behind it.
fn deliver(ends: &mut [End; 2], which: usize, now: Instant, choices: &mut Choices<'_>) {
    let end = &mut ends[which];
    let late = usize::from(choices.byte() % 4).min(end.inbox.len().saturating_sub(1));
    if let Some((path, ecn, bytes)) = end.inbox.remove(late) {
        hear(end, now, path, ecn, &bytes);
    }
}

fn repeat(end: &mut End) {
    let first = end.inbox.front().cloned();
    end.inbox.extend(first);
}

/// A byte of a datagram is another, or it comes from another port.
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

fn talk(end: &mut End, which: u8, choices: &mut Choices<'_>) {
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

fn wake(end: &mut End, now: Instant) {
    if end.endpoint.poll_timeout().is_some_and(|at| at <= now) {
        end.endpoint.handle_timeout(now);
        assert!(end.endpoint.poll_timeout().is_none_or(|at| at > now), "a timer that has fired is gone");
    }
}

/// Both ends act, send what they have to send, and hear what they are told.
fn settle(ends: &mut [End; 2], now: Instant) {
    for which in [0, 1] {
        let end = &mut ends[which];
        wake(end, now);
        let mut sent = Vec::new();
        while let Some(out) = end.endpoint.poll_transmit(now, &mut end.buffer) {
            assert!((1..=out.len).contains(&out.segment_size) && out.len <= end.buffer.len());
            assert!(out.len.div_ceil(out.segment_size) <= SEGMENTS);
            for bytes in end.buffer[..out.len].chunks(out.segment_size) {
                assert!(Packet::decode(bytes, out.path.outgoing()).is_ok(), "each of a batch is a packet");
                sent.push((back(out.path), out.ecn, bytes.to_vec()));
            }
            assert!(sent.len() < AT_ONCE, "it talks without end");
        }
        assert!(end.endpoint.poll_timeout().is_none_or(|at| at > now), "a timer that has fired is set anew");
        while let Some((handle, event)) = end.endpoint.poll_event() {
            told(end.known.entry(handle).or_default(), event);
            assert!(end.endpoint.connection(handle).is_some(), "who tells something is there");
        }
        assert!(end.endpoint.connections() <= CONNECTIONS);
        // Those that are forgotten have told their end.
        let gone = |handle: &ConnectionHandle| end.endpoint.connection(*handle).is_none();
        assert!(end.known.iter().all(|(handle, known)| known.closed || !gone(handle)));
        end.known.retain(|handle, _| end.endpoint.connection(*handle).is_some());
        let room = UNDER_WAY.saturating_sub(ends[1 - which].inbox.len());
        ends[1 - which].inbox.extend(sent.into_iter().take(room));
    }
}

/// Accepted first if it is a listener's, Connected once at most, Closed once and last.
fn told(known: &mut Known, event: Event) {
    assert!(!known.closed, "{event:?} behind the end");
    assert_eq!(known.is_client || known.accepted, event != Event::Accepted, "Accepted comes first, and once");
    match event {
        Event::Accepted => known.accepted = true,
        Event::Connected => assert!(!std::mem::replace(&mut known.connected, true), "connected twice"),
        Event::Closed(_) => known.closed = true,
        _ => {}
    }
}

/// The network is good again, and both programs close what they have: then nothing is left.
fn heal(ends: &mut [End; 2], mut now: Instant) {
    settle(ends, now);
    for end in ends.iter() {
        assert!(format!("{:?}", end.endpoint).len() < PRINTED);
    }
    for round in 0..100_000 {
        assert!(round < 99_999, "it never rests");
        for which in [0, 1] {
            while let Some((path, ecn, bytes)) = ends[which].inbox.pop_front() {
                hear(&mut ends[which], now, path, ecn, &bytes);
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
