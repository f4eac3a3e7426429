//! A camera that follows the rate: `cargo run --package headway-net --example camera`
//!
//! Each 40 ms there is a frame, as large as the connection says that it may be, cut into datagrams; and twice 160 B of sound, which goes
//! first. What would be older than 150 ms when it arrives is not sent. After two seconds the camera ends.

use headway_net::{Connection, Duration, Endpoint, Media, MediaKind, Options, Rate, Trust};
use std::error::Error;

const FRAMES_PER_SECOND: u64 = 25;
/// What an encoder begins with, before the first report.
const FIRST: Rate = Rate::from_bits_per_second(300_000);
/// Sound and a picture that is old are of no use in a call.
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
    println!("at last the encoder made {}", connection.rate().unwrap_or(FIRST));
    println!("over: {}", connection.close());
    let (sounds, frames) = viewer.join().map_err(|_| "the viewer panicked")?.ok_or("nobody came")?;
    println!("{sounds} of 100 sounds and {frames} of 50 frames came");
    Ok(())
}

fn send_sound(connection: &Connection) -> Result<(), Box<dyn Error>> {
    let sound = [SOUND; 161];
    connection.send(Media { kind: MediaKind::Audio, priority: 0, expires: EXPIRES, ..Media::new(&sound) })?;
    Ok(())
}

/// An encoder would make the frame; here it is zeros. Before each part of it stand what it is, the frame's number, and how many parts there are.
fn send_frame(connection: &Connection, number: u8, rate: Rate) -> Result<(), Box<dyn Error>> {
    // A frame is of no use without all of its parts: it had better not be hundreds.
    let bytes = (rate.bits_per_second() / 8 / FRAMES_PER_SECOND).min(100_000) as usize;
    let parts = bytes.div_ceil(connection.largest() - 3).max(1);
    let mut part = vec![0; 3 + bytes / parts];
    part[..3].copy_from_slice(&[PICTURE, number, parts as u8]);
    let media = Media { kind: MediaKind::Video, priority: 1, expires: EXPIRES, ..Media::new(&part) };
    connection.send_all(&vec![media; parts])?;
    Ok(())
}

/// How many sounds came, and how many frames whole.
fn view(connection: &Connection) -> (u32, u32) {
    let (mut sounds, mut frames) = (0, 0);
    let (mut datagram, mut frame, mut came) = (Vec::new(), None, 0);
    while connection.recv(&mut datagram).is_ok() {
        match datagram[..] {
            [SOUND, ..] => sounds += 1,
            [PICTURE, number, parts, ..] => {
                if frame.replace(number) != Some(number) {
                    came = 0;
                }
                came += 1;
                frames += u32::from(came == parts);
            }
            _ => {}
        }
    }
    (sounds, frames)
}
