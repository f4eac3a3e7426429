//! A sensor: `cargo run --package headway-net --example sensor`
//!
//! A reading each second, and sleep between. A reading is of use for ten seconds, and goes again if it is lost. What became of each is told:
//! a sensor that keeps its readings can forget those that have arrived.

use headway_net::{Clock, Duration, Endpoint, Event, Media, Options, Trust};
use std::error::Error;

const READINGS: u64 = 3;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::server()?;
    let server = Endpoint::server("127.0.0.1:0".parse()?, &options)?;
    let mut sensor = Options::client(Trust::Fingerprints(vec![options.fingerprint().ok_or("no DTLS")?]))?;
    sensor.queue.rules.resend = true;
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
        // The sensor sleeps when it knows, or when the next reading is due; the socket's thread does what is left to do.
        due += Duration::from_secs(1);
        while due > clock.now() {
            match connection.event_timeout(due.since(clock.now())) {
                Some(Event::Media(told, fate)) if told == number && fate.is_final() => {
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
