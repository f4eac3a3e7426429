//! Syncs for keep-alive and detection of vanished peers (RFC 4340 section 7.5.4; RFC 8085 section
//! 3.5), and probes of the driver.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it panics")]

use crate::call;

use call::{CLIENT, Call, PathDelay, SERVER, queue, tfrc_with_vectors};
use headway_dccp::{Closed, ConnectionOptions, Event, PacketType, State};
use headway_units::{Duration, Instant};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const WAY: Duration = Duration::from_millis(10);

/// Time, receiving endpoint and type of each packet sent.
type Seen = Rc<RefCell<Vec<(Instant, usize, u8)>>>;

/// Returns the packet type: bits 3 to 6 of the ninth byte (RFC 4340 section 5.1).
fn kind(bytes: &[u8]) -> u8 {
    bytes[8] >> 1 & 15
}

/// Returns a path of 10 ms that loses packets only while it is cut.
fn observed() -> (PathDelay, Seen, Rc<Cell<bool>>) {
    let (seen, cut) = (Seen::default(), Rc::new(Cell::new(false)));
    let (log, is_cut) = (Rc::clone(&seen), Rc::clone(&cut));
    let path_delay = Box::new(move |now, to, bytes: &[u8]| {
        log.borrow_mut().push((now, to, kind(bytes)));
        (!is_cut.get()).then_some(WAY)
    });
    (path_delay, seen, cut)
}

fn rules(keep_alive: Option<u64>, idle_give_up: Option<u64>) -> ConnectionOptions {
    let [keep_alive, idle_give_up] = [keep_alive, idle_give_up].map(|seconds| seconds.map(Duration::from_secs));
    ConnectionOptions { keep_alive, idle_give_up, ..tfrc_with_vectors() }
}

fn call(client: &ConnectionOptions, server: &ConnectionOptions, path_delay: PathDelay) -> Call {
    let mut call = Call::new(client, server, &queue("fifo", false), path_delay);
    call.run(Duration::from_secs(1));
    assert_eq!(call.client().state(), State::Open);
    call
}

/// In ten minutes of silence, packets are sent in each direction every 15 s, and few others.
/// Keep-alive at one endpoint suffices; without it nothing is sent.
#[test]
fn keep_alive_packets_are_sent_in_silence() {
    for (client, server) in [(Some(15), Some(15)), (Some(15), None), (None, Some(15)), (None, None)] {
        let (path_delay, seen, _) = observed();
        let mut call = call(&rules(client, Some(45)), &rules(server, Some(45)), path_delay);
        let from = call.now;
        call.run(Duration::from_secs(40));
        if client.or(server).is_none() {
            assert!(seen.borrow().iter().all(|(at, ..)| *at <= from), "no packets without keep-alive");
            continue;
        }
        call.run(Duration::from_secs(560));
        assert_eq!(call.client().state(), State::Open);
        for end in [CLIENT, SERVER] {
            let seen = seen.borrow();
            let times: Vec<_> = seen.iter().filter(|(_, to, _)| *to == end).map(|(at, ..)| *at).collect();
            let longest = times.windows(2).map(|pair| pair[1].since(pair[0])).max().unwrap();
            assert!(longest <= Duration::from_millis(15_100), "{longest}");
            let later = times.iter().filter(|at| **at > from).count();
            assert!((39..=82).contains(&later), "{later}");
        }
    }
}

#[test]
fn no_keep_alive_while_packets_arrive() {
    let (path_delay, seen, _) = observed();
    let mut call = call(&rules(Some(15), Some(45)), &rules(Some(15), Some(45)), path_delay);
    for _ in 0..300 {
        call.push(100, Duration::from_secs(1));
        call.run(Duration::from_millis(500));
    }
    let sync = PacketType::Sync.number();
    assert!(seen.borrow().iter().all(|(.., kind)| *kind != sync), "no Sync is sent");
    assert_eq!(call.delivered.len(), 300);
}

/// The path is cut 1 s after the last packet. Syncs are sent 15 s after that packet, then 1, 2 and
/// 4 s later, and every 7.5 s. After 45 s both endpoints close.
#[test]
fn a_vanished_peer_is_given_up() {
    let (path_delay, seen, cut) = observed();
    let mut call = call(&rules(Some(15), Some(45)), &rules(Some(15), Some(45)), path_delay);
    let handled = |to| seen.borrow().iter().rfind(|(_, other, _)| *other == to).unwrap().0 + WAY;
    let (at_client, before) = (handled(CLIENT), seen.borrow().len());
    cut.set(true);
    call.run(Duration::from_secs(40));
    assert_eq!(call.client().state(), State::Open);
    let asked: Vec<_> = seen.borrow()[before..]
        .iter()
        .filter(|(_, to, kind)| *to == SERVER && *kind == PacketType::Sync.number())
        .map(|(at, ..)| at.since(at_client).as_secs_f64().round() as u64)
        .collect();
    assert_eq!(asked, [15, 16, 18, 22, 30, 37]);
    call.run(Duration::from_secs(10));
    for end in [CLIENT, SERVER] {
        assert_eq!(call.events[end].last(), Some(&Event::Closed(Closed::NoAnswer(State::Open))));
        assert_eq!((call.ends[end].connections(), call.ends[end].poll_timeout()), (0, None));
    }
}

/// Each answer, even a late one, restarts the keep-alive interval.
#[test]
fn an_outage_is_survived() {
    let (path_delay, seen, cut) = observed();
    let mut call = call(&rules(Some(15), Some(45)), &rules(None, None), path_delay);
    for _ in 0..5 {
        cut.set(true);
        call.run(Duration::from_secs(25));
        cut.set(false);
        call.run(Duration::from_secs(60));
        assert_eq!(call.client().state(), State::Open);
    }
    let syncs = seen.borrow().iter().filter(|(.., kind)| *kind == PacketType::Sync.number()).count();
    assert!((30..=60).contains(&syncs), "{syncs}");
}

/// The next packet is a Sync, and its answer is reported with its number. Lost or replaced probes are not reported.
#[test]
fn probes_are_answered() {
    let (path_delay, seen, cut) = observed();
    let mut call = call(&rules(None, None), &rules(None, None), path_delay);
    call.events = [vec![], vec![]];
    let before = seen.borrow().len();
    assert_eq!(call.client().probe(), Some(0));
    call.push(100, Duration::from_secs(1));
    call.run(Duration::from_secs(1));
    assert_eq!(seen.borrow()[before].2, PacketType::Sync.number(), "the Sync precedes data");
    assert_eq!(call.events[CLIENT], [Event::ProbeAnswered(0)]);
    cut.set(true);
    assert_eq!(call.client().probe(), Some(1));
    call.run(Duration::from_secs(1));
    cut.set(false);
    assert_eq!(call.client().probe(), Some(2));
    call.run(Duration::from_millis(5));
    assert_eq!([call.client().probe(), call.client().probe()], [Some(3), Some(4)]);
    call.run(Duration::from_secs(1));
    assert_eq!(call.events[CLIENT], [Event::ProbeAnswered(0), Event::ProbeAnswered(4)]);
    assert_eq!(call.delivered.len(), 1);
    // The third was replaced before it was sent.
    assert_eq!(call.probes, [(0, true), (1, true), (2, true), (4, true)]);
    call.client().abort(Instant::from_secs(10));
    assert_eq!(call.client().probe(), None);
}
