//! Messages with their own priority, lifetime and queueing method: `cargo run --package headway-net --example
//! messages`
//!
//! This is the programming interface of the SFDPS paper (section 4.3), which passes the three as control data of
//! `sendmsg`. The messages wait until the connection is established; the first one is part of the handshake.

use headway_net::{Duration, Endpoint, Event, Fate, Media, MediaKind, Options, QueueMethod, Trust};
use std::error::Error;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::server()?;
    let server = Endpoint::server("127.0.0.1:0".parse()?, &options)?;
    let fingerprint = options.fingerprint().ok_or("no DTLS")?;
    // The default queue, sure-first, compares all waiting messages and excludes methods of single messages.
    let options = Options::client(Trust::Fingerprints(vec![fingerprint]))?.with_queue("sfdps2")?;
    let client = Endpoint::client(&options)?;
    let connection = client.connect(server.local_addr())?;

    let (sfdps1, unmodified) = (QueueMethod::named("sfdps1")?, QueueMethod::named("fifo")?);
    let (call, at_once) = (Some(Duration::from_secs(10)), Some(Duration::from_nanos(1)));
    let message = |text: &'static str, kind, priority, expires, method| Media {
        kind,
        priority,
        expires,
        method: Some(method),
        ..Media::new(text.as_bytes())
    };
    connection.send_all(&[
        message("hello", MediaKind::Data, 0, None, unmodified),
        message("picture", MediaKind::Video, 1, call, sfdps1),
        message("sound", MediaKind::Audio, 0, call, sfdps1),
        message("old sound", MediaKind::Audio, 0, at_once, sfdps1),
        message("old text", MediaKind::Data, 1, at_once, unmodified),
    ])?;

    let receiver = server.accept().ok_or("the server has ended")?;
    let mut datagram = Vec::new();
    connection.start_close();
    while receiver.recv(&mut datagram).is_ok() {
        println!("received: {}", String::from_utf8_lossy(&datagram));
    }
    while let Some(event) = connection.next_event() {
        if let Event::Media(number, Fate::Unsent { cause, .. }) = event {
            println!("message {number} was not sent: {cause:?}");
        }
    }
    Ok(())
}
