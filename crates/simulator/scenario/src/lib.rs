#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! [`load`] parses a text into a [`Scenario`]: plain data with all presets applied and all replicas expanded. Its
//! error, [`ScenarioError`], names the file, the line, the key, what is wrong and what is allowed. [`plan`] lists the
//! runs of a text with `[vary]`. [`Document`] parses the text once for both.
//!
//! [`links`] reads only the links, [`kind`] the options of one algorithm, and [`table`] a table of another file with
//! the same error messages. [`Override`] is `--set`, [`Vary`] is `--vary`, and [`schema`] is the JSON Schema for
//! editors.
//!
//! The crate does no I/O: texts are passed in, and the files that a scenario names come from the caller's [`Files`].
#![forbid(unsafe_code)]

mod attacker;
mod check;
mod clock;
mod de;
mod disabled;
mod document;
mod dscp;
mod e_model;
mod files;
mod flow;
mod fragment;
mod hop_counts;
mod host;
mod key_range;
mod kind_options;
mod limits;
mod link;
mod link_file;
mod load;
mod names;
mod node;
mod option_map;
mod overrides;
mod path;
mod plan;
mod problem;
mod quantity;
mod range;
mod reader;
mod record;
mod scenario;
mod schema;
mod suggest;
mod transport;
mod vary;
mod vary_option;
mod vocabulary;

pub use attacker::Attacker;
pub use check::resend_error;
pub use clock::{ClockOptions, Spread};
pub use dscp::FlowDscp;
pub use e_model::{EModelOptions, SpeechCodec};
pub use files::{Files, NoFiles};
pub use flow::{Flow, Start};
pub use fragment::{kind, table};
pub use limits::MAX_RUNS;
pub use link::Link;
pub use link_file::{DuplexError, Links, links};
pub use load::{Document, Loaded, load};
pub use option_map::{KeyError, options};
pub use overrides::Override;
pub use plan::{Column, Plan, Run, plan};
pub use problem::{Place, Problem, ScenarioError};
pub use quantity::Cell;
pub use record::PhaseTable;
pub use scenario::Scenario;
pub use schema::schema;
pub use suggest::{choices, hint, nearest, printable};
pub use transport::{
    AgentOptions, Controlled, DccpOptions, ExternalOptions, KernelTcpOptions, ProgramOptions, Transport,
};
pub use vary_option::Vary;
