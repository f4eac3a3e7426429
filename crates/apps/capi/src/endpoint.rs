//! Endpoints: a UDP socket with its connections.

use crate::connection::HeadwayConnection;
use crate::failure::Failure;
use crate::options::HeadwayOptions;
use headway_net::{Closed, Duration, Endpoint};
use std::net::{SocketAddr, ToSocketAddrs};
use std::task::{Context, Poll, Waker};

/// A UDP socket, its connections and the thread that serves them. Several threads may use it.
#[derive(Debug)]
pub struct HeadwayEndpoint {
    endpoint: Endpoint,
    listens: bool,
}

impl HeadwayEndpoint {
    pub(crate) fn open(options: &HeadwayOptions) -> Result<Self, Failure> {
        Ok(Self { endpoint: Endpoint::client(options.checked()?)?, listens: false })
    }

    pub(crate) fn listen(options: &HeadwayOptions, address: &str) -> Result<Self, Failure> {
        let options = options.checked()?;
        Ok(Self { endpoint: Endpoint::server(resolved(address)?, options)?, listens: true })
    }

    pub(crate) fn port(&self) -> u16 {
        self.endpoint.local_addr().port()
    }

    pub(crate) fn connect(&self, address: &str) -> Result<HeadwayConnection, Failure> {
        Ok(HeadwayConnection::new(self.endpoint.connect(resolved(address)?)?))
    }

    pub(crate) fn accept(&self, timeout: Option<Duration>) -> Result<HeadwayConnection, Failure> {
        if !self.listens {
            let message = "it was opened for a client and accepts no connections; expected one of headway_listen";
            return Err(Failure::Argument { name: "endpoint", message: message.into() });
        }
        let accepted = match timeout {
            None => self.endpoint.accept(),
            Some(timeout) => self.endpoint.accept_timeout(timeout),
        };
        // Without a connection, either the timeout has passed or the socket has failed.
        let accepted = accepted.map_or_else(
            || self.endpoint.poll_accept(&Context::from_waker(Waker::noop())),
            |one| Poll::Ready(Some(one)),
        );
        match accepted {
            Poll::Ready(Some(connection)) => Ok(HeadwayConnection::new(connection)),
            Poll::Ready(None) => Err(Closed::Socket.into()),
            Poll::Pending => Err(Failure::Timeout),
        }
    }
}

/// Returns the first address of a host and port.
fn resolved(address: &str) -> Result<SocketAddr, Failure> {
    let wrong = |why: String| Failure::Argument {
        name: "address",
        message: format!("\"{address}\" is not an address ({why}); expected HOST:PORT, such as 192.0.2.1:5004"),
    };
    let mut all = address.to_socket_addrs().map_err(|error| wrong(error.to_string()))?;
    all.next().ok_or_else(|| wrong("the host has no address".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_host_and_a_port() {
        assert_eq!(resolved("127.0.0.1:5004").unwrap(), SocketAddr::from(([127, 0, 0, 1], 5004)));
        assert_eq!(resolved("[::1]:5004").unwrap().port(), 5004);
        for wrong in ["", "127.0.0.1", "127.0.0.1:70000"] {
            assert!(resolved(wrong).unwrap_err().to_string().contains("HOST:PORT"), "{wrong}");
        }
    }

    /// A client would wait for ever.
    #[test]
    fn a_client_accepts_no_connections() {
        let endpoint = HeadwayEndpoint::open(&HeadwayOptions::insecure()).unwrap();
        assert!(endpoint.accept(None).unwrap_err().to_string().contains("headway_listen"));
    }

    #[test]
    fn a_server_without_clients_accepts_none() {
        let endpoint = HeadwayEndpoint::listen(&HeadwayOptions::insecure(), "127.0.0.1:0").unwrap();
        assert!(matches!(endpoint.accept(Some(Duration::ZERO)), Err(Failure::Timeout)));
    }
}
