//! Listeners: a UDP socket with the connections that it accepts.

use super::connection::{self, Connection};
use super::failure;
use super::operation::{Operation, Outcome};
use super::options::Options;
use headway_net::Endpoint;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// A listener. Its socket is closed after its connections.
#[pyclass(frozen, module = "headway._native")]
pub(crate) struct Listener {
    /// `None` once it is closed.
    endpoint: Mutex<Option<Arc<Endpoint>>>,
    #[pyo3(get)]
    host: String,
    #[pyo3(get)]
    port: u16,
    #[pyo3(get)]
    fingerprint: Option<String>,
}

#[pymethods]
impl Listener {
    /// Waits for a peer.
    fn accept(&self) -> Operation {
        let endpoint = self.endpoint.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Operation::new("no peer connected", async move {
            let accepted = match endpoint {
                Some(endpoint) => endpoint.accept_async().await,
                None => None,
            };
            Ok(Outcome::Accepted(accepted.map(Connection::new)))
        })
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            let endpoint = self.endpoint.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(endpoint) = endpoint {
                endpoint.stop_accepting();
            }
        });
    }
}

/// Opens a socket at this address and accepts connections.
#[pyfunction]
pub(crate) fn listen(py: Python<'_>, options: &Options, host: &str, port: u16, scope: u32) -> PyResult<Listener> {
    let local = connection::address(host, port, scope)?;
    let endpoint = py.detach(|| Endpoint::server(local, &options.0));
    let endpoint = endpoint.map_err(|error| failure::endpoint(py, &format!("cannot listen at {local}"), &error))?;
    let local = endpoint.local_addr();
    Ok(Listener {
        endpoint: Mutex::new(Some(Arc::new(endpoint))),
        host: local.ip().to_string(),
        port: local.port(),
        fingerprint: options.0.fingerprint().map(|fingerprint| fingerprint.to_string()),
    })
}
