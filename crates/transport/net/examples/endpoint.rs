//! One end of calls, for tests of what goes wrong on real paths: it sends a numbered datagram at each interval and says in lines of JSON what comes.
//!
//! ```text
//! endpoint server ADDRESS [--plain]
//! endpoint client ADDRESS (--trust FINGERPRINT | --plain) [--seconds N] [--calls N] [--churn SEED]
//! both: [--interval MILLISECONDS] [--size BYTES] [--patience SECONDS]
//! ```
//!
//! `at` is the system's monotonic clock in seconds, the same for all programs of a machine. With `--churn` each call lasts a random while, and another
//! follows it.

use headway_net::{Clock, Connection, Duration, Endpoint, Media, Options, Trust};
use headway_units::{Instant, Random};
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::Builder;

/// What has come to all calls so far.
#[derive(Debug, Default)]
struct Counts {
    sent: AtomicU64,
    came: AtomicU64,
    longest: AtomicUsize,
    largest: AtomicUsize,
    calls: AtomicU64,
    failed: AtomicU64,
}

/// How each call goes.
#[derive(Clone, Debug)]
struct Plan {
    interval: Duration,
    size: usize,
    counts: Arc<Counts>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let usage = "endpoint server|client ADDRESS [--trust FINGERPRINT | --plain] ..: see the head of this file";
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
    let patience = Duration::from_secs(number("--patience", 45)?);
    options.connection.idle_give_up = Some(patience);
    options.connection.keep_alive = Some(patience / 3);
    options.connection.expert.close_give_up = patience;
    let size = usize::try_from(number("--size", 200)?)?;
    let plan = Plan { interval: Duration::from_millis(number("--interval", 10)?), size, counts: Arc::default() };
    if role == "server" {
        let server = Endpoint::server(address, &options)?;
        let print = options.fingerprint().map(|print| print.to_string()).unwrap_or_default();
        say("listens", &[("address", &quoted(server.local_addr())), ("fingerprint", &quoted(print))]);
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
                say("calls", &[]);
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
    // What is over is forgotten after TIMEWAIT.
    for _ in 0..100 {
        if client.connections() == 0 {
            break;
        }
        std::thread::park_timeout(std::time::Duration::from_millis(200));
    }
    status(client, &plan.counts);
    Ok(())
}

/// One call: numbered datagrams both ways, for so long, or until it is over.
fn run(connection: &Connection, plan: &Plan, length: Instant) {
    let (clock, counts) = (Clock::new(), &plan.counts);
    counts.calls.fetch_add(1, Ordering::Relaxed);
    let (mut next, mut number, mut datagram) = (clock.now(), 0u64, Vec::new());
    let mut last = None;
    while clock.now() < length {
        while next <= clock.now() {
            let largest = connection.largest();
            counts.largest.store(largest, Ordering::Relaxed);
            let mut payload = vec![0; if largest == 0 { plan.size.min(1000) } else { plan.size.min(largest) }];
            payload.iter_mut().zip(number.to_be_bytes()).for_each(|(byte, part)| *byte = part);
            // Whether it is over tells the next receive.
            if connection.send(Media { expires: Some(Duration::from_millis(400)), ..Media::new(&payload) }).is_ok() {
                number += 1;
                counts.sent.fetch_add(1, Ordering::Relaxed);
            }
            next += plan.interval;
        }
        match connection.recv_timeout(&mut datagram, next.since(clock.now())) {
            Some(Ok(())) => {
                let now = clock.now();
                counts.came.fetch_add(1, Ordering::Relaxed);
                counts.longest.fetch_max(datagram.len(), Ordering::Relaxed);
                match last.replace(now).map(|last| now.since(last)) {
                    None => say("first", &[]),
                    Some(gap) if gap >= plan.interval * 2 => say("gap", &[("ms", &(gap.as_secs_f64() * 1e3))]),
                    Some(_) => {}
                }
            }
            Some(Err(why)) => {
                counts.failed.fetch_add(1, Ordering::Relaxed);
                say("closed", &[("why", &quoted(why))]);
                return;
            }
            None => {}
        }
    }
}

fn status(endpoint: &Endpoint, counts: &Counts) {
    let socket = endpoint.counters();
    say(
        "status",
        &[
            ("connections", &endpoint.connections()),
            ("sessions", &endpoint.sessions()),
            ("calls", &counts.calls.load(Ordering::Relaxed)),
            ("failed", &counts.failed.load(Ordering::Relaxed)),
            ("sent", &counts.sent.load(Ordering::Relaxed)),
            ("came", &counts.came.load(Ordering::Relaxed)),
            // Since the last line.
            ("longest", &counts.longest.swap(0, Ordering::Relaxed)),
            ("largest", &counts.largest.load(Ordering::Relaxed)),
            ("received_datagrams", &socket.received_datagrams),
            ("sent_datagrams", &socket.sent_datagrams),
        ],
    );
}

fn say(event: &str, pairs: &[(&str, &dyn Display)]) {
    let pairs: String = pairs.iter().map(|(key, value)| format!(", \"{key}\": {value}")).collect();
    println!("{{\"event\": \"{event}\", \"at\": {:.6}{pairs}}}", at());
}

/// The system's monotonic clock.
fn at() -> f64 {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC);
    now.map_or(0.0, |now| std::time::Duration::from(now).as_secs_f64())
}

fn quoted(text: impl Display) -> String {
    format!("{:?}", text.to_string())
}
