//! Errors of a lab.

use crate::shell::ShellError;
use std::io;

/// Error of a lab.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// A namespace, a device or a thread cannot be created, or a device failed.
    #[error(transparent)]
    Node(#[from] ShellError),
    /// The start of a flow cannot be determined.
    #[error(transparent)]
    Setup(#[from] headway_sim::SetupError),
    /// The shell cannot be started, or the file of the program's output cannot be created.
    #[error("flow \"{flow}\": cannot start {command}: {error}")]
    Program {
        /// Name of the flow.
        flow: String,
        /// Shell command that cannot be started.
        command: String,
        /// Error of the system.
        error: io::Error,
    },
    /// A socket of the kernel's TCP cannot be created, or has no such congestion control.
    #[error("flow \"{flow}\": {error}")]
    KernelTcp {
        /// Name of the flow.
        flow: String,
        /// Error of the system.
        error: io::Error,
    },
    /// More flows of programs than a lab supports.
    #[error("the scenario has {flows} flows of programs and of the kernel's TCP: a lab has at most {limit}")]
    TooManyFlows {
        /// Number of flows of programs and of the kernel's TCP in the scenario.
        flows: usize,
        /// Maximum number of such flows.
        limit: usize,
    },
    /// The folder of the programs' output cannot be created.
    #[error("cannot create the folder {}: {error}", path.display())]
    Logs {
        /// Folder that cannot be created.
        path: std::path::PathBuf,
        /// Error of the system.
        error: io::Error,
    },
}
