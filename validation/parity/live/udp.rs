//! Both ends of a flow without a connection: what the program has goes at once.
#![expect(clippy::disallowed_types, reason = "a program that sends plain UDP has a socket")]

use crate::ends::Ends;
use crate::program::Program;
use crate::sender::Sent;
use crate::time::Time;
use std::io;
use std::net::{SocketAddr, UdpSocket};

/// The largest payload.
const LARGEST: usize = 65_535;
/// So long nothing looks whether the run is over.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(50);

/// One of the ends' sockets.
#[derive(Debug)]
pub(crate) struct Socket(UdpSocket);

impl Socket {
    /// On this address.
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        Ok(Self(socket))
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// Sends until the program stops or the run is over.
pub(crate) fn send(socket: &Socket, mut program: Program, to: SocketAddr, ends: &Ends, time: &Time) -> Sent {
    if !time.sleep(program.start) {
        return Sent::default();
    }
    loop {
        let now = time.now();
        if time.is_over(now) || program.has_stopped(now) {
            return Sent::default();
        }
        for (datagram, _) in program.write(now, ends) {
            if let Err(error) = socket.0.send_to(&datagram, to) {
                return Sent::failed(&error);
            }
        }
        if !time.sleep(program.next(ends).unwrap_or(time.end)) {
            return Sent::default();
        }
    }
}

/// Reads what comes until the run is over.
pub(crate) fn receive(socket: &Socket, ends: &Ends, time: &Time) {
    let mut buffer = vec![0; LARGEST];
    loop {
        let come = socket.0.recv(&mut buffer);
        let now = time.now();
        if time.is_over(now) {
            return;
        }
        if let Some(datagram) = come.ok().and_then(|len| buffer.get(..len)) {
            ends.came(now, datagram);
        }
    }
}
