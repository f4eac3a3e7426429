//! What carries a flow: two endpoints, or two plain sockets.

use crate::ends::Ends;
use crate::program::Program;
use crate::sender::{self, Sent};
use crate::time::Time;
use crate::{receiver, udp};
use headway_net::{Endpoint, EndpointError, Options};
use headway_units::Duration;
use std::io;
use std::net::SocketAddr;

/// The sending end first.
#[derive(Debug)]
pub(crate) enum Carrier {
    /// DCCP.
    Dccp([Endpoint; 2]),
    /// Datagrams that go at once.
    Udp([udp::Socket; 2]),
}

impl Carrier {
    /// Both ends on this address; UDP, if there are no options.
    pub(crate) fn open(address: SocketAddr, options: Option<&[Options; 2]>) -> Result<Self, EndpointError> {
        Ok(match options {
            Some([client, server]) => Self::Dccp([Endpoint::client(client)?, Endpoint::server(address, server)?]),
            None => Self::Udp([udp::Socket::bind(address)?, udp::Socket::bind(address)?]),
        })
    }

    /// Where the receiving end is.
    pub(crate) fn receiver(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Dccp([_, server]) => Ok(server.local_addr()),
            Self::Udp([_, receiver]) => receiver.address(),
        }
    }

    /// Runs the sending end.
    pub(crate) fn send(
        &self,
        program: Program,
        to: SocketAddr,
        ends: &Ends,
        time: &Time,
        interval: Option<Duration>,
    ) -> Sent {
        match self {
            Self::Dccp([client, _]) => sender::send(client, program, to, ends, time, interval),
            Self::Udp([sender, _]) => udp::send(sender, program, to, ends, time),
        }
    }

    /// Runs the receiving end.
    pub(crate) fn receive(&self, ends: &Ends, time: &Time) {
        match self {
            Self::Dccp([_, server]) => receiver::receive(server, ends, time),
            Self::Udp([_, receiver]) => udp::receive(receiver, ends, time),
        }
    }
}
