//! Prague for media over datagrams (RFC 9331 section 4), as in udp_prague of 2026-02-03: a rate that falls by half the
//! mean share `alpha` of marked packets, and grows by one packet per virtual round trip.
//!
//! ```text
//! vrtt    = max(srtt, 25 ms), or with frames max(srtt, interval of frames)
//! alpha  += (share of marked packets - alpha)/16, once per vrtt
//! mark      W *= 1 - alpha/2; loss: W *= 1/2; each at most once per vrtt
//! growth    W += size * (srtt/vrtt)^2 * increment/W for each unmarked packet;
//!           increment = one packet, or 1 ms of the rate after r/15.36 Mb/s + 7 vrtt without a mark
//! rate      r = W/srtt; if srtt is below 2 ms or the time of a packet, r itself grows and falls
//! ```
//!
//! [`control`] is the algorithm, in the integers of udp_prague. Differences from it, and choices:
//!
//! - **The size of packets** is that of the application. udp_prague halves its packets and more at low rates, so that two
//!   of them fit into 25 ms. Growth counts the bytes that arrived, as udp_prague's does.
//! - **Application-limited**: the rate grows to twice the rate at which packets were sent at most, the larger one of two
//!   virtual round trips (udp_prague: without limit).
//! - **A packet is lost** if three packets after it have arrived (udp_prague: one packet). If it arrives later, the
//!   reduction is undone, as in udp_prague.
//! - **The window** is 1.03 W and one packet, as in udp_prague, and what is sent while the receiver holds a report. With
//!   frames, a frame begins only if at most a window of frames is in flight, and is then sent as a whole.
//! - **Bleaching**: if a packet arrives with neither ECT(1) nor CE, packets are Not-ECT for good, and growth is one packet
//!   per virtual round trip at most, so that the flow is a Reno flow of 25 ms (udp_prague: faster growth remains).
//! - **Classic ECN** (RFC 3168): the fallback of [`ClassicQueue`](classic::ClassicQueue) is an option.
//! - **Pacing** is even. A late packet makes up 250 us (`BURST_TIME` of udp_prague), so that bursts are not longer.
//! - **Without reports** for a retransmission timeout (RFC 6298, at least the round-trip time + 200 ms) and 2.5 ms while
//!   packets are not reported, the rate halves, down to the minimum. The sender forgets what is in flight and sends one
//!   packet per 200 ms or round trip, until a report arrives (udp_prague: restarts at 100 kb/s after 1 s).

mod classic;
mod control;
mod frames;
mod options;
mod receiver;
mod sender;

pub use options::{PragueMode, PragueOptions};
pub use receiver::PragueReceiver;
pub use sender::PragueSender;
