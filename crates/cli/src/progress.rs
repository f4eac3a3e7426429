//! What a person sees while waiting: on a terminal only.

use crate::interrupt;
use headway_run::Watch;
use headway_units::{Duration, Instant};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar over simulated time, or over runs.
pub(crate) struct Progress {
    bar: ProgressBar,
    over: Over,
}

/// What the bar is over.
#[derive(PartialEq)]
enum Over {
    Time,
    Runs,
    Nothing,
}

impl Progress {
    /// Over the simulated time of one run.
    pub(crate) fn of_time(duration: Duration, quiet: bool) -> Self {
        let bar = bar(duration.as_nanos(), quiet);
        bar.set_style(style("{bar:40} {msg}"));
        Self { bar, over: Over::Time }
    }

    /// Over many runs: as many as it is [told of](Watch::runs).
    pub(crate) fn of_runs(quiet: bool) -> Self {
        let bar = bar(0, quiet);
        bar.set_style(style("{bar:40} {pos} of {len} runs, {eta} left"));
        Self { bar, over: Over::Runs }
    }

    /// Without an end, line after line.
    pub(crate) fn of_lines(quiet: bool) -> Self {
        let bar = bar(0, quiet);
        bar.set_style(style("{msg}"));
        Self { bar, over: Over::Nothing }
    }

    /// What is to be seen now.
    pub(crate) fn line(&self, text: String) {
        self.bar.set_message(text);
        self.bar.tick();
    }

    /// Says something above what is to be seen.
    pub(crate) fn above(&self, say: impl FnOnce()) {
        self.bar.suspend(say);
    }

    /// A run in real time has come to this instant.
    #[cfg(target_os = "linux")]
    pub(crate) fn at_real(&self, now: Instant) {
        self.bar.set_position(now.as_nanos());
        let end = self.bar.length().unwrap_or(0) as f64 / 1e9;
        self.bar.set_message(format!("{:.1} of {end:.1} s", now.as_secs_f64()));
    }

    pub(crate) fn finish(self) {
        self.bar.finish_and_clear();
    }
}

impl Watch for Progress {
    fn stopped(&self) -> bool {
        interrupt::asked()
    }

    fn at(&self, now: Instant, packet_hops: u64) {
        if self.over != Over::Time || self.bar.is_hidden() {
            return;
        }
        self.bar.set_position(now.as_nanos());
        let elapsed = self.bar.elapsed().as_secs_f64().max(1e-3);
        let simulated = now.as_secs_f64();
        let end = self.bar.length().unwrap_or(0) as f64 / 1e9;
        self.bar.set_message(format!(
            "{simulated:.1} of {end:.1} s simulated, {:.0} times real time, {:.1} M packet-hops/s",
            simulated / elapsed,
            packet_hops as f64 / elapsed / 1e6
        ));
    }

    fn runs(&self, more: usize) {
        self.bar.inc_length(more as u64);
    }

    fn run_done(&self) {
        self.bar.inc(1);
    }
}

fn bar(length: u64, quiet: bool) -> ProgressBar {
    let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    ProgressBar::with_draw_target(Some(length), target)
}

fn style(template: &str) -> ProgressStyle {
    // The templates are constants of this file; a wrong one falls back to the plain bar.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
