#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! A paper is a folder with `claims.toml`, `scenarios/*.toml` and optionally `ns2.csv`. The papers in `papers/<id>/`
//! are built in; each has a module here with the metrics that need more than an expression. [`Paper::of_folder`] makes
//! a paper from other texts. This crate opens no files and starts no threads: the caller runs each [`Cell`] with its
//! seeds, evaluates its [`Metrics`] and collects the values in [`Measured`].
//!
//! | input | output |
//! |---|---|
//! | [`Paper::claims`] | [`Claims`]: cells to run, claims to judge |
//! | [`Cell::load`] with a seed | a scenario |
//! | [`Metrics::of`] with a finished run | [`Values`], collected in [`Measured`] |
//! | [`Results::new`] | means with intervals, and claims with their [`Verdict`] |
//! | [`markdown`], [`plain`], [`charts`] | tables and pictures of the results |
//! | [`report`](report()) | the results of several papers as one HTML page |
//! | [`Part::find`] | a figure, a table or a claim by name, with its cells and its command |
#![forbid(unsafe_code)]

mod cell;
mod check;
mod claim;
mod claims;
mod drawings;
mod figures;
mod judge;
mod lan_queues;
mod layout;
mod load;
mod measured;
mod metric;
mod number;
mod packet_spacing;
mod paper;
mod pattern;
mod points;
mod reading;
mod readings;
mod reduce;
mod reference;
mod report;
mod results;
mod scorecard;
mod sfdps;
mod show;
mod statistics;
mod tables;
mod timeline;
mod uddj_tfrc;
mod udpm;
mod verdict;

pub use cell::{Cell, Profile};
pub use check::{Bound, Check, CheckError};
pub use claim::{Claim, ClaimError, Class, Explain, Kind, ReadingChecks};
pub use claims::{Claims, ClaimsError, Inferred, trace};
pub use drawings::{Drawing, DrawingError, Transition, UDPM_RECEIVER, UDPM_SENDER, drawings};
pub use figures::charts;
pub use judge::Evidence;
pub use load::CellError;
pub use measured::{Measured, Values};
pub use metric::{Metric, Metrics, Outcome, Shown};
pub use number::Number;
pub use paper::{PAPERS, Paper};
pub use pattern::PatternError;
pub use points::{Share, ShareOf};
pub use reading::{Reading, ReadingError};
pub use readings::{readings_markdown, readings_plain};
pub use reduce::Reduce;
pub use reference::{Reference, ReferenceError};
pub use report::{Escaped, ReportError, ReportedPaper, report};
pub use results::{Comparison, Results, ResultsMismatch, RunDetails, parameters_are};
pub use scorecard::{Score, by_reading_markdown, by_reading_plain, scorecard, scorecard_markdown, scorecard_plain};
pub use show::{Part, UnknownPart, figures_markdown, show};
pub use statistics::kendall_tau;
pub use tables::{inferred_markdown, markdown, plain, summary_markdown, verdicts_markdown, verdicts_plain};
pub use timeline::{Curve, Traces};
pub use verdict::{CheckResult, JudgedClaim, UnderReading, Verdict};
