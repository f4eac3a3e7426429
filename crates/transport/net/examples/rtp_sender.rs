//! A camera that sends RTP under SCReAM v2: `cargo run --package headway-net --example rtp_sender`

use headway_net::rtp::{Event, RtpPacket, SessionOptions};
use headway_net::{Duration, Media, MediaKind, Rate, RtpEvent, RtpOptions, RtpSocket};
use std::error::Error;

const FRAMES_PER_SECOND: u64 = 25;
const FIRST: Rate = Rate::from_bits_per_second(300_000);

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let options = RtpOptions::new(SessionOptions::new("scream2")?);
    let viewer = RtpSocket::bind("127.0.0.1:0".parse()?, &options)?;
    let camera = RtpSocket::bind("127.0.0.1:0".parse()?, &options)?;
    camera.connect(viewer.local_addr())?;
    let viewing = std::thread::Builder::new().spawn(move || view(&viewer))?;

    let (mut rate, mut sequence) = (FIRST, 0);
    for frame in 0..2 * FRAMES_PER_SECOND {
        // A frame of zeros takes the place of an encoder's.
        let picture = vec![0; (rate.bits_per_second() / 8 / FRAMES_PER_SECOND).min(100_000) as usize];
        let parts = picture.chunks(1100);
        let last = parts.len() - 1;
        for (index, payload) in parts.enumerate() {
            let (marker, timestamp) = (index == last, (frame * 90_000 / FRAMES_PER_SECOND) as u32);
            let packet =
                RtpPacket { marker, payload_type: 96, sequence, timestamp, ssrc: 7, payload, ..RtpPacket::default() };
            let mut bytes = Vec::new();
            packet.encode(&mut bytes)?;
            sequence = sequence.wrapping_add(1);
            let (kind, expires) = (MediaKind::Video, Some(Duration::from_millis(150)));
            camera.send(Media { kind, expires, ..Media::new(&bytes) })?;
        }
        while let Some(event) = camera.event_timeout(Duration::ZERO) {
            match event {
                RtpEvent::Session(Event::Rate(new)) => rate = new,
                RtpEvent::Breaker(why) => return Err(format!("stopped: {why}").into()),
                _ => {}
            }
        }
        std::thread::park_timeout(std::time::Duration::from_millis(1000 / FRAMES_PER_SECOND));
    }
    let counters = camera.counters();
    println!("encoder rate at the end: {rate}");
    println!("{} of {sequence} packets were sent, {} of them lost", counters.sent_packets, counters.lost_packets);
    drop(camera);
    println!("{} of {sequence} packets arrived", viewing.join().map_err(|_| "the viewer panicked")?);
    Ok(())
}

/// Returns the number of packets that arrived before a pause of a second.
fn view(viewer: &RtpSocket) -> u32 {
    let (mut packets, mut datagram) = (0, Vec::new());
    while let Some(Ok(_)) = viewer.recv_timeout(&mut datagram, Duration::from_secs(1)) {
        packets += 1;
    }
    packets
}
