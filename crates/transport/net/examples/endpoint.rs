//! Test program of `validation/real-faults`: an endpoint that sends a numbered datagram at each interval and prints
//! events as lines of JSON.
//!
//! ```text
//! endpoint server ADDRESS [--plain]
//! endpoint client ADDRESS (--trust FINGERPRINT | --plain) [--seconds N] [--calls N] [--churn SEED]
//! both: [--interval MILLISECONDS] [--size BYTES] [--patience SECONDS]
//! ```
//!
//! `at` is the system's monotonic clock in seconds, the same for all programs of a machine. With `--churn`, each
//! client makes calls of random lengths one after another.

use headway_net::{Clock, Connection, Duration, Endpoint, Media, Options, Trust};
use headway_units::{Instant, Random};
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::Builder;

/// Counters of all calls.
#[derive(Debug, Default)]
struct Counts {
    sent: AtomicU64,
    received: AtomicU64,
    longest: AtomicUsize,
    largest: AtomicUsize,
    calls: AtomicU64,
    failed: AtomicU64,
}

/// Parameters of a call.
#[derive(Clone, Debug)]
struct Plan {
    interval: Duration,
    size: usize,
    counts: Arc<Counts>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let usage =
        "usage: endpoint server|client ADDRESS [--trust FINGERPRINT | --plain] ..; the source file lists all options";
    let (role, address) = words.next().zip(words.next()).ok_or(usage)?;
    let address: SocketAddr = address.parse()?;
    let mut keys = BTreeMap::new();
    while let Some(key) = words.next() {
        let value = if key == "--plain" { String::new() } else { words.next().ok_or(usage)? };
        keys.insert(key, value);
    }
    let number = |key: &str, default: u64| keys.get(key).map_or(Ok(default), |value| value.parse::<u64>());
    let mut options = match (keys.get("--trust"), keys.contains_key("--plain"), role == "server") {
        (_, true, _) => Options::insecure(),
        (None, false, true) => Options::server()?,
        (Some(print), false, false) => Options::client(Trust::Fingerprints(vec![print.parse()?]))?,
        _ => return Err(usage.into()),
    };
    let timeout = Duration::from_secs(number("--patience", 45)?);
    options.connection.idle_give_up = Some(timeout);
    options.connection.keep_alive = Some(timeout / 3);
    options.connection.expert.close_give_up = timeout;
    let size = usize::try_from(number("--size", 200)?)?;
    let plan = Plan { interval: Duration::from_millis(number("--interval", 10)?), size, counts: Arc::default() };
    if role == "server" {
        let server = Endpoint::server(address, &options)?;
        let print = options.fingerprint().map(|print| print.to_string()).unwrap_or_default();
        print_event("listens", &[("address", &quoted(server.local_addr())), ("fingerprint", &quoted(print))]);
        serve(&server, &plan)
    } else {
        let client = Arc::new(Endpoint::client(&options)?);
        let until = Instant::ZERO + Duration::from_secs(number("--seconds", 10)?);
        let churn = keys.get("--churn").map(|seed| seed.parse::<u64>()).transpose()?;
        call(&client, address, &plan, number("--calls", 1)?, until, churn)
    }
}

fn serve(server: &Endpoint, plan: &Plan) -> Result<(), Box<dyn Error>> {
    let clock = Clock::new();
    let mut next = clock.now();
    loop {
        if let Some(connection) = server.accept_timeout(Duration::from_millis(50)) {
            let plan = plan.clone();
            Builder::new().spawn(move || run(&connection, &plan, Instant::FAR_FUTURE))?;
        }
        if clock.now() >= next {
            next = clock.now() + Duration::from_millis(200);
            status(server, &plan.counts);
        }
    }
}

