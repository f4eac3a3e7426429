#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod error;
mod event;
mod feedback;
mod flight;
mod options;
mod packet;
mod receiver;
mod reports;
mod rtcp;
mod sender;
mod session;
mod source;
mod stream;

pub use error::{Refused, RefusedFeedback, SendError};
pub use event::{Counters, Event};
pub use headway_media::{Media, SendQueueOptions};
pub use headway_rate::{ControllerOptions, EncoderOptions, NumReports, Status};
pub use headway_units::{Bytes, Duration, Ecn, Instant, MediaKind, Random, Rate, SendDrop};
pub use options::SessionOptions;
pub use packet::{RtpError, RtpExtension, RtpPacket};
pub use rtcp::{ReportBlock, ReportBlocks, RtcpError, RtcpPacket, RtcpPackets, SenderInfo};
pub use session::{Handled, Session, Transmit};
