//! How the program ends: its last message, and its exit status.

use crate::error::Failure;
use crate::interrupt;
use crate::output;
use crate::writer::Writer;
use headway_run::Error;
use std::io::ErrorKind;
use std::process::ExitCode;

impl Failure {
    /// Prints the failure, and returns the exit status: 1 for errors, 128 and the signal's number for an interruption.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            // The reader has what it wanted (`headway run ... | head`).
            Self::Output(error) if error.kind() == ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
            Self::Scenario(error) | Self::Runs(Error::Scenario(error)) => last_words(error.to_string()),
            other => last_words(format!("headway: {other}")),
        }
        ExitCode::from(if matches!(self, Self::Interrupted | Self::SweepStopped(..) | Self::Stopped) {
            interrupt::status()
        } else {
            1
        })
    }
}

/// Prints the last message of the program, and waits for the reader of standard error for a few seconds only.
pub(crate) fn last_words(text: String) {
    let print = |text: String| {
        output::note(&text);
        Ok(())
    };
    if let Ok(writer) = Writer::new(print) {
        // There is no other place to report an error of standard error.
        let _ = writer.push(text);
        let _ = writer.finish();
    }
}
