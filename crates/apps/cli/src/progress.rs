//! What a person sees while waiting: a bar on a terminal, a line every few seconds elsewhere.

use crate::interrupt;
use crate::output;
use crate::writer::Writer;
use headway_run::Watch;
use headway_units::{Duration, Instant};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};

/// The last words of a command that a signal ends after its record is complete.
pub(crate) const RECORDED: &str = "stopped; the record is complete";

/// The least time between two lines, in s.
const LINE_EVERY_S: f64 = 2.0;

/// Progress over simulated time, or over runs. A thread shows it: a terminal or a pipe that is stopped does not stop the job.
pub(crate) struct Progress {
    /// Counts, and draws nothing.
    bar: ProgressBar,
    over: Over,
    /// Present where lines are printed in place of the bar.
    lines: Option<Mutex<Lines>>,
    /// The thread that shows it, unless nothing is shown.
    shown: Option<Writer<Shown>>,
}

/// What the thread shows.
enum Shown {
    Line(String),
    Bar {
        length: u64,
        position: u64,
        message: String,
    },
    /// The job is over.
    Nothing,
}

/// What the bar is over.
#[derive(PartialEq)]
enum Over {
    Time,
    Runs,
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

    fn new(length: u64, quiet: bool, over: Over, template: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::hidden());
        let is_terminal = std::io::stderr().is_terminal();
        // Without a thread the job is done all the same.
        let shown = if quiet { None } else { Writer::new(show(template)).ok() };
        Self { bar, over, lines: (!quiet && !is_terminal).then(Mutex::default), shown }
    }

    /// Shows where the job is: on a terminal by the bar, elsewhere by a line if one is due.
    fn show(&self, line: impl FnOnce() -> String) {
        let Some(shown) = &self.shown else { return };
        let (length, position) = (self.bar.length().unwrap_or(0), self.bar.position());
        let update = match &self.lines {
            None => Shown::Bar { length, position, message: line() },
            Some(lines) => {
                let percent = position * 100 / length.max(1);
                let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
                if !lines.is_due(self.bar.elapsed().as_secs_f64(), percent) {
                    return;
                }
                Shown::Line(format!("{percent} %: {}", line()))
            }
        };
        // The thread reports no errors: progress is of no use to a reader that is gone.
        let _ = shown.push(update);
    }

    /// Removes the bar. Waits for a reader that does not read, but for a few seconds only.
    pub(crate) fn finish(self) {
        if let Some(shown) = self.shown {
            let _ = shown.push(Shown::Nothing);
            let _ = shown.finish();
        }
    }
}

impl Watch for Progress {
    fn stopped(&self) -> bool {
        interrupt::asked()
    }

    fn recorded(&self) {
        interrupt::end_at_once(RECORDED);
    }

    fn at(&self, now: Instant, packet_hops: u64) {
        if self.over != Over::Time || self.shown.is_none() {
            return;
        }
        self.bar.set_position(now.as_nanos());
        let elapsed = self.bar.elapsed().as_secs_f64().max(1e-3);
        let simulated = now.as_secs_f64();
        let end = self.bar.length().unwrap_or(0) as f64 / 1e9;
        self.show(|| {
            format!(
                "{simulated:.1} of {end:.1} s simulated, {:.0} times real time, {:.1} M packet-hops/s",
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

/// Returns what the thread does with each update.
fn show(template: &'static str) -> impl FnMut(Shown) -> std::io::Result<()> {
    let mut bar: Option<ProgressBar> = None;
    move |shown| {
        match shown {
            Shown::Line(text) => output::note(&text),
            Shown::Bar { length, position, message } => {
                let bar = bar.get_or_insert_with(|| {
                    ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr())
                        .with_style(style(template))
                });
                bar.set_length(length);
                bar.set_position(position);
                bar.set_message(message);
            }
            Shown::Nothing => bar.iter().for_each(ProgressBar::finish_and_clear),
        }
        Ok(())
    }
}

/// The last line of a terminal, for the thread of a [`Writer`].
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

    /// Prints something above the line.
    pub(crate) fn above(&self, print: impl FnOnce()) {
        self.0.suspend(print);
    }
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
