//! All tests of this crate in one binary. `cargo test -p headway-papers --test all MODULE` runs one module.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod agreement;
mod book;
mod can_fail;
mod claims;
mod common;
mod lan_queues;
mod lan_sums;
mod metric_sums;
mod packet_spacing;
mod parts;
mod report;
mod rerun;
mod scorecard;
mod sfdps;
mod sfdps_sums;
mod uddj_tfrc;
mod udpm;
