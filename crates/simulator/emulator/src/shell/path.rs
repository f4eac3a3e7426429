//! One direction of a shell's link: a thread that moves packets from one TUN device through the emulator to the other.

use super::device::Device;
use super::error::ShellError;
use crate::emulator::{Departure, Direction, DirectionCounts, Dropped, Emulator, Packet};
use crate::ip_header::{IpHeader, set_ecn};
use crate::recorder::Tap;
use crate::spin::Spin;
use crate::urgency::{Urgency, cpu_time};
use crate::waiter::Waiter;
use headway_net::Clock;
use headway_record::{DelaySummary, Histogram, LinkLabel};
use headway_units::{Dscp, Duration, Ecn, Instant};
use nix::sys::eventfd::EventFd;
use serde::Serialize;
use std::io::ErrorKind;
use std::sync::Arc;

/// Key of the device that is read.
const DEVICE: u64 = 0;
/// Key of the event that ends the thread.
const STOP: u64 = 1;
/// Maximum number of packets that are read before departures are sent, and the reverse.
const BATCH: usize = 64;
/// Longest wait, so that the thread notices in time that it did not run.
const MAX_WAIT: Duration = Duration::from_millis(100);
/// A packet of at most this size is copied into memory of its size; larger packets keep their buffer.
const COPIED_BYTES: usize = 256;

/// Report of one direction of a shell's link since the start of the shell.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PathReport {
    /// Packet counters of this direction of the link.
    pub counts: DirectionCounts,
    /// Mean over time of the number of packets in the link's queue in this direction.
    pub mean_queue_packets: f64,
    /// Maximum number of packets in the link's queue in this direction.
    pub peak_queue_packets: u64,
    /// Release error, in s: time from the departure of a packet from the link until the kernel has accepted it. Never
    /// negative; `None` if no packet was sent.
    pub release_error_s: Option<DelaySummary>,
    /// Longest wall-clock time, in s, from the time at which the thread of this direction was due until it ran. The
    /// thread is due at each event of the link, and at the latest after 100 ms. Above 100 times the bound of the
    /// release error, the run is not valid.
    pub longest_stall_s: f64,
    /// Share of one processor's time that the thread of this direction used, from 0 to 1.
    pub cpu_share: f64,
    /// Packets that left the link and that the kernel refused.
    pub unsent_packets: u64,
    /// Packets that the kernel dropped before the link, because the emulator did not read them in time.
    pub unread_packets: u64,
    /// Events of packets that are missing in captures and logs, because these were not written fast enough.
    pub unrecorded_events: u64,
}

/// Packet on the link.
#[derive(Clone, Debug, Default)]
pub(super) struct Frame {
    arrived_at: Instant,
    bytes: Vec<u8>,
}

/// Direction of the link.
pub(super) struct Path {
    pub(super) direction: Direction,
    pub(super) from: Arc<Device>,
    pub(super) to: Arc<Device>,
    pub(super) link: Emulator<Frame>,
    pub(super) clock: Clock,
    pub(super) mtu: usize,
    /// Receives the events of the packets, for captures and logs.
    pub(super) tap: Option<Tap>,
}

