//! Connections.

use super::failure::{self, argument};
use super::operation::{Operation, Outcome};
use super::options::Options;
use headway_net::{Endpoint, Media, MediaKind};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::sync::Arc;

/// A connection. Dropping the last reference closes it without waiting.
#[pyclass(frozen, module = "headway._native")]
pub(crate) struct Connection(Arc<headway_net::Connection>);

impl Connection {
    pub(super) fn new(connection: headway_net::Connection) -> Self {
        Self(Arc::new(connection))
    }
}

#[pymethods]
impl Connection {
    /// Waits until the connection is established.
    fn connected(&self) -> Operation {
        let connection = Arc::clone(&self.0);
        Operation::new("the connection was not established", async move {
            connection.connected_async().await.map(|()| Outcome::Done)
        })
    }

    /// Waits for a datagram.
    fn recv(&self) -> Operation {
        let connection = Arc::clone(&self.0);
        Operation::new("no datagram arrived", async move {
            let mut datagram = Vec::new();
            connection.recv_async(&mut datagram).await.map(|()| Outcome::Datagram(datagram))
        })
    }

    /// Waits for an event.
    fn next_event(&self) -> Operation {
        let connection = Arc::clone(&self.0);
        Operation::new("no event occurred", async move { Ok(Outcome::Event(connection.event_async().await)) })
    }

    /// Waits for the end of the connection.
    fn closed(&self) -> Operation {
        let connection = Arc::clone(&self.0);
        Operation::new("the connection was not closed", async move {
            connection.closed_async().await;
            Ok(Outcome::Done)
        })
    }

    /// Queues a datagram. Its deadline is in s from now.
    fn send(&self, py: Python<'_>, data: &[u8], deadline: Option<f64>, priority: u8, kind: &str) -> PyResult<u64> {
        let known = MediaKind::ALL.map(MediaKind::name);
        let kind = MediaKind::ALL.into_iter().find(|known| known.name() == kind).ok_or_else(|| {
            argument("kind", format_args!("\"{kind}\" is unknown; expected one of {}", known.join(", ")))
        })?;
        let expires = deadline.map(lifetime).transpose()?.flatten();
        let media = Media { kind, priority, expires, ..Media::new(data) };
        py.detach(|| self.0.send(media)).map_err(|error| failure::send(py, &error))
    }

    /// Starts to close the connection. Queued datagrams are sent for up to 1 s.
    fn start_close(&self, py: Python<'_>) {
        py.detach(|| self.0.start_close());
    }

    #[getter]
    fn peer(&self) -> Option<String> {
        self.0.remote_addr().map(|address| address.to_string())
    }

    #[getter]
    fn rate_bps(&self) -> Option<u64> {
        self.0.encoding_rate().map(|rate| rate.bits_per_second())
    }

    #[getter]
    fn largest_bytes(&self) -> usize {
        self.0.largest()
    }

    /// Returns the fields of the package's `Statistics`; None if the connection is closed.
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(status) = py.detach(|| self.0.status()) else { return Ok(None) };
        let counters = status.counters;
        let all = PyDict::new(py);
        all.set_item("controller", status.send_controller)?;
        all.set_item("rtt_s", status.rtt.map(|rtt| rtt.as_secs_f64()))?;
        all.set_item("rate_bps", self.rate_bps())?;
        for (name, value) in [
            ("queued_bytes", self.0.queued_bytes().count()),
            ("sent_datagrams", counters.sent_data_packets),
            ("sent_bytes", counters.sent_data),
            ("lost_packets", counters.lost_packets),
            ("marked_packets", counters.marked_packets),
            ("acknowledged_packets", counters.acknowledged_packets),
            ("received_datagrams", counters.delivered_packets),
            ("received_bytes", counters.delivered_data),
            ("missing_datagrams", counters.missing_data_packets),
            ("unread_datagrams", self.0.dropped_datagrams()),
        ] {
            all.set_item(name, value)?;
        }
        Ok(Some(all))
    }
}

/// Converts a deadline; `None` if it is too far away for a clock.
fn lifetime(seconds: f64) -> PyResult<Option<headway_net::Duration>> {
    if seconds.is_nan() || seconds < 0.0 {
        return Err(argument("deadline", format_args!("{seconds} is out of range; expected at least 0 s, or None")));
    }
    let lifetime = std::time::Duration::try_from_secs_f64(seconds).ok();
    Ok(lifetime.and_then(|lifetime| u64::try_from(lifetime.as_nanos()).ok()).map(headway_net::Duration::from_nanos))
}

/// Returns the address of a numeric host.
pub(super) fn address(host: &str, port: u16, scope: u32) -> PyResult<SocketAddr> {
    let ip: IpAddr = host.parse().map_err(|error| argument("address", format_args!("\"{host}\": {error}")))?;
    Ok(match ip {
        IpAddr::V4(_) => SocketAddr::new(ip, port),
        IpAddr::V6(ip) => SocketAddrV6::new(ip, port, 0, scope).into(),
    })
}

/// Opens a socket and starts to connect. The socket is closed after the connection.
#[pyfunction]
pub(crate) fn connect(py: Python<'_>, options: &Options, host: &str, port: u16, scope: u32) -> PyResult<Connection> {
    let remote = address(host, port, scope)?;
    let endpoint = py.detach(|| Endpoint::client(&options.0));
    let endpoint = endpoint.map_err(|error| failure::endpoint(py, "cannot open a socket", &error))?;
    let connection = py.detach(|| {
        let connection = endpoint.connect(remote);
        drop(endpoint);
        connection
    });
    let failed = |error| failure::system(py, &format!("cannot connect to {remote}"), &error);
    connection.map(Connection::new).map_err(failed)
}
