//! Meters: they record events of packets with their times and return summaries.

pub(crate) mod attacker;
pub(crate) mod by_flow;
pub(crate) mod counts;
pub(crate) mod delay;
pub(crate) mod display;
pub(crate) mod distribution;
pub(crate) mod e_model;
pub(crate) mod encoder;
pub(crate) mod fairness;
pub(crate) mod flow;
pub(crate) mod frames;
pub(crate) mod histogram;
pub(crate) mod host;
mod jitter;
pub(crate) mod judged;
pub(crate) mod link;
pub(crate) mod measured;
pub(crate) mod pages;
pub(crate) mod phases;
mod rate_bins;
pub(crate) mod send_queue;
pub(crate) mod sessions;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}
