//! The command-line program `headway`.
#![forbid(unsafe_code)]

mod arguments;
mod error;
mod exit;
mod http;
mod interrupt;
mod keys;
#[cfg(target_os = "linux")]
mod lab;
#[cfg(target_os = "linux")]
mod link_options;
mod output;
mod papers;
mod plot;
mod progress;
#[cfg(target_os = "linux")]
mod proxy;
mod queues;
mod run;
mod sets;
#[cfg(target_os = "linux")]
mod shell;
mod sockets;
mod suite;
mod sweep;
mod view;
mod writer;

use arguments::{Arguments, Command};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return report_arguments(&error),
    };
    let result = match arguments.command {
        Command::Run(options) => run::run(&options),
        Command::Sweep(options) => sweep::sweep(&options),
        Command::Suite(options) => suite::suite(&options),
        Command::Plot(options) => plot::plot(&options),
        Command::View(options) => view::view(&options),
        Command::Report(options) => view::report(&options),
        Command::Queues(options) => queues::queues(&options),
        Command::Send(options) => sockets::send(&options),
        Command::Recv(options) => sockets::recv(&options),
        Command::Relay(options) => sockets::relay(&options),
        #[cfg(target_os = "linux")]
        Command::Proxy(options) => proxy::proxy(&options),
        #[cfg(target_os = "linux")]
        Command::Shell(options) => {
            return shell::shell(&options).unwrap_or_else(|failure| failure.report());
        }
        #[cfg(target_os = "linux")]
        Command::Lab(options) => return lab::lab(&options).unwrap_or_else(|failure| failure.report()),
        #[cfg(target_os = "linux")]
        Command::ShellInit(options) => return shell::init(&options),
        #[cfg(target_os = "linux")]
        Command::ShellGuard(options) => shell::guard(&options),
        Command::Papers(command) => papers::papers(&command),
        Command::Schema => output::json(&headway_scenario::schema()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Prints the help or the error of the arguments. Errors are printed without colors, because they quote untrusted text.
fn report_arguments(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        output::note(error.to_string().trim_end());
        return ExitCode::from(2);
    }
    match error.print() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error::Failure::Output(error).report(),
    }
}
