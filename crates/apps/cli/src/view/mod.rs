//! `headway view` and `headway report`: records in the browser.

mod live;
mod page;
mod records;
mod report;
mod server;

pub(crate) use live::LiveView;
pub(crate) use report::report;

use self::records::Records;
use self::server::Server;
use crate::arguments::ViewOptions;
use crate::error::Failure;
use crate::{interrupt, output};
use std::io::IsTerminal;

pub(crate) fn view(options: &ViewOptions) -> Result<(), Failure> {
    // The viewer polls for new data. The plain page is made once and needs complete records.
    let read = if page::VIEWER.is_some() { Records::open_growing } else { Records::open };
    let records = read(&options.records)?;
    let server = Server::new(records, options.port)?;
    // Until the address is printed, a signal ends the program.
    output::text(server.address())?;
    output::note("press Ctrl-C to stop");
    interrupt::listen();
    if !options.no_open && std::io::stdout().is_terminal() {
        open(server.address());
    }
    server.serve(interrupt::stop_requested);
    Ok(())
}

/// Opens the browser. Ignores errors, as the address is also printed.
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
