//! Cost of a datagram in the DTLS library alone: a record is sealed and opened.

use dimpl::{Config, Dtls, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub fn run(seconds: f64, length: usize) {
    let config = Arc::new(Config::builder().require_client_certificate(false).build().unwrap());
    let certificate = || dimpl::certificate::generate_self_signed_certificate().unwrap();
    let now = Instant::now();
    let mut ends = [Dtls::new_13(Arc::clone(&config), certificate(), now), Dtls::new_13(config, certificate(), now)];
    ends[0].set_active(true);
    let mut buffer = vec![0; 1 << 16];
    // The handshake has no losses.
    let mut connected = 0;
    for end in &mut ends {
        end.handle_timeout(now).unwrap();
    }
    while connected < 2 {
        for from in 0..2 {
            let mut datagrams = Vec::new();
            loop {
                match ends[from].poll_output(&mut buffer) {
                    Output::Packet(packet) => datagrams.push(packet.to_vec()),
                    Output::Connected => connected += 1,
                    Output::Timeout(_) => break,
                    _ => {}
                }
            }
            datagrams.iter().for_each(|datagram| ends[1 - from].handle_packet(datagram).unwrap());
        }
    }
    let (payload, mut sealed, mut opened, mut many) = (vec![7; length], Duration::ZERO, Duration::ZERO, 0u32);
    let mut record = Vec::new();
    while (sealed + opened).as_secs_f64() < seconds {
        let begin = Instant::now();
        ends[0].send_application_data(&payload).unwrap();
        loop {
            match ends[0].poll_output(&mut buffer) {
                Output::Packet(packet) => {
                    record.clear();
                    record.extend_from_slice(packet);
                }
                Output::Timeout(_) => break,
                _ => {}
            }
        }
        let between = Instant::now();
        ends[1].handle_packet(&record).unwrap();
        loop {
            match ends[1].poll_output(&mut buffer) {
                Output::ApplicationData(data) => assert_eq!(data.len(), length),
                Output::Timeout(_) => break,
                _ => {}
            }
        }
        sealed += between - begin;
        opened += between.elapsed();
        many += 1;
    }
    let each = |all: Duration| all.as_nanos() as f64 / f64::from(many);
    println!("{:.1} {:.1}", each(sealed), each(opened));
}
