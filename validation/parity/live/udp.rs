//! Both ends of a UDP flow: the sender sends datagrams immediately.
#![expect(clippy::disallowed_types, reason = "an application that sends plain UDP has a socket")]

use crate::application::Application;
use crate::meters::Meters;
use crate::sender::Sent;
use crate::time::Time;
use std::io;
use std::net::{SocketAddr, UdpSocket};

/// Size of the receive buffer, above the largest UDP payload.
const BUFFER_BYTES: usize = 65_535;
/// Timeout of a read, after which the receiver checks whether the run has ended.
const READ_TIMEOUT: std::time::Duration = std::time::Duration::from_millis(50);

/// Socket of one end.
#[derive(Debug)]
pub(crate) struct Socket(UdpSocket);

impl Socket {
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        socket.set_read_timeout(Some(READ_TIMEOUT))?;
        Ok(Self(socket))
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// Sends until the application stops or the run meters.
pub(crate) fn send(
    socket: &Socket,
    mut application: Application,
    to: SocketAddr,
    meters: &Meters,
    time: &Time,
) -> Sent {
    if !time.sleep(application.start) {
        return Sent::default();
    }
    loop {
        let now = time.now();
        if time.is_over(now) || application.has_stopped(now) {
            return Sent::default();
        }
        for (datagram, _) in application.write(now, meters) {
            if let Err(error) = socket.0.send_to(&datagram, to) {
                return Sent::failed(&error);
            }
        }
        if !time.sleep(application.next(meters).unwrap_or(time.end)) {
            return Sent::default();
        }
    }
}

/// Reads datagrams until the end of the run.
pub(crate) fn receive(socket: &Socket, meters: &Meters, time: &Time) {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let received = socket.0.recv(&mut buffer);
        let now = time.now();
        if time.is_over(now) {
            return;
        }
        if let Some(datagram) = received.ok().and_then(|len| buffer.get(..len)) {
            meters.on_received(now, datagram);
        }
    }
}
