//! Progress: a bar on a terminal, otherwise a line every few seconds.

use crate::interrupt;
use crate::output;
use crate::writer::Writer;
use headway_run::Watch;
use headway_units::{Duration, Instant};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};

/// Message of a command that a signal ends after its record is complete.
pub(crate) const RECORDED: &str = "stopped; the record is complete";

/// Minimum time between two lines, in s.
const LINE_INTERVAL_S: f64 = 2.0;

/// Progress over simulated time or over runs. A separate thread prints it, so that a blocked terminal or pipe does not
/// block the job.
pub(crate) struct Progress {
    /// Hidden bar that holds position, length and time.
    bar: ProgressBar,
    unit: Unit,
    /// State of the lines, if lines are printed instead of the bar.
    lines: Option<Mutex<Lines>>,
    /// Output thread, if there is output.
    writer: Option<Writer<Update>>,
}

/// Message to the output thread.
enum Update {
    Line(String),
    Bar {
        length: u64,
        position: u64,
        message: String,
    },
    /// End of the job.
    Clear,
}

/// Unit of the progress.
#[derive(PartialEq)]
enum Unit {
    Time,
    Runs,
}

/// Time and percentage of the last line.
#[derive(Default)]
struct Lines {
    printed_s: f64,
    percent: u64,
}

impl Lines {
    /// Returns whether a line is due: [`LINE_INTERVAL_S`] after the last one, and with a different percentage.
    fn is_due(&mut self, now_s: f64, percent: u64) -> bool {
        let is_due = now_s - self.printed_s >= LINE_INTERVAL_S && percent != self.percent;
        if is_due {
            (self.printed_s, self.percent) = (now_s, percent);
        }
        is_due
    }
}

impl Progress {
    /// Creates the progress of one run over its simulated time.
    pub(crate) fn of_time(duration: Duration, quiet: bool) -> Self {
        Self::new(duration.as_nanos(), quiet, Unit::Time, "{bar:40} {msg}")
    }

    /// Creates the progress over many runs. [`Watch::runs`] adds runs to the total.
    pub(crate) fn of_runs(quiet: bool) -> Self {
        Self::new(0, quiet, Unit::Runs, "{bar:40} {pos} of {len} runs, {eta} left")
    }

    fn new(length: u64, quiet: bool, unit: Unit, template: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::hidden());
        let is_terminal = std::io::stderr().is_terminal();
        // If the thread cannot start, the job runs without progress.
        let writer = if quiet { None } else { Writer::new(show(template)).ok() };
        Self { bar, unit, lines: (!quiet && !is_terminal).then(Mutex::default), writer }
    }

    /// Updates the bar, or prints a line if one is due.
    fn show(&self, line: impl FnOnce() -> String) {
        let Some(writer) = &self.writer else { return };
        let (length, position) = (self.bar.length().unwrap_or(0), self.bar.position());
        let update = match &self.lines {
            None => Update::Bar { length, position, message: line() },
            Some(lines) => {
                let percent = position * 100 / length.max(1);
                let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
                if !lines.is_due(self.bar.elapsed().as_secs_f64(), percent) {
                    return;
                }
                Update::Line(format!("{percent} %: {}", line()))
            }
        };
        // Write errors of progress are ignored.
        let _ = writer.push(update);
    }

    /// Removes the bar. Waits at most a few seconds for the reader.
    pub(crate) fn finish(self) {
        if let Some(writer) = self.writer {
            let _ = writer.push(Update::Clear);
            let _ = writer.finish();
        }
    }
}

impl Watch for Progress {
    fn stopped(&self) -> bool {
        interrupt::stop_requested()
    }

    fn recorded(&self) {
        interrupt::exit_on_signal(RECORDED);
    }

    fn at(&self, now: Instant, packet_hops: u64) {
        if self.unit != Unit::Time || self.writer.is_none() {
            return;
        }
        self.bar.set_position(now.as_nanos());
        let elapsed = self.bar.elapsed().as_secs_f64().max(1e-3);
        let simulated = now.as_secs_f64();
        let end = self.bar.length().unwrap_or(0) as f64 / 1e9;
        self.show(|| {
            format!(
                "{simulated:.1} of {end:.1} s simulated, {:.0}x real time, {:.1} M packet-hops/s",
                simulated / elapsed,
                packet_hops as f64 / elapsed / 1e6
            )
        });
    }

    fn runs(&self, more: usize) {
        self.bar.inc_length(more as u64);
    }

    fn run_done(&self) {
        self.bar.inc(1);
        self.show(|| {
            let runs = self.bar.length().unwrap_or(0);
            format!("{} of {runs} runs, {} s left", self.bar.position(), self.bar.eta().as_secs())
        });
    }
}

/// Returns the function of the output thread.
fn show(template: &'static str) -> impl FnMut(Update) -> std::io::Result<()> {
    let mut bar: Option<ProgressBar> = None;
    move |update| {
        match update {
            Update::Line(text) => output::note(&text),
            Update::Bar { length, position, message } => {
                let bar = bar.get_or_insert_with(|| {
                    ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr())
                        .with_style(style(template))
                });
                bar.set_length(length);
                bar.set_position(position);
                bar.set_message(message);
            }
            Update::Clear => bar.iter().for_each(ProgressBar::finish_and_clear),
        }
        Ok(())
    }
}

/// Status line at the bottom of a terminal, used by the thread of a [`Writer`].
pub(crate) struct LiveLine(ProgressBar);

impl LiveLine {
    pub(crate) fn new(quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        Self(ProgressBar::with_draw_target(Some(0), target).with_style(style("{msg}")))
    }

    /// Replaces the line.
    pub(crate) fn show(&self, text: String) {
        self.0.set_message(text);
        self.0.tick();
    }

    /// Prints a message above the line.
    pub(crate) fn above(&self, print: impl FnOnce()) {
        self.0.suspend(print);
    }
}

fn style(template: &str) -> ProgressStyle {
    // Templates are constants of this file. An invalid template falls back to the default bar.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_due_every_two_seconds_if_the_percentage_has_changed() {
        let mut lines = Lines::default();
        let at = [(0.5, 10), (2.0, 20), (3.9, 30), (4.0, 30), (7.0, 30), (9.0, 31)];
        assert_eq!(at.map(|(now_s, percent)| lines.is_due(now_s, percent)), [false, true, false, true, false, true]);
        // A run of less than 2 s prints no line.
        assert!(!Lines::default().is_due(1.9, 100));
    }
}
