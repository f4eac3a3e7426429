#![doc = include_str!("../README.md")]
//!
//! # The parts
//!
//! | in | out |
//! |---|---|
//! | [`ScenarioText`]: a file and what the caller changes in it | what [`headway_scenario::load`] reads |
//! | [`simulate`]: a scenario, and who [watches](Watch) | a record in memory |
//! | [`Job`]: a scenario and a [`Folder`] | a record in it, or what [was found](Reuse) there |
//! | [`Sweep`]: a scenario with `[vary]` | its runs, a dataset, and an [`Answer`] |
//! | [`findings`]: a record in a folder | what is worth looking at there |
//! | [`each`]: many of anything | their answers, on all cores |
#![forbid(unsafe_code)]

mod checksums;
mod code;
mod error;
mod files;
mod findings;
mod folder;
mod inputs;
mod job;
mod pool;
mod record;
mod reuse;
mod simulate;
mod sweep;
mod text;
mod traces;
mod watch;
mod watching;

pub use checksums::{Checksum, Checksums, Hashing};
pub use code::CODE;
pub use error::Error;
pub use files::{folder_name, open_regular, read, read_regular, safe_name};
pub use findings::{Finding, Severity, findings, findings_between};
pub use folder::{Folder, Growing, Holds, Lock};
pub use inputs::inputs;
pub use job::{Found, Job};
pub use pool::each;
pub use reuse::Reuse;
pub use simulate::{Simulated, Timing, simulate};
pub use sweep::{
    Against, Answer, AnswerRow, DatasetColumn, DatasetValues, Difference, FLOWS, Key, LINKS, Line, LinePoint, Metric,
    NO_CHANCE, NoSuchKey, NoSuchValue, Places, RUNS, Session, Sweep, Task, Threads, listed, names, read_table,
};
pub use text::{Beside, ScenarioText};
pub use traces::{TraceFormat, Traces, Tracing};
pub use watch::Watch;
pub use watching::Gathering;
