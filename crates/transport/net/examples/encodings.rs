//! A camera with five encodings, which sends the one whose scale the receiver announces:
//! `cargo run --package headway-net --example encodings`
//!
//! The controller is UDPm. When they connect, both ends agree on five scales, 200 kb/s apart. All encodings have
//! packets of 1000 B and differ in the time between packets. The camera ends after one second.

use headway_net::{ControllerOptions, Duration, Endpoint, Event, Media, Options, Rate, Trust, UdpmOptions};
use std::error::Error;

const ENCODINGS: [&str; 5] = ["200 kb/s", "400 kb/s", "600 kb/s", "800 kb/s", "1 Mb/s"];
const PACKET: [u8; 1000] = [0; 1000];

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    // The receiver has the default options of the controller; the sender decides the scales.
    let options = Options::server()?.with_controller("udpm")?;
    let server = Endpoint::server("127.0.0.1:0".parse()?, &options)?;
    let fingerprint = options.fingerprint().ok_or("no DTLS")?;
    let camera = Options::client(Trust::Fingerprints(vec![fingerprint]))?;
    let ControllerOptions::Udpm(udpm) = camera.controller_options("udpm")? else { return Err("no UDPm".into()) };
    let five = UdpmOptions { levels: 5, step: Rate::from_bits_per_second(200_000), ..udpm };
    let camera = camera.with_controller_options(ControllerOptions::Udpm(five))?;
    let connection = Endpoint::client(&camera)?.connect(server.local_addr())?;
    let viewer = std::thread::Builder::new().spawn(move || {
        let (mut datagram, mut packets) = (Vec::new(), 0);
        let connection = server.accept()?;
        while connection.recv(&mut datagram).is_ok() {
            packets += 1;
        }
        Some(packets)
    })?;

    connection.connected()?;
    let (mut gap, mut sent, mut announced) = (Duration::from_millis(40), Duration::ZERO, Vec::new());
    while sent < Duration::from_secs(1) {
        while let Some(event) = connection.event_timeout(Duration::ZERO) {
            if let Event::Scale(scale) = event {
                gap = Duration::from_nanos(PACKET.len() as u64 * 8 * 1_000_000_000 / scale.rate.bits_per_second());
                announced.push(scale.index);
                println!("scale {} of {}: {}", scale.index, scale.levels, ENCODINGS[usize::from(scale.index)]);
            }
        }
        connection.send(Media::new(&PACKET))?;
        std::thread::park_timeout(std::time::Duration::from_nanos(gap.as_nanos()));
        sent += gap;
    }
    println!("over: {}", connection.close());
    let packets = viewer.join().map_err(|_| "the viewer panicked")?.ok_or("there was no connection")?;
    println!("{packets} packets arrived");
    if announced.first() != Some(&0) || packets == 0 {
        return Err("no scale was announced".into());
    }
    Ok(())
}
