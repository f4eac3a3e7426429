//! What a person sees while waiting: a bar on a terminal, a line every few seconds elsewhere.

use crate::interrupt;
use crate::output;
use headway_run::Watch;
use headway_units::{Duration, Instant};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};

/// The least time between two lines, in s.
const LINE_EVERY_S: f64 = 2.0;

/// Progress over simulated time, or over runs.
pub(crate) struct Progress {
    bar: ProgressBar,
    over: Over,
    /// Present where lines are printed in place of the bar.
    lines: Option<Mutex<Lines>>,
}

/// What the bar is over.
#[derive(PartialEq)]
enum Over {
    Time,
    Runs,
    Nothing,
}

/// When the next line is due.
#[derive(Default)]
struct Lines {
    printed_s: f64,
    percent: u64,
}

impl Lines {
    /// Returns whether a line is due now: not too soon after the last one, and with another percentage.
    fn is_due(&mut self, now_s: f64, percent: u64) -> bool {
        let is_due = now_s - self.printed_s >= LINE_EVERY_S && percent != self.percent;
        if is_due {
            (self.printed_s, self.percent) = (now_s, percent);
        }
        is_due
    }
}

impl Progress {
    /// Over the simulated time of one run.
    pub(crate) fn of_time(duration: Duration, quiet: bool) -> Self {
        Self::new(duration.as_nanos(), quiet, Over::Time, "{bar:40} {msg}")
    }

    /// Over many runs: as many as it is [notified of](Watch::runs).
    pub(crate) fn of_runs(quiet: bool) -> Self {
        Self::new(0, quiet, Over::Runs, "{bar:40} {pos} of {len} runs, {eta} left")
    }

    /// Without an end, line after line.
    pub(crate) fn of_lines(quiet: bool) -> Self {
        Self::new(0, quiet, Over::Nothing, "{msg}")
    }

    fn new(length: u64, quiet: bool, over: Over, template: &str) -> Self {
        let bar = bar(length, quiet);
        bar.set_style(style(template));
        let in_lines = !quiet && over != Over::Nothing && !std::io::stderr().is_terminal();
        Self { bar, over, lines: in_lines.then(Mutex::default) }
    }

    /// Prints a line, if one is due.
    fn print(&self, line: impl FnOnce() -> String) {
        let Some(lines) = &self.lines else { return };
        let percent = self.bar.position() * 100 / self.bar.length().unwrap_or(0).max(1);
        let is_due =
            lines.lock().unwrap_or_else(PoisonError::into_inner).is_due(self.bar.elapsed().as_secs_f64(), percent);
        if is_due {
            output::note(&format!("{percent} %: {}", line()));
        }
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
        let message = format!("{:.1} of {end:.1} s", now.as_secs_f64());
        self.print(|| message.clone());
        self.bar.set_message(message);
    }

    pub(crate) fn finish(self) {
        self.bar.finish_and_clear();
    }
}

impl Watch for Progress {
    fn stopped(&self) -> bool {
        interrupt::asked()
    }

    fn recorded(&self) {
        interrupt::end_at_once();
    }

    fn at(&self, now: Instant, packet_hops: u64) {
        if self.over != Over::Time || (self.bar.is_hidden() && self.lines.is_none()) {
            return;
        }
        self.bar.set_position(now.as_nanos());
        let elapsed = self.bar.elapsed().as_secs_f64().max(1e-3);
        let simulated = now.as_secs_f64();
        let end = self.bar.length().unwrap_or(0) as f64 / 1e9;
        let message = format!(
            "{simulated:.1} of {end:.1} s simulated, {:.0} times real time, {:.1} M packet-hops/s",
            simulated / elapsed,
            packet_hops as f64 / elapsed / 1e6
        );
        self.print(|| message.clone());
        self.bar.set_message(message);
    }

    fn runs(&self, more: usize) {
        self.bar.inc_length(more as u64);
    }

    fn run_done(&self) {
        self.bar.inc(1);
        self.print(|| {
            let runs = self.bar.length().unwrap_or(0);
            format!("{} of {runs} runs, {} s left", self.bar.position(), self.bar.eta().as_secs())
        });
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A sweep whose standard error was a file once printed nothing until its end.
    #[test]
    fn a_line_is_due_every_few_seconds_while_the_percentage_grows() {
        let mut lines = Lines::default();
        let at = [(0.5, 10), (2.0, 20), (3.9, 30), (4.0, 30), (7.0, 30), (9.0, 31)];
        assert_eq!(at.map(|(now_s, percent)| lines.is_due(now_s, percent)), [false, true, false, true, false, true]);
        // A run that is done at once needs no line.
        assert!(!Lines::default().is_due(1.9, 100));
    }
}
