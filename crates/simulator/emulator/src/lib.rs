#![doc = include_str!("../README.md")]

mod emulator;

pub use headway_link::PortSample;

pub use emulator::{Departure, Direction, DirectionCounts, Dropped, Emulator, MAX_HELD_BYTES, Packet};

#[cfg(target_os = "linux")]
mod clients;
#[cfg(target_os = "linux")]
mod driver;
#[cfg(target_os = "linux")]
mod faults;
#[cfg(target_os = "linux")]
mod ip_header;
#[cfg(target_os = "linux")]
mod lab;
#[cfg(target_os = "linux")]
mod namespace;
#[cfg(target_os = "linux")]
mod observer;
#[cfg(target_os = "linux")]
mod recorder;
#[cfg(target_os = "linux")]
mod report;
#[cfg(target_os = "linux")]
mod shell;
#[cfg(target_os = "linux")]
mod socket;
#[cfg(target_os = "linux")]
mod spin;
#[cfg(target_os = "linux")]
mod urgency;
#[cfg(target_os = "linux")]
mod waiter;

#[cfg(target_os = "linux")]
pub use driver::{Proxy, ProxyError, ProxyOptions};
#[cfg(target_os = "linux")]
pub use lab::{Lab, LabError, LabOptions, LabReport, LabRights};
#[cfg(target_os = "linux")]
pub use observer::{DatagramInfo, Observer};
#[cfg(target_os = "linux")]
pub use recorder::{
    Capture, LogHeader, MahimahiLog, PacketEvent, PacketEventKind, PacketSink, RecordError, Recorder, Tap,
};
#[cfg(target_os = "linux")]
pub use report::Report;
#[cfg(target_os = "linux")]
pub use shell::{PathReport, Shell, ShellError, ShellOptions, ShellReport, run_guard, run_init};
