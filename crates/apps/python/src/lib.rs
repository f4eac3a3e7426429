#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod columns;
mod controller;
mod error;
mod figure;
mod files;
mod net;
mod object;
mod queue;
mod record;
mod run;
mod scenario;
mod sweep;
mod table;
mod value;

use pyo3::prelude::*;

/// Native module of the package `headway`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::controller::Feedback;
    #[pymodule_export]
    use super::controller::Packet;
    #[pymodule_export]
    use super::figure::Figure;
    #[pymodule_export]
    use super::figure::draw;
    #[pymodule_export]
    use super::figure::figure_names_of_records;
    #[pymodule_export]
    use super::figure::lines;
    #[pymodule_export]
    use super::net::connection::Connection;
    #[pymodule_export]
    use super::net::connection::connect;
    #[pymodule_export]
    use super::net::identity::Identity;
    #[pymodule_export]
    use super::net::listener::Listener;
    #[pymodule_export]
    use super::net::listener::listen;
    #[pymodule_export]
    use super::net::operation::Operation;
    #[pymodule_export]
    use super::net::options::Options;
    #[pymodule_export]
    use super::net::wakeups::Wakeups;
    #[pymodule_export]
    use super::queue::Waiting;
    #[pymodule_export]
    use super::record::Record;
    #[pymodule_export]
    use super::scenario::Scenario;
    #[pymodule_export]
    use super::scenario::choices_of;
    #[pymodule_export]
    use super::scenario::schema;
    #[pymodule_export]
    use super::sweep::ResultTable;
    #[pymodule_export]
    use super::sweep::Session;
    #[pymodule_export]
    use super::sweep::Sweep;
    #[pymodule_export]
    use super::sweep::dataset_table;
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::value::toml_document;
    #[pymodule_export]
    use super::value::toml_value;

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// Identity of the code: programs with the same one give the same numbers.
    #[pymodule_export]
    const CODE: &str = headway_run::CODE;
}