impl Path {
    /// Moves packets until `stop` is set. Returns the report.
    ///
    /// # Errors
    /// A device was deleted or set down.
    pub(super) fn run(mut self, stop: &EventFd) -> Result<PathReport, ShellError> {
        let waiter = Waiter::new().and_then(|waiter| {
            waiter.add(&self.from.tun, DEVICE)?;
            waiter.add(stop, STOP)?;
            Ok(waiter)
        });
        let mut waiter = waiter.map_err(ShellError::Link)?;
        if self.tap.is_some() {
            self.link.keep_dropped();
        }
        let mut sent = Sent { errors: Histogram::default(), unsent: 0 };
        let (mut ready, mut buffer) = (Vec::new(), vec![0; self.mtu]);
        let (mut longest_stall, mut spin) = (Duration::ZERO, Spin::new());
        let mut urgency = Urgency::raise(self.clock.now());
        // Time at which the thread is due to run.
        let mut due = self.clock.now();
        while !ready.contains(&STOP) {
            longest_stall = longest_stall.max(self.clock.now().since(due));
            self.send_due(&mut sent)?;
            let now = self.clock.now();
            urgency.check(now);
            let until = self.link.poll_timeout().map_or(now + MAX_WAIT, |at| at.min(now + MAX_WAIT));
            due = until.max(now);
            let wake = now + until.since(now).saturating_sub(spin.time());
            waiter.wait(now, wake, &mut ready).map_err(ShellError::Link)?;
            if wake > now && ready.is_empty() {
                spin.observe(self.clock.now().since(wake));
            }
            if ready.contains(&DEVICE) {
                self.receive(&mut buffer)?;
            }
        }
        let label = LinkLabel { name: String::new(), from: String::new(), to: String::new() };
        let summary = self.link.summary(self.direction, label, self.clock.now());
        Ok(PathReport {
            counts: self.link.counts(self.direction),
            mean_queue_packets: summary.mean_queue_packets,
            peak_queue_packets: summary.peak_queue_packets,
            release_error_s: sent.errors.summary(),
            longest_stall_s: longest_stall.as_secs_f64(),
            cpu_share: cpu_time().as_secs_f64() / self.clock.now().as_secs_f64().max(1e-3),
            unsent_packets: sent.unsent,
            unread_packets: 0,
            unrecorded_events: self.tap.as_ref().map_or(0, Tap::lost_events),
        })
    }

    /// Reads packets from the device and passes them to the link.
    fn receive(&mut self, buffer: &mut Vec<u8>) -> Result<(), ShellError> {
        for _ in 0..BATCH {
            let length = match self.from.tun.recv(buffer) {
                Ok(length) => length,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => break,
                Err(error) => return Err(ShellError::Device { device: self.from.name.clone(), error }),
            };
            let bytes = if length <= COPIED_BYTES {
                buffer[..length].to_vec()
            } else {
                let mut bytes = std::mem::replace(buffer, vec![0; self.mtu]);
                bytes.truncate(length);
                bytes
            };
            let header = IpHeader::read(&bytes);
            let (ecn, dscp, flow) =
                header.map_or((Ecn::NotEct, Dscp::CS0, 0), |header| (header.ecn, header.dscp, header.flow));
            let now = self.clock.now();
            if let Some(tap) = &mut self.tap {
                tap.arrived(now, &bytes);
            }
            let payload = Frame { arrived_at: now, bytes };
            self.link.handle(now, self.direction, Packet { size: length as u32, ecn, dscp, flow, payload });
            self.record_drops();
        }
        Ok(())
    }

    /// Sends the packets that have left the link.
    fn send_due(&mut self, sent: &mut Sent) -> Result<(), ShellError> {
        let mut now = self.clock.now();
        for _ in 0..BATCH {
            let departure = self.link.poll_transmit(now);
            self.record_drops();
            let Some(Departure { at, packet: Packet { ecn, payload, .. }, .. }) = departure else { break };
            let Frame { arrived_at, mut bytes } = payload;
            if IpHeader::read(&bytes).is_some_and(|header| header.ecn != ecn) {
                set_ecn(&mut bytes, ecn);
            }
            match self.to.tun.send(&bytes) {
                Ok(_) => {
                    now = self.clock.now();
                    sent.errors.record(now.since(at).as_nanos());
                }
                Err(error) if matches!(error.raw_os_error(), Some(code) if code == nix::errno::Errno::EBADFD as i32) => {
                    return Err(ShellError::Device { device: self.to.name.clone(), error });
                }
                // The device is set down, or the kernel has no memory for the packet.
                Err(_) => sent.unsent += 1,
            }
            if let Some(tap) = &mut self.tap {
                tap.departed(at, arrived_at, bytes);
            }
        }
        Ok(())
    }

    /// Records the packets that the link has dropped.
    fn record_drops(&mut self) {
        let Some(tap) = &mut self.tap else { return };
        while let Some(Dropped { at, cause, packet, .. }) = self.link.poll_dropped() {
            let Frame { arrived_at, bytes } = packet.payload;
            tap.dropped(at, arrived_at, cause, bytes);
        }
    }
}

/// Packets that have left the link.
struct Sent {
    /// Release errors, in ns.
    errors: Histogram,
    unsent: u64,
}
