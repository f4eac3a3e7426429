//! Two sessions over a path that loses and marks packets. Prints each datagram and each arrival, one per line, for
//! `validation/rtp/run`.
//!
//! ```text
//! sent  TIME_US A|B rtp|rtcp HEX      A sends two streams, B only feedback and reports
//! lost  TIME_US A rtp HEX
//! arrived TIME_US SSRC SEQUENCE ECN   at B, by the clock of B
//! ```

use headway_rtp::{
    Duration, Ecn, Handled, Instant, Media, MediaKind, Random, RtpExtension, RtpPacket, Session, SessionOptions,
};
use std::collections::VecDeque;
use std::error::Error;
use std::fmt::Write;

const DELAY: Duration = Duration::from_millis(30);
/// Time of B's clock at zero of A's.
const OFFSET: Duration = Duration::from_secs(40);
const END_MS: u64 = 20_000;

fn session(start: Instant, ssrc: u32, name: &str) -> Result<Session, Box<dyn Error>> {
    let mut options = SessionOptions::new("scream2")?;
    (options.ssrc, options.cname, options.ecn) = (Some(ssrc), Some(name.into()), true);
    options.clock_rates.insert(96, 90_000);
    Ok(Session::new(start, options, Random::new(ssrc.into(), "exchange"))?)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let start = Instant::ZERO;
    let mut a = session(start, 0x0a00_0001, "a@example.org")?;
    let mut b = session(start + OFFSET, 0x0b00_0001, "b@example.org")?;
    let (mut to_b, mut to_a) = (VecDeque::new(), VecDeque::new());
    let (mut count, mut datagram) = (0_u64, Vec::new());
    for ms in 0..=END_MS {
        let now = Instant::from_millis(ms);
        let us = ms * 1000;
        // Video with a contributing source, an extension and padding each 10 ms, and sound each 20 ms.
        if ms % 10 == 0 {
            let packet = RtpPacket {
                marker: ms % 40 == 30,
                payload_type: 96,
                sequence: (65_000 + ms / 10) as u16,
                timestamp: (90 * ms) as u32,
                ssrc: 0x0a00_0001,
                csrcs: &[[1, 2, 3, 4]],
                extension: Some(RtpExtension { profile: 0xbede, data: &[0x10, 9, 0, 0] }),
                payload: &[7; 500],
                padding: 4,
            };
            let mut bytes = Vec::new();
            packet.encode(&mut bytes)?;
            a.send(now, Media { kind: MediaKind::Video, priority: 1, ..Media::new(now, bytes) })?;
        }
        if ms % 20 == 0 {
            let (sequence, timestamp) = ((ms / 20) as u16, (8 * ms) as u32);
            let sound =
                RtpPacket { sequence, timestamp, ssrc: 0x0a00_0002, payload: &[8; 160], ..RtpPacket::default() };
            let mut bytes = Vec::new();
            sound.encode(&mut bytes)?;
            a.send(now, Media { kind: MediaKind::Audio, ..Media::new(now, bytes) })?;
        }
        if ms == END_MS {
            a.close(now);
        }
        a.handle_timeout(now);
        b.handle_timeout(now + OFFSET);
        while let Some(transmit) = a.poll_transmit(now, &mut datagram) {
            count += 1;
            let kind = if transmit.is_rtcp { "rtcp" } else { "rtp" };
            let is_lost = !transmit.is_rtcp && count % 17 == 0;
            println!("{} {us} A {kind} {}", if is_lost { "lost" } else { "sent" }, hex(&datagram));
            if !is_lost {
                let ecn = if count % 11 == 0 && !transmit.is_rtcp { Ecn::Ce } else { transmit.ecn };
                to_b.push_back((now + DELAY, ecn, datagram.clone()));
            }
        }
        while b.poll_transmit(now + OFFSET, &mut datagram).is_some() {
            println!("sent {us} B rtcp {}", hex(&datagram));
            to_a.push_back((now + DELAY, datagram.clone()));
        }
        while let Some((_, ecn, bytes)) = to_b.pop_front_if(|(at, ..)| *at <= now) {
            if let Handled::Rtp(packet) = b.handle(now + OFFSET, &bytes, ecn)? {
                let clock_us = (now + OFFSET).as_nanos() / 1000;
                println!("arrived {clock_us} {} {} {}", packet.ssrc, packet.sequence, ecn as u8);
            }
        }
        while let Some((_, bytes)) = to_a.pop_front_if(|(at, _)| *at <= now) {
            a.handle(now, &bytes, Ecn::NotEct)?;
        }
    }
    Ok(())
}
