//! The scenario file: a network, the flows through it, and how long to watch them, as a TOML text with units.
//!
//! [`load`] reads a text and gives a [`Scenario`], plain data with every preset filled in and every replica written
//! out, or a [`ScenarioError`] that names file, line, key, what is wrong and what would be right. [`plan`] lists the
//! runs of a text with `[vary]`, [`Override`] is `--set`, [`schema`] serves editors. Nothing here touches a file: texts
//! are passed in, and those that a scenario names come from the caller's [`Files`].
//!
//! ```
//! let text = r#"
//!     duration = "10s"
//!     [[link]]
//!     between = ["a", "b"]
//!     rate = "2Mbps"
//!     delay = "10ms"
//!     [[flow]]
//!     name = "download"
//!     from = "a"
//!     to = "b"
//!     transport = { kind = "tcp-newreno" }
//!     source = { kind = "ftp" }
//! "#;
//! let faster = ["link[0].rate=4Mbps".parse().unwrap()];
//! let loaded = headway_scenario::load("example.toml", text, &faster, &headway_scenario::NoFiles).unwrap();
//! assert_eq!(loaded.scenario.links[1].name, "b->a");
//! assert_eq!(loaded.scenario.links[1].rate.to_string(), "4Mbps");
//!
//! let wrong = text.replace("delay", "dealy");
//! let error = headway_scenario::load("example.toml", &wrong, &[], &headway_scenario::NoFiles).unwrap_err();
//! assert!(error.to_string().contains("example.toml:6:5: link[0]: unknown key \"dealy\"; did you mean \"delay\"?"));
//! ```
#![forbid(unsafe_code)]

mod check;
mod de;
mod document;
mod expand;
mod files;
mod keys;
mod limits;
mod load;
mod model;
mod names;
mod off;
mod overrides;
mod path;
mod plan;
mod problem;
mod reach;
mod read;
mod reader;
mod schema;
mod suggest;
mod tables;
mod transport;
mod vary;
mod vocabulary;

pub use check::resend_misfit;
pub use files::{Files, NoFiles};
pub use keys::options;
pub use load::{Loaded, load};
pub use model::{Attacker, Flow, Link, Scenario, Start};
pub use overrides::Override;
pub use plan::{Plan, Run, plan};
pub use problem::{Place, Problem, ScenarioError};
pub use schema::schema;
pub use suggest::{hint, printable};
pub use transport::{AgentOptions, Controlled, DccpOptions, Transport};
