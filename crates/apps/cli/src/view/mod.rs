//! `headway view` and `headway report`: records in a browser.

mod beside;
mod page;
mod records;
mod report;
mod server;

pub(crate) use beside::Beside;
pub(crate) use report::report;

use self::records::Records;
use self::server::Server;
use crate::arguments::ViewOptions;
use crate::error::Failure;
use crate::{interrupt, output};
use std::io::IsTerminal;

pub(crate) fn view(options: &ViewOptions) -> Result<(), Failure> {
    // Pictures are drawn once, the viewer asks again.
    let read = if page::VIEWER.is_some() { Records::open_early } else { Records::open };
    let records = read(&options.records)?;
    let server = Server::new(records, options.port)?;
    // Until a reader has the address a signal ends the program.
    output::text(server.address())?;
    output::note("Ctrl-C ends it");
    interrupt::listen();
    if !options.no_open && std::io::stdout().is_terminal() {
        open(server.address());
    }
    server.serve(interrupt::asked);
    Ok(())
}

/// Opens the user's browser, if there is one: the address is printed all the same.
fn open(address: &str) {
    let program = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else {
        "xdg-open"
    };
    let mut command = std::process::Command::new(program);
    command.arg(address).stdin(std::process::Stdio::null());
    let _ = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn();
}
