//! Identities of endpoints.

use super::failure::{argument, socket};
use pyo3::prelude::*;

/// Certificate and private key of a client or of a listener.
///
/// Peers authenticate it by the fingerprint of the certificate. An identity is lost at the end of
/// the program unless its `pem` is stored.
#[pyclass(frozen, module = "headway._native")]
pub(crate) struct Identity(pub(super) headway_net::Identity);

#[pymethods]
impl Identity {
    /// Reads an identity from a text in PEM, such as the file of `headway recv --identity`.
    ///
    /// Raises ValueError if the text contains no certificate with its private key (P-256 or P-384).
    #[new]
    fn new(pem: &str) -> PyResult<Self> {
        headway_net::Identity::from_pem(pem).map(Self).map_err(|error| argument("pem", error))
    }

    /// Creates an identity with a new key. Its certificate is valid for a year.
    #[staticmethod]
    fn generate(py: Python<'_>) -> PyResult<Self> {
        headway_net::Identity::generate().map(Self).map_err(|error| socket(py, error.to_string()))
    }

    /// Certificate and private key as a text in PEM. Keep it secret: an attacker with this text can
    /// impersonate this end.
    #[getter]
    fn pem(&self) -> String {
        self.0.to_pem()
    }

    /// Fingerprint of the certificate, by which peers authenticate this identity, such as "sha-256 3C:5A:..".
    #[getter]
    fn fingerprint(&self) -> String {
        self.0.fingerprint().to_string()
    }

    fn __repr__(&self) -> String {
        format!("<headway.Identity {}>", self.0.fingerprint())
    }
}
