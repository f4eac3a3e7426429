//! Both endpoints of a connection between Headway and a Linux kernel, for `validation/kernel-dccp/run`.
//!
//! `headway-kernel-dccp headway|kernel SPEC` runs one endpoint as configured by SPEC (JSON), and prints the result as
//! one line of JSON. `headway` is `headway_dccp` on a TUN device, `kernel` is a socket.

mod data;
mod headway;
mod ip;
mod kernel;
mod meddle;
mod sys;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let report = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [_, "headway", spec] => serde_json::from_str(spec).map_err(Into::into).and_then(headway::play),
        [_, "kernel", spec] => serde_json::from_str(spec).map_err(Into::into).and_then(kernel::play),
        _ => Err("usage: headway-kernel-dccp headway|kernel SPEC".into()),
    };
    match report {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("{}", serde_json::json!({ "failed": error.to_string() }));
            ExitCode::FAILURE
        }
    }
}
