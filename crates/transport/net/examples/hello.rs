//! A stream of media from one end to the other: `cargo run --package headway-net --example hello`

use headway_net::{Duration, Endpoint, Media, MediaKind, Options, Trust};
use std::error::Error;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::server()?;
    let server = Endpoint::server("127.0.0.1:0".parse()?, &options)?;
    // The client needs the fingerprint of the server, from another channel.
    let fingerprint = options.fingerprint().ok_or("no DTLS")?;
    let client = Endpoint::client(&Options::client(Trust::Fingerprints(vec![fingerprint]))?)?;
    let connection = client.connect(server.local_addr())?;
    let receiver = std::thread::Builder::new().spawn(move || {
        let (mut datagram, mut bytes) = (Vec::new(), 0);
        if let Some(connection) = server.accept() {
            while connection.recv(&mut datagram).is_ok() {
                bytes += datagram.len();
            }
        }
        bytes
    })?;
    let audio = Media { kind: MediaKind::Audio, expires: Some(Duration::from_millis(150)), ..Media::new(&[8; 160]) };
    for _ in 0..50 {
        connection.send(audio)?;
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    }
    println!("over: {}", connection.close());
    println!("{} bytes of 8000 arrived", receiver.join().map_err(|_| "the receiver panicked")?);
    Ok(())
}
