//! Both endpoints over UDP on this machine (RFC 6773): `cargo run --package headway-dccp --example udp`
#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "a program has a clock and sockets")]
use headway_dccp::{ConnectionOptions, Endpoint, EndpointOptions, Outbox, Path, ServiceCode, State, Transmit};
use headway_units::{Dialect, Ecn, Entropy, Instant, Options};
use std::{error::Error, hash::BuildHasher, hash::RandomState, iter::from_fn, net::UdpSocket, time::Duration};

/// Random bits from the standard library, whose hash keys are seeded by the system.
#[derive(Debug)]
struct System;
impl Entropy for System {
    fn bits(&mut self) -> u64 {
        RandomState::new().hash_one(())
    }
    fn stream(&mut self, _: &str) -> Box<dyn Entropy> {
        Box::new(Self)
    }
}
/// Number of datagrams of 1000 bytes to send.
#[derive(Default)]
struct Left(u32);
impl Outbox for Left {
    fn next_len(&mut self, _: Instant) -> Option<usize> {
        (self.0 > 0).then_some(1000)
    }
    fn take(&mut self, _: Instant) -> Option<&[u8]> {
        self.0 = self.0.checked_sub(1)?;
        Some(&[7; 1000])
    }
}
fn main() -> Result<(), Box<dyn Error>> {
    let (start, mut buf, mut arrived) = (std::time::Instant::now(), vec![0; 65_536], 0);
    let now = || Instant::from_nanos(start.elapsed().as_nanos() as u64);
    let sockets = [UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?];
    let path = Path::Udp { local: sockets[0].local_addr()?, remote: sockets[1].local_addr()? };
    // Sockets of the standard library support neither ECN nor segmentation offload.
    let options = ConnectionOptions { ecn: false, ..ConnectionOptions::preset(Dialect::Rfc) };
    let mut ends = [(); 2].map(|()| Endpoint::new(EndpointOptions { segments: 1, ..Default::default() }, System));
    ends[1].listen(now(), 5004, &options, &[ServiceCode(7)])?;
    let client = ends[0].connect(now(), path, 5004, ServiceCode(7), &options, Left(1000))?;
    while now() < Instant::from_secs(10) && ends[0].connection(client).is_some_and(|it| it.state() < State::TimeWait) {
        for (end, socket) in ends.iter_mut().zip(&sockets) {
            socket.set_read_timeout(Some(Duration::from_millis(1)))?;
            while let Ok((len, remote)) = socket.recv_from(&mut buf) {
                let path = Path::Udp { local: socket.local_addr()?, remote };
                arrived += end.handle_datagram(now(), path, Ecn::NotEct, &buf[..len]).into_iter().flatten().count();
            }
            end.handle_timeout(now());
            while let Some(Transmit { path: Path::Udp { remote, .. }, len, .. }) = end.poll_transmit(now(), &mut buf) {
                socket.send_to(&buf[..len], remote)?;
            }
            from_fn(|| end.poll_event()).for_each(|event| println!("{event:?}"));
        }
        if ends[0].outbox_mut(client).is_some_and(|left| left.0 == 0) {
            ends[0].connection_mut(client).ok_or("no connection")?.close(now());
        }
    }
    println!("{arrived} of 1000 datagrams arrived in {:.3} s", now().as_secs_f64());
    Ok(())
}
