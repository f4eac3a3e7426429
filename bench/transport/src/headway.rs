//! Headway: `CONTROLLER` or `CONTROLLER+dtls`.

use crate::{Done, Job, Kind, cpu, sleep_until};
use headway_net::{Connection, Duration, Endpoint, Media, Options, Trust};
use headway_rate::{SpacingReference, ControllerOptions};
use std::time::Instant;

const MAX_QUEUED: usize = 256;

pub fn run(job: &Job, transport: &str) -> Done {
    let (server, client) = if job.kind == Kind::Gaps { spaced(job, transport) } else { pair(transport) };
    let connection = client.connect(server.local_addr()).unwrap();
    connection.connected().unwrap();
    let accepted = server.accept().unwrap();
    // The path MTU search starts below the length.
    while connection.largest() < job.length {
        connection.event_timeout(Duration::from_secs(1)).unwrap();
    }
    let before = cpu();
    let receiver = {
        let job = job.clone();
        std::thread::spawn(move || receive(&job, &accepted))
    };
    let begin = Instant::now();
    let sent = send(job, &connection, begin);
    let wall = begin.elapsed().as_secs_f64();
    let latencies = receiver.join().unwrap();
    Done { sent, latencies, wall, before }
}

pub fn pair(transport: &str) -> (Endpoint, Endpoint) {
    let (controller, dtls) =
        transport.strip_suffix("+dtls").map_or((transport, false), |controller| (controller, true));
    let options = if dtls { Options::client(Trust::AnyPeer).unwrap() } else { Options::insecure() };
    let options = Options { follow: false, unread: 1 << 20, ..options }.with_controller(controller).unwrap();
    let bind = || Endpoint::server("127.0.0.1:0".parse().unwrap(), &options).unwrap();
    (bind(), bind())
}

/// Creates endpoints with the pacer of `spacing-fixed`, whose intervals are from start to start.
fn spaced(job: &Job, transport: &str) -> (Endpoint, Endpoint) {
    let secure = transport.ends_with("+dtls");
    let options = if secure { Options::client(Trust::AnyPeer).unwrap() } else { Options::insecure() };
    let mut options = Options { follow: false, unread: 1 << 20, ..options };
    options.connection.line_rate = Some(headway_net::Rate::from_bits_per_second(100_000_000_000));
    let mut options = options.with_controller("spacing-fixed").unwrap();
    for row in &mut options.connection.controllers {
        if let ControllerOptions::SpacingFixed(fixed) = &mut row.controller {
            (fixed.spacing, fixed.apart) = (Duration::from_nanos((1e9 / job.rate) as u64), SpacingReference::Period);
            // The plain loop sends overdue datagrams at once, too.
            fixed.catch_up = fixed.spacing * 4;
        }
    }
    let bind = || Endpoint::server("127.0.0.1:0".parse().unwrap(), &options).unwrap();
    (bind(), bind())
}

/// Returns bytes of memory per end of a connection.
pub fn idle(many: usize, transport: &str) -> f64 {
    let (server, client) = pair(transport);
    let open = |many: usize| -> Vec<(Connection, Connection)> {
        let connect = |_| {
            let connection = client.connect(server.local_addr()).unwrap();
            connection.connected().unwrap();
            (connection, server.accept().unwrap())
        };
        (0..many).map(connect).collect()
    };
    // Excludes the one-time cost of the first connections.
    let some = open(10);
    let before = crate::resident();
    let all = open(many);
    std::thread::sleep(std::time::Duration::from_millis(500));
    let bytes = crate::resident() - before;
    drop((some, all));
    bytes / many as f64 / 2.0
}

/// Returns seconds from the start of the connection to the arrival of the first datagram.
pub fn first(transport: &str, path: crate::first::Path) -> f64 {
    let (server, client) = pair(transport);
    let address = crate::first::behind_link(server.local_addr(), path);
    std::thread::scope(|scope| {
        let arriving = scope.spawn(|| {
            let accepted = server.accept().unwrap();
            accepted.recv(&mut Vec::new()).unwrap();
            Instant::now()
        });
        let begin = Instant::now();
        let connection = client.connect(address).unwrap();
        while !arriving.is_finished() {
            connection.send(Media::new(&[1; 1000])).unwrap();
            std::thread::sleep(crate::first::GAP);
        }
        arriving.join().unwrap().duration_since(begin).as_secs_f64()
    })
}

fn send(job: &Job, connection: &Connection, begin: Instant) -> u64 {
    let (mut datagram, mut sent) = (vec![0; job.length], 0);
    while let Some(due) = job.due(begin, sent) {
        if job.kind != Kind::Gaps {
            sleep_until(due);
        }
        job.stamp(&mut datagram);
        match job.kind {
            Kind::Rate => drop(connection.send(Media::new(&datagram)).unwrap()),
            Kind::Flood => {
                connection.writable(MAX_QUEUED);
                connection.send(Media::new(&datagram)).unwrap();
            }
            _ => {
                connection.writable(MAX_QUEUED - 64);
                connection.send_all(&[Media::new(&datagram); 54]).unwrap();
                sent += 53;
            }
        }
        sent += 1;
    }
    sent
}

fn receive(job: &Job, connection: &Connection) -> Vec<u64> {
    let (mut datagram, mut latencies) = (Vec::new(), Vec::with_capacity(1 << 22));
    while let Some(Ok(())) = connection.recv_timeout(&mut datagram, Duration::from_millis(500)) {
        latencies.push(job.latency(&datagram));
    }
    latencies
}
