//! Headway: `CONTROLLER` or `CONTROLLER+dtls`.

use crate::{Done, Job, Kind, cpu, sleep_until};
use headway_net::{Connection, Duration, Endpoint, Media, Options, Trust};
use std::time::Instant;

const MOST_WAITING: usize = 256;

pub fn run(job: &Job, transport: &str) -> Done {
    let (controller, dtls) = transport.strip_suffix("+dtls").map_or((transport, false), |controller| (controller, true));
    let options = if dtls { Options::client(Trust::Anyone).unwrap() } else { Options::insecure() };
    let options = Options { follow: false, unread: 1 << 20, ..options }.with_controller(controller).unwrap();
    let mut options = options;
    if std::env::var_os("NOGAP").is_some() { options.connection.report_gap = None; options.connection.tail_ack = None; }
    let server = Endpoint::server("127.0.0.1:0".parse().unwrap(), &options).unwrap();
    let client = Endpoint::server("127.0.0.1:0".parse().unwrap(), &options).unwrap();
    let connection = client.connect(server.local_addr()).unwrap();
    connection.connected().unwrap();
    let accepted = server.accept().unwrap();
    let before = cpu();
    let receiver = {
        let job = job.clone();
        std::thread::spawn(move || receive(&job, &accepted))
    };
    let begin = Instant::now();
    let sent = send(job, &connection, begin);
    let wall = begin.elapsed().as_secs_f64();
    if std::env::var_os("STATUS").is_some() {
        eprintln!("{:#?}\n{:#?}\n{:#?}", connection.status(), client.counters(), server.counters());
    }
    let latencies = receiver.join().unwrap();
    Done { sent, latencies, wall, before }
}

fn send(job: &Job, connection: &Connection, begin: Instant) -> u64 {
    let (mut datagram, mut sent) = (vec![0; job.length], 0);
    while let Some(due) = job.due(begin, sent) {
        sleep_until(due);
        job.stamp(&mut datagram);
        match job.kind {
            Kind::Rate => drop(connection.send(Media::new(&datagram)).unwrap()),
            Kind::Flood => {
                connection.room(MOST_WAITING);
                connection.send(Media::new(&datagram)).unwrap();
            }
            Kind::Batch => {
                connection.room(MOST_WAITING - 64);
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
