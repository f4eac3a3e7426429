//! A sensor: `cargo run --package headway-net --example sensor`
//!
//! It sends a reading each second and sleeps in between. A reading expires after ten seconds and is retransmitted if
//! lost. The outcome of each reading is reported, so a sensor that stores its readings can delete those that have
//! arrived.

use headway_net::{Clock, Duration, Endpoint, Event, Media, Options, Trust};
use std::error::Error;

const READINGS: u64 = 3;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::server()?;
    let server = Endpoint::server("127.0.0.1:0".parse()?, &options)?;
    let sensor = Options::client(Trust::Fingerprints(vec![options.fingerprint().ok_or("no DTLS")?]))?;
    let connection = Endpoint::client(&sensor)?.connect(server.local_addr())?;
    let station = std::thread::Builder::new().spawn(move || {
        let (mut datagram, mut readings) = (Vec::new(), 0);
        if let Some(connection) = server.accept() {
            while connection.recv(&mut datagram).is_ok() {
                println!("the station has {}", String::from_utf8_lossy(&datagram));
                readings += 1;
            }
        }
        readings
    })?;
    let clock = Clock::new();
    let mut due = clock.now();
    for n in 0..READINGS {
        let reading = format!("{}.{n} degrees", 20 + n);
        let media = Media { expires: Some(Duration::from_secs(10)), ..Media::new(reading.as_bytes()) };
        let number = connection.send(media)?;
        // The sensor waits for the outcome or the next reading; the socket's thread does the rest.
        due += Duration::from_secs(1);
        while due > clock.now() {
            match connection.event_timeout(due.since(clock.now())) {
                Some(Event::Media(id, fate)) if id == number && fate.is_final() => {
                    println!("reading {n}: {fate:?}");
                }
                Some(Event::Closed(why)) => return Err(why.into()),
                _ => {}
            }
        }
    }
    println!("over: {}", connection.close());
    println!("{} of {READINGS} readings arrived", station.join().map_err(|_| "the station panicked")?);
    Ok(())
}
