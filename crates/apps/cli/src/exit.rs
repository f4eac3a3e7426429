//! The final message of the program and its exit status.

use crate::error::Failure;
use crate::interrupt;
use crate::output;
use crate::writer::Writer;
use headway_run::Error;
use std::io::ErrorKind;
use std::process::ExitCode;

impl Failure {
    /// Returns the exit status of an error. That of the command in a shell could be 1, too.
    fn plain_status(&self) -> u8 {
        #[cfg(target_os = "linux")]
        if matches!(self, Self::Shell(_) | Self::Lab(_)) {
            return crate::shell::EMULATOR_FAILED;
        }
        1
    }

    /// Prints the failure and returns the exit status: 1 for errors (125 of a shell or lab), 128 plus the signal number for an interruption.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            // The reader closed the pipe (`headway run ... | head`).
            Self::Output(error) if error.kind() == ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
            Self::Scenario(error) | Self::Runs(Error::Scenario(error)) => print_final_message(error.to_string()),
            other => print_final_message(format!("headway: {other}")),
        }
        ExitCode::from(if matches!(self, Self::Interrupted | Self::SweepStopped(..) | Self::Stopped) {
            interrupt::status()
        } else {
            self.plain_status()
        })
    }
}

/// Prints the final message of the program. Waits at most a few seconds for the reader of standard error.
pub(crate) fn print_final_message(text: String) {
    let print = |text: String| {
        output::note(&text);
        Ok(())
    };
    if let Ok(writer) = Writer::new(print) {
        // An error of standard error cannot be reported anywhere else.
        let _ = writer.push(text);
        let _ = writer.finish();
    }
}
