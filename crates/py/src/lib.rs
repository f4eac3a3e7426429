#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod columns;
mod error;
mod files;
mod record;
mod run;
mod scenario;
mod table;

use pyo3::prelude::*;

/// What the package `headway` takes from Rust.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::record::Record;
    #[pymodule_export]
    use super::scenario::Scenario;
    #[pymodule_export]
    use super::scenario::schema;
    #[pymodule_export]
    use super::table::Table;

    /// The version of Headway.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
