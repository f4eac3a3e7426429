#![doc = include_str!("../README.md")]
//!
//! # The parts
//!
//! [`load`] reads a text and gives a [`Scenario`], plain data with every preset filled in and every replica written
//! out, or a [`ScenarioError`] that names file, line, key, what is wrong and what would be right. [`plan`] lists the
//! runs of a text with `[vary]`, [`Document`] does both and reads the text once, [`links`] reads the links alone, [`kind`] the options of one algorithm and [`table`] another file's table in the same words, [`Override`] is `--set`, [`Vary`] is `--vary`, [`schema`] serves editors. Nothing here touches a file: texts
//! are passed in, and those that a scenario names come from the caller's [`Files`].
#![forbid(unsafe_code)]

mod alone;
mod attacker;
mod check;
mod chosen;
mod clock;
mod de;
mod document;
mod dscp;
mod e_model;
mod files;
mod flow;
mod host;
mod key_range;
mod keys;
mod limits;
mod link;
mod links;
mod load;
mod names;
mod node;
mod off;
mod overrides;
mod path;
mod plan;
mod problem;
mod quantity;
mod range;
mod reach;
mod reader;
mod record;
mod scenario;
mod schema;
mod suggest;
mod transport;
mod vary;
mod vary_option;
mod vocabulary;

pub use alone::{kind, table};
pub use attacker::Attacker;
pub use check::resend_misfit;
pub use clock::{ClockOptions, Spread};
pub use dscp::FlowDscp;
pub use e_model::{EModelOptions, SpeechCodec};
pub use files::{Files, NoFiles};
pub use flow::{Flow, Start};
pub use keys::{KeyError, options};
pub use limits::MOST_RUNS;
pub use link::Link;
pub use links::{DuplexError, Links, links};
pub use load::{Document, Loaded, load};
pub use overrides::Override;
pub use plan::{Column, Plan, Run, plan};
pub use problem::{Place, Problem, ScenarioError};
pub use quantity::Cell;
pub use scenario::Scenario;
pub use schema::schema;
pub use suggest::{choices, hint, nearest, printable};
pub use transport::{AgentOptions, Controlled, DccpOptions, Transport};
pub use vary_option::Vary;
