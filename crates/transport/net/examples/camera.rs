//! A camera that follows the rate: `cargo run --package headway-net --example camera`
//!
//! Each 40 ms it sends one frame, as large as the encoder rate allows and split into datagrams, and two sound
//! datagrams of 160 B, which have a higher priority. Datagrams that would arrive after 150 ms are not sent. The
//! camera ends after two seconds.

use headway_net::{Connection, Duration, Endpoint, Media, MediaKind, Options, Rate, Trust};
use std::error::Error;

const FRAMES_PER_SECOND: u64 = 25;
/// Rate of the encoder before the first report.
const FIRST: Rate = Rate::from_bits_per_second(300_000);
/// In a call, late sound and pictures are useless.
const EXPIRES: Option<Duration> = Some(Duration::from_millis(150));
const SOUND: u8 = 0;
const PICTURE: u8 = 1;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::server()?;
    let server = Endpoint::server("127.0.0.1:0".parse()?, &options)?;
    let fingerprint = options.fingerprint().ok_or("no DTLS")?;
    let client = Endpoint::client(&Options::client(Trust::Fingerprints(vec![fingerprint]))?)?;
    let connection = client.connect(server.local_addr())?;
    let viewer = std::thread::Builder::new().spawn(move || server.accept().map(|connection| view(&connection)))?;

    connection.connected()?;
    for number in 0..2 * FRAMES_PER_SECOND as u8 {
        let rate = connection.rate().unwrap_or(FIRST);
        send_sound(&connection)?;
        send_frame(&connection, number, rate)?;
        std::thread::park_timeout(std::time::Duration::from_millis(20));
        send_sound(&connection)?;
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    }
    println!("final encoder rate: {}", connection.rate().unwrap_or(FIRST));
    println!("over: {}", connection.close());
    let (sounds, frames) = viewer.join().map_err(|_| "the viewer panicked")?.ok_or("no camera connected")?;
    println!("{sounds} of 100 sounds and {frames} of 50 frames arrived");
    Ok(())
}

fn send_sound(connection: &Connection) -> Result<(), Box<dyn Error>> {
    let sound = [SOUND; 161];
    connection.send(Media { kind: MediaKind::Audio, priority: 0, expires: EXPIRES, ..Media::new(&sound) })?;
    Ok(())
}

/// Sends a frame of zeros in place of an encoder's. Each part starts with its type, the frame number and the number
/// of parts.
fn send_frame(connection: &Connection, number: u8, rate: Rate) -> Result<(), Box<dyn Error>> {
    // A frame without all parts is useless, so it should not have hundreds.
    let bytes = (rate.bits_per_second() / 8 / FRAMES_PER_SECOND).min(100_000) as usize;
    let parts = bytes.div_ceil(connection.largest() - 3).max(1);
    let mut part = vec![0; 3 + bytes / parts];
    part[..3].copy_from_slice(&[PICTURE, number, parts as u8]);
    let media = Media { kind: MediaKind::Video, priority: 1, expires: EXPIRES, ..Media::new(&part) };
    connection.send_all(&vec![media; parts])?;
    Ok(())
}

/// Returns the number of sounds and of complete frames.
fn view(connection: &Connection) -> (u32, u32) {
    let (mut sounds, mut frames) = (0, 0);
    let (mut datagram, mut frame, mut received) = (Vec::new(), None, 0);
    while connection.recv(&mut datagram).is_ok() {
        match datagram[..] {
            [SOUND, ..] => sounds += 1,
            [PICTURE, number, parts, ..] => {
                if frame.replace(number) != Some(number) {
                    received = 0;
                }
                received += 1;
                frames += u32::from(received == parts);
            }
            _ => {}
        }
    }
    (sounds, frames)
}
