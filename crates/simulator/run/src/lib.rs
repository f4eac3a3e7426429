#![doc = include_str!("../README.md")]
//!
//! # Main items
//!
//! | input | result |
//! |---|---|
//! | [`ScenarioText`]: a scenario file and the caller's overrides | the text that [`headway_scenario::load`] reads |
//! | [`simulate`]: a scenario and a [`Watch`] for progress and stopping | a record in memory |
//! | [`Job`]: a scenario and a [`Folder`] | a record in the folder, or a [reused](Reuse) one |
//! | [`Sweep`]: a scenario with `[vary]` | its runs, a dataset, and a [`ResultTable`] |
//! | [`Suite`]: cases with pass bands, and controllers | [`SuiteResults`] |
//! | [`findings`]: a record in a folder | problems and notes |
//! | [`each`]: independent work items | their results, computed on all cores |
//!
//! # Modules
//!
//! - `folder`: folders with a marker and a lock, and files that are renamed when they are complete.
//! - `record`: the names of a record's files, and how each is read and written.
//! - `files`: safe file names, and bounded reading of regular files.
//! - `checksums`: checksums of a record's files.
//! - `job`, `simulate`: one run into a folder, one run in memory.
//! - `pace`: the [`Pace`] trait: how a run advances.
//! - `watch`: the [`Watch`] trait, for progress and stopping.
//! - `incremental`: event and trace files that are written while a run is in progress.
//! - `traces`: packet trace formats.
//! - `reuse`, `inputs`, `code`: which completed runs are reused.
//! - `sweep`: runs of a scenario with `[vary]`.
//! - `suite`: cases with pass bands, run with several controllers.
//! - `findings`: rules that search a record for problems.
//! - `pool`: threads.
#![forbid(unsafe_code)]

mod checksums;
mod code;
mod error;
mod files;
mod findings;
mod folder;
mod incremental;
mod inputs;
mod job;
mod pace;
mod pool;
mod record;
mod reuse;
mod simulate;
mod suite;
mod sweep;
mod text;
mod traces;
mod watch;

pub use checksums::{Checksum, Checksums, Hashing};
pub use code::CODE;
pub use error::Error;
pub use files::{folder_name, open_regular, read, read_regular, safe_name};
pub use findings::{Finding, Severity, findings, findings_between};
pub use folder::{Folder, FolderKind, Lock, PartialFile};
pub use incremental::EventRecorder;
pub use inputs::inputs;
pub use job::{Found, Job};
pub use pace::{FullSpeed, Pace};
pub use pool::each;
pub use reuse::Reuse;
pub use simulate::{Simulated, Timing, simulate};
pub use suite::{
    Band, BandResult, BandVerdict, Case, CaseResult, Controller, ControllerResult, Explanation, Part, RanParts, Suite,
    SuiteError, SuiteResults, run_parts,
};
pub use sweep::shown_estimate;
pub use sweep::{
    Against, DatasetColumn, DatasetValues, Difference, FLOWS, Key, LINKS, Line, LinePoint, Metric, NO_RANDOMNESS,
    NoSuchKey, NoSuchValue, Places, RUNS, ResultRow, ResultTable, SEED, Session, Sweep, Task, Threads, listed, names,
    read_table,
};
#[cfg(feature = "plot")]
pub use sweep::{ChartOptions, SweepOf};
pub use text::{ScenarioFiles, ScenarioText};
pub use traces::{TraceFormat, Traces, Tracing};
pub use watch::Watch;
