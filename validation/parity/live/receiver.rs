//! The receiving application of a DCCP flow.

use crate::meters::Meters;
use crate::time::Time;
use headway_net::Endpoint;

/// Accepts the connection and reads datagrams until the end of the run.
pub(crate) fn receive(server: &Endpoint, meters: &Meters, time: &Time) {
    let connection = loop {
        let now = time.now();
        if time.is_over(now) {
            return;
        }
        if let Some(connection) = server.accept_timeout(time.wait(now, None)) {
            break connection;
        }
    };
    let mut datagram = Vec::new();
    loop {
        let received = connection.recv_timeout(&mut datagram, time.wait(time.now(), None));
        let now = time.now();
        if time.is_over(now) {
            return;
        }
        match received {
            Some(Ok(())) => meters.on_received(now, &datagram),
            Some(Err(_)) => return,
            None => {}
        }
    }
}