fn call(
    client: &Arc<Endpoint>,
    address: SocketAddr,
    plan: &Plan,
    calls: u64,
    until: Instant,
    churn: Option<u64>,
) -> Result<(), Box<dyn Error>> {
    let clock = Clock::new();
    let callers = (0..calls).map(|n| {
        let (client, plan) = (Arc::clone(client), plan.clone());
        Builder::new().spawn(move || {
            let mut random = Random::new(churn.unwrap_or(0), &format!("caller {n}"));
            while clock.now() < until {
                print_event("calls", &[]);
                let Ok(connection) = client.connect(address) else { break };
                let length = churn.map_or(until.since(clock.now()), |_| Duration::from_millis(random.below(5000)));
                run(&connection, &plan, Instant::ZERO + length);
                connection.close();
                if churn.is_none() {
                    break;
                }
                std::thread::park_timeout(std::time::Duration::from_millis(random.below(200)));
            }
        })
    });
    let callers = callers.collect::<Result<Vec<_>, _>>()?;
    while callers.iter().any(|caller| !caller.is_finished()) {
        std::thread::park_timeout(std::time::Duration::from_millis(200));
        status(client, &plan.counts);
    }
    // Ended connections are removed after TIMEWAIT.
    for _ in 0..100 {
        if client.connections() == 0 {
            break;
        }
        std::thread::park_timeout(std::time::Duration::from_millis(200));
    }
    status(client, &plan.counts);
    Ok(())
}

/// Exchanges numbered datagrams in both directions until `until`, or until the connection is closed.
fn run(connection: &Connection, plan: &Plan, until: Instant) {
    let (clock, counts) = (Clock::new(), &plan.counts);
    counts.calls.fetch_add(1, Ordering::Relaxed);
    let (mut next, mut number, mut datagram) = (clock.now(), 0u64, Vec::new());
    let mut last = None;
    while clock.now() < until {
        while next <= clock.now() {
            let largest = connection.largest();
            counts.largest.store(largest, Ordering::Relaxed);
            let mut payload = vec![0; if largest == 0 { plan.size.min(1000) } else { plan.size.min(largest) }];
            payload.iter_mut().zip(number.to_be_bytes()).for_each(|(byte, part)| *byte = part);
            // The next receive reports a closed connection.
            if connection.send(Media { expires: Some(Duration::from_millis(400)), ..Media::new(&payload) }).is_ok() {
                number += 1;
                counts.sent.fetch_add(1, Ordering::Relaxed);
            }
            next += plan.interval;
        }
        match connection.recv_timeout(&mut datagram, next.since(clock.now())) {
            Some(Ok(())) => {
                let now = clock.now();
                counts.received.fetch_add(1, Ordering::Relaxed);
                counts.longest.fetch_max(datagram.len(), Ordering::Relaxed);
                match last.replace(now).map(|last| now.since(last)) {
                    None => print_event("first", &[]),
                    Some(gap) if gap >= plan.interval * 2 => print_event("gap", &[("ms", &(gap.as_secs_f64() * 1e3))]),
                    Some(_) => {}
                }
            }
            Some(Err(why)) => {
                counts.failed.fetch_add(1, Ordering::Relaxed);
                print_event("closed", &[("why", &quoted(why))]);
                return;
            }
            None => {}
        }
    }
}

fn status(endpoint: &Endpoint, counts: &Counts) {
    let socket = endpoint.counters();
    print_event(
        "status",
        &[
            ("connections", &endpoint.connections()),
            ("sessions", &endpoint.sessions()),
            ("calls", &counts.calls.load(Ordering::Relaxed)),
            ("failed", &counts.failed.load(Ordering::Relaxed)),
            ("sent", &counts.sent.load(Ordering::Relaxed)),
            ("received", &counts.received.load(Ordering::Relaxed)),
            // Longest since the last status.
            ("longest", &counts.longest.swap(0, Ordering::Relaxed)),
            ("largest", &counts.largest.load(Ordering::Relaxed)),
            ("received_datagrams", &socket.received_datagrams),
            ("sent_datagrams", &socket.sent_datagrams),
        ],
    );
}

fn print_event(event: &str, pairs: &[(&str, &dyn Display)]) {
    let pairs: String = pairs.iter().map(|(key, value)| format!(", \"{key}\": {value}")).collect();
    println!("{{\"event\": \"{event}\", \"at\": {:.6}{pairs}}}", at());
}

/// Returns the reading of the system's monotonic clock, in seconds.
fn at() -> f64 {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC);
    now.map_or(0.0, |now| std::time::Duration::from(now).as_secs_f64())
}

fn quoted(text: impl Display) -> String {
    format!("{:?}", text.to_string())
}
