//! The command `headway`.

mod arguments;
mod error;
mod files;
mod interrupt;
mod job;
mod output;
mod papers;
mod plot;
mod pool;
mod program;
mod progress;
mod queues;
mod run;
mod text;
mod traces;

use arguments::{Arguments, Command};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.command {
        Command::Run(options) => run::run(&options),
        Command::Plot(options) => plot::plot(&options),
        Command::Queues(options) => queues::queues(&options),
        Command::Papers(command) => papers::papers(&command),
        Command::Schema => output::json(&headway_scenario::schema()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
