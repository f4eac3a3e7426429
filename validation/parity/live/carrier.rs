//! Transport of a flow: two DCCP endpoints, or two UDP sockets.

use crate::application::Application;
use crate::meters::Meters;
use crate::sender::{self, Sent};
use crate::time::Time;
use crate::{receiver, udp};
use headway_net::{Endpoint, EndpointError, Options};
use headway_units::Duration;
use std::io;
use std::net::SocketAddr;

/// Both ends of a flow, the sender first.
#[derive(Debug)]
pub(crate) enum Carrier {
    /// DCCP endpoints.
    Dccp([Endpoint; 2]),
    /// UDP sockets, which send datagrams immediately.
    Udp([udp::Socket; 2]),
}

impl Carrier {
    /// Opens both ends on this address; UDP without `options`.
    pub(crate) fn open(address: SocketAddr, options: Option<&[Options; 2]>) -> Result<Self, EndpointError> {
        Ok(match options {
            Some([client, server]) => Self::Dccp([Endpoint::client(client)?, Endpoint::server(address, server)?]),
            None => Self::Udp([udp::Socket::bind(address)?, udp::Socket::bind(address)?]),
        })
    }

    /// Returns the address of the receiver.
    pub(crate) fn receiver(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Dccp([_, server]) => Ok(server.local_addr()),
            Self::Udp([_, receiver]) => receiver.address(),
        }
    }

    /// Runs the sender.
    pub(crate) fn send(
        &self,
        application: Application,
        to: SocketAddr,
        meters: &Meters,
        time: &Time,
        interval: Option<Duration>,
    ) -> Sent {
        match self {
            Self::Dccp([client, _]) => sender::send(client, application, to, meters, time, interval),
            Self::Udp([sender, _]) => udp::send(sender, application, to, meters, time),
        }
    }

    /// Runs the receiver.
    pub(crate) fn receive(&self, meters: &Meters, time: &Time) {
        match self {
            Self::Dccp([_, server]) => receiver::receive(server, meters, time),
            Self::Udp([_, receiver]) => udp::receive(receiver, meters, time),
        }
    }
}
