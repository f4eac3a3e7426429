//! The program at the receiving end of a flow: it reads.

use crate::ends::Ends;
use crate::time::Time;
use headway_net::Endpoint;

/// Reads what comes to this server until the run is over.
pub(crate) fn receive(server: &Endpoint, ends: &Ends, time: &Time) {
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
        let come = connection.recv_timeout(&mut datagram, time.wait(time.now(), None));
        let now = time.now();
        if time.is_over(now) {
            return;
        }
        match come {
            Some(Ok(())) => ends.came(now, &datagram),
            Some(Err(_)) => return,
            None => {}
        }
    }
}
